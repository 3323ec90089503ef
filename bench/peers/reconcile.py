"""The reconcile round of run.py: N Widgets, a child ConfigMap created and a status written for each, by a controller of each library."""

import json
import os
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIANTS = ["reconcile", "reconcile-desired-state"]


def find_programs(builds: dict[str, Path], cache: Path) -> dict[str, list[str]]:
    """The column of client-go has controller-runtime, which stands on it."""
    return {
        **{side: [str(build / "bench/peers/peers_reconcile")] for side, build in builds.items()},
        "client-go": [str(cache / "controller-runtime")],
        "kube-rs": [str(cache / "kube-rs"), "reconcile"],
    }


class Reconcile:
    """Resets the cluster, runs one side, and looks whether it did all of it."""

    def __init__(self, build: Path, kubeconfig: Path, objects: int, workers: int, settle: float, failure: type[Exception]) -> None:
        self.widgets = str(build / "bench/peers/peers_widgets")
        if not os.access(self.widgets, os.X_OK):
            raise failure(f"there is no program {self.widgets}")
        self.kubeconfig, self.objects, self.workers, self.settle, self.failure = kubeconfig, objects, workers, settle, failure

    def tell(self, command: str, *more: str) -> str:
        done = subprocess.run([self.widgets, command, f"--kubeconfig={self.kubeconfig}", *more], check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise self.failure(f"peers_widgets {command} failed")
        return done.stdout

    def requests(self) -> dict[str, int]:
        return json.loads(self.tell("requests"))["of"]

    def run(self, start, argv: list[str], side: str, variant: str) -> dict:
        """`start` makes a Program of run.py."""
        self.tell("reset", f"--crd={HERE / 'widgets.yaml'}", f"--count={self.objects}")
        before = self.requests()
        command = [*argv, "--kubeconfig", str(self.kubeconfig), "--count", str(self.objects), "--workers", str(self.workers)]
        if variant == "reconcile-desired-state":
            command.append("--desired-state")
        with start(command, side) as program:
            reconciled = program.phase("reconciled", 300)
            # Events of its own writes are still on their way; they cost it time, too.
            time.sleep(self.settle)
            program.tell("memory")
            memory = program.phase("memory")
            after = self.requests()
        self.tell("check", f"--count={self.objects}")
        by_verb = {what: n - before.get(what, 0) for what, n in after.items() if n != before.get(what, 0)}
        return {"wall": reconciled["wall"], "cpu": memory["cpu"], "rss": memory["rss"], "peak": memory["peak"],
                "requests": sum(by_verb.values()), "requests_by_verb": by_verb}
