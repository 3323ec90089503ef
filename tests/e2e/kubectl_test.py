#!/usr/bin/env python3
"""Runs kubectl against `kubexx apiserver` as a person would, and checks what it prints and its exit codes.

    kubectl_test.py KUBEXX KUBECTL | KUBEXX --find BUILD_CONTROL_PLANE

With --find the named script says where kubectl is. Exit code 77 if there is none. One line for each check; a failure prints the command,
what it said and what the server wrote meanwhile.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import manifests
from background import PATIENCE, Background, wait_for

SKIPPED = 77


class Session:
    """A server, kubectl with a home of its own, and the tally."""

    def __init__(self, program, kubectl, work):
        self.kubectl_path = kubectl
        self.work = work
        self.commands = self.checks = self.failures = self.logged = 0
        kubeconfig = os.path.join(work, "kubeconfig")
        self.env = {"PATH": os.environ.get("PATH", ""), "HOME": work, "KUBECACHEDIR": os.path.join(work, "cache"), "KUBECONFIG": kubeconfig}
        command = [program, "apiserver", "--kubeconfig-out", kubeconfig, "--echo-pods"]
        self.server = Background(command, os.path.join(work, "server.log"))
        if not self.server.wait_text("is ready at"):
            self.server.end()
            raise RuntimeError("kubexx apiserver did not start: " + self.server.text())

    def judge(self, what, good, said):
        self.checks += 1
        print("ok    " if good else "FAILED", what[:160] if good else what, flush=True)
        if good:
            return
        self.failures += 1
        log = self.server.text()
        print("  it said:", *said.rstrip("\n").split("\n"), sep="\n    ")
        print("  the server wrote:", *log[self.logged :].rstrip("\n").split("\n"), sep="\n    ", flush=True)
        self.logged = len(log)

    def run(self, *args, stdin="", **env):
        self.commands += 1
        try:
            command, env = [self.kubectl_path, *args], {**self.env, **env}
            return subprocess.run(command, input=stdin, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired as late:
            out = (late.stdout or b"").decode(), (late.stderr or b"").decode()
            return subprocess.CompletedProcess(late.cmd, "none: took too long", *out)

    def check(self, *args, code=0, has=(), lacks=(), equals=None, err=(), stdin="", where=None, **env):
        """Runs kubectl. `has` and `err`: texts that stdout and stderr hold; `equals`: all of stdout; `where`: a test of stdout."""
        done = self.run(*args, stdin=stdin, **env)
        texts = lambda wanted: (wanted,) if isinstance(wanted, str) else wanted
        good = done.returncode == code and (equals is None or done.stdout == equals)
        good = good and all(text in done.stdout for text in texts(has)) and not any(text in done.stdout for text in texts(lacks))
        good = good and all(text in done.stderr for text in texts(err)) and (code != 0 or bool(err) or self.quiet(done.stderr))
        if good and where is not None:
            good = bool(where(done.stdout))
        self.judge("kubectl " + " ".join(args), good, f"{done.stdout}{done.stderr}(exit code {done.returncode}, expected {code})")
        return done.stdout

    @staticmethod
    def quiet(stderr):
        return not any(word in stderr for word in ("rror", "arning", "panic"))

    def background(self, *args):
        self.commands += 1
        return Background([self.kubectl_path, *args], os.path.join(self.work, f"background-{self.commands}"), self.env)

    def file(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


def check_discovery(s):
    s.check("version", has=["Server Version: v1.", "+kubexx"])
    s.check("cluster-info", has="control plane is running at https://127.0.0.1:")
    s.check("api-resources", where=lambda out: re.search(r"(?m)^deployments +deploy +apps/v1 +true +Deployment$", out))
    s.check("api-resources", "--namespaced=false", "-o", "name", has=["nodes\n", "clusterroles.rbac"], lacks="pods")
    s.check("api-versions", has=["apps/v1\n", "networking.k8s.io/v1\n", "\nv1\n"])
    s.check("get", "--raw", "/readyz", equals="ok")
    s.check("get", "--raw", "/api/v1/namespaces/default", where=lambda out: json.loads(out)["kind"] == "Namespace")
    s.check("get", "--raw", "/nothing", code=1, err="could not find the requested resource")
    s.check("get", "things", code=1, err='the server doesn\'t have a resource type "things"')
    s.check("explain", "deployments.spec", has=["GROUP:      apps", "KIND:       Deployment", "replicas\t<integer>", "-required-"])
    s.check("explain", "pod", "--recursive", has=["containerPort\t<integer>", "  readinessProbe\t<Probe>"])
    s.check("auth", "whoami", has="kubernetes-admin")
    s.check("auth", "can-i", "delete", "pods", equals="yes\n")
    s.check("create", "serviceaccount", "robot", equals="serviceaccount/robot created\n")
    token = s.check("create", "token", "robot", where=lambda out: out.count(".") == 2).strip()
    s.check("auth", "whoami", "--token", token, "-o", "jsonpath={.status.userInfo.username}", equals="system:serviceaccount:default:robot")
    s.check("create", "token", "nobody", code=1, err='serviceaccounts "nobody" not found')
    s.check("top", "pods", code=1, err="Metrics API not available")


def check_apply(s):
    shop = s.file("shop.yaml", manifests.SHOP)
    s.check("create", "namespace", "shop", equals="namespace/shop created\n")
    s.check("diff", "-f", shop, code=1, has=["+kind: Deployment", "+  replicas: 2"])
    s.check("apply", "-f", shop, equals="deployment.apps/web created\nservice/web created\nconfigmap/settings created\n")
    s.check("apply", "-f", shop, equals="deployment.apps/web unchanged\nservice/web unchanged\nconfigmap/settings unchanged\n")
    s.check("diff", "-f", shop, equals="")
    more = s.file("more.yaml", manifests.SHOP.replace("replicas: 2", "replicas: 3").replace("color: green\n", ""))
    s.check("diff", "-f", more, code=1, has=["-  replicas: 2", "+  replicas: 3", "-  color: green"])
    s.check("apply", "-f", more, has=["deployment.apps/web configured", "service/web unchanged", "configmap/settings configured"])
    s.check("get", "cm", "settings", "-n", "shop", "-o", "jsonpath={.data}", equals='{"size":"large"}')
    s.check("apply", "-f", more, "--prune", "-l", "part=none", "--dry-run=server", code=1, err="no objects passed to apply")

    first = manifests.config_map("owned", color="red")
    s.check("apply", "--server-side", "--field-manager=ann", "-f", "-", stdin=first, equals="configmap/owned serverside-applied\n")
    second = manifests.config_map("owned", color="blue")
    conflict = ["conflict with \"ann\"", ".data.color", "--force-conflicts"]
    s.check("apply", "--server-side", "--field-manager=bob", "-f", "-", stdin=second, code=1, err=conflict)
    s.check("diff", "--server-side", "--field-manager=bob", "--force-conflicts", "-f", "-",
            stdin=second, code=1, has=["-  color: red", "+  color: blue"])
    s.check("apply", "--server-side", "--field-manager=bob", "--force-conflicts", "-f", "-", stdin=second, has="serverside-applied")
    s.check("get", "cm", "owned", "-n", "shop", "-o", "jsonpath={.data.color}", equals="blue")
    managers = "jsonpath={range .metadata.managedFields[*]}{.manager}={.operation} {end}"
    s.check("get", "cm", "owned", "-n", "shop", "--show-managed-fields", "-o", managers, has="bob=Apply", lacks="ann=")
    s.check("apply", "view-last-applied", "deployment/web", "-n", "shop", has="replicas: 3")


def check_get(s):
    s.check("get", "deployments", "-n", "shop",
            has="READY   UP-TO-DATE   AVAILABLE   AGE", where=lambda out: re.search(r"(?m)^web +0/3 +0 +0 ", out))
    s.check("get", "deployments", "-n", "shop", "-o", "wide", has=["CONTAINERS", "example.com/web:1", "app=web"])
    s.check("get", "svc", "web", "-n", "shop", "-o", "wide", has=["ClusterIP", "80/TCP", "app=web"])
    s.check("get", "deploy", "web", "-n", "shop", "-o", "yaml",
            has=["kind: Deployment\n", "  replicas: 3\n", "terminationGracePeriodSeconds: 30\n"])
    s.check("get", "deploy,svc", "-n", "shop", "-o", "json",
            where=lambda out: [i["kind"] for i in json.loads(out)["items"]] == ["Deployment", "Service"])
    s.check("get", "all", "-n", "shop", "-o", "name", equals="service/web\ndeployment.apps/web\n")
    columns = "custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[0].image"
    s.check("get", "deploy", "-n", "shop", "-o", columns, equals="NAME   IMAGE\nweb    example.com/web:1\n")
    s.check("get", "cm", "-A", has=["NAMESPACE", "shop"])
    s.check("get", "deploy", "-A", "-l", "app in (web,api)", "-o", "name", equals="deployment.apps/web\n")
    s.check("get", "deploy", "-A", "-l", "app!=web", equals="", err="No resources found")
    s.check("get", "ns", "shop", "--show-labels", has="kubernetes.io/metadata.name=shop")
    s.check("get", "ns", "--sort-by=.metadata.name", "-o", "name",
            where=lambda out: out.split() == sorted(out.split()) and len(out.split()) > 3)
    s.check("get", "ns", "--chunk-size=2", "-o", "name", where=lambda out: len(out.split()) == 5)
    s.check("get", "deploy", "gone", "-n", "shop", code=1, err='Error from server (NotFound): deployments.apps "gone" not found')
    s.check("describe", "deployment", "web", "-n", "shop",
            has=["Replicas:               3 desired", "Image:         example.com/web:1", "StrategyType:           RollingUpdate"])
    s.check("describe", "service", "web", "-n", "shop", has=["Selector:", "app=web", "TargetPort:"])
    with s.background("get", "cm", "-n", "shop", "-w", "-o", "name") as watch:
        seen = watch.wait_text("configmap/settings")
        s.check("create", "configmap", "later", "-n", "shop", "--from-literal=a=1", "--from-literal=b=2",
                equals="configmap/later created\n")
        s.judge("kubectl get -w sees a change", seen and watch.wait_text("configmap/later"), watch.text())
    with s.background("get", "cm", "-n", "shop", "--watch-only", "--output-watch-events") as watch:
        # A watch does not say when it has begun, so the object changes until it is seen.
        numbers = iter(range(10**6))
        change = lambda: s.run("annotate", "--overwrite", "cm", "later", "-n", "shop", f"n={next(numbers)}") and "MODIFIED" in watch.text()
        s.judge("kubectl get --watch-only sees a change", wait_for(change), watch.text())
        s.check("delete", "configmap", "later", "-n", "shop", has='configmap "later" deleted')
        s.judge("kubectl get --watch-only sees the end", watch.wait_text(r"DELETED +later"), watch.text())


def check_change(s):
    n = ("-n", "shop")
    s.check("scale", "deployment", "web", *n, "--replicas=5", equals="deployment.apps/web scaled\n")
    s.check("scale", "deployment", "web", *n, "--replicas=6", "--current-replicas=2", code=1, err="Expected replicas to be 2, was 5")
    s.check("get", "deploy", "web", *n, "-o", "jsonpath={.spec.replicas} {.metadata.generation}", equals="5 3")
    s.check("set", "image", "deployment/web", "web=example.com/web:2", *n, equals="deployment.apps/web image updated\n")
    s.check("label", "deployment", "web", "tier=front", *n, equals="deployment.apps/web labeled\n")
    s.check("label", "deployment", "web", "tier=back", *n, code=1, err="already has a value (front), and --overwrite is false")
    s.check("label", "deployment", "web", "tier-", *n, equals="deployment.apps/web unlabeled\n")
    s.check("annotate", "deployment", "web", "note=first", *n, equals="deployment.apps/web annotated\n")
    strategic = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}'
    images = ("-o", "jsonpath={.spec.template.spec.containers[*].name}")
    s.check("patch", "deployment", "web", *n, "-p", strategic, equals="deployment.apps/web patched\n")
    s.check("get", "deploy", "web", *n, *images, where=lambda out: sorted(out.split()) == ["side", "web"])
    merge = '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:3"}]}}}}'
    s.check("patch", "deployment", "web", *n, "--type=merge", "-p", merge, equals="deployment.apps/web patched\n")
    s.check("patch", "deployment", "web", *n, "--type=merge", "-p", merge, equals="deployment.apps/web patched (no change)\n")
    s.check("get", "deploy", "web", *n, *images, equals="web")
    replace = '[{"op":"test","path":"/spec/replicas","value":5},{"op":"replace","path":"/spec/replicas","value":1}]'
    s.check("patch", "deployment", "web", *n, "--type=json", "-p", replace, "-o", "jsonpath={.spec.replicas}", equals="1")
    s.check("patch", "deployment", "web", *n, "--type=json", "-p", replace,
            code=1, err="the server rejected our request due to an error in our request")
    s.check("edit", "configmap", "settings", *n, equals="configmap/settings edited\n", KUBE_EDITOR="sed -i s/large/huge/")
    s.check("get", "cm", "settings", *n, "-o", "jsonpath={.data.size}", equals="huge")
    s.check("edit", "configmap", "settings", *n, err="Edit cancelled, no changes made.", KUBE_EDITOR="true")
    s.check("replace", "-f", "-", stdin=manifests.config_map("settings", size="tiny"), equals="configmap/settings replaced\n")
    s.check("expose", "deployment", "web", *n, "--name=front", "--port=8080", "--target-port=80", equals="service/front exposed\n")
    s.check("get", "svc", "front", *n, "-o", "jsonpath={.spec.ports[0].targetPort} {.spec.selector.app}", equals="80 web")
    s.check("rollout", "status", "deployment/web", *n, "--watch=false", has="Waiting for deployment")

    with s.background("wait", "deployment/web", *n, "--for=condition=Available", f"--timeout={PATIENCE}s") as wait:
        status = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
        s.check("patch", "deployment", "web", *n, "--subresource=status", "-p", status, equals="deployment.apps/web patched\n")
        s.judge("kubectl wait --for=condition", wait.wait_text("deployment.apps/web condition met"), wait.text())
    s.check("wait", "cm/settings", *n, "--for=jsonpath={.data.size}=tiny", f"--timeout={PATIENCE}s",
            equals="configmap/settings condition met\n")
    s.check("wait", "cm/settings", *n, "--for=jsonpath={.data.size}=big", "--timeout=0.1s",
            code=1, err="timed out waiting for the condition")
    with s.background("wait", "cm/settings", *n, "--for=delete", f"--timeout={PATIENCE}s") as wait:
        s.check("delete", "cm", "settings", *n, has='configmap "settings" deleted')
        s.judge("kubectl wait --for=delete",
                wait_for(lambda: wait.process.poll() is not None) and wait.process.returncode == 0, wait.text())


def check_create(s):
    n = ("-n", "shop")
    s.check("create", "secret", "generic", "key", *n, "--from-literal=password=open", equals="secret/key created\n")
    s.check("get", "secret", "key", *n, "-o", 'go-template={{.data.password | base64decode}} {{.type}}', equals="open Opaque")
    s.check("create", "job", "count", *n, "--image=example.com/count", "--", "count", "3", equals="job.batch/count created\n")
    s.check("create", "cronjob", "night", *n, "--image=example.com/night", "--schedule=0 3 * * *", equals="cronjob.batch/night created\n")
    s.check("create", "job", "now", *n, "--from=cronjob/night", equals="job.batch/now created\n")
    s.check("get", "jobs,cronjobs", *n, has=["job.batch/count", "0/1", "cronjob.batch/night", "0 3 * * *"])
    s.check("create", "cronjob", "bad", *n, "--image=x", "--schedule=often",
            code=1, err=['CronJob.batch "bad" is invalid', "spec.schedule: Invalid value"])
    s.check("create", "ingress", "door", *n, "--rule=shop.example.com/*=web:80", equals="ingress.networking.k8s.io/door created\n")
    s.check("describe", "ingress", "door", *n, has=["shop.example.com", "web:80"])
    s.check("run", "probe", *n, "--image=example.com/probe", "--dry-run=server", "-o", "name", equals="pod/probe\n")
    s.check("get", "pod", "probe", *n, code=1, err='pods "probe" not found')
    wrong = manifests.SHOP.replace("replicas: 2", "replcas: 2")
    s.check("create", "--validate=strict", "-f", "-", stdin=wrong, code=1, err=["strict decoding error", 'unknown field "spec.replcas"'])
    s.check("create", "--validate=strict", "--dry-run=server", "-f", "-",
            stdin=wrong.replace("name: web", "name: other"), code=1, err="unknown field")
    bare = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bare, namespace: shop}\nspec: {selector: {matchLabels: {a: b}}}\n"
    s.check("create", "-f", "-",
            stdin=bare, code=1, err=['The Deployment "bare" is invalid', "spec.template.metadata.labels: Invalid value"])
    s.check("create", "configmap", "Bad_Name", *n, code=1, err="RFC 1123 subdomain")
    s.check("create", "namespace", "shop", code=1, err='(AlreadyExists): namespaces "shop" already exists')
    s.check("create", "-f", "-", stdin=manifests.EVENT, equals="event/settings.1\n".replace("\n", " created\n"))
    s.check("events", *n, has=["Warning", "TooSmall", "ConfigMap/settings", "It does not fit"])
    s.check("get", "events", *n, "--field-selector", "reason=TooSmall", "-o", "name", equals="event/settings.1\n")


def check_pods(s):
    s.check("run", "talker", "--image=example.com/talker", "--port=9000", "--labels=app=talker", equals="pod/talker created\n")
    s.check("get", "pods", "--field-selector=status.phase=Running", equals="", err="No resources found")
    s.check("patch", "pod", "talker", "--subresource=status", "-p", '{"status":{"phase":"Running","podIP":"10.1.2.3"}}', has="patched")
    s.check("get", "pods", "--field-selector=status.phase=Running,metadata.name!=other", "-o", "name", equals="pod/talker\n")
    s.check("get", "pods", "--field-selector=spec.color=red", code=1, err="field label not supported: spec.color")
    s.check("get", "pods", "-o", "wide",
            has=["NOMINATED NODE", "10.1.2.3"], where=lambda out: re.search(r"(?m)^talker +0/1 +Running +0 ", out))
    s.check("describe", "pod", "talker", has=["Status:       Running", "Image:        example.com/talker", "QoS Class:", "BestEffort"])
    s.check("exec", "talker", "--", "echo", "hello", "there", equals="hello there\n")
    text = "".join(f"line {i}\n" for i in range(20000))
    s.check("exec", "-i", "talker", "--", "cat", stdin=text, equals=text)
    # The older protocol, which kubectl falls back to.
    s.check("exec", "-i", "talker", "--", "cat", stdin=text, equals=text, KUBECTL_REMOTE_COMMAND_WEBSOCKETS="false")
    s.check("exec", "talker", "--", "exit", "42", code=42, err="command terminated with exit code 42")
    s.check("exec", "talker", "--", "dance", code=127, err="dance: not found")
    s.check("exec", "nobody", "--", "echo", code=1, err='pods "nobody" not found')
    s.check("attach", "-i", "talker", stdin="is anybody there\n", has="is anybody there")
    s.check("logs", "talker", equals="".join(f"line {i} of talker/talker\n" for i in (1, 2, 3)))
    s.check("logs", "-l", "app=talker", "--prefix", has="[pod/talker/talker] line 1")
    s.check("logs", "talker", "-c", "none", code=1, err="container none is not valid for pod talker")
    with s.background("logs", "-f", "talker") as logs:
        s.judge("kubectl logs -f", logs.wait_text("line 3 of talker/talker\n") and logs.process.poll() is None, logs.text())
    with s.background("port-forward", "pod/talker", ":9000") as forward:
        match = forward.wait_text(r"Forwarding from 127\.0\.0\.1:(\d+) -> 9000")
        answers = []
        for number in range(3 if match else 0):
            with socket.create_connection(("127.0.0.1", int(match[1])), PATIENCE) as connection:
                message = b"%d" % number * 50000
                connection.sendall(message)
                got = b""
                while len(got) < len(message):
                    part = connection.recv(65536)
                    if not part:
                        break
                    got += part
                answers.append(got == message)
        s.judge("kubectl port-forward carries bytes both ways", answers == [True] * 3, f"{answers}\n{forward.text()}")
    s.check("delete", "pod", "talker", "--now", has='pod "talker" deleted')
    s.check("get", "pods", equals="", err="No resources found in default namespace.")


def check_custom(s):
    s.check("apply", "-f", "-",
            stdin=manifests.CRD, equals="customresourcedefinition.apiextensions.k8s.io/widgets.e2e.example.com created\n")
    s.check("wait", "crd/widgets.e2e.example.com", "--for=condition=Established", f"--timeout={PATIENCE}s", has="condition met")
    widget = manifests.WIDGET
    s.check("apply", "-f", "-", stdin=widget, equals="widget.e2e.example.com/first created\n")
    s.check("apply", "-f", "-", stdin=widget, equals="widget.e2e.example.com/first unchanged\n")
    s.check("get", "wd", where=lambda out: re.search(r"^NAME +SIZE +AGE\nfirst +small +\d+s\n$", out))
    s.check("get", "widgets", "-o", "jsonpath={.items[*].spec}", equals='{"replicas":1,"size":"small"}')
    s.check("explain", "widget.spec.size", has=["KIND:       Widget", "How large it is."])
    s.check("describe", "widget", "first", has=["API Version:  e2e.example.com/v1", "Replicas:  1"])
    s.check("scale", "widget", "first", "--replicas=4", equals="widget.e2e.example.com/first scaled\n")
    s.check("get", "--raw", "/apis/e2e.example.com/v1/namespaces/default/widgets/first/scale",
            where=lambda out: json.loads(out)["spec"]["replicas"] == 4)
    s.check("patch", "widget", "first", "--type=merge", "-p", '{"spec":{"size":"enormous"}}',
            code=1, err=['is invalid: spec.size: Unsupported value: "enormous"'])
    s.check("patch", "widget", "first", "-p", '{"spec":{"size":"large"}}',
            code=1, err="application/strategic-merge-patch+json is not supported")
    s.check("patch", "widget", "first", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":4},"spec":{"size":"large"}}',
            has="patched")
    s.check("get", "widget", "first", "-o", "jsonpath={.status.replicas} {.spec.size} {.metadata.generation}", equals="4 small 2")
    s.check("create", "-f", "-", stdin=widget.replace("first", "second").replace("size:", "sise:"), code=1, err='unknown field "spec.sise"')
    s.check("delete", "crd", "widgets.e2e.example.com", has="deleted")
    # kubectl's own cache of discovery still knows it.
    s.check("get", "widgets", code=1, err="the server could not find the requested resource")


def check_delete(s):
    n = ("-n", "family")
    s.check("create", "namespace", "family", equals="namespace/family created\n")

    def make(name):
        s.run("create", "deployment", name, *n, "--image=example.com/x")
        uid = s.run("get", "deployment", name, *n, "-o", "jsonpath={.metadata.uid}").stdout
        s.run("create", "-f", "-", stdin=manifests.replica_set(name, uid))
        uid = s.run("get", "replicaset", name, *n, "-o", "jsonpath={.metadata.uid}").stdout
        s.check("create", "-f", "-", stdin=manifests.pod(name, uid), equals=f"pod/{name} created\n")

    for name in ("front", "orphan", "back"):
        make(name)
    s.check("delete", "deployment", "front", *n, "--cascade=foreground", has='deployment.apps "front" deleted')
    s.check("get", "rs,pods", *n, "-o", "name", lacks="front", has=["pod/orphan", "pod/back"])
    s.check("delete", "deployment", "orphan", *n, "--cascade=orphan", has='deployment.apps "orphan" deleted')
    s.check("get", "rs", "orphan", *n, "-o", "jsonpath={.metadata.name}{.metadata.ownerReferences}{.metadata.deletionTimestamp}",
            equals="orphan")
    s.check("get", "pod", "orphan", *n, "-o", "jsonpath={.metadata.ownerReferences[0].kind}", equals="ReplicaSet")
    s.check("delete", "deployment", "back", *n, "--cascade=background", has='deployment.apps "back" deleted')
    s.check("wait", "rs/back", "pod/back", *n, "--for=delete", f"--timeout={PATIENCE}s")
    s.check("patch", "pod", "orphan", *n, "-p", '{"metadata":{"finalizers":["e2e.example.com/hold"]}}', has="patched")
    s.check("delete", "pod", "orphan", *n, "--wait=false", has='pod "orphan" deleted')
    s.check("get", "pods", *n, has="Terminating")
    s.check("delete", "namespace", "family", "--wait=false", has='namespace "family" deleted')
    s.check("create", "configmap", "late", *n, code=1, err="because it is being terminated")
    s.check("get", "namespace", "family", has="Terminating")
    s.check("patch", "pod", "orphan", *n, "-p", '{"metadata":{"finalizers":null}}', has="patched")
    s.check("wait", "namespace/family", "--for=delete", f"--timeout={PATIENCE}s")
    s.check("delete", "namespace", "shop", has='namespace "shop" deleted')
    s.check("get", "deploy,svc,jobs,secrets,ingresses", "-n", "shop", equals="", err="No resources found in shop namespace.")
    s.check("delete", "namespace", "shop", "--ignore-not-found", equals="")
    s.check("delete", "serviceaccounts", "robot", has='serviceaccount "robot" deleted')


def find_kubectl(arguments):
    if arguments[0] != "--find":
        return arguments[0]
    done = subprocess.run([arguments[1], "--path", "--lean", "newest"], capture_output=True, text=True, check=False)
    return os.path.join(done.stdout.strip(), "kubectl") if done.returncode == 0 else ""


def main():
    program, kubectl = sys.argv[1], find_kubectl(sys.argv[2:])
    if not os.access(kubectl, os.X_OK):
        print(f"skipped: no kubectl {kubectl or 'in the cache'}; `make control-plane` builds it")
        return SKIPPED
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        s = Session(program, kubectl, work)
        try:
            for part in (check_discovery, check_apply, check_get, check_change, check_create, check_pods, check_custom, check_delete):
                part(s)
        finally:
            code = s.server.end()
        s.judge("the server ends with exit code 0", code == 0, f"exit code {code}")
    print(f"kubectl: {s.failures} failures, {s.checks} checks, {s.commands} commands, {time.monotonic() - began:.1f} s")
    return 1 if s.failures else 0


if __name__ == "__main__":
    sys.exit(main())
