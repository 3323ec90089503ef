#!/usr/bin/env python3
"""Writes the C++ structs and tables of the Kubernetes API from upstream's machine-readable sources. See README.md beside this file.

    generate_api.py            writes into the repository that this file belongs to
    generate_api.py --check    writes nothing; fails where the repository differs from what it would write
"""

import argparse
import glob
import os
import sys

import checks
import emit
import go_types
import model
import modules
import openapi
import proto
import schemas

CODEGEN = os.path.dirname(os.path.abspath(__file__))
EXIT_DIFFERS = 1
EXIT_SKIPPED = 77  # what ctest takes for "skipped"


def load_group_versions(config: dict, directories: dict) -> list:
    group_versions = []
    for root in config["roots"]:
        module_dir = directories[root["module"]]
        for group_dir in sorted(glob.glob(os.path.join(module_dir, root["path"]))):
            if not os.path.isdir(group_dir):
                continue
            for version in sorted(os.listdir(group_dir)):
                directory = os.path.join(group_dir, version)
                if "versions" in root and version not in root["versions"]:
                    continue
                if os.path.exists(os.path.join(directory, "types.go")):
                    group_versions.append(load_group_version(root["module"], module_dir, directory))
    return group_versions


def load_group_version(module: str, module_dir: str, directory: str) -> model.GroupVersion:
    package = go_types.parse_package(modules.read_go_files(directory))
    relative = os.path.relpath(directory, module_dir)
    if package.group is None:
        raise model.SchemaError(f"{module}/{relative}: no GroupName")
    messages = None
    path = os.path.join(directory, "generated.proto")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            messages = proto.parse(file.read(), path)
    folder, version = relative.split(os.sep)[-2:]
    return model.GroupVersion(f"{module}/{relative}", folder, version, package.group, package, messages, module)


def render(group_versions: list, builder: model.Builder, versions: dict, openapi_module: str) -> dict:
    """Path in the repository -> text."""
    files = {}
    layout = emit.Layout()
    openapi_version = {openapi_module: versions[openapi_module]}
    for gv in group_versions:
        if not gv.structs:
            continue
        header = emit.HeaderWriter(gv, layout, {gv.module: versions[gv.module], **openapi_version})
        files["include/" + gv.header] = header.write()
        files[gv.source] = emit.SourceWriter(gv, header).write()
    files["src/api/all.cc"] = emit.write_all_source(group_versions, versions)
    files["src/api/all_types.h"] = emit.write_all_types(group_versions, versions)
    sources = [os.path.basename(path) for path in files if path.startswith("src/api/") and path.endswith(".cc")]
    files["src/api/sources.cmake"] = emit.write_sources_list(sources)
    files["src/generate/builtin_types_data.cc"] = schemas.write_schemas(group_versions, builder, versions)
    files["src/generate/go_builtins_data.cc"] = schemas.write_go_types(group_versions, builder, versions)
    return files


def stale_files(root: str, files: dict) -> list:
    """Generated files of an earlier run that this one does not write."""
    found = []
    for pattern in ("include/kube/api/*/*.h", "include/kube/meta/*.h", "src/api/*.cc", "src/meta/*.cc"):
        for path in glob.glob(os.path.join(root, pattern)):
            relative = os.path.relpath(path, root)
            with open(path, encoding="utf-8") as file:
                if relative not in files and file.readline().startswith(emit.BANNER):
                    found.append(relative)
    return sorted(found)


def write(root: str, files: dict):
    for relative in stale_files(root, files):
        os.remove(os.path.join(root, relative))
        print("removed", relative)
    for relative, text in sorted(files.items()):
        path = os.path.join(root, relative)
        if read_or_empty(path) != text:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print("wrote", relative)


def read_or_empty(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def differences(root: str, files: dict) -> list:
    found = [f"{path}: not generated any more" for path in stale_files(root, files)]
    return found + [f"{path}: differs" for path, text in sorted(files.items()) if read_or_empty(os.path.join(root, path)) != text]


def build(config: dict, directories: dict):
    """(group-versions, their builder, disagreements, a line of figures)"""
    group_versions = load_group_versions(config, directories)
    builder = model.Builder(group_versions)
    builder.build()
    spec = config["openapi"]
    checker = checks.Checker(openapi.load(os.path.join(directories[spec["module"]], spec["path"])), group_versions)
    checker.run()
    structs = [s for gv in group_versions for s in gv.structs.values()]
    kinds = [s for s in structs if s.kind is not None]
    figures = (
        f"{len(group_versions)} group-versions, {len(structs)} types, {len(kinds)} kinds ({sum(s.kind.is_list for s in kinds)} of them lists); "
        f"{checker.fields_checked} fields of {checker.schemas_checked} schemas agree with OpenAPI"
    )
    return group_versions, builder, builder.errors + checker.errors, figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the repository differs")
    parser.add_argument("--output", default=os.path.dirname(CODEGEN), help="root of the tree to write to (default: this repository)")
    args = parser.parse_args()

    config = modules.load_versions(CODEGEN)
    try:
        directories = modules.locate(config["modules"])
    except modules.ModulesUnavailable as reason:
        print(f"generate_api: upstream's sources are not available: {reason}", file=sys.stderr)
        return EXIT_SKIPPED
    group_versions, builder, errors, figures = build(config, directories)
    if errors:
        print("\n".join(errors), file=sys.stderr)
        print(f"generate_api: {len(errors)} disagreements; known ones belong into codegen/exceptions.py", file=sys.stderr)
        return EXIT_DIFFERS
    files = render(group_versions, builder, config["modules"], config["openapi"]["module"])
    if args.check:
        found = differences(args.output, files)
        if found:
            print("\n".join(found) + "\ngenerate_api: run `make generate-api`", file=sys.stderr)
            return EXIT_DIFFERS
    else:
        write(args.output, files)
    print(f"generate_api: {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
