#!/usr/bin/env python3
"""auto-expose as an operator meets it: the program runs against a server, kubectl deploys and looks.

    kubectl_test.py embedded|real KUBEXX AUTO_EXPOSE BUILD_CONTROL_PLANE [NAME...]

One line for each case; a failure prints what was seen and what auto-expose wrote meanwhile. With names only those cases run. Exit code 77,
with the reason, if there is no kubectl or no real control plane.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from background import PATIENCE, Background, wait_for  # noqa: E402  pylint: disable=wrong-import-position

SKIPPED = 77
PREFIX = "auto-expose.kubexx.dev/"
ALL_KINDS = "deployments,statefulsets,daemonsets"

ROUTE_CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: httproutes.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: unapproved for a test}
spec:
  group: gateway.networking.k8s.io
  names: {kind: HTTPRoute, listKind: HTTPRouteList, plural: httproutes, singular: httproute}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


class Failure(Exception):
    pass


class Cluster:
    """A server, kubectl, and a namespace for each case."""

    def __init__(self, kind, programs, kubectl, collects_garbage, work):
        self.kind, self.kubectl_path, self.work = kind, kubectl, work
        self.kubexx, self.program = programs
        self.real = kind == "real"
        self.collects_garbage = collects_garbage
        self.kubeconfig = os.path.join(work, "kubeconfig")
        self.env = {"PATH": os.environ.get("PATH", ""), "HOME": work, "KUBECACHEDIR": os.path.join(work, "cache"), "KUBECONFIG": self.kubeconfig}
        command = [self.kubexx, "control-plane"] if self.real else [self.kubexx, "apiserver"]
        if self.real and collects_garbage:
            command.append("--controller-manager")
        self.server = Background([*command, "--kubeconfig-out", self.kubeconfig], os.path.join(work, "server.log"))
        ready = "(?i)kubeconfig" if self.real else "is ready at"
        if not self.server.wait_text(ready) or not os.path.exists(self.kubeconfig):
            self.server.end()
            raise RuntimeError("the server did not start: " + self.server.text())

    def kubectl(self, *args, stdin="", fails=False, kubeconfig=None):
        env = {**self.env, "KUBECONFIG": kubeconfig or self.kubeconfig}
        done = subprocess.run([self.kubectl_path, *args], input=stdin, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if (done.returncode != 0) != fails:
            raise Failure(f"kubectl {' '.join(args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if fails else "")

    def start(self, name, *flags, kubeconfig=None):
        """auto-expose, in the background. Its servers are off: several run beside each other."""
        command = [self.program, "--kubeconfig", kubeconfig or self.kubeconfig, "--domain", "example.com", "--health-probe-bind-address=0", *flags]
        return Background(command, os.path.join(self.work, name + ".log"), env={"PATH": "", "HOME": self.work})

    def run(self, *flags, stdin=""):
        command = [self.program, "--kubeconfig", self.kubeconfig, *flags]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False, env={"PATH": "", "HOME": self.work})


class Case:
    """What a case does, in its own namespace."""

    def __init__(self, cluster, ns):
        self.cluster, self.ns = cluster, ns

    def kubectl(self, *args, **options):
        return self.cluster.kubectl("-n", self.ns, *args, **options)

    def get(self, kind, name):
        """The object, or None."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def until(self, what, condition):
        """Waits; `what` is the failure, or a function that says it."""
        answer = wait_for(condition)
        if not answer:
            raise Failure(what() if callable(what) else what)
        return answer

    def exists(self, kind, name):
        return self.until(f"there is no {kind} {name}", lambda: self.get(kind, name))

    def gone(self, kind, name):
        self.until(f"{kind} {name} is still there", lambda: self.get(kind, name) is None)

    def exposed(self, name):
        return self.exists("service", name), self.exists("ingress", name)

    def event(self, name, reason, *texts):
        """An event about a workload, with all texts in its message."""

        def found():
            events = json.loads(self.kubectl("get", "events", "-o", "json"))["items"]
            return next((e["message"] for e in events if e["involvedObject"]["name"] == name and e["reason"] == reason
                         and all(t in e["message"] for t in texts)), None)

        return self.until(lambda: f"no event {reason} with {texts} about {name}: " + self.kubectl("get", "events"), found)

    def deploy(self, name, port=8080):
        args = [f"--port={port}"] if port else []
        self.kubectl("create", "deployment", name, "--image=nginx", *args)

    def annotate(self, name, **annotations):
        pairs = [f"{PREFIX}{key.replace('_', '-')}={value}" if value is not None else f"{PREFIX}{key.replace('_', '-')}-"
                 for key, value in annotations.items()]
        self.kubectl("annotate", "--overwrite", "deployment", name, *pairs)

    def patch(self, kind, name, patch, how="merge"):
        self.kubectl("patch", kind, name, "--type", how, "-p", json.dumps(patch))


