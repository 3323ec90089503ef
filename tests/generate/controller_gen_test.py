#!/usr/bin/env python3
"""Compares the manifests that kubexx makes of C++ headers with those that controller-gen makes of the same types and markers in Go: CRDs, roles
and webhook configurations.

    controller_gen_test.py KUBEXX TESTDATA

controller-gen is taken from $CONTROLLER_GEN or ~/.cache/kubexx/controller-gen; if there is none, it is built there, which takes about a
minute. Without Go, or without the modules that controller-gen and the Go types import, the test is skipped (exit code 77).

Values are compared. Left out are the annotation with controller-gen's version, and descriptions that are upstream's text: those of
apiVersion and kind, and those of structs of Kubernetes.

Every marker that has a part in a CRD is in the types, in C++ and in Go; the test fails if one is in neither or in only one of them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
CONTROLLER_GEN = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"
GO_SECONDS = 240  # for what downloads and builds
MODULES = ["k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery"]
# Fields whose types are structs of Kubernetes, by file: descriptions below them are not compared.
BUILT_IN = {
    "cron.example.com_cronthings.yaml": ["jobTemplate", "pod", "claims", "selector", "resources", "active", "lastScheduleTime"],
    "shop.example.com_widgets.yaml": [
        *("conditions", "ref", "meta", "anything", "template", "port", "ports", "memory", "limits", "timeout", "since", "exactly"),
    ],
    "shop.example.com_trinkets.yaml": ["object"],
    "limits.example.com_limits.yaml": ["either", "objects", "size"],
    "policies.example.com_policies.yaml": ["conditions", "object", "whole"],
}
# Markers that no CRD shows, and our own.
NOT_COMPARED = {"kube:inline", "kube:json", "kube:schema", "kubebuilder:rbac", "kubebuilder:webhook", "kubebuilder:webhookconfiguration"}


def skip(reason: str):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def go(arguments: list, what: str, **options):
    try:
        result = subprocess.run(["go", *arguments], capture_output=True, text=True, check=False, timeout=GO_SECONDS, **options)
    except subprocess.TimeoutExpired:
        skip(f"{what}: not done after {GO_SECONDS} s")
    if result.returncode != 0:
        skip(f"{what}: {last_line(result.stderr)}")


def find_controller_gen() -> str:
    if shutil.which("go") is None:
        skip("no Go toolchain, which controller-gen needs to load packages")
    path = os.environ.get("CONTROLLER_GEN")
    if path:
        return path
    folder = os.path.expanduser("~/.cache/kubexx/controller-gen")
    path = os.path.join(folder, "controller-gen")
    if not os.access(path, os.X_OK):
        go(["install", CONTROLLER_GEN], "controller-gen cannot be built", env={**os.environ, "GOBIN": folder, "GOFLAGS": ""})
    return path


def known_markers(testdata: str) -> set:
    with open(os.path.join(testdata, "../../../src/generate/marker_table.cc"), encoding="utf-8") as file:
        found = set(re.findall(r'(?:Empty|One|Named|Validation|Ignored|MarkerDefinition)[({]\s*"([^"]+)"', file.read()))
    assert len(found) > 70, "the table of markers has another form"
    return found


def used_markers(testdata: str, name: str, known: set) -> set:
    """The markers of the table that stand in the files of this name."""
    used = set()
    for folder in os.listdir(testdata):
        path = os.path.join(testdata, folder, name)
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            for text in re.findall(r"^\s*// \+(\S+)", file.read(), re.MULTILINE):
                text = text.replace("validation:items:", "validation:")
                match = [m for m in known if re.match(re.escape(m[:-1]) if m.endswith("*") else re.escape(m) + r"(?=[=:]|$)", text)]
                used.update(sorted(match, key=len)[-1:])  # the longest: webhook is not webhookconfiguration
    return used


def missing_markers(testdata: str) -> list:
    known = known_markers(testdata)
    out = []
    for name in ("types.h", "types.go"):
        out += [f"{name}: no kind uses +{marker}" for marker in sorted(known - NOT_COMPARED - used_markers(testdata, name, known))]
    return out


def run_controller_gen(controller_gen: str, testdata: str, work: str) -> str:
    versions = json.load(open(os.path.join(testdata, "../../../codegen/versions.json"), encoding="utf-8"))["modules"]
    with open(os.path.join(work, "go.mod"), "w", encoding="utf-8") as file:
        file.write("module example.com/compare\n\ngo 1.24\n\nrequire (\n" + "".join(f"\t{m} {versions[m]}\n" for m in MODULES) + ")\n")
    for name in sorted(os.listdir(testdata)):
        if os.path.exists(os.path.join(testdata, name, "types.go")):
            os.makedirs(os.path.join(work, name))
            shutil.copy(os.path.join(testdata, name, "types.go"), os.path.join(work, name))
    env = {**os.environ, "GOFLAGS": "-mod=mod"}
    go(["mod", "tidy"], "the Go modules cannot be had", cwd=work, env=env)
    outputs = [f"output:{name}:dir=theirs/{name}" for name in ("crd", "rbac", "webhook")]
    subprocess.run([controller_gen, "crd", "rbac:roleName=manager-role", "webhook", "paths=./...", *outputs], cwd=work, env=env, check=True)
    return os.path.join(work, "theirs")


def run_kubexx(kubexx: str, testdata: str, work: str) -> str:
    subprocess.run([kubexx, "generate", "--headers", testdata, "--manifests", os.path.join(work, "config")], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(work, "config")


def load(kubexx: str, path: str):
    return json.loads(subprocess.run([kubexx, "convert", "-o", "json", path], check=True, capture_output=True, text=True).stdout)


def load_all(kubexx: str, path: str) -> list:
    """The documents of a file, in their order."""
    out = []
    for number, text in enumerate(re.split(r"^---\n", open(path, encoding="utf-8").read(), flags=re.M)):
        if any(line and not line.startswith("#") for line in text.splitlines()):
            document = f"{path}.{number}.yaml"
            with open(document, "w", encoding="utf-8") as file:
                file.write(text)
            out.append(load(kubexx, document))
    return out


def strip_descriptions(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            del schema["description"]
        for value in schema.values():
            strip_descriptions(value)
    elif isinstance(schema, list):
        for value in schema:
            strip_descriptions(value)


def strip_upstream(ours, theirs, names):
    """Takes away what controller-gen copies from structs of Kubernetes; the comments of the fields themselves stay."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return
    for name, field in theirs.get("properties", {}).items():
        own = ours.get("properties", {}).get(name, {})
        if name in names:
            text = field.get("description") if "description" in own else None
            strip_descriptions(field)
            if text is not None:
                field["description"] = text
        else:
            strip_upstream(own, field, names)


