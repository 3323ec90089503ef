#!/usr/bin/env python3
"""A scaffolded project on a real control plane: its tests, a server-side dry run of all of its manifests, and its program at work as its own
ServiceAccount, with the roles of its manifests, from the root folder of its image.

    real_test.py KUBEXX BUILD_FOLDER CXX [FLAGS]

There are no nodes: the program runs on this machine, so the webhook configurations name its address instead of its Service. There is no
container engine either: engine.py follows the Containerfile, and chroot runs the program as the image's user. Without the right to do that it
runs outside of the folder, which is said. Exit code 77 without a real control plane.
"""

import base64
import json
import os
import re
import socket
import sys
import tempfile

from project import HERE, ROOT, SKIPPED, Failed, Project, install

from background import Background, wait_for  # pylint: disable=wrong-import-order
from cluster import ClusterError  # pylint: disable=wrong-import-order
from image_test import entrance  # pylint: disable=wrong-import-order
from rendered import Rendered, Report, quiet_environment, run  # pylint: disable=wrong-import-order
from server import RealServer, find  # pylint: disable=wrong-import-order

BOOKS = "/apis/webapp.my.domain/{}/namespaces/default/guestbooks"
# Objects that say where the program is called.
ADDRESSED = {
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}


def make_project(project):
    """Two versions with a conversion, webhooks of both sorts, and one for Pods."""
    for line in ("init my.domain --project-name guestbook",
                 "create api --group webapp --version v1 --kind Guestbook",
                 "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
                 "create webhook --group webapp --version v1 --kind Guestbook --programmatic-validation",
                 "create api --group webapp --version v2 --kind Guestbook",
                 "create webhook --version v2 --kind Guestbook --conversion",
                 "create webhook --group core --version v1 --kind Pod --defaulting"):
        project.create(*line.split())
    project.edit("src/guestbook_controller.cc", '"everything is in place"', '"foo is " + object.spec.foo.str()')
    project.edit("src/guestbook_webhook.cc", "// TODO: such as  if (object.spec.foo.empty())", "if (object.spec.foo.empty())")
    project.edit("src/guestbook_validation_webhook.cc", "// TODO: such as  if (object->spec.foo", "if (object != nullptr && object->spec.foo")
    project.edit("src/pod_webhook.cc", "[[maybe_unused]] Pod& object) {", 'Pod& object) {\n  object.metadata.annotations["my.domain/seen"] = "yes";')