def expect(condition, what):
    if not condition:
        raise Failure(str(what))


def version(thing):
    return thing["metadata"]["resourceVersion"]


# ---- Cases with the program that runs all the time ----


def deployment_is_exposed(case):
    case.deploy("web", 8080)
    service, ingress = case.exposed("web")
    expect(service["spec"]["selector"] == {"app": "web"}, service["spec"])
    expect(service["spec"]["ports"][0]["port"] == 8080, service["spec"])
    rule = ingress["spec"]["rules"][0]
    expect(rule["host"] == f"web.{case.ns}.example.com", rule)
    expect(rule["http"]["paths"][0]["backend"]["service"]["name"] == "web", rule)
    case.event("web", "Exposed", f"http://web.{case.ns}.example.com")
    expect("Exposed" in case.kubectl("describe", "deployment", "web"), "kubectl describe does not show the event")


def children_are_owned(case):
    case.deploy("web")
    uid = case.get("deployment", "web")["metadata"]["uid"]
    for thing in case.exposed("web"):
        owner = thing["metadata"]["ownerReferences"][0]
        expect(owner["uid"] == uid and owner["controller"] and owner["kind"] == "Deployment", owner)


def scaling_changes_nothing(case):
    case.deploy("web")
    before = [version(thing) for thing in case.exposed("web")]
    case.kubectl("scale", "deployment", "web", "--replicas=3")
    case.deploy("later")  # what was to come of the scaling has come before this
    case.exposed("later")
    expect([version(thing) for thing in case.exposed("web")] == before, "scaling wrote the children")


def edited_service_is_repaired(case):
    case.deploy("web")
    case.exposed("web")
    case.patch("service", "web", [{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}], "json")
    case.until("the port stays wrong", lambda: [p["port"] for p in case.get("service", "web")["spec"]["ports"]] == [8080])


def edited_ingress_is_repaired(case):
    case.deploy("web")
    case.exposed("web")
    case.patch("ingress", "web", [{"op": "replace", "path": "/spec/rules/0/host", "value": "evil.example.org"}], "json")
    case.until("the host stays wrong", lambda: case.get("ingress", "web")["spec"]["rules"][0]["host"] == f"web.{case.ns}.example.com")


def additions_of_others_stay(case):
    case.deploy("web")
    case.exposed("web")
    case.kubectl("annotate", "ingress", "web", "example.org/mine=yes")
    case.kubectl("label", "service", "web", "mine=yes")
    case.annotate("web", port="80:8080")
    case.until("the port does not follow", lambda: case.get("service", "web")["spec"]["ports"][0]["port"] == 80)
    expect(case.get("ingress", "web")["metadata"]["annotations"].get("example.org/mine") == "yes", "an annotation of somebody else was removed")
    expect(case.get("service", "web")["metadata"]["labels"].get("mine") == "yes", "a label of somebody else was removed")


def deleted_service_comes_back(case):
    case.deploy("web")
    uid = case.exposed("web")[0]["metadata"]["uid"]
    case.kubectl("delete", "service", "web")
    case.until("it does not come back", lambda: (case.get("service", "web") or {}).get("metadata", {}).get("uid", uid) != uid)


def deleted_ingress_comes_back(case):
    case.deploy("web")
    uid = case.exposed("web")[1]["metadata"]["uid"]
    case.kubectl("delete", "ingress", "web")
    case.until("it does not come back", lambda: (case.get("ingress", "web") or {}).get("metadata", {}).get("uid", uid) != uid)


def opting_out_and_in_again(case):
    case.deploy("web")
    case.exposed("web")
    case.annotate("web", expose="false")
    case.gone("ingress", "web")
    case.gone("service", "web")
    case.event("web", "Withdrawn")
    case.annotate("web", expose=None)
    case.exposed("web")


def deleting_takes_all_along(case):
    case.deploy("web")
    case.exposed("web")
    case.kubectl("delete", "deployment", "web")
    case.gone("service", "web")
    case.gone("ingress", "web")


