#!/usr/bin/env python3
"""CRD -> C++ -> CRD for the definitions of other projects: `kubexx generate types`, then `kubexx generate`.

    types_test.py KUBEXX CRD_SAMPLES SOURCE_ROOT MODE

MODE same:     every definition makes a header, and that header the same definition.
     compile:  some of the headers and their field tables compile; compile-all: all of them, with $CXX.
     samples:  the projects' published objects are the same after they were decoded into the structs and written again.

The definitions come from the projects' Go modules, which `go mod download` puts into its cache; nothing of theirs is here. Without Go, or without
the modules, the test is skipped (exit code 77).

Values are compared, descriptions included. Left out are the annotation with controller-gen's version, conversion, which no marker says, and
upstream's text: descriptions of apiVersion, kind and metadata, and with structs of kubexx those below them. (With --builtins never every
description has to survive.)
"""

import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77
GO_SECONDS = 240
# Modules, the files with definitions, those with objects, and the headers of `compile`.
PROJECTS = {
    "gateway-api": (
        "sigs.k8s.io/gateway-api@v1.7.0",
        ["config/crd/standard/*.yaml", "config/crd/experimental/*.yaml"],
        ["examples/*.yaml"],
        ["config/crd/standard/gateway.networking.k8s.io_gateways.yaml"],
    ),
    "cert-manager": (
        "github.com/cert-manager/cert-manager@v1.21.2",
        ["deploy/crds/*.yaml"],
        ["test/*.yaml", "make/*.yaml", "deploy/*.yaml", "internal/*.yaml"],
        ["deploy/crds/cert-manager.io_certificates.yaml"],
    ),
    "prometheus-operator": (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        ["example/prometheus-operator-crd/*.yaml", "example/prometheus-operator-crd-full/*.yaml"],
        ["example/*.yaml", "test/*.yaml", "Documentation/*.yaml"],
        ["example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"],
    ),
    "cluster-api": (
        "sigs.k8s.io/cluster-api@v1.14.2",
        ["core/config/crd/bases/*.yaml", "*/kubeadm/config/crd/bases/*.yaml", "cmd/clusterctl/config/crd/bases/*.yaml", "config/crd/bases/*.yaml"],
        ["*.yaml"],
        ["core/config/crd/bases/cluster.x-k8s.io_machinesets.yaml"],
    ),
}
# The share of all definitions that has to convert, and to be equal afterwards.
LEAST_CONVERTED, LEAST_EQUAL = 0.98, 0.95


def skip(reason: str):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def fetch(module: str, work: str) -> zipfile.ZipFile:
    """The module's archive. (A release that wants a newer Go has one, too.)"""
    try:
        result = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, check=False, timeout=GO_SECONDS, cwd=work,
                                env={**os.environ, "GOFLAGS": "-mod=mod"})
        return zipfile.ZipFile(json.loads(result.stdout)["Zip"])
    except (subprocess.TimeoutExpired, ValueError, KeyError, OSError) as problem:
        skip(f"{module} cannot be had: {problem!r}")


def unpack(archive: zipfile.ZipFile, module: str, patterns: list, folder: str) -> list:
    """The files of these patterns, by their names in the module."""
    names = []
    for entry in archive.namelist():
        name = entry.removeprefix(module + "/")
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(archive.read(entry))
            names.append(name)
    return sorted(names)


def is_definition(path: str) -> bool:
    with open(path, encoding="utf-8") as file:
        return re.search(r"^kind: CustomResourceDefinition$", file.read(), re.M) is not None


def load(kubexx: str, path: str):
    return json.loads(subprocess.run([kubexx, "convert", "-o", "json", path], check=True, capture_output=True, text=True).stdout)


# ---- Comparing ----


def normalize(crd):
    annotations = crd["metadata"].get("annotations", {})
    annotations.pop("controller-gen.kubebuilder.io/version", None)
    if not annotations:
        crd["metadata"].pop("annotations", None)
    crd.pop("status", None)
    crd["spec"].pop("conversion", None)
    crd["spec"]["versions"].sort(key=lambda v: v["name"])
    for version in crd["spec"]["versions"]:
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        for name in ("apiVersion", "kind", "metadata"):
            properties[name].pop("description", None)
    return crd


def has_descriptions(schema) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("description"), str) or any(has_descriptions(value) for value in schema.values())
    return isinstance(schema, list) and any(has_descriptions(value) for value in schema)


def strip(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get("description"), str):
            del schema["description"]
        for value in schema.values():
            strip(value)
    elif isinstance(schema, list):
        for value in schema:
            strip(value)


def strip_builtins(ours, theirs):
    """If the header has a struct of kubexx, ours has no descriptions at all."""
    for key in ("items", "additionalProperties"):
        if isinstance(ours.get(key), dict) and isinstance(theirs.get(key), dict):
            if "properties" in ours[key] and not has_descriptions(ours[key]):
                strip(theirs[key])
            else:
                strip_builtins(ours[key], theirs[key])
    for name, field in theirs.get("properties", {}).items():
        own = ours.get("properties", {}).get(name, {})
        if "properties" in own and not has_descriptions(own["properties"]):
            text = field.get("description") if "description" in own else None
            strip(field)
            if text is not None:
                field["description"] = text
        else:
            strip_builtins(own, field)


def differences(path, ours, theirs) -> list:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        out = []
        for key in sorted({*ours, *theirs}):
            if key not in ours or key not in theirs:
                out.append(f"{path}.{key}: {'lost' if key not in ours else 'new'}: {json.dumps(theirs.get(key, ours.get(key)))[:200]}")
            else:
                out += differences(f"{path}.{key}", ours[key], theirs[key])
        return out
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [line for i, (a, b) in enumerate(zip(ours, theirs)) for line in differences(f"{path}[{i}]", a, b)]
    return [] if ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool) else [f"{path}: {json.dumps(theirs)[:200]} becomes {json.dumps(ours)[:200]}"]


