"""Finds the upstream sources by module name and version, through the Go command."""

import json
import os
import re
import shutil
import subprocess


class ModulesUnavailable(Exception):
    """No Go toolchain, or a module that cannot be had here. Its text is fit for printing."""


def load_versions(codegen_dir: str) -> dict:
    with open(os.path.join(codegen_dir, "versions.json"), encoding="utf-8") as file:
        return json.load(file)


def locate(versions: dict) -> dict:
    """Module name -> directory of its sources."""
    go = shutil.which("go")
    if go is None:
        raise ModulesUnavailable("no Go toolchain: `go` is not in PATH")
    wanted = [f"{name}@{version}" for name, version in sorted(versions.items())]
    # Outside of any Go module, so that no go.mod changes what is asked for.
    run = subprocess.run(
        [go, "mod", "download", "-json", *wanted], cwd="/", env={**os.environ, "GOFLAGS": "-mod=mod"}, capture_output=True, text=True, check=False
    )
    found = {}
    decoder = json.JSONDecoder()
    text = run.stdout.strip()
    while text:
        entry, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        if "Error" in entry:
            raise ModulesUnavailable(f"{entry.get('Path')}@{entry.get('Version')}: {entry['Error']}")
        found[entry["Path"]] = entry["Dir"]
    missing = sorted(set(versions) - set(found))
    if missing:
        raise ModulesUnavailable("go mod download: " + (run.stderr.strip() or "no answer") + " (missing: " + ", ".join(missing) + ")")
    return found


def _is_schema_source(name: str, text: str) -> bool:
    if not name.endswith(".go") or name.endswith("_test.go") or name.startswith("zz_generated") or "generated" in name:
        return False
    # Files that a default build leaves out (`//go:build some_tag`); `!some_tag` is in the default build.
    constraint = re.search(r"^//go:build (.*)$", text, re.MULTILINE)
    return constraint is None or constraint.group(1).startswith("!")


def read_go_files(directory: str) -> dict:
    files = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if name.endswith(".go") and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if _is_schema_source(name, text):
                files[name] = text
    return files
