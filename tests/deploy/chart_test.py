#!/usr/bin/env python3
"""The Helm chart: its roles are those that the program asks for, a real API server takes what it renders, and it works when installed.

    chart_test.py KUBEXX AUTO_EXPOSE SOURCE_ROOT

Exit code 77 if helm is not built. Without a real control plane the checks that need one are left out.
"""

import json
import os
import re
import sys
import tempfile

from rendered import Rendered, Report, check_permissions, check_shape, quiet_environment, run
from server import RealServer, find

SKIPPED = 77
# Values, and flags that they have to lead to.
VARIANTS = {
    "defaults": ({}, ["--opt-in=true", "--leader-elect", "--kinds=deployments", "--metrics-bind-address=:8443", "--metrics-secure=true"]),
    "everything": (
        {
            "optIn": False, "kinds": ["deployments", "statefulsets", "daemonsets"], "domain": "example.com", "namespaces": ["shop", "blog"],
            "excludeNamespaces": ["infra"], "selector": "tier=web,team!=infra", "serviceType": "NodePort", "host": "{name}.{domain}",
            "path": "/{name}", "pathType": "Exact", "tls": {"secret": "{name}-tls", "clusterIssuer": "letsencrypt"},
            "ingress": {"className": "nginx", "annotations": {"example.com/a": "1, 2: \"three\"", "example.com/b": ""}},
            "workers": 8, "resync": "1h", "log": {"format": "text", "verbosity": 4}, "extraArgs": ["--graceful-shutdown-timeout=10s"],
            "replicas": 3, "imagePullSecrets": [{"name": "registry"}], "priorityClassName": "system-cluster-critical",
            "podAnnotations": {"example.com/note": "yes"}, "podLabels": {"team": "infra"}, "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"operator": "Exists"}], "affinity": {"podAntiAffinity": {}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                                           "labelSelector": {"matchLabels": {"team": "infra"}}}],
            "serviceAccount": {"name": "robot", "annotations": {"example.com/role": "x"}}, "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "fullnameOverride": "exposer",
            "allow": {"hosts": ["*.example.com", "shop.org"], "namespaceHosts": False, "ingressAnnotations": ["nginx.ingress.kubernetes.io/proxy-*"],
                      "ingressClasses": ["internal"], "serviceTypes": ["NodePort", "LoadBalancer"], "issuers": ["own"], "clusterIssuers": ["ca"], "tlsSecrets": ["{name}-*"]},
        },
        ["--opt-in=false", "--kinds=deployments,statefulsets,daemonsets", "--domain=example.com", "--namespaces=shop,blog",
         "--exclude-namespaces=infra", "--selector=tier=web,team!=infra", "--service-type=NodePort", "--host={name}.{domain}", "--path=/{name}",
         "--path-type=Exact", "--tls-secret={name}-tls", "--cluster-issuer=letsencrypt", "--ingress-class=nginx",
         "--ingress-annotation=example.com/a=1, 2: \"three\"", "--ingress-annotation=example.com/b=", "--workers=8", "--resync=1h",
         "--logging-format=text", "-v=4", "--graceful-shutdown-timeout=10s", "--leader-elect-lease-name=exposer", "--allow-hosts=*.example.com,shop.org", "--allow-namespace-hosts=false",
         "--allow-ingress-annotations=nginx.ingress.kubernetes.io/proxy-*", "--allow-ingress-classes=internal",
         "--allow-service-types=NodePort,LoadBalancer", "--allow-issuers=own", "--allow-cluster-issuers=ca", "--allow-tls-secrets={name}-*"]),
    "gateway": ({"exposure": "gateway", "gateway": "infra/public"}, ["--ingress=gateway", "--gateway=infra/public"]),
    "service alone": ({"exposure": "none"}, ["--ingress=none"]),
    "some namespaces": ({"namespaces": ["shop", "ops", "kube-system", "infra", "shop"], "excludeNamespaces": ["infra"]},
                        ["--namespaces=shop,ops,kube-system,infra,shop", "--exclude-namespaces=infra"]),
    "one namespace": ({"watchNamespace": "shop"}, ["--namespace=shop"]),
    "one namespace, open metrics": ({"watchNamespace": "shop", "metrics": {"secure": False}, "serviceMonitor": {"enabled": True}},
                                    ["--metrics-secure=false"]),
    "verified metrics": ({"metrics": {"certificateSecret": "metrics-tls"}, "serviceMonitor": {"enabled": True}, "nodeSelector": {"a": "b"},
                          "networkPolicy": {"healthFrom": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}},
                         ["--metrics-cert-path=/etc/auto-expose/metrics-certificate"]),
    "verified metrics, with a file": ({"metrics": {"certificateSecret": "metrics-tls"}, "networkPolicy": {"metricsFrom": []},
                                       "serviceMonitor": {"enabled": True, "caFile": "/etc/ca.crt", "serverName": "metrics.example.com"}}, []),
    "no network policy": ({"networkPolicy": {"enabled": False}}, []),
    "one replica, no metrics": ({"replicas": 1, "leaderElection": {"enabled": False}, "metrics": {"enabled": False}}, []),
}
# Values, and what the message has to name.
REFUSED = (
    ({"kinds": ["pods"]}, "kinds"),
    ({"exposure": "gateway"}, "gateway"),
    ({"exposur": "none"}, "exposur"),
    ({"replicas": 2, "leaderElection": {"enabled": False}}, "leaderElection.enabled"),
    ({"tls": {"issuer": "a", "clusterIssuer": "b"}}, "tls"),
    ({"path": "shop"}, "path"),
    ({"watchNamespace": "Shop"}, "watchNamespace"),
    ({"image": {"digest": "sha256:12"}}, "digest"),
    ({"metrics": {"enabled": False}, "serviceMonitor": {"enabled": True}}, "metrics.enabled"),
    ({"serviceAccount": {"create": False}}, "serviceAccount.name"),
    ({"allow": {"host": []}}, "host"),
    ({"allow": {"serviceTypes": ["ExternalName"]}}, "serviceTypes"),
    ({"metrics": {"secure": False, "certificateSecret": "a"}}, "metrics.certificateSecret"),
    ({"networkPolicy": {"metricsFrom": [{}]}}, "metricsFrom"),
)


