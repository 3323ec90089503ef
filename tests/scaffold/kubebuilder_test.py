#!/usr/bin/env python3
"""Replays the command lines that make kubebuilder's sample projects, with `kubexx` instead of `kubebuilder`.

    kubebuilder_test.py KUBEXX                                          all projects; the generator reads what was made
    kubebuilder_test.py KUBEXX --build BUILD_FOLDER CXX FLAGS PROJECT   one of them; it is built, and its tests run

The lines are read from test/testdata/generate.sh of kubebuilder's Go module, which is fetched at test time and cached by Go. Without Go or the
module the test is skipped (exit code 77).

Command lines have to work as they stand, except those of REFUSED: kubebuilder's plugins. Kinds of other projects are Go types, whose modules
Go fetches; if it cannot, these lines are left out, which is said.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from project import SKIPPED, Failed, Project, install

MODULE = os.environ.get("KUBEXX_KUBEBUILDER", "sigs.k8s.io/kubebuilder/v4@v4.15.0")
GO_SECONDS = 300
# What refuses a line: a part of the message, and the flags without which the line is tried again; None for a line that is left out.
REFUSED = {
    "there is nothing to edit": None,
    "there is no scaffold for a kind that runs an image": ("--image", "--run-as-user", "--plugins"),
}
# Own kinds, kinds of Kubernetes, kinds of other projects, controllers, webhooks, conversions.
EXPECTED = {
    "project-v4": (5, 2, 2, 6, 10, 1),
    "project-v4-multigroup": (13, 2, 2, 15, 9, 1),
    "project-v4-with-plugins": (4, 0, 0, 3, 1, 1),
}


def fetch():
    if shutil.which("go") is None:
        print("skipped: no Go toolchain to fetch kubebuilder's module with")
        sys.exit(SKIPPED)
    try:
        done = subprocess.run(["go", "mod", "download", "-json", MODULE], capture_output=True, text=True, timeout=GO_SECONDS, check=False,
                              cwd=tempfile.gettempdir(), env={**os.environ, "GOFLAGS": ""})
    except subprocess.TimeoutExpired:
        print(f"skipped: {MODULE} did not arrive within {GO_SECONDS} s")
        sys.exit(SKIPPED)
    said = json.loads(done.stdout or "{}")
    if "Dir" not in said:
        print("skipped:", said.get("Error", done.stderr).strip())
        sys.exit(SKIPPED)
    with open(os.path.join(said["Dir"], "test/testdata/generate.sh"), encoding="utf-8") as f:
        return f.read()


def holds(condition, project):
    """Evaluates the condition of an `if`: [ $project == "x" ], [[ $project =~ x ]], joined by ||."""
    for part in condition.split("||"):
        match = re.fullmatch(r"\s*\[{1,2} \$project (==|=~) \"?([\w-]+)\"? \]{1,2}\s*", part)
        if not match:
            raise ValueError(f"generate.sh: if {condition}: not understood")
        if match[2] == project or (match[1] == "=~" and match[2] in project):
            return True
    return False


def sequences(script):
    """{project: [arguments of a command, ...]}"""
    calls = [shlex.split(line)[1:] for line in script.splitlines() if re.match(r"scaffold_test_project \S", line)]
    out = {}
    for project, *init_flags in calls:
        open_ifs, commands = [], []
        for line in script.splitlines():
            line = line.strip()
            if match := re.fullmatch(r"if (.*?)\s*; ?then", line):
                open_ifs.append(holds(match[1], project))
            elif line == "fi":
                open_ifs.pop()
            elif line.startswith("$kb ") and all(open_ifs):
                words = shlex.split(line, comments=True)[1:]
                commands.append([w for word in words for w in (init_flags if word == "$init_flags" else [word])])
        out[project] = commands
    if len(out) < 3 or any(len(commands) < 5 for commands in out.values()):
        raise ValueError(f"generate.sh has another form: {out}")
    return out


class Replay:
    def __init__(self, project, name):
        self.project, self.name = project, name
        self.failures, self.as_it_stands, self.changed, self.left_out = [], 0, 0, []

    def command(self, words):
        done = self.project.kubexx(*words)
        if done.returncode == 0:
            self.as_it_stands += 1
            return
        for text, flags in REFUSED.items():
            if text not in done.stderr:
                continue
            if flags is None:
                self.left_out.append(" ".join(words))
                return
            done = self.project.kubexx(*(w for w in words if not w.startswith(flags)))
            self.changed += 1
        if done.returncode != 0 and re.search(r"--external-api-module: .*(403 Forbidden|404 Not Found|50[0-9] |dial tcp|disabled by GOPROXY|[Tt]ime|EOF|connection reset)", done.stderr, re.S):
            self.left_out.append(" ".join(words))
        elif done.returncode != 0:
            self.failures.append(f"kubexx {' '.join(words)}: {done.stderr}")

    def check(self):
        made = json.loads(self.project.read("PROJECT"))["resources"]
        count = lambda part: sum(1 if isinstance(r.get(part), dict) else len(r.get(part, [])) for r in made)
        own = [r for r in made if not r.get("builtIn") and not r.get("external")]
        got = (len(own), sum(bool(r.get("builtIn")) for r in made), sum(bool(r.get("external")) for r in made),
               count("controller"), count("webhook"), count("conversion"))
        if not self.left_out or all(line.startswith("edit ") for line in self.left_out):
            if got != EXPECTED[self.name]:
                self.failures.append(f"PROJECT has {got}, not {EXPECTED[self.name]}")
        # The generator reads the headers, and its CRDs are those that config/ lists.
        work = self.project.path("generated")
        headers = [part for r in own for part in ("--headers", r["header"])]
        done = self.project.kubexx("generate", *headers, "--include", ".", "--tables", work, "--all-tables", "--manifests", work, "--crds-only")
        if done.returncode != 0:
            self.failures.append(f"kubexx generate: {done.stderr}")
            return
        listed = set(re.findall(r"- crd/(\S+)", self.project.read("config/kustomization.yaml")))
        if listed != set(os.listdir(os.path.join(work, "crd"))):
            self.failures.append(f"config/kustomization.yaml lists {sorted(listed)}")
        shutil.rmtree(work)


def replay(kubexx, name, commands, work, **options):
    out = Replay(Project(kubexx, os.path.join(work, name), **options), name)
    for words in commands:
        out.command(words)
    out.check()
    print(f"{name}: {out.as_it_stands} of {len(commands)} commands as they stand, {out.changed} without the flags of a plugin, left out: {out.left_out or 'none'}")
    return out


def main():
    kubexx, script = os.path.abspath(sys.argv[1]), fetch()
    projects, failures = sequences(script), []
    with tempfile.TemporaryDirectory() as work:
        if len(sys.argv) == 2:
            for name, commands in projects.items():
                failures += replay(kubexx, name, commands, work).failures
        else:
            _, build, cxx, flags, name = sys.argv[2:]
            prefix = install(build, os.path.join(work, "prefix"))
            made = replay(os.path.join(prefix, "bin", "kubexx"), name, projects[name], work, prefix=prefix, cxx=cxx, flags=flags)
            failures += made.failures
            try:
                said = made.project.make("test")
                print(re.search(r"\d+% tests passed, .*", said)[0])
            except Failed as error:
                failures.append(str(error))
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
