#!/usr/bin/env python3
"""Migrates the storage of a custom resource as a person would: Ctrl-C in the middle, the same command again, then the old version is removed.

    migrate_test.py KUBEXX embedded|real

Exit code 77 if there is no kubectl or no control plane (`make control-plane`).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
NEWEST = os.path.expanduser("~/.cache/kubexx/control-plane/newest")
OBJECTS = 300
NAME = "widgets.migrate.example.com"


def skip(reason: str):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def crd(*versions) -> str:
    """Versions in the order given; the last one is stored."""
    return json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME},
        "spec": {
            "group": "migrate.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": v, "served": True, "storage": v == versions[-1],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}}
            } for v in versions]
        }
    })


class Cluster:
    def __init__(self, kubexx: str, kubectl: str, config: str, work: str):
        self.kubexx, self.kubectl, self.config, self.work = kubexx, kubectl, config, work
        self.failures = []

    def expect(self, what: str, right: bool, seen=""):
        if not right:
            self.failures.append(what)
            print(f"FAILED: {what}: {seen}")

    def file(self, name: str, text: str) -> str:
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *command, check=True):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "KUBECONFIG": self.config, "HOME": self.work})
        if check and done.returncode != 0:
            self.expect(" ".join(command[:4]), False, done.stdout + done.stderr)
        return done

    def stored(self) -> list:
        return json.loads(self.run(self.kubectl, "get", "crd", NAME, "-o", "json").stdout)["status"]["storedVersions"]

    def migrate(self, *flags) -> list:
        return [self.kubexx, "migrate", "storage", "--kubeconfig", self.config, *flags, NAME]

    def check(self):
        state = os.path.join(self.work, "state.json")
        old, new = self.file("old.json", crd("v1")), self.file("new.json", crd("v1", "v2"))
        self.run(self.kubectl, "apply", "--server-side", "-f", old)
        self.run(self.kubectl, "wait", "--for=condition=Established", "crd/" + NAME, "--timeout=120s")
        items = [{"apiVersion": "migrate.example.com/v1", "kind": "Widget", "metadata": {"name": f"w{i:04}", "namespace": "default"}, "spec": {"a": "x"}}
                 for i in range(OBJECTS)]
        self.run(self.kubectl, "create", "-f", self.file("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items})))

        compared = self.run(self.kubexx, "crd", "compat", old, new, check=False)
        self.expect("a new version breaks nothing", compared.returncode == 0, compared.stdout)
        removed = self.run(self.kubexx, "crd", "compat", "--kubeconfig", self.config, "cluster:" + NAME, self.file("only.json", crd("v2")), check=False)
        self.expect("removing the stored version breaks objects", removed.returncode == 1 and "v1" in removed.stdout, removed.stdout + removed.stderr)

        self.run(self.kubectl, "apply", "--server-side", "-f", new)
        self.expect("both versions may be stored", self.stored() == ["v1", "v2"], self.stored())
        with subprocess.Popen(self.migrate("--qps", "25", "--continue", state), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
            line = first.stderr.readline()
            self.expect("says how far it is", line == f"100 objects, {OBJECTS - 100} to go, last default/w0099\n", line)
            first.send_signal(signal.SIGINT)
            out, err = first.communicate(timeout=120)
        self.expect("stops", first.returncode == 1 and out == "", (first.returncode, out))
        self.expect("says how to go on", err.endswith(f"kubexx migrate storage: stopped; the same command continues from {state}\n"), err)
        self.expect("nothing is trimmed yet", self.stored() == ["v1", "v2"], self.stored())
        with open(state, encoding="utf-8") as file:
            done = json.load(file)["objects"]
        self.expect("the file has what was done", 100 <= done < OBJECTS, done)
        # Finished work is not lost if the next run is stopped at once, or reaches no server.
        unreachable = self.run(*self.migrate("--continue", state, "--server", "https://127.0.0.1:1"), check=False)
        self.expect("no server", unreachable.returncode == 1, unreachable.stderr)
        second = self.run(*self.migrate("--qps", "0", "--continue", state))
        self.expect("goes on", re.search(rf": {OBJECTS - done} rewritten in v2, 0 changed by others, 0 deleted, {done} done before, 0 failed\n", second.stdout),
                    (done, second.stdout, second.stderr))
        self.expect("trims", second.stdout.endswith("status.storedVersions is [v2]\n") and self.stored() == ["v2"], second.stdout)
        self.expect("removes the file", not os.path.exists(state))
        again = self.run(*self.migrate())
        self.expect("has nothing to do a second time", " 0 rewritten" in again.stdout, again.stdout)
        removed = self.run(self.kubexx, "crd", "compat", "--kubeconfig", self.config, "cluster:" + NAME, os.path.join(self.work, "only.json"), check=False)
        self.expect("now only clients of v1 would notice", removed.returncode == 1 and "breaks stored" not in removed.stdout, removed.stdout)
        self.run(self.kubectl, "apply", "--server-side", "-f", os.path.join(self.work, "only.json"))
        left = json.loads(self.run(self.kubectl, "get", "widgets.migrate.example.com", "-o", "json").stdout)["items"]
        self.expect("all objects are there", len(left) == OBJECTS and all(i["spec"] == {"a": "x"} for i in left), len(left))


def main() -> int:
    kubexx, server = os.path.abspath(sys.argv[1]), sys.argv[2]
    kubectl = shutil.which("kubectl", path=NEWEST) or shutil.which("kubectl")
    if kubectl is None:
        skip("no kubectl")
    with tempfile.TemporaryDirectory() as work:
        config = os.path.join(work, "admin.kubeconfig")
        command, ready = ("apiserver", "is ready at") if server == "embedded" else ("control-plane", "Ctrl-C")
        with subprocess.Popen([kubexx, command, "--kubeconfig-out", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                # The line when it is ready; none if it could not start.
                if not any(ready in line for line in process.stdout):
                    reason = process.stderr.read().strip()
                    if server == "real":
                        skip(reason)
                    print(reason)
                    return 1
                cluster = Cluster(kubexx, kubectl, config, work)
                cluster.check()
            finally:
                process.terminate()
    print(f"{server}: {len(cluster.failures)} failures")
    return 1 if cluster.failures else 0


if __name__ == "__main__":
    sys.exit(main())
