#!/usr/bin/env python3
"""auto-expose beside the same job written with controller-runtime, on a real control plane.

`make bench-auto-expose` builds what this needs and runs it. For each side and round: a new namespace with N Deployments; the program is
started and has to expose all of them; then it is started once more, with everything in place. Wall time is from the start of the process
until the last Ingress is there; CPU and RSS are read a few seconds later, RSS of auto-expose and of Go alike as the system counts it;
requests are those that the API server counted, without watches and our own.
"""

import argparse
import concurrent.futures
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
from cluster import Cluster, ClusterError  # noqa: E402  pylint: disable=wrong-import-position

WRITES = ("POST", "PUT", "PATCH", "DELETE")
KINDS = ("deployments", "services", "ingresses", "events")


class Failure(Exception):
    """What a person can read."""


def say(line):
    print(line, file=sys.stderr, flush=True)


def end(process, number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def deployment(name, namespace):
    container = {"name": "main", "image": "nginx", "ports": [{"name": "http", "containerPort": 8080}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}}


def usage(process):
    """CPU seconds, RSS and its peak in bytes."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = dict(re.findall(r"(\w+):\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text()))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(status["VmRSS"]) * 1024, int(status["VmHWM"]) * 1024


class Bench:
    def __init__(self, args, kubeconfig):
        self.args, self.kubeconfig = args, kubeconfig
        self.cluster = Cluster(kubeconfig)

    def command(self, side, namespace):
        flags = ["--kubeconfig", self.kubeconfig, "--namespace", namespace, "--workers", str(self.args.workers)]
        if side == "controller-runtime":
            return [str(self.args.peer), "expose", *flags]
        return [str(self.args.build / "apps/auto-expose/auto-expose"), *flags, "--domain=example.com", "--health-probe-bind-address=0", "--preflight=skip",
                "--log-level=warn"]

    def requests(self):
        """What the server has counted, by verb and resource."""
        with self.cluster.open("GET", "/metrics") as answer:
            text = answer.read().decode()
        counted = {}
        for labels, value in re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", text, re.M):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if label["resource"] in KINDS and label["verb"] != "WATCH":
                key = f"{label['verb']} {label['resource']}"
                counted[key] = counted.get(key, 0) + float(value)
        return counted

    def fill(self, namespace):
        self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: self.cluster.call("POST", path, deployment(f"app-{i}", namespace)), range(self.args.count)))

    def exposed(self, namespace):
        answer = self.cluster.call("GET", f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses?limit=1")
        return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)

    def run(self, side, number):
        namespace = f"bench-{side}-{number}"
        self.fill(namespace)
        before, asked = self.requests(), 0
        start = time.monotonic()
        process = subprocess.Popen(self.command(side, namespace), stdout=subprocess.DEVNULL)
        try:
            while self.exposed(namespace) < self.args.count:
                asked += 1
                if process.poll() is not None:
                    raise Failure(f"{side} ended with {process.returncode}")
                if time.monotonic() - start > 600:
                    raise Failure(f"{side} has exposed {self.exposed(namespace)} of {self.args.count} in ten minutes")
                time.sleep(0.05)
            wall = time.monotonic() - start
            time.sleep(self.args.settle)  # events are still on their way
            cpu, rss, peak = usage(process)
        finally:
            end(process)
        after = self.requests()
        by = {what: n - before.get(what, 0) for what, n in after.items() if n != before.get(what, 0)}
        by["LIST ingresses"] = by.get("LIST ingresses", 0) - asked - 1
        # Once more, with everything in place.
        process = subprocess.Popen(self.command(side, namespace), stdout=subprocess.DEVNULL)
        try:
            time.sleep(self.args.settle * 2)
            if process.poll() is not None:
                raise Failure(f"{side} ended with {process.returncode}")
            again_cpu, again_rss, _ = usage(process)
        finally:
            end(process)
        again = self.requests()
        writes = sum(n - after.get(what, 0) for what, n in again.items() if what.split()[0] in WRITES)
        return {"wall": wall, "cpu": cpu, "rss": rss, "peak": peak, "requests": {what: n for what, n in sorted(by.items()) if n > 0},
                "requests_each": sum(by.values()) / self.args.count, "restart_writes": writes, "restart_cpu": again_cpu, "restart_rss": again_rss}


def table(results, args):
    sides = [side for side in ("auto-expose", "controller-runtime") if side in results]
    rows = [("wall", "s", 1), ("cpu", "s", 1), ("rss", "MB", 1e-6), ("peak", "MB", 1e-6), ("requests_each", "", 1), ("restart_writes", "", 1),
            ("restart_cpu", "s", 1), ("restart_rss", "MB", 1e-6)]
    lines = [f"{args.count} Deployments, {args.workers} workers, medians of {args.rounds} rounds.", "",
             "| | unit | " + " | ".join(sides) + " | ratio |", "|---|---|" + "--:|" * (len(sides) + 1)]
    for name, unit, scale in rows:
        values = [statistics.median(sample[name] for sample in results[side]) * scale for side in sides]
        ratio = f"{values[1] / values[0]:.2f}" if len(values) == 2 and values[0] else "-"
        lines.append(f"| {name} | {unit} | " + " | ".join(f"{v:.2f}" for v in values) + f" | {ratio} |")
    for side in sides:
        lines += ["", f"{side}: " + ", ".join(f"{what} {n:.0f}" for what, n in results[side][-1]["requests"].items())]
    return "\n".join(lines) + "\n"


def main():
    cache = Path(os.environ.get("KUBEXX_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubexx")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the folder of a release build (default build/release)")
    parser.add_argument("--peer", type=Path, default=cache / "peers/controller-runtime", help="the other program, as scripts/build-peers makes it")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where auto-expose.md and .json go (default build/bench)")
    parser.add_argument("--count", type=int, default=2000, help="Deployments (default 2000)")
    parser.add_argument("--rounds", type=int, default=3, help="medians count (default 3)")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--settle", type=float, default=5, help="seconds before CPU and memory are read (default 5)")
    args = parser.parse_args()
    sides = ["auto-expose", "controller-runtime"] if os.access(args.peer, os.X_OK) else ["auto-expose"]
    if len(sides) == 1:
        say("controller-runtime was not built (scripts/build-peers says why): its column is missing")
    results = {}
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "kubeconfig")
        plane = subprocess.Popen([str(args.build / "apps/kubexx/kubexx"), "control-plane", "--data-dir", os.path.join(work, "data"), "--kubeconfig-out", kubeconfig],
                                 stdout=subprocess.PIPE, text=True)
        try:
            for line in plane.stdout:
                if "is ready" in line:
                    break
            else:
                raise Failure("kubexx control-plane did not start")
            bench = Bench(args, kubeconfig)
            for number in range(args.rounds):
                for side in sides if number % 2 == 0 else sides[::-1]:
                    sample = bench.run(side, number)
                    results.setdefault(side, []).append(sample)
                    say(f"round {number + 1} {side:18} {sample['wall']:6.1f} s, {sample['cpu']:6.2f} s CPU, {sample['rss'] / 1e6:6.1f} MB, "
                        f"{sample['requests_each']:.2f} requests each, {sample['restart_writes']:.0f} writes after a restart")
        except (Failure, ClusterError, OSError) as failure:
            say(f"bench-auto-expose: {failure}")
            return 1
        finally:
            end(plane, signal.SIGINT)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "auto-expose.json").write_text(json.dumps(results, indent=1) + "\n")
    text = table(results, args)
    (args.out / "auto-expose.md").write_text(text)
    print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