def recreated_with_the_same_name(case):
    case.deploy("web")
    case.exposed("web")
    case.kubectl("delete", "deployment", "web")
    case.deploy("web", 9090)
    uid = case.get("deployment", "web")["metadata"]["uid"]

    def belongs():
        service = case.get("service", "web")
        return service and service["metadata"]["ownerReferences"][0]["uid"] == uid and service["spec"]["ports"][0]["port"] == 9090

    case.until("the new one has no Service", belongs)
    case.until("the new one has no Ingress",
               lambda: (case.get("ingress", "web") or {"metadata": {"ownerReferences": [{}]}})["metadata"]["ownerReferences"][0].get("uid") == uid)


def changed_port_is_followed(case):
    case.deploy("web", 8080)
    case.exposed("web")
    case.patch("deployment", "web", [{"op": "replace", "path": "/spec/template/spec/containers/0/ports/0/containerPort", "value": 9090}], "json")
    case.until("the Service does not follow", lambda: [p["port"] for p in case.get("service", "web")["spec"]["ports"]] == [9090])
    case.until("the Ingress does not follow",
               lambda: case.get("ingress", "web")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"] == 9090)


def no_port_is_explained(case):
    case.deploy("quiet", port=None)
    message = case.event("quiet", "NoPort")
    expect("containerPort" in message or PREFIX + "port" in message, message)
    expect(case.get("service", "quiet") is None, "there is a Service")
    case.annotate("quiet", port="80")
    case.exposed("quiet")


def foreign_service_is_left_alone(case):
    case.kubectl("create", "service", "clusterip", "web", "--tcp=1234:1234")
    before = version(case.get("service", "web"))
    case.deploy("web")
    case.event("web", "NameConflict", "web")
    expect(version(case.get("service", "web")) == before, "it was written")
    expect(case.get("ingress", "web") is None, "an Ingress leads to a foreign Service")
    case.kubectl("delete", "service", "web")
    case.until("the name is free, and no Service of ours comes",
               lambda: (case.get("service", "web") or {"spec": {"ports": [{}]}})["spec"]["ports"][0].get("port") == 8080)


def of_two_claims_the_older_wins(case):
    case.deploy("first")
    case.annotate("first", host="shop.example.com")
    case.until("it has not got the host", lambda: case.exists("ingress", "first")["spec"]["rules"][0]["host"] == "shop.example.com")
    case.deploy("second")
    case.annotate("second", host="shop.example.com")
    case.event("second", "HostConflict", "shop.example.com", "first")
    case.gone("ingress", "second")
    case.exists("service", "second")
    case.kubectl("delete", "deployment", "first")
    case.until("the second one does not get it", lambda: (case.get("ingress", "second") or {}).get("spec", {}).get("rules", [{}])[0].get("host") == "shop.example.com")


def bad_annotation_is_named(case):
    case.deploy("web")
    before = [version(thing) for thing in case.exposed("web")]
    case.annotate("web", service_type="Wrong")
    case.event("web", "InvalidAnnotation", PREFIX + "service-type", "ClusterIP")
    expect([version(thing) for thing in case.exposed("web")] == before, "the children were changed")


def service_type_and_affinity(case):
    case.deploy("web")
    case.annotate("web", service_type="NodePort", session_affinity="ClientIP")
    case.until("the Service does not follow", lambda: case.exists("service", "web")["spec"]["type"] == "NodePort")
    expect(case.get("service", "web")["spec"]["sessionAffinity"] == "ClientIP", "no affinity")
    case.annotate("web", service_type=None, session_affinity=None)
    case.until("it does not go back", lambda: case.get("service", "web")["spec"]["type"] == "ClusterIP")


def tls_and_annotations_of_the_ingress(case):
    case.deploy("web")
    case.annotate("web", tls_secret="web-tls", cluster_issuer="letsencrypt", ingress_annotations="example.org/a: b")
    case.until("no TLS", lambda: case.exists("ingress", "web")["spec"].get("tls"))
    ingress = case.get("ingress", "web")
    expect(ingress["spec"]["tls"] == [{"hosts": [f"web.{case.ns}.example.com"], "secretName": "web-tls"}], ingress["spec"]["tls"])
    expect(ingress["metadata"]["annotations"].get("cert-manager.io/cluster-issuer") == "letsencrypt", ingress["metadata"])
    expect(ingress["metadata"]["annotations"].get("example.org/a") == "b", ingress["metadata"])
    case.annotate("web", tls_secret=None, cluster_issuer=None, ingress_annotations=None)
    case.until("TLS stays", lambda: not case.get("ingress", "web")["spec"].get("tls"))
    expect("example.org/a" not in case.get("ingress", "web")["metadata"]["annotations"], "the annotation stays")


def ingress_none_is_a_service_only(case):
    case.deploy("web")
    case.exposed("web")
    case.annotate("web", ingress="none")
    case.gone("ingress", "web")
    case.exists("service", "web")


def stateful_and_daemon_sets(case):
    for kind in ("StatefulSet", "DaemonSet"):
        name = kind.lower()
        manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}]}}}}
        case.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        service, _ = case.exposed(name)
        expect(service["metadata"]["ownerReferences"][0]["kind"] == kind, service["metadata"])


