#!/usr/bin/env python3
"""Applies the CRDs and samples that `kubexx generate` makes of TESTDATA to a real kube-apiserver: it takes each CRD, all become Established, and it
takes each sample, as `kubexx crd validate` does.

    real_server_test.py KUBEXX TESTDATA

Exit code 77 if there is no control plane (`make control-plane`) or no kubectl.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NEWEST = os.path.expanduser("~/.cache/kubexx/control-plane/newest")


def skip(reason: str):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def check_samples(kubectl: str, folder: str) -> list:
    """What is wrong with the samples in the folder. A sample of which the server does not know a field is wrong, too."""
    created = subprocess.run([kubectl, "create", "--validate=strict", "-f", folder, "-o", "name"], capture_output=True, text=True, check=False)
    wrong = [created.stderr] if created.returncode != 0 else []
    made, samples = len(created.stdout.split()), len(os.listdir(folder))
    return wrong + ([f"{made} objects created of {samples} samples"] if made != samples else [])


def check(kubectl: str, folder: str, names: list) -> list:
    """What is wrong with the CRDs in the folder."""
    applied = subprocess.run([kubectl, "apply", "--server-side", "-f", folder], capture_output=True, text=True, check=False)
    if applied.returncode != 0:
        return [applied.stderr]
    waited = subprocess.run([kubectl, "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s"], capture_output=True, text=True, check=False)
    if waited.returncode != 0:
        return [waited.stderr]
    crds = json.loads(subprocess.run([kubectl, "get", "crd", "-o", "json"], capture_output=True, text=True, check=True).stdout)["items"]
    wrong = [f"{len(crds)} CRDs instead of {len(names)}"] if len(crds) != len(names) else []
    for crd in crds:
        for condition in crd["status"]["conditions"]:
            if condition["type"] == "NonStructuralSchema" and condition["status"] == "True":
                wrong.append(f"{crd['metadata']['name']}: {condition['message']}")
    return wrong


def main() -> int:
    kubexx, testdata = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    kubectl = shutil.which("kubectl", path=NEWEST) or shutil.which("kubectl")
    if kubectl is None:
        skip("no kubectl")
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([kubexx, "generate", "--headers", testdata, "--manifests", work, "--samples", os.path.join(work, "samples")], check=True,
                       stdout=subprocess.DEVNULL)
        folder, samples = os.path.join(work, "crd"), os.path.join(work, "samples")
        offline = subprocess.run([kubexx, "crd", "validate", "--strict", folder] + [os.path.join(samples, name) for name in os.listdir(samples)],
                                 capture_output=True, text=True, check=False)
        if offline.returncode != 0:
            print(offline.stdout)
            return 1
        config = os.path.join(work, "admin.kubeconfig")
        with subprocess.Popen([kubexx, "control-plane", "--kubeconfig-out", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as plane:
            try:
                # Its last line when it is ready; none if it could not start.
                if not any("Ctrl-C" in line for line in plane.stdout):
                    skip(plane.stderr.read().strip())
                os.environ["KUBECONFIG"] = config
                wrong = check(kubectl, folder, os.listdir(folder)) or check_samples(kubectl, samples)
            finally:
                plane.terminate()
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{len(os.listdir(folder))} CRDs applied, {len(os.listdir(samples))} samples created, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
