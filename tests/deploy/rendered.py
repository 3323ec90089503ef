"""What a chart or a kustomization comes to: its objects, and what they allow the account of the program."""

import json
import os
import subprocess
import sys


class Rendered:
    def __init__(self, kubexx, yaml):
        done = subprocess.run([kubexx, "convert", "--strict", "-o", "json", "-c", "-"], input=yaml, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"kubexx convert --strict: {done.stderr}\n{yaml}")
        self.objects = [json.loads(line) for line in done.stdout.splitlines()]

    def of(self, kind):
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind):
        (item,) = self.of(kind)
        return item

    @property
    def deployment(self):
        return self.one("Deployment")

    @property
    def args(self):
        return self.deployment["spec"]["template"]["spec"]["containers"][0]["args"]

    @property
    def namespace(self):
        return self.deployment["metadata"]["namespace"]

    @property
    def account(self):
        return self.deployment["spec"]["template"]["spec"]["serviceAccountName"]

    def permissions(self, namespace, account):
        """Everything that bindings give to the account: {(where, group, resource, name, verb)}; `where` is empty for the whole cluster."""
        roles = {(r["kind"], r["metadata"].get("namespace", ""), r["metadata"]["name"]): r.get("rules", []) for r in self.of("Role") + self.of("ClusterRole")}
        found = set()
        for binding in self.of("RoleBinding") + self.of("ClusterRoleBinding"):
            if {"kind": "ServiceAccount", "name": account, "namespace": namespace} not in binding["subjects"]:
                continue
            where = binding["metadata"].get("namespace", "")
            ref = binding["roleRef"]
            for rule in roles[(ref["kind"], where if ref["kind"] == "Role" else "", ref["name"])]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for name in rule.get("resourceNames", [""]):
                            found.update((where, group, resource, name, verb) for verb in rule["verbs"])
        return found


class Report:
    """One line for each check, and the output if one fails."""

    def __init__(self):
        self.failures = 0

    def check(self, what, good, said=""):
        print("ok    " if good else "FAILED", what, flush=True)
        if not good:
            self.failures += 1
            print("  it said:", *str(said).rstrip("\n").split("\n"), sep="\n    ", flush=True)
        return good


def quiet_environment(work):
    """An environment without the user's settings: no kubeconfig, no repositories."""
    keep = {name: os.environ[name] for name in ("PATH", "KUBEXX_CACHE", "XDG_CACHE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    return {**keep, "HOME": work, "KUBECACHEDIR": os.path.join(work, "cache")}


def run(*command, stdin="", env=None):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, timeout=120, check=False)


def check_permissions(report, what, kubexx, auto_expose, rendered, env):
    """The roles are what the program says that it needs, with exactly the flags that the Deployment gives it."""
    printed = run(auto_expose, *rendered.args, f"--print-rbac={rendered.namespace}/{rendered.account}", env=env)
    if not report.check(f"{what}: auto-expose --print-rbac takes its flags", printed.returncode == 0, printed.stderr):
        return
    needs = Rendered(kubexx, printed.stdout).permissions(rendered.namespace, rendered.account)
    gives = rendered.permissions(rendered.namespace, rendered.account)
    said = "\n".join([f"missing: {sorted(needs - gives)}", f"too much: {sorted(gives - needs)}"])
    report.check(f"{what}: the roles are those of --print-rbac ({len(needs)} permissions)", bool(needs) and needs == gives, said)


def check_shape(report, what, rendered):
    """What holds for every way to install it."""
    spec = rendered.deployment["spec"]
    pod = spec["template"]["spec"]
    container = pod["containers"][0]
    labels = spec["template"]["metadata"]["labels"]
    has = lambda selector: all(labels.get(k) == v for k, v in selector.items())
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    probes = [container[name]["httpGet"]["port"] for name in ("livenessProbe", "readinessProbe")]
    report.check(f"{what}: its selector selects its pods", has(spec["selector"]["matchLabels"]), spec)
    report.check(f"{what}: probes go to the port that the program listens on",
                 probes == ["health", "health"] and f"--health-probe-bind-address=:{ports['health']}" in rendered.args, container)
    report.check(f"{what}: leader election where there are replicas", spec["replicas"] < 2 or "--leader-elect" in rendered.args, rendered.args)
    report.check(f"{what}: a limit for memory, and requests", "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"],
                 container["resources"])
    report.check(f"{what}: not root, and nothing to write to", pod["securityContext"]["runAsUser"] > 0 and container["securityContext"]["readOnlyRootFilesystem"], pod)
    for service in rendered.of("Service"):
        good = has(service["spec"]["selector"]) and all(port["targetPort"] in ports for port in service["spec"]["ports"])
        report.check(f"{what}: the Service of the metrics leads to the pods", good, service)
    for budget in rendered.of("PodDisruptionBudget"):
        report.check(f"{what}: the disruption budget is about its pods", has(budget["spec"]["selector"]["matchLabels"]), budget)
    for policy in rendered.of("NetworkPolicy"):
        rules = policy["spec"].get("ingress") or []
        good = has(policy["spec"]["podSelector"]["matchLabels"]) and policy["spec"]["policyTypes"] == ["Ingress"]
        good = good and all(rule["from"] and all(port["port"] in ports for port in rule["ports"]) for rule in rules)
        report.check(f"{what}: the network policy is about its pods and ports, and opens none to everybody", good, policy)
    for monitor in rendered.of("ServiceMonitor"):
        # Its kind is not known to the server of these tests, so its shape is checked here.
        service = rendered.one("Service")
        endpoints = monitor["spec"]["endpoints"]
        selected = all(service["metadata"]["labels"].get(k) == v for k, v in monitor["spec"]["selector"]["matchLabels"].items())
        named = [e["port"] for e in endpoints] == [service["spec"]["ports"][0]["name"]]
        secure = "--metrics-secure=true" in rendered.args
        scheme = (endpoints[0].get("scheme") == "https") == secure and ("bearerTokenFile" in endpoints[0]) == secure
        report.check(f"{what}: the ServiceMonitor is about the Service", selected and named and scheme, monitor)
        tls = endpoints[0].get("tlsConfig", {})
        own = any(arg.startswith("--metrics-cert-path=") for arg in rendered.args)
        verified = bool(tls.get("serverName")) and ("ca" in tls or "caFile" in tls) and "insecureSkipVerify" not in tls
        report.check(f"{what}: the ServiceMonitor verifies a certificate that can be verified", not secure or verified == own, monitor)
    mounts = {mount["mountPath"] for mount in container.get("volumeMounts", [])}
    folders = {arg.partition("=")[2] for arg in rendered.args if arg.startswith("--metrics-cert-path=")}
    report.check(f"{what}: the certificate is where the program looks for it", mounts == folders, container)


if __name__ == "__main__":
    sys.exit("this is for chart_test.py and kustomize_test.py")
