#!/usr/bin/env python3
"""Compares two ways from Go types to CRDs: controller-gen's, and that of kubexx by C++ headers (`kubexx generate types --from-go`, then
`kubexx generate`).

    from_go_test.py KUBEXX SOURCE_ROOT [SET]

The sets are the Go types of tests/generate/testdata and the API packages of some projects, whose modules are fetched at test time and cached by Go.
KUBEXX_GO_MODULES=path@version,... takes other versions of them. Without Go, controller-gen or the modules the test is skipped (exit code
77), see controller_gen_test.py.

Values are compared, descriptions included. Left out are the annotation with controller-gen's version, the descriptions of apiVersion and
kind, and descriptions that are comments in Kubernetes' own modules: those are not ours to ship.

The field tables of the headers are written for all packages and compiled, with $CXX, for those of COMPILED.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import controller_gen_test as base

KUBERNETES = ["k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery"]
CAPI, CLUSTERCTL, CERT, PROMETHEUS, GATEWAY = (
    "sigs.k8s.io/cluster-api/api",
    "sigs.k8s.io/cluster-api",
    "github.com/cert-manager/cert-manager",
    "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring",
    "sigs.k8s.io/gateway-api",
)
# Projects: version, packages, and CRDs that are known to differ.
SETS = {
    CAPI: (
        "v1.14.2",
        [
            *("addons/v1beta1", "addons/v1beta2", "bootstrap/kubeadm/v1beta1", "bootstrap/kubeadm/v1beta2"),
            *("controlplane/kubeadm/v1beta1", "controlplane/kubeadm/v1beta2", "core/v1beta1", "core/v1beta2"),
            *("ipam/v1alpha1", "ipam/v1beta1", "ipam/v1beta2", "runtime/v1alpha1", "runtime/v1beta2"),
        ],
        set(),
    ),
    CLUSTERCTL: ("v1.14.2", ["cmd/clusterctl/api/v1alpha3"], set()),
    CERT: ("v1.21.2", ["pkg/apis/acme/v1", "pkg/apis/certmanager/v1"], set()),
    PROMETHEUS: ("v0.94.1", ["v1", "v1alpha1"], set()),
    GATEWAY: ("v1.6.3", ["apis/v1", "apis/v1beta1", "apis/v1alpha2"], set()),
}
# Headers whose tables are compiled: all of testdata, and of the projects some with large and deep structs.
COMPILED = {
    "testdata": [""],
    CAPI: ["ipam/v1beta2/", "cluster/v1beta2/"],
    CLUSTERCTL: [""],
    CERT: ["cert_manager/v1/"],
    PROMETHEUS: ["monitoring/v1/"],
    GATEWAY: ["gateway/v1/"],
}
APPROVED = "api-approved.kubernetes.io"
OPTIONS = {PROMETHEUS: (["crd:allowDangerousTypes=true"], ["--allow-dangerous-types"])}


def output_of(command: list, what: str, **options) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=base.GO_SECONDS, **options)
    except subprocess.TimeoutExpired:
        base.skip(f"{what}: not done after {base.GO_SECONDS} s")
    if result.returncode != 0:
        base.skip(f"{what}: {base.last_line(result.stderr)}")
    return result.stdout


def plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "", text)


class Upstream:
    """The comments of Kubernetes' modules."""

    def __init__(self, folders: list):
        parts, self.known = [], {}
        for folder in folders:
            for path, _, names in os.walk(folder):
                for name in names:
                    if name.endswith(".go") and not name.endswith("_test.go") and not name.startswith("zz_generated"):
                        with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                            lines = [line.strip() for line in file]
                        parts += [plain(line) for line in lines if line.startswith("//") and not line[2:].strip().startswith(("+", "TODO"))]
        self.text = "".join(parts)

    def has(self, description: str) -> bool:
        if description not in self.known:
            self.known[description] = plain(description) in self.text
        return self.known[description]


def strip_upstream(ours, theirs, upstream: Upstream):
    """Takes away descriptions that only controller-gen has and that are Kubernetes' own."""
    if isinstance(theirs, dict):
        there = ours if isinstance(ours, dict) else {}
        if isinstance(theirs.get("description"), str) and "description" not in there and upstream.has(theirs["description"]):
            del theirs["description"]
        for key, value in theirs.items():
            strip_upstream(there.get(key), value, upstream)
    elif isinstance(theirs, list):
        for i, value in enumerate(theirs):
            strip_upstream(ours[i] if isinstance(ours, list) and i < len(ours) else None, value, upstream)


def without_approval(crd):
    """Groups below k8s.io need an annotation, which these projects add with tools of their own."""
    annotations = crd["metadata"].get("annotations", {})
    if annotations.get(APPROVED) == "unapproved":
        del annotations[APPROVED]
    return crd