class Chart:
    def __init__(self, helm, folder, work, env):
        self.helm, self.folder, self.work, self.env = helm, folder, work, env

    def template(self, values):
        path = os.path.join(self.work, "values.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(values, out)
        return run(self.helm, "template", "auto-expose", self.folder, "--namespace", "ops", "--values", path, "--kube-version", "1.26", env=self.env)

    def notes(self, server, *flags):
        """The notes for the user. They take a server, even for a dry run."""
        done = run(self.helm, "install", "auto-expose", self.folder, "--namespace", "ops", "--dry-run=server", *flags, env=server.env)
        return done.stdout.partition("NOTES:\n")[2] or done.stderr


def check_chart(report, chart, kubexx, auto_expose, root):
    done = run(chart.helm, "lint", "--strict", chart.folder, env=chart.env)
    report.check("helm lint", done.returncode == 0, done.stdout + done.stderr)
    with open(os.path.join(root, "include", "kube", "version.h"), encoding="utf-8") as f:
        version = re.search(r'KUBE_VERSION_STRING "(.*)"', f.read())[1]
    with open(os.path.join(chart.folder, "Chart.yaml"), encoding="utf-8") as f:
        text = f.read()
    report.check("the chart has the project's version", f"\nversion: {version}\n" in text and f'\nappVersion: "{version}"\n' in text, text)

    rendered = {}
    for name, (values, flags) in VARIANTS.items():
        done = chart.template(values)
        if not report.check(f"{name}: helm template", done.returncode == 0, done.stderr):
            continue
        rendered[name] = Rendered(kubexx, done.stdout)
        missing = [flag for flag in flags if flag not in rendered[name].args]
        report.check(f"{name}: the values become flags", not missing, f"missing {missing} in {rendered[name].args}")
        check_shape(report, name, rendered[name])
        check_permissions(report, name, kubexx, auto_expose, rendered[name], chart.env)
    if len(rendered) == len(VARIANTS):
        policies = {name: len(one.of("NetworkPolicy")) for name, one in rendered.items()}
        report.check("a network policy, unless it is not wanted", all(count == (name != "no network policy") for name, count in policies.items()),
                     policies)
        closed = rendered["one replica, no metrics"].one("NetworkPolicy")["spec"]
        report.check("without metrics no port is open to other pods", not closed.get("ingress"), closed)
    for values, what in REFUSED:
        done = chart.template(values)
        report.check(f"refused, naming {what}: {json.dumps(values)}", done.returncode != 0 and what in done.stderr, done.stdout + done.stderr)
    return rendered


def check_narrow(report, chart, kubexx):
    """With `namespaces` nothing outside of them can be written."""
    one = Rendered(kubexx, chart.template({"namespaces": ["shop", "blog"], "metrics": {"enabled": False}}).stdout)
    allowed = one.permissions(one.namespace, one.account)
    everywhere = {(resource, verb) for where, _, resource, _, verb in allowed if not where and verb not in ("list", "watch")}
    report.check("some namespaces: everywhere it may but list and watch", not everywhere, sorted(allowed))
    needed = {("namespaces", "watch"), ("ingressclasses", "list"), ("ingresses", "watch")}
    report.check("some namespaces: it sees what keeps namespaces apart",
                 needed <= {(resource, verb) for where, _, resource, _, verb in allowed if not where}, sorted(allowed))
    written = {where for where, _, resource, _, verb in allowed if resource == "services" and verb == "create"}
    report.check("some namespaces: it may write where it works", written == {"shop", "blog"}, sorted(allowed))


def check_image(report, chart, kubexx):
    digest = "sha256:" + "0123456789abcdef" * 4
    with open(os.path.join(chart.folder, "Chart.yaml"), encoding="utf-8") as f:
        version = re.search(r'\nappVersion: "(.*)"', f.read())[1]
    for image, want in (({}, f"auto-expose:{version}"), ({"tag": "1"}, "auto-expose:1"), ({"digest": digest}, f"auto-expose@{digest}"),
                        ({"repository": "registry.example.com/a", "tag": "1", "digest": digest}, f"registry.example.com/a:1@{digest}")):
        done = chart.template({"image": image})
        got = Rendered(kubexx, done.stdout).deployment["spec"]["template"]["spec"]["containers"][0]["image"] if done.returncode == 0 else done.stderr
        report.check(f"the image of {json.dumps(image)}", got == want, got)


def check_notes(report, chart, server):
    for flags, texts in (([], ["auto-expose.kubexx.dev/expose=true", "service,ingress", "--set domain="]),
                         (["--set", "optIn=false,exposure=gateway,gateway=a/b"], ["auto-expose.kubexx.dev/expose=false", "httproute"])):
        notes = chart.notes(server, *flags)
        report.check(f"the notes with {flags}", all(text in notes for text in texts), notes)


def main():
    kubexx, auto_expose, root = sys.argv[1:]
    helm = find(os.path.join(root, "scripts", "build-helm"), "--path")
    if not helm:
        print("skipped: helm is not built; make control-plane builds it (or scripts/build-helm)")
        return SKIPPED
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        env = quiet_environment(work)
        chart = Chart(helm, os.path.join(root, "deploy", "helm", "auto-expose"), work, env)
        env = {**env, "KUBEXX_CACHE": os.path.dirname(os.path.dirname(os.path.dirname(helm)))}
        rendered = check_chart(report, chart, kubexx, auto_expose, root)
        check_narrow(report, chart, kubexx)
        check_image(report, chart, kubexx)
        for version in ("newest", "oldest") if len(rendered) == len(VARIANTS) else ():
            programs = find(os.path.join(root, "scripts", "build-control-plane"), "--lean", "--path", version)
            if not programs:
                print(f"left out: what needs the {version} real control plane; make control-plane builds it")
                continue
            with RealServer(kubexx, programs, version, work, env) as server:
                server.namespace("ops")
                server.namespace("blog")
                if version == "newest":
                    check_notes(report, chart, server)
                    server.check_pod(report, "defaults", rendered["defaults"])
                    server.check_at_work(report, "defaults", rendered["defaults"], auto_expose)
                    server.check_narrow(report, "some namespaces", rendered["some namespaces"], auto_expose)
                else:
                    server.namespace("shop")
                for name, one in rendered.items():
                    server.check_dry_run(report, f"{version}, {name}", [item for item in one.objects if item["kind"] != "ServiceMonitor"])
    print(f"{report.failures} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
