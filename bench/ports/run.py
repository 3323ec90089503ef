#!/usr/bin/env python3
"""Attacks on the ports of auto-expose: its resident memory, and the time that a scrape with a good token takes meanwhile.

    run.py --build BUILD_FOLDER [--seconds N] [--attack NAME]...

auto-expose, with --enable-http2, and the embedded API server are processes of their own, on loopback; each attack gets a new
auto-expose. Attackers have eight addresses from 127.0.0.2 on, so that the limits of all peers together are reached; the scraper has
127.0.0.1. Fails if the memory exceeds 64 MB, or more than one scrape in ten is not answered.
"""

import argparse
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

MOST_MEMORY = 64 << 20
MOST_FAILED = 0.1  # of the scrapes
PEERS = 8
ATTACKS = ("none", "zero-window", "slow-loris", "many-headers", "rapid-reset", "continuation", "idle", "hello", "unread", "tokens", "tokens-kept-alive")


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.02)
    sys.exit(f"bench-ports: {what} did not happen within {seconds} s")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def memory(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(rf"^{field}:\s+(\d+) kB", f.read(), re.M)[1]) << 10


class Child:
    def __init__(self, *argv, env=None, log=subprocess.DEVNULL, out=subprocess.DEVNULL):
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=env, text=True)

    def __enter__(self):
        return self.process

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def scrape(port, token):
    """Seconds, or None if it was not answered with 200."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"https://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {token}"})
    begin = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=10, context=trusting) as answer:
            answer.read()
            return time.monotonic() - begin if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None


def attack(build, work, name, seconds, kubeconfig, token):
    metrics, health = free_port(), free_port()
    flags = ["--kubeconfig", kubeconfig, f"--metrics-bind-address=127.0.0.1:{metrics}", f"--health-probe-bind-address=127.0.0.1:{health}",
             "--enable-http2"]
    with open(os.path.join(work, "auto-expose.log"), "w", encoding="utf-8") as log, \
            Child(os.path.join(build, "apps", "auto-expose", "auto-expose"), *flags, log=log, out=log) as victim:
        wait_for("the first scrape", lambda: scrape(metrics, token))
        before = memory(victim.pid, "VmRSS")
        attackers = []
        try:
            for port, more in ((metrics, ["--tls"]), (health, [])) if name != "none" else ():
                attackers.append(Child(os.path.join(build, "bench", "ports", "bench_ports_attacker"), str(port), name, f"--peers={PEERS}",
                                       *more, out=subprocess.PIPE))
            for one in attackers:
                if not one.process.stdout.readline().startswith("ready"):
                    sys.exit(f"bench-ports: the attack {name} did not start")
            times, failed, end = [], 0, time.monotonic() + seconds
            while time.monotonic() < end:
                if victim.poll() is not None:
                    sys.exit(f"bench-ports: auto-expose ended with code {victim.returncode} during the attack {name}")
                took = scrape(metrics, token)
                if took is None:
                    failed += 1
                else:
                    times.append(took)
                time.sleep(0.05)
            if any(one.process.poll() is not None for one in attackers):
                sys.exit(f"bench-ports: the attack {name} ended early")
        finally:
            for one in attackers:
                one.__exit__()
        peak = memory(victim.pid, "VmHWM")
    times.sort()
    middle, worst = (times[len(times) // 2], times[-1]) if times else (float("nan"), float("nan"))
    print(f"| {name} | {before / 1e6:.1f} MB | {peak / 1e6:.1f} MB | {len(times)} | {failed} | {middle * 1e3:.1f} ms | {worst * 1e3:.1f} ms |", flush=True)
    return peak <= MOST_MEMORY and bool(times) and failed <= MOST_FAILED * (failed + len(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--attack", choices=ATTACKS, action="append")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "kubeconfig")
        with Child(os.path.join(arguments.build, "apps", "kubexx", "kubexx"), "apiserver", "--kubeconfig-out", kubeconfig) as server:
            wait_for("a kubeconfig", lambda: os.path.exists(kubeconfig) and os.path.getsize(kubeconfig) or server.poll() is not None)
            if server.poll() is not None:
                sys.exit(f"bench-ports: the embedded server ended with code {server.returncode}")
            with open(kubeconfig, encoding="utf-8") as f:
                found = re.search(r"^\s*token: \"?([^\s\"]+)", f.read(), re.M)
            if not found:
                sys.exit("bench-ports: the kubeconfig of the embedded server has no token")
            print("| attack | before | peak | scrapes | failed | median | longest |\n|---|---|---|---|---|---|---|")
            good = [attack(arguments.build, work, name, arguments.seconds, kubeconfig, found[1]) for name in arguments.attack or ATTACKS]
    if not all(good):
        sys.exit("bench-ports: more than 64 MB, or too few scrapes were answered")


if __name__ == "__main__":
    main()
