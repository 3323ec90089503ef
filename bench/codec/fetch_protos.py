#!/usr/bin/env python3
"""Lays upstream's .proto files out for protoc: fetch_protos.py OUT_DIR. They come through the Go module client and are never stored here."""
import json
import pathlib
import subprocess
import sys

VERSION = "v0.37.2"
FILES = {
    "k8s.io/api": ["core/v1"],
    "k8s.io/apimachinery": ["pkg/api/resource", "pkg/apis/meta/v1", "pkg/runtime", "pkg/runtime/schema", "pkg/util/intstr"],
}


def main() -> int:
    out = pathlib.Path(sys.argv[1])
    for module, folders in FILES.items():
        described = subprocess.run(["go", "mod", "download", "-json", f"{module}@{VERSION}"], cwd="/", check=True, stdout=subprocess.PIPE)
        source = pathlib.Path(json.loads(described.stdout)["Dir"])
        for folder in folders:
            target = out / module / folder
            target.mkdir(parents=True, exist_ok=True)
            (target / "generated.proto").write_bytes((source / folder / "generated.proto").read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
