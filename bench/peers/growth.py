#!/usr/bin/env python3
"""How an informer's cost grows with the number of its objects: kubexx alone, on its embedded server.

`make bench-growth` builds what this needs and runs it. Each count has a server of its own; the informer is a process of its own, and it is given
updates before its memory is read once more."""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import HERE, Failure, Program, say


class EmbeddedServer(Program):
    """`kubexx apiserver`, without garbage collection: the pods' owners do not exist."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        super().__init__([str(program), "apiserver", "--kubeconfig-out", str(kubeconfig), "--no-lifecycle"], "kubexx apiserver")
        while "is ready" not in self.line(60):
            pass

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        super().__exit__()


def load(args: argparse.Namespace, command: str, **flags: object) -> dict:
    argv = [str(args.build / "bench/peers/peers_load"), command, *(f"--{name}={value}" for name, value in flags.items())]
    done = subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"peers_load {command} failed")
    return json.loads(done.stdout)


def measure(args: argparse.Namespace, count: int, folder: Path) -> dict:
    kubeconfig = folder / f"{count}.kubeconfig"
    with EmbeddedServer(args.build / "apps/kubexx/kubexx", kubeconfig):
        say(f"loading {count} pods")
        load(args, "fill", kubeconfig=kubeconfig, crd=HERE / "workloads.yaml", count=count, workloads=0)
        argv = [str(args.build / "bench/peers/peers_informer"), "--kubeconfig", str(kubeconfig), "--kind", "pods", "--encoding", "protobuf"]
        with Program(argv, "peers_informer") as informer:
            synced = informer.phase("synced", 600)
            if synced["cached"] != count:
                raise Failure(f"the informer has {synced['cached']} objects, not {count}")
            time.sleep(args.settle)
            informer.tell("memory")
            memory = informer.phase("memory")
            informer.tell("begin")
            informer.phase("begin")
            load(args, "touch", kubeconfig=kubeconfig, kind="pods", count=count, updates=args.updates, rate=0, out=folder / "written.txt")
            informer.tell(f"end {args.updates} {folder / 'seen.txt'}")
            events = informer.phase("end")
            time.sleep(args.settle)
            informer.tell("memory")
            later = informer.phase("memory")
    return {"pods": count, "sync_cpu": synced["cpu"], "rss": memory["rss"], "peak": memory["peak"], "rss_after_updates": later["rss"],
            "event_cpu": events["cpu"] / args.updates}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the folder of a release build (default build/release)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where growth.json and growth.md go (default build/bench)")
    parser.add_argument("--counts", default="5000,20000,80000,150000", help="how many pods (default 5000,20000,80000,150000)")
    parser.add_argument("--updates", type=int, default=5000, help="updates before the last reading of memory (default 5000)")
    parser.add_argument("--settle", type=float, default=2, help="seconds before memory is read (default 2)")
    args = parser.parse_args()
    rows = []
    try:
        with tempfile.TemporaryDirectory(prefix="kubexx-growth-") as folder:
            for count in (int(text) for text in args.counts.split(",")):
                rows.append(measure(args, count, Path(folder)))
                say(f"  {rows[-1]}")
    except (Failure, OSError) as failure:
        say(f"bench-growth: {failure}")
        return 1
    except KeyboardInterrupt:
        return 130
    lines = ["| pods | sync CPU s | us a pod | RSS MB | peak MB | bytes a pod (RSS) | RSS after updates MB | CPU us an event |", "|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for r in rows:
        lines.append(f"| {r['pods']} | {r['sync_cpu']:.2f} | {r['sync_cpu'] * 1e6 / r['pods']:.1f} | {r['rss'] / 1e6:.0f} | {r['peak'] / 1e6:.0f} | "
                     f"{r['rss'] / r['pods']:.0f} | {r['rss_after_updates'] / 1e6:.0f} | {r['event_cpu'] * 1e6:.0f} |")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "growth.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    (args.out / "growth.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
