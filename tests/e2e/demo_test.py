#!/usr/bin/env python3
"""Runs `scripts/demo` as `make demo` does, without a terminal: every step has to happen, and nothing may be left behind.

    demo_test.py DEMO BUILD_FOLDER embedded|real
"""

import os
import re
import signal
import subprocess
import sys
import tempfile

from background import PATIENCE, Background, left_behind, wait_for

SKIPPED = 77
STEPS = (
    r"\+ Deployment shop/hello  2 replicas\n",
    r"\+ Service shop/hello  8080 -> http, to pods with app=hello\n",
    r"\+ Ingress shop/hello  hello\.shop\.example\.com/ -> hello\n",
    r"! Deployment shop/hello: Exposed at http://hello\.shop\.example\.com/\n",
    r"~ Deployment shop/hello  5 replicas\n",
    r"~ Ingress shop/hello  shop\.example\.com/ -> hello\n",
    r"~ Service shop/hello  8080 -> http, to pods with app=nobody\n",
    r"~ Service shop/hello  8080 -> http, to pods with app=hello\n",
    r"- Service shop/hello\n",
    r"\+ Service shop/hello  8080 -> http, to pods with app=hello\n",
    r"! Deployment shop/hello: Withdrawn ",
    r"\+ Ingress shop/hello  shop\.example\.com/ -> hello\n",
    r"- Deployment shop/hello\n",
    r"Every step did what it should\.",
)
failures = 0


def check(what, good, said):
    global failures
    print("ok    " if good else "FAILED", what, flush=True)
    if not good:
        failures += 1
        print("  it said:", *said.rstrip("\n").split("\n"), sep="\n    ", flush=True)


def walk(demo, build, cluster):
    done = subprocess.run([sys.executable, "-B", demo, build, "--cluster", cluster], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == SKIPPED:
        print(done.stdout)
        sys.exit(SKIPPED)
    check("the demo ends with exit code 0", done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}")
    at = 0
    for step in STEPS:
        match = re.search(step, done.stdout[at:])
        check(f"it shows {step}", bool(match), done.stdout[at:])
        at += match.end() if match else 0
    check("no colours without a terminal", "\033" not in done.stdout, done.stdout)
    check("nothing is left behind", not left_behind(done.stdout), str(left_behind(done.stdout)))


def interrupted(demo, build, work):
    """Ctrl-C when it waits for a person is the good end; earlier it is not. Neither leaves anything."""
    for number, pattern, code in ((signal.SIGINT, r"Your turn\.(?s:.*)export KUBECONFIG=\S+\n(?s:.*)/debug/\n", 0), (signal.SIGTERM, "ready at", 130)):
        with Background([sys.executable, "-B", demo, build, "--stay"], os.path.join(work, "demo.log")) as run:
            check(f"it comes to {pattern}", bool(run.wait_text(pattern)), run.text())
            got = run.end(number)
            check(f"{number.name} ends it with exit code {code}", got == code, f"exit code {got}\n{run.text()}")
            check("nothing is left behind", not left_behind(run.text()), str(left_behind(run.text())))


def without_controller(demo, build, work):
    """A step that does not happen is a failure."""
    other = os.path.join(work, "build")
    os.makedirs(os.path.join(other, "apps", "auto-expose"))
    os.symlink(os.path.join(build, "apps", "kubexx"), os.path.join(other, "apps", "kubexx"))
    fake = os.path.join(other, "apps", "auto-expose", "auto-expose")
    with open(fake, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\necho it is broken\nexit 3\n")
    os.chmod(fake, 0o755)
    done = subprocess.run([sys.executable, "-B", demo, other], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    good = done.returncode == 1 and "auto-expose did not start" in done.stdout and "it is broken" in done.stdout
    check("a controller that does not start is a failure", good, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    check("nothing is left behind", wait_for(lambda: not left_behind(done.stdout)), str(left_behind(done.stdout)))


def main():
    demo, build, cluster = sys.argv[1:]
    walk(demo, build, cluster)
    if cluster == "embedded":
        with tempfile.TemporaryDirectory() as work:
            interrupted(demo, build, work)
            without_controller(demo, build, work)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
