#!/usr/bin/env python3
"""Runs the same work, an informer, a controller and webhooks, in kubexx, client-go and kube-rs, and writes what it cost each of them. Informers
and controllers have one real control plane; webhooks need none.

`make bench-peers` builds all that this needs and runs it. What is measured and how is in README.md beside this file."""

import argparse
import json
import os
import platform
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import figures
import reconcile
import webhook

HERE = Path(__file__).resolve().parent
SIDES = ["kubexx", "baseline", "client-go", "kube-rs"]
OURS = SIDES[:2]
WORK = ["informer", "reconcile", "webhook"]


@dataclass(frozen=True)
class Variant:
    name: str
    kind: str
    encoding: str
    strip: bool = False
    events: bool = False
    quick: bool = False  # the handler says that it never waits; the peers have nothing like that


VARIANTS = [
    Variant("protobuf", "pods", "protobuf", events=True),
    Variant("protobuf-stripped", "pods", "protobuf", strip=True),
    Variant("json", "workloads", "json", events=True),
    Variant("json-stripped", "workloads", "json", strip=True),
    Variant("json-dynamic", "workloads-dynamic", "json"),
    Variant("protobuf-quick", "pods", "protobuf", events=True, quick=True),
]


@dataclass(frozen=True)
class Row:
    name: str
    unit: str
    variant: str
    figure: str
    scale: float = 1.0
    more_is_better: bool = False
    wanted: float = 0.0  # client-go / kubexx at least
    peers: str = ""  # the variant that counts for the others, if it is another one


MB = 1 / 1e6
ROWS = [
    Row("sync_cpu_protobuf", "s", "protobuf", "sync_cpu", wanted=3),
    Row("sync_cpu_protobuf_stripped", "s", "protobuf-stripped", "sync_cpu"),
    Row("sync_cpu_json", "s", "json", "sync_cpu", wanted=8),
    Row("sync_cpu_json_stripped", "s", "json-stripped", "sync_cpu"),
    Row("sync_cpu_json_dynamic", "s", "json-dynamic", "sync_cpu"),
    Row("sync_wall_protobuf", "s", "protobuf", "sync_wall"),
    Row("sync_wall_json", "s", "json", "sync_wall"),
    Row("rss_after_sync", "MB", "protobuf", "rss", MB, wanted=5),
    Row("rss_after_sync_stripped", "MB", "protobuf-stripped", "rss", MB, wanted=5),
    Row("rss_after_sync_json", "MB", "json", "rss", MB),
    Row("rss_after_sync_json_stripped", "MB", "json-stripped", "rss", MB),
    Row("rss_after_sync_json_dynamic", "MB", "json-dynamic", "rss", MB),
    Row("rss_peak", "MB", "protobuf", "peak", MB, wanted=5),
    Row("rss_peak_stripped", "MB", "protobuf-stripped", "peak", MB),
    Row("rss_peak_json", "MB", "json", "peak", MB),
    Row("event_cpu_protobuf", "us", "protobuf", "event_cpu", 1e6, wanted=4),
    Row("event_cpu_protobuf_steady", "us", "protobuf", "event_cpu_steady", 1e6),
    Row("event_cpu_protobuf_burst", "us", "protobuf", "event_cpu_burst", 1e6),
    Row("event_cpu_protobuf_quick", "us", "protobuf-quick", "event_cpu", 1e6, peers="protobuf"),
    Row("event_cpu_json", "us", "json", "event_cpu", 1e6, wanted=8),
    Row("event_cpu_json_steady", "us", "json", "event_cpu_steady", 1e6),
    Row("event_cpu_json_burst", "us", "json", "event_cpu_burst", 1e6),
    Row("events_per_second_protobuf", "1/s", "protobuf", "events_per_second", more_is_better=True),
    Row("events_per_second_json", "1/s", "json", "events_per_second", more_is_better=True),
    Row("event_latency_p50", "ms", "protobuf", "latency_p50", 1e3),
    Row("event_latency_p99", "ms", "protobuf", "latency_p99", 1e3, wanted=1),
    Row("event_latency_p50_json", "ms", "json", "latency_p50", 1e3),
    Row("event_latency_p99_json", "ms", "json", "latency_p99", 1e3, wanted=1),
    Row("event_latency_steady_p99", "ms", "protobuf", "latency_steady_p99", 1e3),
    Row("event_latency_steady_p99_json", "ms", "json", "latency_steady_p99", 1e3),
    Row("event_latency_burst_p99", "ms", "protobuf", "latency_burst_p99", 1e3),
    Row("event_latency_burst_p99_json", "ms", "json", "latency_burst_p99", 1e3),
    Row("reconcile_cpu", "s", "reconcile", "cpu", wanted=2.5),
    Row("reconcile_wall", "s", "reconcile", "wall"),
    Row("reconcile_rss", "MB", "reconcile", "rss", MB, wanted=2.5),
    Row("reconcile_rss_peak", "MB", "reconcile", "peak", MB),
    Row("reconcile_requests", "", "reconcile", "requests"),
    Row("reconcile_cpu_desired_state", "s", "reconcile-desired-state", "cpu"),
    Row("reconcile_wall_desired_state", "s", "reconcile-desired-state", "wall"),
    Row("reconcile_requests_desired_state", "", "reconcile-desired-state", "requests"),
    Row("webhook_validate_cpu", "us", "webhook-validate", "cpu", 1e6, wanted=4),
    Row("webhook_validate_p99", "ms", "webhook-validate", "p99", 1e3, wanted=1),
    Row("webhook_mutate_cpu", "us", "webhook-mutate", "cpu", 1e6, wanted=4),
    Row("webhook_mutate_p99", "ms", "webhook-mutate", "p99", 1e3, wanted=1),
    Row("webhook_convert_cpu", "us", "webhook-convert", "cpu", 1e6),
    Row("webhook_convert_p99", "ms", "webhook-convert", "p99", 1e3, wanted=1),
    Row("webhook_convert_cpu_no_keep", "us", "webhook-convert-no-keep", "cpu", 1e6, peers="webhook-convert"),
    Row("webhook_convert_list_cpu", "ms", "webhook-convert-list", "cpu", 1e3, wanted=4),
    Row("webhook_convert_list_p99", "ms", "webhook-convert-list", "p99", 1e3, wanted=1),
    Row("webhook_convert_list_cpu_no_keep", "ms", "webhook-convert-list-no-keep", "cpu", 1e3, peers="webhook-convert-list"),
]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Failure(Exception):
    """What a person can read."""


