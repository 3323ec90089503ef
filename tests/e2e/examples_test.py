#!/usr/bin/env python3
"""Runs the example programs as a person would: against `kubexx apiserver`, and against `kubexx control-plane` if one is built.

    examples_test.py KUBEXX EXAMPLES_FOLDER DOCS_FOLDER BUILD_CONTROL_PLANE
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

from background import PATIENCE, Background, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from cluster import Cluster, ClusterError  # pylint: disable=wrong-import-position

GROUP = "cnat.programming-kubernetes.info"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ats." + GROUP},
    "spec": {"group": GROUP, "names": {"kind": "At", "plural": "ats", "singular": "at"}, "scope": "Namespaced", "versions": [{
        "name": "v1alpha1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}
AT = {"apiVersion": GROUP + "/v1alpha1", "kind": "At", "metadata": {"name": "example-at"},
      "spec": {"schedule": "2019-07-03T02:00:00Z", "command": "echo yes"}}


class Run:
    def __init__(self, folders, kubeconfig):
        self.folders = folders
        self.kubeconfig = kubeconfig
        self.failures = 0

    def program(self, name, *args):
        path = next(p for p in (os.path.join(folder, name) for folder in self.folders) if os.path.exists(p))
        return [path, "--kubeconfig", self.kubeconfig, *args]

    def check(self, what, good, said):
        print("ok    " if good else "FAILED", what, flush=True)
        if not good:
            self.failures += 1
            print("  it said:", *said.rstrip("\n").split("\n"), sep="\n    ", flush=True)

    def run(self, name, *args, stdin=""):
        done = subprocess.run(self.program(name, *args), input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def expect(self, name, *args, code=0, equals=None, has=(), err=()):
        got, out, errors = self.run(name, *args)
        good = got == code and (equals is None or out == equals) and all(t in out for t in has) and all(t in errors for t in err)
        self.check(" ".join([name, *args]), good, f"exit code {got}\n{out}\n{errors}")


def scenario(run, work, kubectl=None):
    real = kubectl is not None
    # The watch sees what the other example does.
    with Background(run.program("pod_watch"), os.path.join(work, "watch.log")) as watch:
        run.check("pod_watch starts", bool(watch.wait_text("watching the pods of namespace default\n")), watch.text())
        created = "map[k:v]\nmap[patch:v1]\n"
        run.expect("pod_crud", equals=created)
        seen = watch.wait_text("(?s)added event from client-test.*modified event from client-test.*deleted event from client-test")
        run.check("pod_watch sees it", bool(seen), watch.text())
        code = watch.end(signal.SIGINT)
        run.check("pod_watch ends with Ctrl-C", code == 0, f"exit code {code}\n" + watch.text())
    # The informer, too; and it shows existing objects.
    with Background(run.program("pod_informer"), os.path.join(work, "informer.log")) as informer:
        run.check("pod_informer starts", bool(informer.wait_text("the cache is complete: pods: ")), informer.text())
        run.expect("pod_crud", equals=created)
        seen = informer.wait_text("(?s)add pod :client-test.*update pod :client-test.*delete pod :client-test")
        run.check("pod_informer sees it", bool(seen), informer.text())
        if not real:
            run.check("pod_informer sees what was there", "add pod :web\n" in informer.text(), informer.text())
        code = informer.end(signal.SIGINT)
        run.check("pod_informer ends with Ctrl-C", code == 0, f"exit code {code}\n" + informer.text())
    # A controller from its parts.
    with Background(run.program("pod_controller", "--workers", "2"), os.path.join(work, "controller.log")) as controller:
        run.check("pod_controller starts", bool(controller.wait_text("(?s)Starting Pod controller\n.*Starting workers\n")), controller.text())
        gone = controller.wait_text("Pod default/mypod does not exist anymore\n")
        run.check("pod_controller hears that a pod of an earlier run is gone", bool(gone), controller.text())
        run.expect("pod_crud", equals=created)
        seen = controller.wait_text("Pod [a-z-]+/client-test does not exist anymore")
        run.check("pod_controller sees it go", bool(seen), controller.text())
        if not real:
            run.check("pod_controller sees what was there", bool(controller.wait_text("Sync/Add/Update for Pod web\n")), controller.text())
        retry_and_drop(run, controller)
        code = controller.end(signal.SIGTERM)
        run.check("pod_controller ends with SIGTERM", code == 0 and "Stopping Pod controller" in controller.text(), f"exit code {code}\n" + controller.text())
    run.expect("pod_controller", "--workers", "none", code=2, err=['--workers: expected a number from 1 to 1000, not "none"', "Try 'pod_controller --help'."])
    deployment_logger(run, work)
    leader_election(run, work)
    greeter(run, work)
    if real:
        greeter_with_its_role(run, work, kubectl)
    replicator(run, work)
    pages(run, work)
    webhook(run, work)
    run.expect("pod_watch", "--timeout", "1", has=["watcher channel closed\n"])
    run.expect("dynamic_get", "--version", "v1", "--resource", "namespaces", "--name", "default", "--cluster-scoped",
               has=["Got Namespace default\n", "kind: Namespace\n"])
    at_object(run)
    run.expect("dynamic_get", "--version", "v1", code=2, err=["--resource is missing", "Try 'dynamic_get --help'."])
    run.expect("pod_crud", "--kubeconfig", os.path.join(work, "no-such-file"), code=1, err=["no-such-file"])
    if real:
        run.expect("pod_exec", "web", "--", "echo", "hello", code=1, err=['pods "web" not found'])
    else:
        run.expect("pod_exec", "web", "--", "echo", "hello", has=["hello"])
        run.expect("pod_exec", "nobody", "--", "echo", "hello", code=1, err=['pods "nobody" not found'])


def retry_and_drop(run, controller):
    """A pod that cannot be synced is tried again five times, then dropped; a change of it brings it back."""
    cluster = Cluster(run.kubeconfig)
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "web", "image": "nginx"}], "automountServiceAccountToken": False}
    cluster.call("POST", pods, {"metadata": {"name": "failing", "annotations": {"example.kubexx.dev/fail": "true"}}, "spec": spec})
    dropped = controller.wait_text('Dropping pod "default/failing" out of the queue: .*the pod asks for it\n')
    errors = len(re.findall("Error syncing pod default/failing: .*the pod asks for it\n", controller.text()))
    run.check("pod_controller tries five times more, and drops it", bool(dropped) and errors == 5, controller.text())
    cluster.patch(pods + "/failing", {"metadata": {"annotations": {"example.kubexx.dev/fail": None}}})
    good = controller.wait_text('(?s)Dropping pod "default/failing".*Sync/Add/Update for Pod failing\n')
    run.check("pod_controller takes it again when it changes", bool(good), controller.text())
    run.check("pod_controller dropped it once", controller.text().count("Dropping pod") == 1, controller.text())
    cluster.call("DELETE", pods + "/failing?gracePeriodSeconds=0")


def at_object(run):
    """An At, which no program here has a struct for: before there is one, and then."""
    cluster = Cluster(run.kubeconfig)
    path = f"/apis/{GROUP}/v1alpha1/namespaces/default/ats"
    gvr = ["--group", GROUP, "--version", "v1alpha1", "--resource", "ats"]
    run.expect("dynamic_get", *gvr, "--name", "example-at", code=1, err=["the server could not find the requested resource"])
    cluster.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)

    def created():
        # The kind is served a moment after its definition.
        try:
            return cluster.call("POST", path, AT)
        except ClusterError as error:
            return None if "404" in str(error) or "could not find" in str(error) else str(error)

    made = wait_for(created)
    run.check("an At can be made", isinstance(made, dict), str(made))
    run.expect("dynamic_get", *gvr, "--name", "example-at",
               has=["Got At example-at\n", f"apiVersion: {GROUP}/v1alpha1\n", "kind: At\n", "  command: echo yes\n", "  schedule: \"2019-07-03T02:00:00Z\"\n"])
    run.expect("dynamic_get", *gvr, "--name", "another", code=1, err=[f'ats.{GROUP} "another" not found'])
    run.expect("dynamic_get", *gvr, "--name", "example-at", "--namespace", "kube-public", code=1, err=[f'ats.{GROUP} "example-at" not found'])


def deployment_logger(run, work):
    """Prints created and deleted objects, in all namespaces, and those from the initial list."""
    cluster = Cluster(run.kubeconfig)
    labels = {"app": "logged"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {"matchLabels": labels}, "template": pods}}
    path = lambda ns: f"/apis/apps/v1/namespaces/{ns}/deployments"
    create = lambda ns, name: cluster.call("POST", path(ns), {**deployment, "metadata": {"name": name}})
    create("default", "first")
    with Background(run.program("deployment_logger"), os.path.join(work, "logger.log")) as logger:
        run.check("deployment_logger sees what was there", bool(logger.wait_text("^starting controller\nadd was called\n$")), logger.text())
        create("kube-public", "second")
        run.check("deployment_logger sees one come", bool(logger.wait_text("^starting controller\n(add was called\n){2}$")), logger.text())
        cluster.patch(path("default") + "/first", {"spec": {"replicas": 3}})
        for place in ("default/deployments/first", "kube-public/deployments/second"):
            cluster.call("DELETE", "/apis/apps/v1/namespaces/" + place)
        good = logger.wait_text("^starting controller\n(add was called\n){2}(del was called\n){2}$")
        run.check("deployment_logger sees both go, and is not told of changes", bool(good), logger.text())
        code = logger.end(signal.SIGINT)
        run.check("deployment_logger ends with Ctrl-C", code == 0, f"exit code {code}\n" + logger.text())
    run.expect("deployment_logger", "--all", code=2, err=["unknown flag --all", "Try 'deployment_logger --help'."])


def leader_election(run, work):
    """Two replicas: the second leads as soon as the first shuts down, and again after it was killed."""
    flags = ["--lease-name", "example", "--lease-duration", "12s", "--renew-deadline", "10s", "--retry-period", "100ms"]
    with Background(run.program("leader_election", *flags, "--id", "one"), os.path.join(work, "one.log")) as one:
        run.check("leader_election leads", bool(one.wait_text("(?m)^leading$")), one.text())
        with Background(run.program("leader_election", *flags, "--id", "two"), os.path.join(work, "two.log")) as two:
            run.check("a second one stands by", bool(two.wait_text("new leader: one")) and "\nleading" not in two.text(), two.text())
            code = one.end(signal.SIGTERM)
            run.check("the first one ends with SIGTERM", code == 0, f"exit code {code}\n" + one.text())
            run.check("the second one takes over", bool(two.wait_text("(?s)new leader: two.*leading|leading.*new leader: two")), two.text())
            with Background(run.program("leader_election", *flags, "--id", "three"), os.path.join(work, "three.log")) as three:
                run.check("a third one stands by", bool(three.wait_text("new leader: two")), three.text())
                two.end(signal.SIGKILL)
                run.check("the third one takes over from a dead one", bool(three.wait_text("(?m)^leading$")), three.text())
                three.end(signal.SIGTERM)
    run.expect("leader_election", "--help", has=["usage: leader_election", "--kubeconfig"])
    run.expect("leader_election", code=2, err=["--lease-name is missing"])
    run.expect("leader_election", "--lease-name", "x", "--retry-period", "20s", code=2, err=["renew_deadline must be greater than"])


def greeter(run, work):
    """A program with a manager: works, says what it may do, and ends in good order."""
    flags = ["--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--leader-elect", "--preflight=fail"]
    with Background(run.program("greeter", *flags), os.path.join(work, "greeter.log")) as program:
        run.check("greeter greets", bool(program.wait_text("(?m)^default: 1 created$")), program.text())
        run.check("greeter has nothing more to do", bool(program.wait_text("(?m)^default: 1 unchanged$")), program.text())
        code = program.end(signal.SIGTERM)
        run.check("greeter ends with SIGTERM and gives its lease back", code == 0 and "Released the lease" in program.text(), f"exit code {code}\n" + program.text())
    run.expect("greeter", "--print-rbac=ops/greeter", has=["kind: ClusterRole\n", "  - namespaces\n", "kind: ClusterRoleBinding\n"])
    run.expect("greeter", "--help", has=["usage: greeter [flags]", "--leader-elect", "--kubeconfig"])
    run.expect("greeter", "--leader-elct", code=2, err=["greeter: unknown flag --leader-elct (did you mean --leader-elect?)"])
    run.expect("greeter", "--leader-elect=perhaps", code=2, err=["greeter: --leader-elect: expected true or false"])


def greeter_with_its_role(run, work, kubectl):
    """The README's program as a ServiceAccount with just the role that it prints: works, tries again what failed, then is quiet."""
    cluster = Cluster(run.kubeconfig)
    path = lambda *parts: "/".join(["/api/v1/namespaces", *parts])
    for name in ("ops", "full"):
        cluster.call("POST", path(), {"metadata": {"name": name}})
    cluster.call("POST", path("ops", "serviceaccounts"), {"metadata": {"name": "greeter"}})
    token = cluster.call("POST", path("ops", "serviceaccounts", "greeter", "token"), {"spec": {}})["status"]["token"]
    kubeconfig = os.path.join(work, "greeter.kubeconfig")
    with open(run.kubeconfig, encoding="utf-8") as admin, os.fdopen(os.open(kubeconfig, os.O_CREAT | os.O_WRONLY, 0o600), "w") as out:
        lines = [line for line in admin if "client-key-data" not in line]
        out.writelines(re.sub("client-certificate-data: .*", "token: " + token, line) for line in lines)
    robot = Run(run.folders, kubeconfig)
    flags = ["--preflight=fail", "--health-probe-bind-address=0", "--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false"]
    code, _, errors = robot.run("greeter", *flags)
    run.check("greeter without a role says what is missing", code == 1 and "pre-flight: not allowed: " in errors, errors)

    # One child cannot be created. No event says when it can be.
    quota = path("full", "resourcequotas")
    none = {"count/configmaps": "0"}
    cluster.call("POST", quota, {"metadata": {"name": "none"}, "spec": {"hard": none}})
    cluster.patch(quota + "/none/status", {"status": {"hard": none, "used": none}})  # the controller manager's, which does not run
    refused = wait_for(lambda: "exceeded quota" in refusal(cluster, path("full", "configmaps"), {"metadata": {"generateName": "probe-"}}))
    run.check("a namespace has no room for a ConfigMap", refused, "it was created")
    _, role, _ = run.run("greeter", "--print-rbac=ops/greeter")
    applied = subprocess.run([kubectl, "--kubeconfig", run.kubeconfig, "apply", "-f", "-"], input=role, capture_output=True, text=True, check=False)
    run.check("greeter's role can be applied", applied.returncode == 0, role + applied.stderr)
    review = {"spec": {"user": "system:serviceaccount:ops:greeter", "resourceAttributes": {"verb": "list", "resource": "configmaps"}}}
    wait_for(lambda: cluster.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"])

    with Background(robot.program("greeter", *flags), os.path.join(work, "robot.log")) as program:
        last = lambda ns: (re.findall(f"(?m)^{ns}: (.*)$", program.text()) or [""])[-1]
        check = lambda what, good: run.check("greeter with its role " + what, bool(good), program.text())
        check("greets", wait_for(lambda: last("default") == "1 unchanged"))
        tries = lambda: len(re.findall('"Reconciler failed".*quota', program.text()))
        check("tries a failed child again", wait_for(lambda: tries() >= 4) and last("full") == "")
        cluster.call("DELETE", quota + "/none")
        check("creates it in the end", wait_for(lambda: last("full") == "1 unchanged"))
        data = cluster.call("GET", path("full", "configmaps", "welcome"))["data"]
        check("says hello", data == {"text": "Hello full"})

        namespaces = [item["metadata"]["name"] for item in cluster.call("GET", path())["items"]]
        check("settles", wait_for(lambda: all(last(ns) == "1 unchanged" for ns in namespaces)))
        port = re.search('"Serving".*metrics_bind_address.* port="?([0-9]+)', program.text())[1]
        before = requests_sent(port)
        passes = lambda: program.text().count("default: 1 unchanged\n")
        for i in range(5):
            so_far = passes()
            cluster.patch(path("default"), {"metadata": {"annotations": {"touched": str(i)}}})
            check(f"makes pass {i + 1}", wait_for(lambda n=so_far: passes() > n))
        after = requests_sent(port)
        check(f"sends no request in passes without a change ({before:g}, then {after:g} in all)", before == after > 0)
        code = program.end(signal.SIGTERM)
        check("ends with SIGTERM", code == 0)
        check("lacks no permission", "cannot" not in program.text() and "was not declared" not in program.text())


def refusal(cluster, path, body):
    """Why the server does not create it; empty if it did."""
    try:
        cluster.call("POST", path, body)
    except ClusterError as error:
        return str(error)
    return ""


def requests_sent(port):
    """All requests to the API server, as the program's metrics count them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        return sum(float(count) for count in re.findall("(?m)^rest_client_requests_total{.*} (.*)$", answer.read().decode()))


def replicator(run, work):
    """Copies follow their source and the labels of namespaces, in good times and in bad."""
    cluster = Cluster(run.kubeconfig)
    copy = lambda ns: f"/api/v1/namespaces/{ns}/configmaps/shared"

    def read(path):
        try:
            return cluster.call("GET", path)
        except ClusterError as error:
            if "404" in str(error) or "not found" in str(error):
                return None
            raise

    text = lambda ns: (read(copy(ns)) or {}).get("data", {}).get("text")
    namespace = lambda name, labels: cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    for name, labels in (("red-1", {"team": "red"}), ("red-2", {"team": "red"}), ("blue", {"team": "blue"})):
        namespace(name, labels)
    cluster.call("POST", "/api/v1/namespaces/default/configmaps",
                 {"metadata": {"name": "shared", "annotations": {"replicator.kubexx.dev/to": "team=red"}}, "data": {"text": "one"}})
    with Background(run.program("replicator", "--preflight=fail"), os.path.join(work, "replicator.log")) as program:
        check = lambda what, good: run.check("replicator " + what, bool(wait_for(good)), program.text())
        check("copies into the selected namespaces", lambda: text("red-1") == text("red-2") == "one")
        run.check("replicator leaves others alone", text("blue") is None, program.text())
        cluster.patch(copy("red-1"), {"data": {"text": "edited"}})
        check("undoes an edit", lambda: text("red-1") == "one")
        cluster.call("DELETE", copy("red-2"))
        check("recreates a copy", lambda: text("red-2") == "one")
        cluster.patch(copy("default"), {"data": {"text": "two"}})
        check("follows its source", lambda: text("red-1") == text("red-2") == "two")
        namespace("red-3", {"team": "red"})
        check("copies into a new namespace", lambda: text("red-3") == "two")
        cluster.patch("/api/v1/namespaces/red-1", {"metadata": {"labels": {"team": None}}})
        check("deletes the copy of a namespace that is no longer selected", lambda: read(copy("red-1")) is None)
        forged = read(copy("red-2"))["metadata"]
        cluster.call("POST", "/api/v1/namespaces/blue/configmaps",
                     {"metadata": {"name": "shared", "labels": forged["labels"], "annotations": forged["annotations"]}, "data": {"text": "mine"}})
        cluster.patch(copy("default"), {"metadata": {"annotations": {"replicator.kubexx.dev/to": "team in nonsense"}}})
        cluster.call("DELETE", copy("default"))
        check("deletes all copies before their source", lambda: read(copy("default")) is None)
        run.check("replicator left nothing behind", read(copy("red-2")) is None and read(copy("red-3")) is None, program.text())
        run.check("replicator leaves an object with copied marks alone", text("blue") == "mine", program.text())
        code = program.end(signal.SIGTERM)
        run.check("replicator ends with SIGTERM", code == 0, f"exit code {code}\n" + program.text())
    run.expect("replicator", "--print-rbac=ops/replicator", has=["  - configmaps\n", "  - configmaps/finalizers\n", "  - namespaces\n", "  - patch\n"])


def webhook(run, work):
    """The server calls the program, which made its certificates and its configurations itself."""
    cluster = Cluster(run.kubeconfig)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--health-probe-bind-address=0", "--webhook-bind-address=127.0.0.1", f"--webhook-port={port}", "--webhook-shutdown-delay=0s",
             f"--webhook-url=https://127.0.0.1:{port}", "--webhook-install"]
    path = lambda ns: f"/apis/apps/v1/namespaces/{ns}/deployments"

    def create(ns, image):
        """The Deployment, or what the server said against it."""
        labels = {"app": "guarded"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
        try:
            return cluster.call("POST", path(ns) + "?dryRun=All",
                                {"metadata": {"name": "guarded"}, "spec": {"selector": {"matchLabels": labels}, "template": template}})
        except ClusterError as error:
            return str(error)

    created_by = lambda made: made.get("metadata", {}).get("annotations", {}).get("example.kubexx.dev/created-by", "") if isinstance(made, dict) else ""
    with Background(run.program("webhook", *flags), os.path.join(work, "webhook.log")) as program:
        refused = wait_for(lambda: (said := create("kube-public", "nginx")) and isinstance(said, str) and "needs a tag" in said and said)
        run.check("webhook refuses an image without a tag", bool(refused), program.text())
        run.check("webhook says which field", "spec.template.spec.containers[0].image" in str(refused), str(refused))
        made = wait_for(lambda: (said := create("kube-public", "nginx:1")) and created_by(said) and said)
        run.check("webhook writes the creator", bool(made), program.text())
        run.check("webhook leaves its own namespace alone", not created_by(create("default", "nginx")), program.text())
        code = program.end(signal.SIGTERM)
        run.check("webhook ends with SIGTERM", code == 0, f"exit code {code}\n" + program.text())
    # Configurations stay when their program ends.
    said = create("kube-public", "nginx:1")
    run.check("without the program the server refuses", isinstance(said, str) and "failed calling webhook" in said, str(said))
    for kind in ("validating", "mutating"):
        cluster.call("DELETE", f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/webhook")
    run.check("without the configurations it does not", bool(wait_for(lambda: isinstance(create("kube-public", "nginx"), dict))), "")
    run.expect("webhook", "--print-manifests=ops/webhook", has=["kind: ValidatingWebhookConfiguration\n", "kind: Service\n", "  - webhook-webhook-ca\n"])


def pages(run, work):
    """The programs of the reference pages."""
    cluster = Cluster(run.kubeconfig)
    maps, secrets = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
    flags = ["--health-probe-bind-address=0"]

    def uid():
        try:
            return cluster.call("GET", secrets + "/settings-copy")["metadata"]["uid"]
        except ClusterError:
            return None

    with Background(run.program("map_watch"), os.path.join(work, "map_watch.log")) as watch:
        run.check("map_watch syncs", bool(watch.wait_text(", synced")), watch.text())
        with Background(run.program("copier", *flags, "--leader-elect", "--leader-elect-lease-namespace=default"), os.path.join(work, "copier.log")) as copier:
            cluster.call("POST", maps, {"metadata": {"name": "settings", "labels": {"copy": "secret"}}, "data": {"color": "blue"}})
            run.check("map_watch sees it", bool(watch.wait_text("added default/settings")), watch.text())
            first = wait_for(uid)
            run.check("copier creates the Secret", bool(first), copier.text())
            cluster.call("DELETE", secrets + "/settings-copy")
            run.check("copier recreates it", bool(wait_for(lambda: uid() not in (None, first))), copier.text())
            cluster.patch(maps + "/settings", {"metadata": {"labels": {"copy": None}}})
            run.check("copier prunes it", bool(wait_for(lambda: uid() is None)), copier.text())
            code = copier.end(signal.SIGTERM)
            run.check("copier ends with SIGTERM", code == 0, f"exit code {code}\n" + copier.text())
        cluster.call("DELETE", maps + "/settings")
        run.check("map_watch sees it deleted", bool(watch.wait_text("deleted default/settings")), watch.text())
    with Background(run.program("flags_greeter", *flags, "--text=Good morning"), os.path.join(work, "flags.log")) as program:
        run.check("flags_greeter greets", bool(program.wait_text("Good morning default")), program.text())
    run.expect("flags_greeter", "--workers=0", code=2, err=["greeter: --workers: expected a number from 1 to 100"])
    with Background(run.program("http_service", *flags), os.path.join(work, "http_service.log")) as program:
        labels = {"app": "hello"}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
        cluster.call("POST", "/apis/apps/v1/namespaces/default/deployments",
                     {"metadata": {"name": "hello"}, "spec": {"selector": {"matchLabels": labels}, "template": pods}})
        run.check("http_service creates a Service", bool(program.wait_text("default/hello: 1 created")), program.text())
    cluster.call("DELETE", "/apis/apps/v1/namespaces/default/deployments/hello")
    run.expect("backup", has=["makes a backup"])
    install_crds(run, work)
    run.expect("podtop", "--help", has=["usage: podtop", "--wide"])
    run.expect("podtop", "--wide")


def install_crds(run, work):
    """From a folder; again without a change; with one that breaks clients, which it names and refuses."""
    folder = os.path.join(work, "crd")
    os.makedirs(folder, exist_ok=True)

    def write(properties):
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        crd = {**CRD, "metadata": {"name": "networks.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "networks", "kind": "Network"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}
        with open(os.path.join(folder, "networks.json"), "w", encoding="utf-8") as out:
            json.dump(crd, out)

    write({"cidr": {"type": "string"}})
    run.expect("install_crds", folder, equals="networks.example.com created\n")
    run.expect("install_crds", folder, equals="networks.example.com unchanged\n")
    write({"cidr": {"type": "integer"}})
    run.expect("install_crds", folder, code=1, err=["networks.json: document 1", "v1 .spec.cidr: type changed from string to integer [breaks stored objects]"])
    run.expect("install_crds", code=2, err=["Try 'install_crds --help'."])


MANIFEST = """apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: web, image: nginx}]}
"""


def main():
    kubexx, *folders, find = sys.argv[1:]
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        kubeconfig = os.path.join(work, "embedded.kubeconfig")
        manifest = os.path.join(work, "manifest.yaml")
        with open(manifest, "w", encoding="utf-8") as out:
            out.write(MANIFEST)
        command = [kubexx, "apiserver", "--kubeconfig-out", kubeconfig, "--echo-pods", "--load", manifest]
        with Background(command, os.path.join(work, "embedded.log")) as server:
            if not server.wait_text("is ready at"):
                print("kubexx apiserver did not start:", server.text())
                return 1
            print("kubexx apiserver:")
            run = Run(folders, kubeconfig)
            scenario(run, work)
            failures += run.failures

        found = subprocess.run([find, "--path", "--lean", "newest"], capture_output=True, text=True, check=False)
        if found.returncode != 0:
            print("skipped: no real control plane; make control-plane builds one")
            return 1 if failures else 0
        kubeconfig = os.path.join(work, "real.kubeconfig")
        with Background([kubexx, "control-plane", "--kubeconfig-out", kubeconfig], os.path.join(work, "real.log")) as plane:
            if not plane.wait_text("(?i)kubeconfig") or not os.path.exists(kubeconfig):
                print("kubexx control-plane did not start:", plane.text())
                return 1
            print("kubexx control-plane:")
            run = Run(folders, kubeconfig)
            scenario(run, work, os.path.join(found.stdout.strip(), "kubectl"))
            failures += run.failures
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
