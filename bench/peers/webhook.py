"""The webhook round of run.py: the same reviews and the same handlers, answered by kubexx and by controller-runtime. bench_webhook asks, checks and measures."""

import json
import os
import subprocess
import sys
from pathlib import Path

# Those of bench_webhook, and the conversions once more without the annotation that keeps what a version lacks: kubexx alone has it.
VARIANTS = ["webhook-validate", "webhook-mutate", "webhook-convert", "webhook-convert-list", "webhook-convert-no-keep", "webhook-convert-list-no-keep"]


def find_programs(builds: dict[str, Path], cache: Path) -> dict[str, list[str]]:
    return {
        **{side: [str(build / "bench/webhook/bench_webhook")] for side, build in builds.items()},
        "client-go": [str(cache / "webhook-go")],
    }


class Webhook:
    """Runs bench_webhook, which starts the sides in turns and does all rounds."""

    def __init__(self, programs: dict[str, list[str]], cache: Path, reviews: int, objects: int, lists: int, rounds: int, failure: type[Exception]) -> None:
        self.programs, self.failure = programs, failure
        self.environment = os.environ | {"KUBEXX_CACHE": str(cache.parent)}  # where bench_webhook finds the peer
        self.counts = [f"--reviews={reviews}", f"--objects={objects}", f"--lists={lists}", f"--rounds={rounds}"]

    def run(self, folder: Path) -> dict[tuple[str, str], list[dict]]:
        """Samples by side and variant."""
        samples: dict[tuple[str, str], list[dict]] = {}
        if "kubexx" not in self.programs:
            raise self.failure("the webhook round needs kubexx: its program asks controller-runtime's, too")
        for side in self.programs:
            if side == "client-go":
                continue  # beside kubexx
            out = folder / f"webhook-{side}.json"
            only = [] if side == "kubexx" and "client-go" in self.programs else ["--only=kubexx"]
            done = subprocess.run([*self.programs[side], *self.counts, *only, f"--json={out}"], check=False, stdout=subprocess.DEVNULL, env=self.environment)
            if done.returncode != 0 and side == "baseline":
                print("the baseline's bench_webhook does not do this: its column stays empty", file=sys.stderr, flush=True)
                continue
            if done.returncode != 0:
                raise self.failure("bench_webhook failed")
            for run in json.loads(out.read_text()):
                variant = "webhook-" + run["work"]
                if run["side"] == "kubexx, KeepLost(false)":
                    variant += "-no-keep"
                    if variant not in VARIANTS:
                        continue  # a review of admission, once more
                column = "client-go" if run["side"] == "controller-runtime" else side
                samples.setdefault((column, variant), []).append({figure: run[figure] for figure in ("cpu", "p50", "p99")})
        return samples
