"""Manifests against a real API server: server-side dry run, pod security, and the program at work with the roles that they give it."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "..", "scripts")]

from background import Background, wait_for  # pylint: disable=wrong-import-position
from cluster import Cluster, ClusterError  # pylint: disable=wrong-import-position
from rendered import run  # pylint: disable=wrong-import-position

NOT_YET = ("unable to handle the request", "timed out", "timeout", "deadline exceeded", "connection refused", "failed to download openapi")
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


class RealServer:
    """kube-apiserver of a release, with its kubectl; for `with`."""

    def __init__(self, kubexx, programs, version, work, env):
        self.kubectl = os.path.join(programs, "kubectl")
        self.kubeconfig = os.path.join(work, f"{version}.kubeconfig")
        self.work = work
        self.env = {**env, "KUBECONFIG": self.kubeconfig}
        command = [kubexx, "control-plane", "--version", version, "--kubeconfig-out", self.kubeconfig]
        self.process = Background(command, os.path.join(work, f"{version}.log"), env=env)
        # The oldest server takes a minute if the machine is busy; as long as it tries, it may.
        ready = any(self.process.wait_text("is ready at") or self.process.process.poll() is not None for _ in range(3))
        if not ready or self.process.process.poll() is not None:
            said = self.process.text()
            self.process.end()
            raise RuntimeError("kubexx control-plane did not start: " + said)
        self.cluster = Cluster(self.kubeconfig)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end()

    def namespace(self, name):
        self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": RESTRICTED}})

    def apply(self, objects, *flags):
        """What kubectl says in the end. A server that is just up, or whose machine is busy, may not have its schemas or its time yet."""
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        command = [self.kubectl, "apply", "--server-side", "--field-manager=test", "--validate=strict", *flags, "-f", "-"]
        done = []

        def settled():
            done.append(run(*command, stdin=listed, env=self.env))
            return done[-1].returncode == 0 or not any(text in done[-1].stderr for text in NOT_YET)

        wait_for(settled)
        return done[-1]

    def check_dry_run(self, report, what, objects):
        """The server takes all of them, and warns of nothing, pod security included."""
        done = self.apply(objects, "--dry-run=server")
        applied = done.stdout.count("serverside-applied (server dry run)")
        good = done.returncode == 0 and applied == len(objects) and "Warning" not in done.stderr
        report.check(f"{what}: the server takes its {len(objects)} objects", good, f"{applied} of {len(objects)}\n{done.stdout}{done.stderr}")

    def check_pod(self, report, what, rendered):
        """A pod of it is let into a namespace that enforces the restricted level; one with more rights is not."""
        done = self.apply(rendered.of("ServiceAccount"))
        report.check(f"{what}: its account can be made", done.returncode == 0, done.stdout + done.stderr)
        path = f"/api/v1/namespaces/{rendered.namespace}/pods?dryRun=All"
        spec = rendered.deployment["spec"]["template"]["spec"]
        pod = {"metadata": {"name": "try"}, "spec": spec}
        for allowed in (True, False):
            try:
                self.cluster.call("POST", path, pod)
                said = ""
            except ClusterError as error:
                said = str(error)
            report.check(f"{what}: a pod of it is {'' if allowed else 'not '}let in{'' if allowed else ' as root'}",
                         not said if allowed else "violates PodSecurity" in said, said or "it was let in")
            pod = json.loads(json.dumps(pod))
            pod["spec"]["securityContext"] = {}

    def check_at_work(self, report, what, rendered, auto_expose):
        """Installed; then the program runs here, with its flags and its account, and exposes what asks for it and nothing else."""
        ns, account = rendered.namespace, rendered.account
        done = self.apply([item for item in rendered.objects if item["kind"] != "ServiceMonitor"])
        if not report.check(f"{what}: it can be installed", done.returncode == 0, done.stderr):
            return
        token = self.cluster.call("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{account}/token", {"spec": {}})["status"]["token"]
        kubeconfig = os.path.join(self.work, f"{account}.kubeconfig")
        self.robot_kubeconfig(kubeconfig, token)
        # Ports of the pod are the pod's own; here they are free ones.
        here = [arg.partition("=")[0] + "=127.0.0.1:0" if "-bind-address=" in arg else arg for arg in rendered.args]
        command = [auto_expose, *here, "--preflight=fail", "--kubeconfig", kubeconfig, f"--leader-elect-lease-namespace={ns}"]
        self.namespace("shop")
        labels = {"app": "web"}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web", "ports": [{"containerPort": 80}]}]}}
        for name, annotations in (("silent", {}), ("asks", {"auto-expose.kubexx.dev/expose": "true"})):
            self.cluster.call("POST", "/apis/apps/v1/namespaces/shop/deployments", {
                "metadata": {"name": name, "annotations": annotations},
                "spec": {"selector": {"matchLabels": labels}, "template": pods}})
        names = lambda path: {item["metadata"]["name"] for item in self.cluster.call("GET", path)["items"]}
        services = lambda: names("/api/v1/namespaces/shop/services")
        ingresses = lambda: names("/apis/networking.k8s.io/v1/namespaces/shop/ingresses")
        # The server writes events about Services itself.
        reasons = lambda: {item["reason"] for item in self.cluster.call("GET", "/api/v1/namespaces/shop/events")["items"]
                           if item["involvedObject"]["kind"] == "Deployment"}
        with Background(command, os.path.join(self.work, "auto-expose.log"), env=self.env) as program:
            wait_for(lambda: program.process.poll() is not None or (services() and ingresses() and "Exposed" in reasons()))
            report.check(f"{what}: with these roles it exposes what asks for it", services() == ingresses() == {"asks"}, f"{services()} {ingresses()}\n{program.text()}")
            report.check(f"{what}: and writes its event", reasons() == {"Exposed"}, f"{reasons()}\n{program.text()}")
            leases = names(f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases")
            report.check(f"{what}: it holds the lease of its name", leases == {rendered.deployment["metadata"]["name"]}, f"{leases}\n{program.text()}")
            code = program.end()
            report.check(f"{what}: it ends in good order, and nothing was forbidden to it", code == 0 and "orbidden" not in program.text(),
                         f"exit code {code}\n{program.text()}")

    def check_narrow(self, report, what, rendered, auto_expose):
        """After check_at_work: with roles for namespace shop alone the program starts, repairs what it made there, and may write nowhere else."""
        ns, account = rendered.namespace, rendered.account
        done = self.apply(rendered.objects)
        if not report.check(f"{what}: it can be installed", done.returncode == 0, done.stderr):
            return

        def may(verb, group, resource, where):
            attributes = {"namespace": where, "verb": verb, "group": group, "resource": resource}
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                      "spec": {"user": f"system:serviceaccount:{ns}:{account}", "resourceAttributes": attributes}}
            return self.cluster.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]

        # The server's own caches of roles follow within moments.
        wait_for(lambda: may("create", "", "services", "shop") and not may("create", "", "services", "blog"))
        refused = [(verb, resource, where) for where in ("blog", "default", ns, "kube-system")
                   for verb in ("create", "patch", "delete")
                   for group, resource in (("", "services"), ("networking.k8s.io", "ingresses"), ("events.k8s.io", "events"))
                   if may(verb, group, resource, where)]
        report.check(f"{what}: it may write to no other namespace", not refused and may("patch", "networking.k8s.io", "ingresses", "shop"), refused)
        here = [arg.partition("=")[0] + "=127.0.0.1:0" if "-bind-address=" in arg else arg for arg in rendered.args]
        kubeconfig = os.path.join(self.work, f"{account}.kubeconfig")
        # A pod learns its own namespace, which is left out, from the files of its account.
        command = [auto_expose, *here, "--preflight=fail", "--kubeconfig", kubeconfig, f"--leader-elect-lease-namespace={ns}", f"--exclude-namespaces={ns}"]
        path = "/api/v1/namespaces/shop/services"
        self.cluster.call("DELETE", path + "/asks")
        names = lambda: {item["metadata"]["name"] for item in self.cluster.call("GET", path)["items"]}
        with Background(command, os.path.join(self.work, "narrow.log"), env=self.env) as program:
            wait_for(lambda: program.process.poll() is not None or names())
            report.check(f"{what}: with these roles it repairs what it made", names() == {"asks"}, program.text())
            code = program.end()
            report.check(f"{what}: and nothing was forbidden to it", code == 0 and "orbidden" not in program.text(), f"exit code {code}\n{program.text()}")

    def robot_kubeconfig(self, path, token):
        with open(self.kubeconfig, encoding="utf-8") as f:
            lines = f.read().splitlines()
        kept = [line for line in lines if "client-certificate-data" not in line]
        text = "\n".join(line.partition("client-key-data")[0] + "token: " + token if "client-key-data" in line else line for line in kept)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            out.write(text + "\n")


def find(script, *args):
    """What a build script prints with --path, or None if that is not built."""
    done = run(script, *args)
    return done.stdout.strip() if done.returncode == 0 else None
