#!/usr/bin/env python3
"""Runs `scripts/seeds` as `make seeds` does: every step has to happen, and nothing may be left behind.

    seeds_test.py SEEDS BUILD_FOLDER embedded|real
"""

import os
import re
import subprocess
import sys
import tempfile
import time

from background import PATIENCE, left_behind, wait_for

SKIPPED = 77
# What the documents' own programs print, and what kubectl says, in the order of the walk; of a tuple in any order. The walk checks the rest itself.
STEPS = (
    r"Document 0: .*\n", r"deployment_logger: starting controller\n", r"deployment_logger: add was called\n", r"deployment_logger: del was called\n",
    r"Service base-1 is created\n", r"Ingress base-1 is created\n", r"Ingress base-1 is deleted",
    r"Document 1: .*\n", r"pod_informer: add pod :po\n", r"pod_informer: update pod :po\n", r"pod_informer: delete pod :po\n",
    r"Document 2: .*\n", r"pod_controller: Pod default/mypod does not exist anymore\n", r"pod_controller: Sync/Add/Update for Pod po\n",
    r"pod_controller: Pod default/po does not exist anymore\n", r"pod_controller: Dropping pod \"default/failing\" out of the queue: ",
    r"Document 3: .*\n", (r"network: .*Waiting for informer caches to sync", r"network: .*the server could not find the requested resource"),
    r"network\.samplecrd\.k8s\.io/example-network created\n", r"network: .*\"Creating a network\"", r"network\.samplecrd\.k8s\.io/example-network configured\n",
    r"network: .*\"Updating a network\"", r"network: .*\"Deleting a network\"", r"Network base-1 is deleted",
    r"Document 4: .*\n", r"map\[k:v\]\n", r"map\[patch:v1\]\n", r"the object has been modified; please apply your changes to the latest version",
    r"pod_watch: `Bookmark` means watch has synced here, just update the resourceVersion\n", r"pod_watch: watcher channel closed\n",
    r"Got At example-at\n", r"At example-at is RUNNING\n", r"At example-at is DONE\n",
    r"guestbook-sample is ready\n", r"the book has 2 entries", r"\"keeper\": ?\"ann\"", r"my\.domain/team.*unassigned",
    r"Every step did what its document says: \d+ steps\.\n",
)
failures = 0


def check(what, good, said):
    global failures
    print("ok    " if good else "FAILED", what, flush=True)
    if not good:
        failures += 1
        print("  it said:", *said.rstrip("\n").split("\n"), sep="\n    ", flush=True)


def walk(seeds, build, *flags):
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", seeds, build, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode == SKIPPED:
        print(done.stdout)
        sys.exit(SKIPPED)
    how = " ".join(flags)
    check(f"the walk {how} ends with exit code 0, after {time.monotonic() - began:.1f} s", done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}")
    at = 0
    for step in STEPS if done.returncode == 0 else ():
        matches = [re.search(pattern, done.stdout[at:]) for pattern in (step if isinstance(step, tuple) else (step,))]
        check(f"it shows {step}", all(matches), done.stdout[at:])
        at += max(match.end() if match else 0 for match in matches)
    check("no colours without a terminal", "\033" not in done.stdout, done.stdout)
    check("nothing is left behind", not left_behind(done.stdout), str(left_behind(done.stdout)))
    return done.stdout


def broken(seeds, build, program, script, says):
    """A program that does not do what its document says is a failure, and the message says which one."""
    with tempfile.TemporaryDirectory() as other:
        os.symlink(os.path.join(build, "apps"), os.path.join(other, "apps"))
        os.mkdir(os.path.join(other, "examples"))
        for name in os.listdir(os.path.join(build, "examples")):
            if name != program:
                os.symlink(os.path.join(build, "examples", name), os.path.join(other, "examples", name))
        fake = os.path.join(other, "examples", program)
        with open(fake, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n" + script)
        os.chmod(fake, 0o755)
        done = subprocess.run([sys.executable, "-B", seeds, other], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    good = done.returncode == 1 and f"seeds: this should not happen: {program} should print" in done.stdout and says in done.stdout
    check(f"a {program} that does its work otherwise is a failure", good, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    check("nothing is left behind", wait_for(lambda: not left_behind(done.stdout)), str(left_behind(done.stdout)))


def main():
    seeds, build, cluster = sys.argv[1:]
    walk(seeds, build, "--cluster", cluster)
    if cluster == "embedded":
        said = walk(seeds, build, "--no-kubectl")
        check("without kubectl it says so", "There is no kubectl" in said, said)
        broken(seeds, build, "deployment_logger", "echo starting controller; echo it is broken; exit 3\n", "it is broken")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
