#!/usr/bin/env python3
"""Applies the CRDs that `kubexx generate` makes of TESTDATA to a real kube-apiserver: it takes each of them, and all become Established.

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
        subprocess.run([kubexx, "generate", "--headers", testdata, "--manifests", work], check=True, stdout=subprocess.DEVNULL)
        folder = os.path.join(work, "crd")
        config = os.path.join(work, "admin.kubeconfig")
        with subprocess.Popen([kubexx, "control-plane", "--kubeconfig-out", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as plane:
            try:
                # Its last line when it is ready; none if it could not start.
                if not any("Ctrl-C" in line for line in plane.stdout):
                    skip(plane.stderr.read().strip())
                os.environ["KUBECONFIG"] = config
                wrong = check(kubectl, folder, os.listdir(folder))
            finally:
                plane.terminate()
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{len(os.listdir(folder))} CRDs applied, {len(wrong)} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