def several_ports_keep_name_and_protocol(case):
    ports = [{"containerPort": 80, "name": "http"}, {"containerPort": 53, "name": "dns", "protocol": "UDP"}]
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "dns"}, "spec": {
        "selector": {"matchLabels": {"app": "dns"}},
        "template": {"metadata": {"labels": {"app": "dns"}}, "spec": {"containers": [{"name": "c", "image": "nginx", "ports": ports}]}}}}
    case.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    service, _ = case.exposed("dns")
    seen = sorted((p["name"], p["port"], p["protocol"]) for p in service["spec"]["ports"])
    expect(seen == [("dns", 53, "UDP"), ("http", 80, "TCP")], seen)


def plan_equals_what_the_server_gets(case):
    manifest = case.kubectl("create", "deployment", "web", "--image=nginx", "--port=8080", "--dry-run=client", "-o", "yaml")
    done = case.cluster.run("plan", "-f", "-", "--domain", "example.com", stdin=manifest.replace("name: web\n", f"name: web\n  namespace: {case.ns}\n", 1))
    expect(done.returncode == 0, done.stderr)
    case.kubectl("apply", "-f", "-", stdin=manifest)
    case.exposed("web")
    # What was planned, given to the server, changes none of what auto-expose made.
    differences = case.kubectl("diff", "-f", "-", stdin=done.stdout)
    expect(differences == "", differences)


def dry_run_changes_nothing(case):
    case.deploy("web")
    case.exposed("web")
    case.kubectl("create", "namespace", case.ns + "-dry")
    try:
        case.cluster.kubectl("-n", case.ns + "-dry", "create", "deployment", "dry", "--image=nginx", "--port=80")
        done = case.cluster.run("--dry-run", "--domain", "example.org", "--namespaces", case.ns + "-dry", "--host", "dry.example.org")
        expect(done.returncode == 0 and "dry.example.org" in done.stdout, done.stdout + done.stderr)
    finally:
        case.cluster.kubectl("delete", "namespace", case.ns + "-dry", "--wait=false")


def kube_system_is_left_alone(case):
    case.cluster.kubectl("-n", "kube-system", "create", "deployment", "system", "--image=nginx", "--port=80")
    try:
        case.deploy("later")
        case.exposed("later")
        text = case.cluster.kubectl("-n", "kube-system", "get", "service", "system", "--ignore-not-found")
        expect(text == "", text)
    finally:
        case.cluster.kubectl("-n", "kube-system", "delete", "deployment", "system")


def refusal_by_quota_is_told_and_mended(case):
    case.kubectl("create", "quota", "none", "--hard=count/services=0")
    case.until("the quota does not count", lambda: case.get("quota", "none").get("status", {}).get("hard"))
    case.deploy("web")
    case.event("web", "Failed", "exceeded quota")
    case.kubectl("delete", "quota", "none")
    case.exposed("web")


# ---- Cases with programs of their own; their namespaces begin with "own" ----


def restart_writes_nothing(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns) as program:
        for name in ("a", "b", "c"):
            case.deploy(name)
        before = [version(thing) for name in ("a", "b", "c") for thing in case.exposed(name)]
        program.process.kill()
    with case.cluster.start(case.ns + "2", "--namespaces", case.ns):
        case.deploy("later")
        case.exposed("later")
    expect([version(thing) for name in ("a", "b", "c") for thing in case.exposed(name)] == before, "the second one wrote")


def opt_in_exposes_who_asks(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns, "--opt-in"):
        case.deploy("silent")
        case.deploy("asks")
        case.annotate("asks", expose="true")
        case.exposed("asks")
        expect(case.get("service", "silent") is None, "who did not ask is exposed")


def label_selector_chooses(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns, "--selector", "tier=web"):
        case.deploy("other")
        case.deploy("web")
        case.kubectl("label", "deployment", "web", "tier=web")
        case.exposed("web")
        expect(case.get("service", "other") is None, "who does not match is exposed")
        case.kubectl("label", "deployment", "web", "tier-")
        case.gone("service", "web")