# ---- The steps ----


class Test:
    def __init__(self, arguments):
        self.kubexx, self.samples, self.root = (os.path.abspath(a) for a in arguments[:3])
        self.mode = arguments[3]

    def convert(self, path: str, folder: str, builtins: str) -> str:
        """Empty, or why it failed."""
        types, tables = os.path.join(folder, "types"), os.path.join(folder, "tables")
        made = subprocess.run([self.kubexx, "generate", "types", "--from-crd", path, "--builtins", builtins, "--out", types],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return made.stderr
        dangerous = ["--allow-dangerous-types"] if "--allow-dangerous-types" in made.stderr else []
        made = subprocess.run([self.kubexx, "generate", "--headers", types, "--include", types, "--tables", tables, "--manifests", folder, *dangerous],
                              capture_output=True, text=True, check=False)
        return made.stderr if made.returncode != 0 else ""

    def same(self, path: str, folder: str, builtins: str):
        """Whether it converted, and what differs."""
        problem = self.convert(path, folder, builtins)
        if problem:
            return False, [problem.strip()]
        theirs = normalize(load(self.kubexx, path))
        made = os.listdir(os.path.join(folder, "crd"))
        if len(made) != 1:
            return True, [f"makes {made}"]
        ours = normalize(load(self.kubexx, os.path.join(folder, "crd", made[0])))
        if builtins != "never":
            for a, b in zip(ours["spec"]["versions"], theirs["spec"]["versions"]):
                strip_builtins(a["schema"]["openAPIV3Schema"], b["schema"]["openAPIV3Schema"])
        return True, differences("", ours, theirs)

    def compile(self, path: str, folder: str):
        problem = self.convert(path, folder, "equal")
        if problem:
            return [problem.strip()]
        out, tables = [], os.path.join(folder, "tables")
        for name in sorted(os.listdir(tables)):
            command = [os.environ.get("CXX") or "g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Werror",
                       "-Wno-missing-field-initializers", "-isystem", os.path.join(self.root, "include"), "-I", os.path.join(folder, "types"),
                       os.path.join(tables, name)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                out.append(f"{name}: {result.stderr[:1000]}")
        return out

    def run_same(self, pool, work: str) -> int:
        converted, equal, total, failed = 0, {"equal": 0, "never": 0}, 0, []
        for name, paths in self.definitions(work).items():
            jobs = {(p, b): pool.submit(self.same, os.path.join(work, name, p), os.path.join(work, "out", b, name, p), b) for p in paths for b in equal}
            good = {key: job.result() for key, job in jobs.items()}
            fine = {b: sum(not good[p, b][1] for p in paths) for b in equal}
            print(f"{name}: {sum(all(good[p, b][0] for b in equal) for p in paths)} of {len(paths)} definitions convert, {fine['equal']} come back equal, "
                  f"{fine['never']} with all descriptions (--builtins never)")
            for (path, builtins), (_, found) in good.items():
                failed += [f"  {name}: {path} (--builtins {builtins}): {line}" for line in found[:10]]
            converted += sum(all(good[p, b][0] for b in equal) for p in paths)
            total += len(paths)
            equal = {b: equal[b] + fine[b] for b in equal}
        print(*failed, sep="\n", end="\n" if failed else "")
        return 0 if converted >= LEAST_CONVERTED * total and min(equal.values()) >= LEAST_EQUAL * total else 1

    def run_compile(self, pool, work: str, few: bool) -> int:
        failed = 0
        for name, paths in self.definitions(work).items():
            some = [p for p in paths if p in PROJECTS[name][3]] if few else paths
            assert some, f"{name} has none of the files of PROJECTS"
            found = dict(zip(some, pool.map(lambda p, n=name: self.compile(os.path.join(work, n, p), os.path.join(work, "out", n, p)), some)))
            bad = {path: problems for path, problems in found.items() if problems}
            print(f"{name}: the headers of {len(some) - len(bad)} of {len(some)} definitions compile")
            for path, problems in bad.items():
                print(f"  {path}: ", *problems, sep="\n")
            failed += len(bad)
        return 1 if failed else 0

    def run_samples(self, work: str) -> int:
        failed = 0
        for name, paths in self.definitions(work).items():
            module, _, patterns, _ = PROJECTS[name]
            folder = os.path.join(work, "samples", name)
            files = [os.path.join(folder, p) for p in unpack(fetch(module, work), module, patterns, folder)]
            # Files of the same kinds from two channels: the last one wins, and has the most fields.
            crds = {os.path.basename(p): os.path.join(work, name, p) for p in paths}
            result = subprocess.run([self.samples, *crds.values(), "--", *files], capture_output=True, text=True, check=False)
            print(f"{name}: {result.stdout}{result.stderr}", end="")
            failed += result.returncode != 0
        return 1 if failed else 0

    def definitions(self, work: str) -> dict:
        out = {}
        for name, (module, patterns, _, _) in PROJECTS.items():
            folder = os.path.join(work, name)
            out[name] = [p for p in unpack(fetch(module, work), module, patterns, folder) if is_definition(os.path.join(folder, p))]
            assert out[name], f"no definitions in {module}"
        return out

    def run(self) -> int:
        if shutil.which("go") is None:
            skip("no Go toolchain, which fetches the modules with the definitions")
        with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            if self.mode == "same":
                return self.run_same(pool, work)
            if self.mode == "samples":
                return self.run_samples(work)
            return self.run_compile(pool, work, self.mode == "compile")


if __name__ == "__main__":
    sys.exit(Test(sys.argv[1:]).run())
