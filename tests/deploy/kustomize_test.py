#!/usr/bin/env python3
"""The kustomize base: its roles are those that the program asks for, and a real API server takes it.

    kustomize_test.py KUBEXX AUTO_EXPOSE SOURCE_ROOT

Exit code 77 if there is neither kubectl nor a real control plane.
"""

import os
import sys
import tempfile

from rendered import Rendered, Report, check_permissions, check_shape, quiet_environment, run
from server import RealServer, find

SKIPPED = 77
OVERLAY = """
resources: [{base}]
namespace: exposer
images:
- name: auto-expose
  newName: registry.example.com/auto-expose
  newTag: 1.2.3
patches:
- target: {{kind: Deployment, name: auto-expose}}
  patch: |
    - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --domain=example.com}}
- target: {{kind: NetworkPolicy, name: auto-expose}}
  patch: |
    $patch: delete
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: {{name: auto-expose}}
"""


def main():
    kubexx, auto_expose, root = sys.argv[1:]
    programs = find(os.path.join(root, "scripts", "build-control-plane"), "--lean", "--path", "newest")
    if not programs:
        print("skipped: no kubectl and no real control plane; make control-plane builds them")
        return SKIPPED
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        env = quiet_environment(work)
        env["KUBEXX_CACHE"] = os.path.dirname(os.path.dirname(programs))
        base = os.path.join(root, "deploy", "kustomize", "base")
        overlay = os.path.join(work, "overlay")
        os.mkdir(overlay)
        with open(os.path.join(overlay, "kustomization.yaml"), "w", encoding="utf-8") as out:
            out.write(OVERLAY.format(base=os.path.relpath(base, os.path.realpath(overlay))))
        rendered = {}
        for name, folder in (("base", base), ("overlay", overlay)):
            done = run(os.path.join(programs, "kubectl"), "kustomize", folder, env=env)
            if not report.check(f"{name}: kubectl kustomize", done.returncode == 0 and not done.stderr, done.stdout + done.stderr):
                continue
            rendered[name] = Rendered(kubexx, done.stdout)
            check_shape(report, name, rendered[name])
            check_permissions(report, name, kubexx, auto_expose, rendered[name], env)
        report.check("base: exposes what asks for it only", "--opt-in" in rendered["base"].args, rendered["base"].args)
        policies = [len(rendered[name].of("NetworkPolicy")) for name in ("base", "overlay")]
        report.check("a network policy, unless an overlay takes it out", policies == [1, 0], policies)
        image = rendered["overlay"].deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        good = image == "registry.example.com/auto-expose:1.2.3" and "--domain=example.com" in rendered["overlay"].args
        report.check("overlay: names the image and the domain", good, rendered["overlay"].deployment)
        with RealServer(kubexx, programs, "newest", work, env) as server:
            for name, one in rendered.items():
                done = server.apply(one.of("Namespace"))
                report.check(f"{name}: its namespace", done.returncode == 0, done.stderr)
                server.check_dry_run(report, name, one.objects)
                server.check_pod(report, name, one)
            server.check_at_work(report, "base", rendered["base"], auto_expose)
    print(f"{report.failures} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
