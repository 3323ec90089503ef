#!/usr/bin/env python3
"""A stand-in for podman: builds the Containerfile of a scaffolded project without containers, so that `make image` can be tried.

    engine.py build --build-arg KUBEXX=URL -f Containerfile -t IMAGE FOLDER

The folder $ENGINE_WORK gets src/, the copy of the project that the image's build works on, and root/, the image's root folder. Lines that
install packages or clone kubexx are not run: kubexx is installed already, where $ENGINE_CMAKE_FLAGS say. All others are run as they stand.
"""

import argparse
import os
import shutil
import subprocess
import sys

ROOT_OF_IMAGE = "/root-of-image"


def copy_project(folder, target):
    """As COPY . . does, without what .containerignore names."""
    with open(os.path.join(folder, ".containerignore"), encoding="utf-8") as f:
        ignored = [line.strip() for line in f if line.strip()]
    for pattern in ignored:
        if not pattern.startswith("/") or "*" in pattern:
            raise ValueError(f".containerignore: {pattern}: only plain paths are understood here")
    shutil.copytree(folder, target, ignore=lambda where, names: [n for n in names if "/" + os.path.relpath(os.path.join(where, n), folder) in ignored])


def build(args):
    work = os.environ["ENGINE_WORK"]
    source, root, stage = os.path.join(work, "src"), os.path.join(work, "root"), 0
    given = dict(arg.split("=", 1) for arg in args.build_arg)
    with open(os.path.join(args.folder, args.file), encoding="utf-8") as f:
        lines = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stage += 1
            if stage == 2 and rest != "scratch":
                raise ValueError(line)
        elif word in ("ARG", "WORKDIR", "USER", "ENTRYPOINT"):
            print(line)
        elif word == "COPY" and rest == ". .":
            copy_project(args.folder, source)
        elif word == "COPY" and stage == 2 and rest == f"--from=build {ROOT_OF_IMAGE} /":
            print(line)
        elif word == "RUN" and rest.startswith(("apt-get update ", "git clone ")):
            if "git clone" in rest and not given.get("KUBEXX"):
                raise ValueError("no --build-arg KUBEXX: where is kubexx cloned from?")
            print("left out:", rest)
        elif word == "RUN":
            command = rest.replace(ROOT_OF_IMAGE, f"'{root}'").replace("cmake --preset release", f"cmake --preset release {os.environ['ENGINE_CMAKE_FLAGS']}")
            print("RUN", rest, flush=True)
            subprocess.run(["sh", "-ec", command], cwd=source, check=True)
        else:
            raise ValueError(f"Containerfile: {line}: not understood here")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["build"])
    parser.add_argument("--build-arg", action="append", default=[])
    parser.add_argument("-f", dest="file", required=True)
    parser.add_argument("-t", dest="tag", required=True)
    parser.add_argument("folder")
    build(parser.parse_args())
    return 0


if __name__ == "__main__":
    sys.exit(main())
