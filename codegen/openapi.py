"""Reads the OpenAPI v3 documents of a kube-apiserver: schemas by name, and which kinds are served under which resource name."""

import dataclasses
import json
import os
import re


@dataclasses.dataclass
class Resource:
    name: str
    namespaced: bool


@dataclasses.dataclass
class OpenApi:
    schemas: dict  # "io.k8s.api.core.v1.Pod" -> schema
    resources: dict  # (group, version, kind) -> Resource


def load(directory: str) -> OpenApi:
    result = OpenApi({}, {})
    for name in sorted(os.listdir(directory)):
        if name.endswith(".json"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                add_document(result, json.load(file))
    return result


def add_document(result: OpenApi, document: dict):
    result.schemas.update(document.get("components", {}).get("schemas", {}))
    for path, operations in sorted(document.get("paths", {}).items()):
        match = re.fullmatch(r"/(?:api|apis/[^/]+)/[^/]+(?P<ns>/namespaces/\{namespace\})?/(?P<name>[a-z]+)", path)
        if not match:
            continue
        for verb in ("post", "get"):
            gvk = operations.get(verb, {}).get("x-kubernetes-group-version-kind")
            if gvk is None:
                continue
            key = (gvk["group"], gvk["version"], gvk["kind"])
            namespaced = match.group("ns") is not None
            # A namespaced resource also has a path across all namespaces.
            if key not in result.resources or namespaced:
                result.resources[key] = Resource(match.group("name"), namespaced)


def reference(schema: dict):
    """The name of the schema that this one refers to, directly or by an `allOf` of one, or None."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    if len(schema.get("allOf", [])) == 1:
        return reference(schema["allOf"][0])
    return None
