#!/usr/bin/env python3
"""scaffold_test.py KUBEXX PROJECT_FOLDER [--update]

Runs the commands that the project's README.md says it was made by (lines that begin with `kubexx init` or `kubexx create`) in an empty folder,
and compares what they write with the project: each file has to be there, and those that are not for its author to edit have to be the same.
With --update these are copied into the project instead, as after a change of the templates.
"""

import argparse
import fnmatch
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

# What an author fills in.
EDITED = ["README.md", "api/*", "src/*.cc", "tests/*_test.cc", "config/samples/*"]
# But not these.
KEPT = ["src/main.cc"]


def is_edited(path):
    return any(fnmatch.fnmatch(path, p) for p in EDITED) and path not in KEPT


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("kubexx")
    parser.add_argument("project")
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    commands = [shlex.split(line, comments=True)[1:] for line in read(args.project, "README.md").splitlines()
                if line.startswith(("kubexx init ", "kubexx create "))]
    if not commands:
        print(f"{args.project}/README.md does not say how the project was made")
        return 1
    problems, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, os.path.basename(os.path.normpath(args.project)))
        os.mkdir(made)
        for command in commands:
            subprocess.run([os.path.abspath(args.kubexx), *command], cwd=made, check=True, stdout=subprocess.DEVNULL)
        for where, _, names in os.walk(made):
            for name in names:
                path = os.path.relpath(os.path.join(where, name), made)
                here = os.path.join(args.project, path)
                compared += 1
                if os.path.exists(here) and (is_edited(path) or read(here) == read(made, path)):
                    continue
                if args.update:
                    os.makedirs(os.path.dirname(here) or ".", exist_ok=True)
                    shutil.copy(os.path.join(made, path), here)
                    print(f"updated {here}")
                else:
                    problems.append(f"{here}: {'is not what the scaffold writes' if os.path.exists(here) else 'is missing'}")
    for problem in sorted(problems):
        print(problem)
    print(f"scaffold_test: {compared} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