class Program:
    """A child process that reads commands as lines and answers with lines of JSON. Ends with the `with` block in every case."""

    def __init__(self, argv: list[str], name: str) -> None:
        self.name = name
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def line(self, seconds: float) -> str:
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failure(f"{self.name} said nothing for {seconds:.0f} s") from None
        if line is None:
            raise Failure(f"{self.name} ended with exit code {self.process.wait()}")
        return line

    def phase(self, name: str, seconds: float = 120) -> dict:
        answer = json.loads(self.line(seconds))
        if answer["phase"] != name:
            raise Failure(f"{self.name} answered {answer['phase']} where {name} was due")
        return answer

    def tell(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class ControlPlane(Program):
    """`kubexx control-plane`, with its data in `folder`."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.kubeconfig = folder / "admin.kubeconfig"
        super().__init__([str(program), "control-plane", "--data-dir", str(folder), "--kubeconfig-out", str(self.kubeconfig)], "kubexx control-plane")
        while "is ready" not in self.line(300):
            pass

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Bench:
    args: argparse.Namespace
    programs: dict[str, list[str]]
    load: str
    folder: Path
    kubeconfig: Path
    samples: dict[tuple[str, str], list[dict]] = field(default_factory=dict)
    reconcilers: dict[str, list[str]] = field(default_factory=dict)

    def fill(self) -> None:
        marker = self.folder / "loaded"
        if marker.exists():
            if marker.read_text() != str(self.args.pods):
                raise Failure(f"{self.folder} holds {marker.read_text()} pods: name another folder, or remove it")
            say(f"{self.args.pods} pods and as many custom resources are there from a run before")
            return
        say(f"loading {self.args.pods} pods and as many custom resources of the same payload")
        command = [self.load, "fill", f"--kubeconfig={self.kubeconfig}", f"--crd={HERE / 'workloads.yaml'}", f"--count={self.args.pods}"]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failure("loading failed")
        answer = json.loads(done.stdout)
        say(f"loaded in {answer['wall']:.0f} s")
        marker.write_text(str(self.args.pods))

    def touch(self, kind: str, updates: int, rate: int) -> dict[int, int]:
        """Makes updates; for each version that came of it the time of the acknowledgement."""
        out = self.folder / "written.txt"
        command = [self.load, "touch", f"--kubeconfig={self.kubeconfig}", f"--kind={kind}", f"--count={self.args.pods}", f"--updates={updates}",
                   f"--rate={rate}", f"--out={out}"]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failure("the updates failed")
        return read_times(out)

    def events(self, program: Program, kind: str, updates: int, rate: int) -> tuple[float, list[float], float]:
        """CPU seconds, latencies in order, events a second."""
        program.tell("begin")
        program.phase("begin")
        written = self.touch(kind, updates, rate)
        out = self.folder / "seen.txt"
        program.tell(f"end {updates} {out}")
        answer = program.phase("end")
        seen = read_times(out)
        missed = [version for version in written if version not in seen]
        if missed:
            raise Failure(f"{program.name} missed {len(missed)} of {updates} updates")
        latencies = sorted((seen[version] - time) / 1e9 for version, time in written.items())
        times = [seen[version] for version in written]
        return answer["cpu"], latencies, (updates - 1) / max(1e-9, (max(times) - min(times)) / 1e9)

    def run(self, side: str, variant: Variant) -> dict:
        argv = [*self.programs[side], "--kubeconfig", str(self.kubeconfig), "--kind", variant.kind, "--encoding", variant.encoding]
        if variant.strip:
            argv.append("--strip")
        if variant.quick:
            argv.append("--quick")
        with Program(argv, side) as program:
            synced = program.phase("synced", 600)
            if synced["objects"] != self.args.pods or synced["cached"] != self.args.pods:
                raise Failure(f"{side} has {synced['cached']} objects and told of {synced['objects']}, not of {self.args.pods}")
            time.sleep(self.args.settle)
            program.tell("memory")
            memory = program.phase("memory")
            sample = {"sync_cpu": synced["cpu"], "sync_wall": synced["wall"], "rss": memory["rss"], "peak": memory["peak"]}
            if variant.events and self.args.updates:
                kind = variant.kind.removesuffix("-dynamic")
                steady = self.args.updates // 2
                burst = self.args.updates - steady
                _, latencies, _ = self.events(program, kind, self.args.calm_updates, self.args.calm_rate)
                steady_cpu, steady_latencies, _ = self.events(program, kind, steady, self.args.rate)
                burst_cpu, burst_latencies, per_second = self.events(program, kind, burst, 0)
                sample |= {
                    "event_cpu": (steady_cpu + burst_cpu) / self.args.updates,
                    "event_cpu_steady": steady_cpu / steady,
                    "event_cpu_burst": burst_cpu / burst,
                    "events_per_second": per_second,
                    "latency_p50": percentile(latencies, 50),
                    "latency_p99": percentile(latencies, 99),
                    "latency_steady_p99": percentile(steady_latencies, 99),
                    "latency_burst_p99": percentile(burst_latencies, 99),
                }
        return sample

    def warm(self) -> None:
        """The server reads a kind into memory when it is first requested: that must not count for either side."""
        side = next(iter(self.programs))
        for variant in VARIANTS[0], VARIANTS[2]:
            say(f"warming up the server: {variant.kind}")
            self.run(side, replace(variant, events=False))

    def measure(self) -> None:
        self.warm()
        for number in range(self.args.rounds):
            for variant in VARIANTS:
                if self.args.variants and variant.name not in self.args.variants:
                    continue
                sides = [side for side in SIDES if side in self.programs and (side in OURS or not variant.quick)]
                if not sides:
                    continue
                turn = number % len(sides)
                for side in sides[turn:] + sides[:turn]:
                    sample = self.run(side, variant)
                    self.samples.setdefault((side, variant.name), []).append(sample)
                    events = f", {sample['event_cpu'] * 1e6:.0f} us an event, p99 {sample['latency_p99'] * 1e3:.2f} ms" if "event_cpu" in sample else ""
                    say(f"round {number + 1} {variant.name:18} {side:10} {sample['sync_cpu']:7.2f} s CPU, {sample['sync_wall']:6.2f} s, "
                        f"{sample['rss'] / 1e6:6.0f} MB, peak {sample['peak'] / 1e6:6.0f} MB{events}")

    def reconcile(self) -> None:
        args = self.args
        work = reconcile.Reconcile(args.build, self.kubeconfig, args.objects, args.workers, args.settle, Failure)
        sides = [side for side in SIDES if side in self.reconcilers]
        say("warming up the server: widgets")
        work.run(Program, self.reconcilers[sides[0]], sides[0], "reconcile")
        for number in range(args.rounds):
            turn = number % len(sides)
            for side in sides[turn:] + sides[:turn]:
                for variant in reconcile.VARIANTS if side in OURS else reconcile.VARIANTS[:1]:
                    if args.variants and variant not in args.variants:
                        continue
                    sample = work.run(Program, self.reconcilers[side], side, variant)
                    self.samples.setdefault((side, variant), []).append(sample)
                    say(f"round {number + 1} {variant:18} {side:10} {sample['cpu']:7.2f} s CPU, {sample['wall']:6.2f} s, {sample['rss'] / 1e6:6.1f} MB, "
                        f"peak {sample['peak'] / 1e6:6.1f} MB, {sample['requests']} requests")

    def webhooks(self, programs: dict[str, list[str]]) -> None:
        args = self.args
        work = webhook.Webhook(programs, peers_folder(), args.reviews, args.convert_objects, args.convert_lists, args.rounds, Failure)
        say(f"webhooks: {args.reviews} reviews of each sort, {args.convert_lists} lists of {args.convert_objects} objects")
        for (side, variant), runs in work.run(self.folder).items():
            if args.variants and variant not in args.variants:
                continue
            self.samples[side, variant] = runs
            for number_, sample in enumerate(runs, 1):
                say(f"round {number_} {variant:28} {side:10} {sample['cpu'] * 1e6:10.0f} us CPU a call, p99 {sample['p99'] * 1e3:.2f} ms")

    def values(self, side: str, row: Row) -> list[float]:
        variant = row.peers if row.peers and side not in OURS else row.variant
        return [s[row.figure] * row.scale for s in self.samples.get((side, variant), []) if row.figure in s]

    def median(self, side: str, row: Row) -> float | None:
        values = self.values(side, row)
        return statistics.median(values) if values else None


def read_times(path: Path) -> dict[int, int]:
    """Lines of a version and a time; if a version comes twice, its first time counts."""
    times: dict[int, int] = {}
    for line in path.read_text().splitlines():
        version, when = line.split()
        times.setdefault(int(version), int(when))
    return times


def percentile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(row: Row, ours: float | None, theirs: float | None) -> str:
    """How many times better we are."""
    if ours is None or theirs is None or ours <= 0 or theirs <= 0:
        return "-"
    return f"{ours / theirs if row.more_is_better else theirs / ours:.2f}"


def table(rows: list[tuple[Row, dict]]) -> str:
    lines = ["| | unit | kubexx | client-go | kube-rs | client-go / kubexx | wanted | kube-rs / kubexx |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    for row, medians in rows:
        ours, go, rust = medians["kubexx"], medians["client_go"], medians["kube_rs"]
        name = row.name + (" (more is better: kubexx / peer)" if row.more_is_better else "")
        lines.append(f"| {name} | {row.unit} | {number(ours)} | {number(go)} | {number(rust)} | {ratio(row, ours, go)} | "
                     f"{f'{row.wanted:g}' if row.wanted else ''} | {ratio(row, ours, rust)} |")
    return "\n".join(lines) + "\n"


def comparison(bench: Bench) -> str:
    """This build beside the earlier one of --baseline. "worse" means: by more than 5 %, and outside the range of the earlier build's rounds."""
    lines = ["| | unit | baseline (range) | this build (range) | change | |", "|---|---|--:|--:|--:|---|"]
    for row in ROWS:
        before, after = bench.values("baseline", row), bench.values("kubexx", row)
        if not before or not after:
            continue
        old, new = statistics.median(before), statistics.median(after)
        change = (new - old) / old * 100 if old else 0.0
        if row.more_is_better:
            worse = change < -5 and new < min(before)
        else:
            worse = change > 5 and new > max(before)
        cells = [f"{number(middle)} ({number(min(all_))}..{number(max(all_))})" for middle, all_ in ((old, before), (new, after))]
        lines.append(f"| {row.name} | {row.unit} | {cells[0]} | {cells[1]} | {change:+.1f} % | {'worse' if worse else ''} |")
    return "\n".join(lines) + "\n"


def machine() -> str:
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


def publish(bench: Bench, path: Path) -> None:
    """Into the file that the figures of README.md come from."""
    measured = {row.name: {side: value for side in SIDES if (value := bench.median(side, row)) is not None} for row in ROWS}
    data = figures.read(path)
    for line in figures.update(data, measured, machine()):
        say(f"{path}: {line}")
    figures.write(data, path)


def write(bench: Bench, out: Path, reasons: dict[str, str]) -> str:
    rows = []
    for row in ROWS:
        medians = {side.replace("-", "_"): bench.median(side, row) for side in SIDES}
        if any(value is not None for value in medians.values()):
            rows.append((row, {"name": row.name, "unit": row.unit, **medians}))
    rounds = [len(runs) for runs in bench.samples.values()]
    complete = min(rounds) == max(rounds) == bench.args.rounds
    result = {
        "pods": bench.args.pods, "updates": bench.args.updates, "objects": bench.args.objects, "rounds": max(rounds), "complete": complete, "machine": machine(),
        "missing": reasons,
        "rows": [medians for _, medians in rows],
        "samples": [{"side": side, "variant": variant, "runs": runs} for (side, variant), runs in bench.samples.items()],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(result, indent=1) + "\n")
    counts = {"informer": f"{bench.args.pods} pods, {bench.args.updates} updates", "reconcile": f"{bench.args.objects} objects",
              "webhook": f"{bench.args.reviews} reviews"}
    text = next(counts[work] for work in counts if work in bench.args.work)
    text += f", medians of {max(rounds)} rounds, {machine()}.\n"
    if not complete:
        text += f"The run was ended early: {bench.args.rounds} rounds were asked for, and some lines have fewer than others.\n"
    text += "\n" + table(rows)
    if bench.args.baseline:
        text += "\n" + comparison(bench)
    if "informer" in bench.args.work:
        text += "\nkube-rs has no protobuf: its figures in the lines of protobuf are of the same pods in JSON.\n"
    if "reconcile" in bench.args.work:
        text += f"\nreconcile: {bench.args.objects} objects, {bench.args.workers} workers; beside kubexx stand controller-runtime (column client-go) and kube-rs.\n"
    if "webhook" in bench.args.work:
        text += (f"\nwebhook: {bench.args.reviews} reviews of a 10 KB pod, as many conversions of one object, {bench.args.convert_lists} lists of "
                 f"{bench.args.convert_objects}; figures are of one call, and stand beside controller-runtime (column client-go).\n")
    for side, reason in reasons.items():
        text += f"{side} is missing: {reason}\n"
    (out / "peers.md").write_text(text)
    return text


def peers_folder() -> Path:
    return Path(os.environ.get("KUBEXX_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubexx") / "peers"


def our_builds(args: argparse.Namespace) -> dict[str, Path]:
    return {"kubexx": args.build} | ({"baseline": args.baseline} if args.baseline else {})


def informer_programs(args: argparse.Namespace) -> dict[str, list[str]]:
    return {
        **{side: [str(build / "bench/peers/peers_informer")] for side, build in our_builds(args).items()},
        "client-go": [str(peers_folder() / "client-go"), "informer"],
        "kube-rs": [str(peers_folder() / "kube-rs")],
    }


def find_programs(args: argparse.Namespace, all_programs: dict[str, list[str]]) -> tuple[dict[str, list[str]], dict[str, str]]:
    programs, reasons = {}, {}
    for side, argv in all_programs.items():
        if args.only and side not in args.only:
            reasons[side] = "not asked for"
        elif not os.access(argv[0], os.X_OK):
            reasons[side] = f"there is no program {argv[0]}" if side in OURS else "it was not built; scripts/build-peers says why"
        else:
            programs[side] = argv
    return programs, reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the folder of a release build (default build/release)")
    parser.add_argument("--baseline", type=Path, help="the release build of an earlier commit, measured beside --build and compared with it")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where peers.json and peers.md go (default build/bench)")
    parser.add_argument("--figures", type=Path, help="put the medians into the tables of this file that have these rows: bench/peers/figures.json")
    parser.add_argument("--pods", type=int, default=20000, help="how many objects of each kind (default 20000)")
    parser.add_argument("--updates", type=int, default=5000, help="how many updates; half at --rate, half at once (default 5000)")
    parser.add_argument("--rate", type=int, default=200, help="updates a second of the first half (default 200)")
    parser.add_argument("--calm-updates", type=int, default=600, help="updates before those, for the latency (default 600)")
    parser.add_argument("--calm-rate", type=int, default=50, help="how many of them a second: so few that the server is not busy (default 50)")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is run; medians count (default 3)")
    parser.add_argument("--settle", type=float, default=2, help="seconds between the sync and reading RSS (default 2)")
    parser.add_argument("--keep", type=Path, help="a folder for the cluster's data that stays: the next run does not load it anew")
    parser.add_argument("--objects", type=int, default=1000, help="how many objects of the reconcile round (default 1000)")
    parser.add_argument("--workers", type=int, default=4, help="workers of the controllers (default 4)")
    parser.add_argument("--reviews", type=int, default=10000, help="how many reviews of each sort in the webhook round (default 10000)")
    parser.add_argument("--convert-objects", type=int, default=5000, help="how many objects in a list that is converted (default 5000)")
    parser.add_argument("--convert-lists", type=int, default=5, help="how many such lists (default 5)")
    parser.add_argument("--work", action="append", choices=WORK, help="only this; may come several times (default: all)")
    parser.add_argument("--only", action="append", choices=SIDES, help="run this side only; may come several times")
    parser.add_argument("--variants", action="append", choices=[v.name for v in VARIANTS] + reconcile.VARIANTS + webhook.VARIANTS, help="run this variant only; may come several times")
    args = parser.parse_args()
    args.work = args.work or WORK
    if min(args.pods, args.rounds, args.reviews, args.convert_objects, args.convert_lists, args.rate, args.calm_updates, args.calm_rate) < 1 or args.updates < 0 or args.updates == 1:
        parser.error("--pods, --rounds, --reviews, --convert-objects, --convert-lists, --rate, --calm-updates and --calm-rate are at least 1, --updates is 0 or at least 2")

    programs, reasons = find_programs(args, informer_programs(args)) if "informer" in args.work else ({}, {})
    reconcilers, missing = find_programs(args, reconcile.find_programs(our_builds(args), peers_folder())) if "reconcile" in args.work else ({}, {})
    reasons |= missing
    hooks, missing = find_programs(args, webhook.find_programs(our_builds(args), peers_folder())) if "webhook" in args.work else ({}, {})
    reasons |= missing
    for side, reason in reasons.items():
        say(f"{side}: {reason}; its column stays empty")
    folder = args.keep.absolute() if args.keep else Path(tempfile.mkdtemp(prefix="kubexx-peers-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        bench = Bench(args, programs, str(args.build / "bench/peers/peers_load"), folder, folder, reconcilers=reconcilers)
        try:
            if hooks:
                bench.webhooks(hooks)
            if reconcilers or programs:
                say(f"starting a control plane in {folder}")
                with ControlPlane(args.build / "apps/kubexx/kubexx", folder) as plane:
                    bench.kubeconfig = plane.kubeconfig
                    if reconcilers:
                        bench.reconcile()
                    if programs:
                        bench.fill()
                        bench.measure()
        finally:
            if bench.samples:
                print(write(bench, args.out, reasons), flush=True)
                if args.figures:
                    publish(bench, args.figures)
    except (Failure, OSError) as failure:
        say(f"bench-peers: {failure}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    # A plain `kill` also ends the children.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