def normalize(crd):
    annotations = crd["metadata"].get("annotations", {})
    annotations.pop("controller-gen.kubebuilder.io/version", None)
    if not annotations:
        crd["metadata"].pop("annotations", None)
    crd.pop("status", None)
    for version in crd["spec"]["versions"]:
        for name in ("apiVersion", "kind"):
            version["schema"]["openAPIV3Schema"]["properties"][name].pop("description", None)
    return crd


def compare(ours, theirs, built_in: list) -> list:
    for a, b in zip(ours["spec"]["versions"], theirs["spec"]["versions"]):
        strip_upstream(a["schema"]["openAPIV3Schema"], b["schema"]["openAPIV3Schema"], built_in)
    return differences("", ours, theirs)


def differences(path, ours, theirs) -> list:
    if type(ours) is not type(theirs) and not (isinstance(ours, (int, float)) and isinstance(theirs, (int, float))):
        return [f"{path}: kubexx {json.dumps(ours)[:200]}, controller-gen {json.dumps(theirs)[:200]}"]
    out = []
    if isinstance(ours, dict):
        for key in sorted({*ours, *theirs}):
            if key not in ours:
                out.append(f"{path}.{key}: only controller-gen has it: {json.dumps(theirs[key])[:200]}")
            elif key not in theirs:
                out.append(f"{path}.{key}: only kubexx has it: {json.dumps(ours[key])[:200]}")
            else:
                out += differences(f"{path}.{key}", ours[key], theirs[key])
    elif isinstance(ours, list):
        if len(ours) != len(theirs):
            return [f"{path}: kubexx {json.dumps(ours)[:300]}, controller-gen {json.dumps(theirs)[:300]}"]
        for i, (a, b) in enumerate(zip(ours, theirs)):
            out += differences(f"{path}[{i}]", a, b)
    elif ours != theirs:
        out.append(f"{path}: kubexx {json.dumps(ours)[:200]}, controller-gen {json.dumps(theirs)[:200]}")
    return out


def main() -> int:
    kubexx, testdata = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    missing = missing_markers(testdata)
    if missing:
        print(*missing, sep="\n")
        return 1
    controller_gen = find_controller_gen()
    with tempfile.TemporaryDirectory() as work:
        theirs = run_controller_gen(controller_gen, testdata, work)
        ours = run_kubexx(kubexx, testdata, work)
        found, others = [], 0
        for name in ("rbac/role.yaml", "webhook/manifests.yaml"):
            a, b = load_all(kubexx, os.path.join(ours, name)), load_all(kubexx, os.path.join(theirs, name))
            others += len(b)
            found += [f"{name}{line}" for line in differences("", a, b)]
        ours, theirs = os.path.join(ours, "crd"), os.path.join(theirs, "crd")
        names = sorted({*os.listdir(ours), *os.listdir(theirs)})
        for name in names:
            if not os.path.exists(os.path.join(ours, name)) or not os.path.exists(os.path.join(theirs, name)):
                found.append(f"{name}: not made by both")
                continue
            a, b = (normalize(load(kubexx, os.path.join(folder, name))) for folder in (ours, theirs))
            found += [f"{name}{line}" for line in compare(a, b, BUILT_IN.get(name, []))]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(names)} CRDs, {others} roles and webhook configurations compared, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