def without_a_domain_there_is_a_path(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns, "--domain="):
        case.deploy("web")
        ingress = case.exposed("web")[1]
        rule = ingress["spec"]["rules"][0]
        expect("host" not in rule and rule["http"]["paths"][0]["path"] == f"/{case.ns}/web", rule)


def gateway_waits_for_its_crd(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns, "--ingress=gateway", "--gateway=infra/main") as program:
        case.deploy("web")
        case.exists("service", "web")
        case.event("web", "Failed", "HTTPRoute")
        case.cluster.kubectl("apply", "-f", "-", stdin=ROUTE_CRD)
        try:
            route = case.until(lambda: "no HTTPRoute: " + program.text(), lambda: "httproutes" in case.kubectl("api-resources", "--api-group=gateway.networking.k8s.io", "-o", "name")
                               and case.get("httproute", "web"))
            expect(route["spec"]["hostnames"] == [f"web.{case.ns}.example.com"], route["spec"])
            expect(case.get("ingress", "web") is None, "there is an Ingress, too")
            uid = route["metadata"]["uid"]
            case.kubectl("delete", "httproute", "web")
            case.until("it does not come back", lambda: (case.get("httproute", "web") or {}).get("metadata", {}).get("uid", uid) != uid)
        finally:
            case.cluster.kubectl("delete", "crd", "httproutes.gateway.networking.k8s.io", "--wait=false")


def missing_permission_is_named_and_the_rest_goes_on(case):
    cluster = case.cluster
    case.kubectl("create", "serviceaccount", "auto-expose")
    rbac = cluster.run(f"--print-rbac={case.ns}/auto-expose")
    expect(rbac.returncode == 0, rbac.stderr)
    rules = [json.loads(line) for line in subprocess.run([cluster.kubexx, "convert", "-o", "json", "--compact", "-"], input=rbac.stdout,
                                                        capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.splitlines()]
    names = [f"{r['kind'].lower()}/{r['metadata']['name']}" for r in rules]
    less = json.loads(json.dumps(rules))
    for role in less:
        role["rules"] = [r for r in role["rules"] if "ingresses" not in r["resources"]] if "rules" in role else None
        if role["rules"] is None:
            del role["rules"]
    expect(less != rules, rbac.stdout)
    cluster.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(r) for r in less))
    try:
        token = case.kubectl("create", "token", "auto-expose").strip()
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"] = [{"name": "robot", "user": {"token": token}}]
        for context in config["contexts"]:
            context["context"]["user"] = "robot"
        path = os.path.join(cluster.work, case.ns + ".kubeconfig")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
            json.dump(config, out)
        with cluster.start(case.ns, "--namespaces", case.ns, kubeconfig=path) as program:
            expect(program.wait_text("lacks permissions(.|\n)*ingresses"), program.text())
            case.deploy("web")
            case.exists("service", "web")
            case.event("web", "Failed", "ingresses")
            cluster.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(r) for r in rules))
            case.exposed("web")
    finally:
        cluster.kubectl("delete", "--ignore-not-found", *names)


