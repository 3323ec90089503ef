#!/usr/bin/env python3
"""Runs `kubexx control-plane` as a person would: start, use, Ctrl-C; and kills it the hard way. Exit code 77 if there are no programs."""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

PATIENCE = 120
SKIPPED = 77


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry))
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Plane:
    def __init__(self, program, *args):
        self.process = subprocess.Popen([program, "control-plane", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_ready(self):
        """The lines that it prints when it is ready, or None if it ended before."""
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if "Ctrl-C" in line:
                return lines
        return None


def main():
    program = sys.argv[1]
    failures = []

    def expect(what, condition, detail=""):
        if not condition:
            failures.append(f"{what}: {detail}")

    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "admin.kubeconfig")
        plane = Plane(program, "--kubeconfig-out", kubeconfig)
        lines = plane.wait_ready()
        if lines is None:
            error = plane.process.stderr.read()
            plane.process.wait()
            print(error)
            return SKIPPED if "make control-plane" in error else 1
        text = "\n".join(lines)
        expect("says where it is", re.search(r"Kubernetes v1\.\d+\.\d+ is ready at https://127\.0\.0\.1:\d+", text), text)
        expect("says how to use it", f"export KUBECONFIG={kubeconfig}" in text, text)
        expect("kubeconfig is a secret", stat.S_IMODE(os.stat(kubeconfig).st_mode) == 0o600)
        directory = re.search(r"Logs are in (\S+)/logs", text)[1]
        children = children_of(plane.process.pid)
        expect("has children", len(children) >= 2, children)
        kubectl = os.path.join(os.path.dirname(os.readlink(f"/proc/{children[0]}/exe")), "kubectl")
        for child in children:
            candidate = os.path.join(os.path.dirname(os.readlink(f"/proc/{child}/exe")), "kubectl")
            kubectl = candidate if os.access(candidate, os.X_OK) else kubectl
        if os.access(kubectl, os.X_OK):
            got = subprocess.run([kubectl, "--kubeconfig", kubeconfig, "get", "namespace", "default", "-o", "name"], capture_output=True, text=True, check=False)
            expect("kubectl works", got.stdout == "namespace/default\n", got.stdout + got.stderr)
        plane.process.send_signal(signal.SIGINT)
        expect("Ctrl-C ends it well", plane.process.wait(PATIENCE) == 0, plane.process.returncode)
        expect("leaves no process", wait_for(lambda: not any(alive(c) for c in children)), children)
        expect("leaves no folder", not os.path.exists(directory), directory)

        plane = Plane(program, "--data-dir", os.path.join(work, "data"))
        lines = plane.wait_ready()
        expect("starts with a data folder", lines is not None)
        children = children_of(plane.process.pid)
        expect("writes a kubeconfig there", os.path.exists(os.path.join(work, "data", "admin.kubeconfig")))
        plane.process.kill()
        plane.process.wait()
        expect("kill -9 leaves no process", wait_for(lambda: not any(alive(c) for c in children)), children)
        expect("but the data", os.path.isdir(os.path.join(work, "data", "etcd", "member")))

        plane = Plane(program)
        lines = plane.wait_ready()
        directory = re.search(r"Logs are in (\S+)/logs", "\n".join(lines))[1]
        children = children_of(plane.process.pid)
        etcd = next(c for c in children if os.readlink(f"/proc/{c}/exe").endswith("etcd"))
        os.kill(etcd, signal.SIGKILL)
        expect("a part that dies is reported", plane.process.wait(PATIENCE) == 1, plane.process.returncode)
        error = plane.process.stderr.read()
        expect("by its name", "etcd exited unexpectedly" in error, error)
        expect("and nothing is left", wait_for(lambda: not any(alive(c) for c in children) and not os.path.exists(directory)), directory)

        failed = subprocess.run([program, "control-plane", "--version", "v0.0.0"], capture_output=True, text=True, check=False)
        expect("a release that is not built", failed.returncode == 1 and "make control-plane" in failed.stderr, failed.stderr)

    for failure in failures:
        print("FAILED", failure)
    print(f"control plane: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
