#!/usr/bin/env python3
"""The programs of docs/tutorial.md, step by step, against `kubexx apiserver`.

    tutorial_test.py KUBEXX DOCS_FOLDER
"""

import json
import os
import re
import signal
import sys
import tempfile
import urllib.error
import urllib.request

from background import PATIENCE, Background, wait_for

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"


def deployment(name, port):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": 2, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
                     "spec": {"containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": port}]}]}}}}


class Tutorial:
    def __init__(self, url, kubeconfig, docs, work):
        self.url, self.kubeconfig, self.docs, self.work = url, kubeconfig, docs, work
        self.failures = 0

    def ask(self, method, path, body=None, content="application/json"):
        """The answer, or None if there is no such thing."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": content})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def patch(self, path, body):
        return self.ask("PATCH", path, body, "application/merge-patch+json")

    def start(self, step, *flags):
        command = [os.path.join(self.docs, "tutorial_" + step), "--kubeconfig", self.kubeconfig, *flags]
        return Background(command, os.path.join(self.work, step + ".log"))

    def check(self, what, good, said=""):
        print("ok    " if good else "FAILED", what, flush=True)
        if not good:
            self.failures += 1
            print(said, flush=True)

    def sees(self, program, pattern):
        self.check(pattern, program.wait_text(pattern) is not None, program.text())

    def ends(self, program):
        code = program.end()
        self.check("ends with SIGTERM", code == 0, f"exit code {code}\n" + program.text())


def steps(t):
    t.ask("POST", DEPLOYMENTS, deployment("web", 8080))
    with t.start("list") as program:
        t.sees(program, "default/web: 2 replicas")
        t.check("list ends", program.process.wait(PATIENCE) == 0, program.text())
    with t.start("watch") as program:
        t.sees(program, r"(?s)added default/web.*synced: 1")
        t.ask("POST", DEPLOYMENTS, deployment("other", 80))
        t.patch(DEPLOYMENTS + "/other", {"spec": {"replicas": 3}})
        t.ask("DELETE", DEPLOYMENTS + "/other")
        t.sees(program, r"(?s)added default/other.*changed default/other.*deleted default/other")
        t.ends(program)
    with t.start("queue") as program:
        t.sees(program, "default/web wants 2 replicas")
        t.patch(DEPLOYMENTS + "/web", {"spec": {"replicas": 5}})
        t.sees(program, "default/web wants 5 replicas")
        t.ask("POST", DEPLOYMENTS, deployment("other", 80))
        t.sees(program, "default/other wants 2 replicas")
        t.ask("DELETE", DEPLOYMENTS + "/other")
        t.sees(program, "default/other was deleted")
        t.ends(program)
    flags = ["--health-probe-bind-address=0"]
    with t.start("service", *flags) as program:
        t.sees(program, r"default/web: 1 created(.|\n)*default/web: 1 unchanged")
        t.check("the Service", t.ask("GET", SERVICES + "/web")["spec"]["ports"][0]["port"] == 8080)
        t.ask("DELETE", SERVICES + "/web")
        t.check("it comes back", wait_for(lambda: t.ask("GET", SERVICES + "/web")), program.text())
        t.ends(program)
    with t.start("expose", *flags) as program:
        ingress = wait_for(lambda: t.ask("GET", INGRESSES + "/web"))
        t.check("the Ingress", ingress and ingress["spec"]["rules"][0]["host"] == "web.default.example.com", program.text())
        events = "/api/v1/namespaces/default/events"
        t.check("the event", wait_for(lambda: [e for e in t.ask("GET", events)["items"] if e["reason"] == "Exposed"]), program.text())
        t.patch(DEPLOYMENTS + "/web", {"metadata": {"annotations": {"example.com/expose": "false"}}})
        t.check("opted out", wait_for(lambda: t.ask("GET", INGRESSES + "/web") is None and t.ask("GET", SERVICES + "/web") is None), program.text())
        t.ends(program)


def restart(t, server, command):
    """Kills the server under an informer, and starts it again."""
    t.ask("POST", DEPLOYMENTS, deployment("before", 80))
    with t.start("watch") as program:
        t.sees(program, r"(?s)added default/before.*synced")
        server.end(signal.SIGKILL)
        with Background(command, os.path.join(t.work, "again.log")) as again:
            t.check("the server is ready again", again.wait_text("is ready at"), again.text())
            t.sees(program, r"deleted default/before")
            t.ask("POST", DEPLOYMENTS, deployment("after", 80))
            t.sees(program, r"added default/after")
            t.ends(program)


def main():
    kubexx, docs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "kubeconfig")
        command = [kubexx, "apiserver", "--http", "--data-dir", os.path.join(work, "data")]
        with Background([*command, "--kubeconfig-out", kubeconfig], os.path.join(work, "server.log")) as server:
            if not server.wait_text("is ready at"):
                print("kubexx apiserver did not start:", server.text())
                return 1
            url = re.search(r"http://[\d.:]+", server.text())[0]
            tutorial = Tutorial(url, kubeconfig, docs, work)
            steps(tutorial)
            restart(tutorial, server, command)
    print(f"{tutorial.failures} failures")
    return 1 if tutorial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