def a_second_replica_takes_over(case):
    flags = ["--namespaces", case.ns, "--leader-elect", "--leader-elect-lease-name=test", f"--leader-elect-lease-namespace={case.ns}",
             "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]
    with case.cluster.start(case.ns, *flags) as first:
        case.deploy("a")
        case.exposed("a")
        with case.cluster.start(case.ns + "2", *flags):
            first.process.kill()
            case.deploy("b")
            case.exposed("b")


def what_is_not_allowed_is_refused(case):
    with case.cluster.start(case.ns, "--namespaces", case.ns):
        case.deploy("web")
        case.exposed("web")
        for annotations, reason in (({"host": "web.other.example.com"}, "HostNotAllowed"), ({"path": "/x;}"}, "PathNotAllowed"),
                                    ({"ingress_annotations": "nginx.ingress.kubernetes.io/server-snippet: x"}, "IngressAnnotationNotAllowed")):
            case.annotate("web", **annotations)
            case.event("web", reason)
            case.gone("ingress", "web")
            case.exists("service", "web")
            case.annotate("web", **{name: None for name in annotations})
            case.exposed("web")


def libcurl_is_not_loaded(case):
    """It costs 4.4 MB, and only HTTP/1.1, proxies and upgraded connections need it."""
    with case.cluster.start(case.ns, "--namespaces", case.ns) as program:
        case.deploy("web")
        case.exposed("web")
        with open(f"/proc/{program.process.pid}/maps", encoding="utf-8") as maps:
            mapped = maps.read()
        expect("libssl" in mapped and "libcurl" not in mapped, mapped)


SHARED = [deployment_is_exposed, children_are_owned, scaling_changes_nothing, edited_service_is_repaired, edited_ingress_is_repaired,
          additions_of_others_stay, deleted_service_comes_back, deleted_ingress_comes_back, opting_out_and_in_again, deleting_takes_all_along,
          recreated_with_the_same_name, changed_port_is_followed, no_port_is_explained, foreign_service_is_left_alone,
          of_two_claims_the_older_wins, bad_annotation_is_named, service_type_and_affinity, tls_and_annotations_of_the_ingress,
          ingress_none_is_a_service_only, stateful_and_daemon_sets, several_ports_keep_name_and_protocol, plan_equals_what_the_server_gets,
          dry_run_changes_nothing, kube_system_is_left_alone, refusal_by_quota_is_told_and_mended]
OWN = [restart_writes_nothing, opt_in_exposes_who_asks, label_selector_chooses, without_a_domain_there_is_a_path, gateway_waits_for_its_crd,
       missing_permission_is_named_and_the_rest_goes_on, a_second_replica_takes_over, what_is_not_allowed_is_refused,
       libcurl_is_not_loaded]


def reason_to_skip(function, cluster):
    if not cluster.real and function in (refusal_by_quota_is_told_and_mended, missing_permission_is_named_and_the_rest_goes_on):
        return "the embedded server has no quotas and lets everybody do everything"
    if not cluster.collects_garbage and function in (deleting_takes_all_along, recreated_with_the_same_name):
        return "without kube-controller-manager nobody collects garbage; make control-plane builds it"
    if not cluster.collects_garbage and function is refusal_by_quota_is_told_and_mended:
        return "without kube-controller-manager quotas do not count; make control-plane builds it"
    return None


def run_cases(cluster, names):
    failures = count = 0
    own = [f"own-{i}" for i in range(len(OWN))]
    allowed = ["--allow-hosts=shop.example.com", "--allow-service-types=NodePort", "--allow-tls-secrets=web-tls", "--allow-cluster-issuers=letsencrypt",
               "--allow-ingress-annotations=example.org/a"]
    with cluster.start("shared", "--kinds", ALL_KINDS, "--exclude-namespaces", ",".join(own), *allowed) as program:
        cases = list(zip(SHARED, [f"case-{i}" for i in range(len(SHARED))])) + list(zip(OWN, own))
        for function, ns in cases:
            if names and function.__name__ not in names:
                continue
            if reason := reason_to_skip(function, cluster):
                print("skipped", function.__name__ + ":", reason, flush=True)
                continue
            count += 1
            logged = len(program.text())
            cluster.kubectl("create", "namespace", ns)
            try:
                function(Case(cluster, ns))
                print("ok    ", function.__name__, flush=True)
            except (Failure, KeyError, IndexError, TypeError, OSError, subprocess.SubprocessError) as failure:
                failures += 1
                said = str(failure) if isinstance(failure, Failure) else traceback.format_exc()
                print("FAILED", function.__name__, *said.split("\n"), "auto-expose wrote meanwhile:", *program.text()[logged:].split("\n"), sep="\n    ", flush=True)
            cluster.kubectl("delete", "namespace", ns, "--wait=false")
        code = program.end()
        if code != 0:
            failures += 1
            print(f"FAILED auto-expose ended with {code}\n" + program.text())
    print(f"{cluster.kind}: {count} cases, {failures} failures")
    return failures


def folder_of(find, *flags):
    found = subprocess.run([find, "--path", *flags, "newest"], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def main():
    kind, kubexx, auto_expose, find, *names = sys.argv[1:]
    folder, complete = folder_of(find), True
    if folder is None:
        folder, complete = folder_of(find, "--lean"), False
    if folder is None:
        print("skipped: no kubectl and no real control plane; make control-plane builds them")
        return SKIPPED
    with tempfile.TemporaryDirectory() as work:
        cluster = Cluster(kind, (kubexx, auto_expose), os.path.join(folder, "kubectl"), complete or kind != "real", work)
        try:
            return 1 if run_cases(cluster, names) else 0
        finally:
            cluster.server.end()


if __name__ == "__main__":
    sys.exit(main())