def compare(kubexx: str, ours: str, theirs: str, upstream: Upstream, known: set) -> tuple:
    found, equal = [], 0
    names = sorted(os.listdir(theirs))
    made = set(os.listdir(ours)) if os.path.isdir(ours) else set()
    for name in names:
        if name not in made:
            found.append(f"{name}: only controller-gen makes it")
            continue
        made.remove(name)
        a, b = (base.normalize(without_approval(base.load(kubexx, os.path.join(folder, name)))) for folder in (ours, theirs))
        strip_upstream(a, b, upstream)
        lines = [f"{name}{line}" for line in base.differences("", a, b)]
        equal += not lines
        if (name in known) != bool(lines):
            found += lines or [f"{name}: listed as one that differs, and does not"]
    found += [f"{name}: only kubexx makes it" for name in sorted(made)]
    return found, equal, len(names)


def compile_tables(root: str, headers: str, tables: str, folders: list) -> list:
    """Why tables do not compile, of the headers in these folders."""
    found, compiled = [], 0
    for name in sorted(os.listdir(tables)):
        if not name.startswith(tuple(folder.replace("/", "_") for folder in folders)):
            continue
        command = [os.environ.get("CXX") or "g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror",
                   "-Wno-missing-field-initializers", "-isystem", os.path.join(root, "include"), "-I", headers, os.path.join(tables, name)]
        made = subprocess.run(command, check=False, capture_output=True, text=True)
        compiled += 1
        if made.returncode != 0:
            found.append(f"{name}: does not compile: {made.stderr[:2000]}")
    print(f"{compiled} of {len(os.listdir(tables))} tables compiled")
    return found if compiled >= len(folders) else found + [f"no tables for one of {folders}: {sorted(os.listdir(tables))}"]


def write_module(work: str, modules: dict, packages: list):
    with open(os.path.join(work, "go.mod"), "w", encoding="utf-8") as file:
        file.write("module example.com/compare\n\ngo 1.24\n\nrequire (\n" + "".join(f"\t{m} {v}\n" for m, v in modules.items()) + ")\n")
    with open(os.path.join(work, "imports.go"), "w", encoding="utf-8") as file:
        file.write("package compare\n\nimport (\n" + "".join(f'\t_ "{p}"\n' for p in packages) + ")\n")
    base.go(["mod", "tidy"], "the Go modules cannot be had", cwd=work, env={**os.environ, "GOFLAGS": "-mod=mod"})


def run_set(kubexx: str, controller_gen: str, root: str, name: str, work: str) -> tuple:
    """(differences, CRDs that are equal, CRDs)"""
    testdata = os.path.join(root, "tests/generate/testdata")
    versions = base.json.load(open(os.path.join(root, "codegen/versions.json"), encoding="utf-8"))["modules"]
    modules = {m: versions[m] for m in KUBERNETES}
    imports = ["k8s.io/api/core/v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"]
    known, options = set(), OPTIONS.get(name, (["crd"], []))
    if name == "testdata":
        packages = []
        for folder in sorted(os.listdir(testdata)):
            if os.path.exists(os.path.join(testdata, folder, "types.go")) and folder != "program":
                os.makedirs(os.path.join(work, folder))
                shutil.copy(os.path.join(testdata, folder, "types.go"), os.path.join(work, folder))
                packages.append("example.com/compare/" + folder)
    else:
        version, paths, known = SETS[name]
        overrides = dict(entry.split("@") for entry in os.environ.get("KUBEXX_GO_MODULES", "").split(",") if entry)
        modules[name] = overrides.get(name, version)
        packages = [f"{name}/{path}" for path in paths]
    write_module(work, modules, imports + packages)
    env = {**os.environ, "GOFLAGS": "-mod=mod"}
    theirs, headers, manifests, tables = (os.path.join(work, folder) for folder in ("theirs", "headers", "config", "tables"))
    subprocess.run([controller_gen, *options[0], *(f"paths={p}" for p in packages), f"output:crd:dir={theirs}"], cwd=work, env=env, check=True)
    folders = output_of(["go", "list", "-f", "{{.Dir}}", *packages], "the Go packages cannot be had", cwd=work, env=env).split()
    given = [argument for folder in folders for argument in ("--from-go", folder)]
    made = subprocess.run([kubexx, "generate", "types", *given, "--out", headers], check=False, capture_output=True, text=True)
    if made.returncode != 0:
        return [f"{name}: kubexx generate types failed:", made.stderr], 0, len(os.listdir(theirs))
    again = [kubexx, "generate", "--headers", headers, "--include", headers, "--tables", tables, "--manifests", manifests, "--crds-only", *options[1]]
    made = subprocess.run(again, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        return [f"{name}: kubexx generate failed:", made.stderr], 0, len(os.listdir(theirs))
    sources = output_of(["go", "list", "-m", "-f", "{{.Dir}}", *KUBERNETES], "the Go modules cannot be had", cwd=work, env=env).split()
    found, equal, total = compare(kubexx, os.path.join(manifests, "crd"), theirs, Upstream(sources), known)
    return found + compile_tables(root, headers, tables, COMPILED[name]), equal, total


def main() -> int:
    kubexx, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    controller_gen = base.find_controller_gen()
    failed = 0
    for name in sys.argv[3:] or ["testdata", *SETS]:
        with tempfile.TemporaryDirectory() as work:
            found, equal, total = run_set(kubexx, controller_gen, root, name, work)
        print(*found, sep="\n", end="\n" if found else "")
        print(f"{name}: {equal} of {total} CRDs are equal, {len(found)} differences")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
