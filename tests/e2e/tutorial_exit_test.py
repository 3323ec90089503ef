#!/usr/bin/env python3
"""How the programs of docs/tutorial.md end: through the destructors and the return of main, without a leak, whatever ends them.

    tutorial_exit_test.py KUBEXX DOCS_FOLDER SANITIZERS

AddressSanitizer prints its exit statistics from an atexit handler, so they prove that neither std::quick_exit nor _exit ended the program. The leak check runs
there too and changes the exit code. In other builds only exit codes and messages are checked.
"""

import os
import re
import signal
import socket
import sys
import tempfile

from background import Background, wait_for
from tutorial_test import DEPLOYMENTS, Tutorial, deployment

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/"
INGRESS = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/web"
# What each program prints once all its parts run.
READY = {"watch": r"synced: \d", "queue": r"default/web wants", "service": r"default/web: \d"}


class Exits(Tutorial):
    def __init__(self, *args, sanitized):
        super().__init__(*args)
        self.env = dict(os.environ)
        self.sanitized = sanitized
        if sanitized:
            self.env["ASAN_OPTIONS"] = ":".join(filter(None, [self.env.get("ASAN_OPTIONS"), "atexit=1", "detect_leaks=1"]))

    def start(self, step, *flags):
        command = [os.path.join(self.docs, "tutorial_" + step), "--kubeconfig", self.kubeconfig, *flags]
        return Background(command, os.path.join(self.work, step + ".log"), env=self.env)

    def ended(self, what, program, code, expected, message=""):
        text = program.text()
        orderly = not self.sanitized or "AddressSanitizer exit stats" in text
        clean = "ERROR: " not in text and "runtime error" not in text
        self.check(what, code == expected and orderly and clean and message in text, f"exit code {code}, orderly: {orderly}\n{text}")


def by_signal(t):
    for step in ("watch", "queue", "service", "expose"):
        flags = ["--health-probe-bind-address=0", "--leader-elect", "--leader-elect-lease-namespace=default"] if step in ("service", "expose") else []
        for number in (signal.SIGTERM, signal.SIGINT):
            if step == "expose":
                t.ask("DELETE", INGRESS)  # that of the run before would not show that this one has started
            with t.start(step, *flags) as program:
                if step == "expose":
                    t.check("the Ingress", wait_for(lambda: t.ask("GET", INGRESS)), program.text())
                else:
                    t.sees(program, READY[step])
                code = program.end(number)
                t.ended(f"{step} ends after {number.name}", program, code, 0)


def by_lost_lease(t):
    flags = ["--health-probe-bind-address=0", "--leader-elect", "--leader-elect-lease-namespace=default", "--leader-elect-retry-period=100ms"]
    with t.start("service", *flags) as program:
        t.sees(program, READY["service"])
        t.patch(LEASE + "service", {"spec": {"holderIdentity": "another"}})
        ended = wait_for(lambda: program.process.poll() is not None)
        t.check("service notices that it lost the lease", ended, program.text())
        t.ended("service ends after it lost the lease", program, program.end(), 1, "service: ")
    t.ask("DELETE", LEASE + "service")


def by_failed_start(t):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        for step in ("service", "expose"):
            with t.start(step, "--health-probe-bind-address=" + address) as program:
                wait_for(lambda: program.process.poll() is not None)
                t.ended(f"{step} ends if its port is taken", program, program.end(), 1, step + ": ")
    for step in ("list", "watch", "queue"):
        with t.start(step, "--server=http://127.0.0.1:1", "--request-timeout=1s") as program:
            if step == "list":
                wait_for(lambda: program.process.poll() is not None)
                t.ended(f"{step} ends without a server", program, program.end(), 1, step + ": ")
            else:
                t.sees(program, "refused")
                t.ended(f"{step} ends while it waits for a server", program, program.end(), 0)


def main():
    kubexx, docs, sanitizers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "kubeconfig")
        with Background([kubexx, "apiserver", "--http", "--kubeconfig-out", kubeconfig], os.path.join(work, "server.log")) as server:
            if not server.wait_text("is ready at"):
                print("kubexx apiserver did not start:", server.text())
                return 1
            url = re.search(r"http://[\d.:]+", server.text())[0]
            exits = Exits(url, kubeconfig, docs, work, sanitized="address" in sanitizers)
            exits.ask("POST", DEPLOYMENTS, deployment("web", 8080))
            by_signal(exits)
            by_lost_lease(exits)
            by_failed_start(exits)
    print(f"{exits.failures} failures")
    return 1 if exits.failures else 0


if __name__ == "__main__":
    sys.exit(main())