def check_names(report, make_project_of):
    """Projects called like targets of CMake can be configured; some have other kinds that C++ would confuse."""
    for name in ("all", "test", "install", "kubexx", "manifests"):
        project = make_project_of(name)
        project.create("init", "my.domain", "--project-name", name)
        project.create("create", "api", "--group", "floor", "--version", "v1", "--kind", "Kind")
        project.make("build/build.ninja")
        dry = run("cmake", "--build", project.path("build"), "--", "-n", "manifests", "all")
        report.check(f"a project called {name}", dry.returncode == 0, dry.stdout + dry.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def with_address(item, url):
    """An object with the address of a program that no Service leads to."""
    clients = [webhook["clientConfig"] for webhook in item.get("webhooks", [])]
    clients += [c["webhook"]["clientConfig"] for c in [item.get("spec", {}).get("conversion", {})] if "webhook" in c]
    for client in clients:
        client["url"] = url + client.pop("service").get("path", "")
    return item


class Run:
    def __init__(self, report, project, server, work, env):
        self.report, self.project, self.server, self.work, self.env = report, project, server, work, env
        self.call = server.cluster.call

    def kustomize(self, folder):
        done = run(self.server.kubectl, "kustomize", self.project.path(folder), env=self.env)
        if done.returncode != 0 or done.stderr:
            raise Failed(f"kubectl kustomize {folder}: {done.stderr}")
        return Rendered(self.project.program, done.stdout)

    def established(self, name):
        conditions = self.call("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}").get("status", {}).get("conditions", [])
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    def check_manifests(self):
        """Each of them as a server-side dry run. Samples are converted by the program, so these come later."""
        deployed, bare = self.kustomize("deploy"), self.kustomize("config")
        self.report.check("config/ and deploy/ have the same kinds of objects", sorted(o["kind"] for o in bare.objects) == sorted(o["kind"] for o in deployed.objects))
        for what, rendered in (("deploy/", deployed), ("config/", bare)):
            self.server.apply(rendered.of("Namespace"))
            self.server.check_dry_run(self.report, what, rendered.objects)
        self.server.check_pod(self.report, "deploy/", deployed)
        self.check_components(deployed)
        return deployed

    def check_components(self, deployed):
        """All of config/components at once. The server does not know the kinds of Prometheus and cert-manager."""
        self.project.edit("deploy/kustomization.yaml", "# components:", "components:")
        self.project.edit("deploy/kustomization.yaml", "# - ../config/components", "- ../config/components")
        rendered = self.kustomize("deploy")
        names = {f"{o['kind']} {o['metadata']['name']}" for o in rendered.objects} - {f"{o['kind']} {o['metadata']['name']}" for o in deployed.objects}
        self.report.check("components add their objects", names == {
            "NetworkPolicy guestbook", "Service guestbook-metrics", "ServiceMonitor guestbook", "ClusterRole guestbook-metrics-reader",
            "Issuer guestbook-selfsigned", "Certificate guestbook-webhook"}, names)
        wrong = [o["metadata"] for o in rendered.objects if o["metadata"].get("namespace", deployed.namespace) != deployed.namespace]
        self.report.check("in the program's namespace", not wrong, wrong)
        ports = {p["name"] for p in rendered.deployment["spec"]["template"]["spec"]["containers"][0]["ports"]}
        named = {p["port"] for rule in rendered.one("NetworkPolicy")["spec"]["ingress"] for p in rule["ports"]}
        service = next(o for o in rendered.of("Service") if o["metadata"]["name"] == "guestbook-metrics")
        self.report.check("for ports that it has", named | {p["targetPort"] for p in service["spec"]["ports"]} <= ports, f"{named} {ports}")
        certified = f"guestbook-webhook.{deployed.namespace}.svc"
        hooks = rendered.of("MutatingWebhookConfiguration") + rendered.of("ValidatingWebhookConfiguration")
        used = {f"{w['clientConfig']['service']['name']}.{w['clientConfig']['service']['namespace']}.svc" for o in hooks for w in o["webhooks"]}
        inject = {o["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] for o in hooks}
        self.report.check("cert-manager's certificate is for the Service of the webhooks",
                          used == {certified} and certified in rendered.one("Certificate")["spec"]["dnsNames"] and inject == {f"{deployed.namespace}/guestbook-webhook"},
                          f"{used} {inject}")
        self.server.check_dry_run(self.report, "deploy/ with all components",
                                  [o for o in rendered.objects if o["kind"] not in ("ServiceMonitor", "Issuer", "Certificate")])
        self.project.edit("deploy/kustomization.yaml", "components:", "# components:")
        self.project.edit("deploy/kustomization.yaml", "- ../config/components", "# - ../config/components")

    def image(self, flags):
        """`make image`: the image's root folder, with what is needed to go there; or why not."""
        work = os.path.join(self.work, "image")
        os.mkdir(work)
        said = self.project.make("image", "IMAGE=registry.example.com/guestbook:1", "KUBEXX=https://git.example.com/kubexx.git",
                                 f"ENGINE={os.path.join(HERE, 'engine.py')}", env={"ENGINE_WORK": work, "ENGINE_CMAKE_FLAGS": flags})
        root = os.path.join(work, "root")
        self.report.check("make image follows its Containerfile", os.access(os.path.join(root, "manager"), os.X_OK), said)
        files = [os.path.relpath(os.path.join(where, name), root) for where, _, names in os.walk(root) for name in names]
        foreign = [f for f in files if not f.startswith(("lib", "usr/lib", "etc/", "manager"))]
        self.report.check(f"the image has the program and {len(files) - 1} other files", not foreign and "etc/passwd" in files, foreign)
        self.report.check("COPY leaves out what .containerignore names", not os.path.exists(os.path.join(work, "src", "build", "CMakeCache.txt")))
        return root

    def mount_account(self, root, ns, token):
        """What the kubelet gives a pod of the account: files and variables."""
        folder = os.path.join(root, "var/run/secrets/kubernetes.io/serviceaccount")
        os.makedirs(folder)
        with open(self.server.kubeconfig, encoding="utf-8") as f:
            authority = re.search(r"certificate-authority-data: \"?([^\s\"]+)", f.read())[1]
        for name, text in (("token", token), ("namespace", ns), ("ca.crt", base64.b64decode(authority).decode())):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        host, _, port = self.server.cluster.url.removeprefix("https://").partition(":")
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    def at_work(self, deployed, enter, root):
        port = free_port()
        url = f"https://127.0.0.1:{port}"
        kubectl = f"KUBECTL={self.server.kubectl} --kubeconfig {self.server.kubeconfig}"
        said = self.project.make("deploy", kubectl, "IMAGE=registry.example.com/guestbook:1")
        self.report.check("make deploy applies all of it", said.count("serverside-applied") == len(deployed.objects), said)
        # Before its spec changes: the server writes conditions to a new CRD for a moment.
        self.report.check("the CRD is established", wait_for(lambda: self.established("guestbooks.webapp.my.domain")))
        for item in deployed.objects:
            if item["kind"] in ADDRESSED:
                path = f"{ADDRESSED[item['kind']]}/{item['metadata']['name']}"
                self.call("PUT", path, with_address(self.call("GET", path), url))
        ns, account = deployed.namespace, deployed.account
        image = self.call("GET", f"/apis/apps/v1/namespaces/{ns}/deployments/{account}")["spec"]["template"]["spec"]["containers"][0]["image"]
        self.report.check("with the image of IMAGE", image == "registry.example.com/guestbook:1", image)
        token = self.call("POST", f"/api/v1/namespaces/{ns}/serviceaccounts/{account}/token", {"spec": {}})["status"]["token"]
        # As the Deployment says; ports of a pod are its own, here they are free ones.
        args = [arg.partition("=")[0] + "=127.0.0.1:0" if "-bind-address=" in arg else arg for arg in deployed.args]
        args += ["--preflight=fail", "--health-probe-bind-address=127.0.0.1:0", f"--webhook-port={port}", "--webhook-bind-address=127.0.0.1", f"--webhook-url={url}"]
        if enter:
            command, env = [*enter, "/manager", *args], {**self.env, **self.mount_account(root, ns, token), "ASAN_OPTIONS": "detect_leaks=0"}
        else:
            kubeconfig = os.path.join(self.work, "account.kubeconfig")
            self.server.robot_kubeconfig(kubeconfig, token)
            run(self.server.kubectl, "--kubeconfig", kubeconfig, "config", "set-context", "--current", f"--namespace={ns}", env=self.env)
            command, env = [self.project.path("build", "manager"), *args, f"--kubeconfig={kubeconfig}"], self.env
        with Background(command, os.path.join(self.work, "manager.log"), env=env) as program:
            self.check_program(deployed, program)
            code = program.end()
            self.report.check("it ends in good order, and nothing was forbidden to it", code == 0 and "orbidden" not in program.text(), f"exit code {code}\n{program.text()}")

    def tried(self, *args):
        """Calls as soon as the webhooks are reached: what the server says then. While a CRD changes, the server ends the handlers of its kind."""
        transient = ("failed calling webhook", "conversion webhook", "apiserver is shutting down")
        answers = []

        def reached():
            try:
                answers.append((self.call(*args), ""))
            except ClusterError as error:
                answers.append((None, str(error)))
            return not any(text in answers[-1][1] for text in transient)

        wait_for(reached)
        return answers[-1]

    def check_program(self, deployed, program):
        report, v1 = self.report, BOOKS.format("v1")
        samples = []
        for name in sorted(os.listdir(self.project.path("config", "samples"))):
            samples += Rendered(self.project.program, self.project.read("config", "samples", name)).objects
        made, why = self.tried("POST", v1 + "?dryRun=All", {**samples[0], "spec": {}})
        if not report.check("with these roles the webhooks are served", made, f"{why}\n{program.text()}"):
            return
        report.check("the webhook sets defaults", made["spec"].get("foo") == "hello", made)
        self.tried("POST", BOOKS.format("v2") + "?dryRun=All", samples[1])  # conversion has its CA, too
        self.server.check_dry_run(report, "config/samples", samples)
        done = self.server.apply([samples[0]])
        report.check("a sample can be applied", done.returncode == 0, done.stderr)

        def condition():
            conditions = self.call("GET", v1 + "/guestbook-sample").get("status", {}).get("conditions", [])
            return conditions and (conditions[0]["status"], conditions[0]["message"])

        report.check("its status appears", wait_for(condition) == ("True", "foo is hello"), f"{condition()}\n{program.text()}")
        got = self.call("GET", BOOKS.format("v2") + "/guestbook-sample")
        report.check("in both versions", got["spec"] == {"foo": "hello"} and got["apiVersion"].endswith("/v2"), got)
        _, why = self.tried("POST", v1, {**samples[0], "metadata": {"name": "other"}, "spec": {"foo": "bar"}})
        report.check("the webhook refuses what it should", "is taken" in why, why)
        pod = {"metadata": {"name": "any"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        self.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        made, why = self.tried("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
        report.check("and Pods go through the program", made and made["metadata"]["annotations"]["my.domain/seen"] == "yes", f"{made} {why}")
        leases = self.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/{deployed.namespace}/leases")["items"]
        report.check("it holds the lease of its name", [item["metadata"]["name"] for item in leases] == [deployed.deployment["metadata"]["name"]], leases)


def main():
    kubexx, build, cxx, flags = sys.argv[1:5] if len(sys.argv) > 4 else [*sys.argv[1:4], ""]
    programs = find(os.path.join(ROOT, "scripts", "build-control-plane"), "--lean", "--path", "newest")
    if not programs:
        print("skipped: no real control plane; make control-plane builds it")
        return SKIPPED
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # for the user of the image
        prefix = install(build, os.path.join(work, "prefix"))
        # A name that build systems find hard.
        project = Project(os.path.join(prefix, "bin", "kubexx"), os.path.join(work, "My B\u00fccher"), prefix, cxx, flags)
        env = quiet_environment(work)
        env["KUBEXX_CACHE"] = os.path.dirname(os.path.dirname(programs))
        try:
            check_names(report, lambda name: Project(project.program, os.path.join(work, "named " + name), prefix, cxx, flags))
            make_project(project)
            report.check("make test", "tests passed" in project.make("test"))
            report.check("CLUSTER=real make test", "tests passed" in project.make("test", env={**env, "CLUSTER": "real"}))
            with RealServer(kubexx, programs, "newest", work, env) as server:
                here = Run(report, project, server, work, env)
                deployed = here.check_manifests()
                root = here.image(project.cmake_flags)
                enter = entrance(root)
                if not enter:
                    print("left out: the program runs outside of the image's folder, because chroot needs root or user namespaces")
                here.at_work(deployed, enter, root)
                report.check("make uninstall", "deleted" in project.make("uninstall", f"KUBECTL={server.kubectl} --kubeconfig {server.kubeconfig}"))
        except Failed as error:
            report.check("all commands succeed", False, error)
    print(json.dumps({"failures": report.failures}))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
