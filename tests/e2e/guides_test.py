#!/usr/bin/env python3
"""The programs of docs/guide/client-go.md, controller-runtime.md and kube-rs.md, against `kubexx apiserver`.

    guides_test.py KUBEXX DOCS_FOLDER
"""

import os
import re
import sys
import tempfile

from background import Background, wait_for
from tutorial_test import DEPLOYMENTS, SERVICES, Tutorial, deployment

MAPS = "/api/v1/namespaces/default/configmaps"


class Guides(Tutorial):
    def start(self, step, *flags):
        return Background([os.path.join(self.docs, "guide_" + step), "--kubeconfig", self.kubeconfig, *flags], os.path.join(self.work, step + ".log"))


def client_go(g):
    with g.start("client_go") as program:
        g.sees(program, "default/web: 0 ready")
        g.ask("PATCH", DEPLOYMENTS + "/web/status", {"status": {"replicas": 2, "readyReplicas": 2}}, "application/merge-patch+json")
        g.sees(program, "default/web: 2 ready")
        g.ask("POST", DEPLOYMENTS, deployment("other", 80))
        g.sees(program, "default/other: 0 ready")
        g.ask("DELETE", DEPLOYMENTS + "/other")
        g.ends(program)


def controller_runtime(g):
    with g.start("controller_runtime", "--health-probe-bind-address=0") as program:
        service = wait_for(lambda: g.ask("GET", SERVICES + "/web"))
        g.check("the Service", service and service["spec"]["ports"][0]["targetPort"] == 8080 and service["metadata"]["ownerReferences"][0]["name"] == "web", program.text())
        g.patch(SERVICES + "/web", {"spec": {"selector": {"app": "wrong"}}})
        g.check("its selector is repaired", wait_for(lambda: g.ask("GET", SERVICES + "/web")["spec"]["selector"] == {"app": "web"}), program.text())
        g.check("all writes are declared", "was not declared" not in program.text(), program.text())
        g.ends(program)


def kube_rs(g):
    with g.start("kube_rs", "--health-probe-bind-address=0") as program:
        g.check("the ConfigMap", wait_for(lambda: g.ask("GET", MAPS + "/welcome")), program.text())
        g.ask("DELETE", MAPS + "/welcome")
        g.check("is created again", wait_for(lambda: g.ask("GET", MAPS + "/welcome")), program.text())
        g.patch(MAPS + "/welcome", {"data": {"text": "Goodbye"}})
        g.check("and restored", wait_for(lambda: g.ask("GET", MAPS + "/welcome")["data"] == {"text": "Hello"}), program.text())
        g.check("all writes are declared", "was not declared" not in program.text(), program.text())
        g.ends(program)


def main():
    kubexx, docs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "kubeconfig")
        with Background([kubexx, "apiserver", "--http", "--kubeconfig-out", kubeconfig], os.path.join(work, "server.log")) as server:
            if not server.wait_text("is ready at"):
                print("kubexx apiserver did not start:", server.text())
                return 1
            guides = Guides(re.search(r"http://[\d.:]+", server.text())[0], kubeconfig, docs, work)
            guides.ask("POST", DEPLOYMENTS, deployment("web", 8080))
            client_go(guides)
            controller_runtime(guides)
            kube_rs(guides)
    print(f"{guides.failures} failures")
    return 1 if guides.failures else 0


if __name__ == "__main__":
    sys.exit(main())
