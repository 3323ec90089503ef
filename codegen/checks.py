"""Compares the structs with OpenAPI, field by field. OpenAPI is of an older release: what only the structs have is news, the rest must agree."""

import json

import openapi
from exceptions import OPENAPI_FIELDS, OPENAPI_RESOURCES, OPENAPI_TYPES
from model import LEAVES, Field, Struct

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_LEAF_REFERENCES = {
    "kTime": {_META + ".Time"},
    "kMicroTime": {_META + ".MicroTime"},
    "kDuration": {_META + ".Duration"},
    "kQuantity": {"io.k8s.apimachinery.pkg.api.resource.Quantity"},
    "kIntOrString": {"io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
    "kRawJson": {
        _META + ".FieldsV1",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    },
}
_SCALARS = {
    "kString": ("string", None),
    "kBytes": ("string", "byte"),
    "kBool": ("boolean", None),
    "kInt32": ("integer", "int32"),
    "kInt64": ("integer", "int64"),
    "kDouble": ("number", "double"),
}


class Checker:
    def __init__(self, api: openapi.OpenApi, gvs: list):
        self.api = api
        self.gvs = gvs
        self.errors = []
        self.used = set()  # exceptions that were needed
        self.schemas_checked = 0
        self.fields_checked = 0

    def run(self):
        known = {}
        for gv in self.gvs:
            for name, struct in gv.structs.items():
                known[f"{gv.openapi_prefix}.{name}"] = struct
        prefixes = {gv.openapi_prefix: gv for gv in self.gvs}
        for name, schema in sorted(self.api.schemas.items()):
            struct = known.get(name)
            if struct is not None:
                self._struct(struct, schema)
                continue
            prefix, _, type_name = name.rpartition(".")
            gv = prefixes.get(prefix)
            if gv is not None and ((gv.import_path, type_name) in LEAVES or type_name in gv.aliases):
                continue
            self._error(OPENAPI_TYPES, name, "in OpenAPI only")
        self._resources()
        for table, text in ((OPENAPI_TYPES, "OPENAPI_TYPES"), (OPENAPI_FIELDS, "OPENAPI_FIELDS"), (OPENAPI_RESOURCES, "OPENAPI_RESOURCES")):
            for key in table:
                if key not in self.used:
                    self.errors.append(f"exceptions.py: {text} has {key!r}, which nothing needs")

    def _error(self, exceptions: dict, key, text: str):
        package = key.rpartition(".")[0] + ".*" if isinstance(key, str) else None
        if key in exceptions:
            self.used.add(key)
        elif package in exceptions:
            self.used.add(package)
        else:
            self.errors.append(f"{key}: {text}")

    # ---- fields ----

    def _struct(self, struct: Struct, schema: dict):
        self.schemas_checked += 1
        if struct.form != "kStruct":
            return
        fields = {f.json_name: f for f in struct.flat()}
        for name, prop in sorted(schema.get("properties", {}).items()):
            if struct.has_type_meta and name in ("apiVersion", "kind"):
                continue
            key = f"{struct.full_name}.{name}"
            if name not in fields:
                self._error(OPENAPI_FIELDS, key, "in OpenAPI only")
                continue
            self.fields_checked += 1
            self._type(key, fields[name], prop)
            self._extra(key, fields[name], prop)
        atomic = schema.get("x-kubernetes-map-type") == "atomic"
        if atomic != struct.atomic:
            self._error(OPENAPI_FIELDS, struct.full_name, f"atomic: {struct.atomic} in Go, {atomic} in OpenAPI")

    def _type(self, key: str, field, prop: dict):
        element = prop
        if field.shape == "kList":
            if prop.get("type") != "array":
                return self._error(OPENAPI_FIELDS, key, f"a list in Go, {prop.get('type')} in OpenAPI")
            element = prop["items"]
        elif field.shape == "kMap":
            if prop.get("type") != "object" or "additionalProperties" not in prop:
                return self._error(OPENAPI_FIELDS, key, f"a map in Go, {prop.get('type')} in OpenAPI")
            element = prop["additionalProperties"]
        reference = openapi.reference(element)
        if field.kind in _SCALARS:
            got = (element.get("type"), element.get("format"))
            if got != _SCALARS[field.kind]:
                self._error(OPENAPI_FIELDS, key, f"{field.kind} in Go, {got} in OpenAPI")
        elif field.kind == "kMessage" and field.struct.form == "kOnlyField":
            if element.get("type") != "array":
                self._error(OPENAPI_FIELDS, key, f"a list in Go, {element} in OpenAPI")
        elif field.kind == "kMessage":
            expected = f"{field.struct.gv.openapi_prefix}.{field.struct.name}"
            if reference != expected:
                self._error(OPENAPI_FIELDS, key, f"{expected} in Go, {reference} in OpenAPI")
        elif reference not in _LEAF_REFERENCES[field.kind]:
            self._error(OPENAPI_FIELDS, key, f"{field.kind} in Go, {reference or element} in OpenAPI")
        return None

    def _extra(self, key: str, field, prop: dict):
        extra = field.extra
        got = prop.get("x-kubernetes-list-type")
        got = "k" + got.capitalize() if got else "kUnset"
        self._same(key, "list type", extra.list_type, got)
        self._same(key, "list map keys", extra.map_keys, ",".join(prop.get("x-kubernetes-list-map-keys", [])))
        self._same(key, "patch strategy", extra.patch_strategy, prop.get("x-kubernetes-patch-strategy", ""))
        self._same(key, "patch merge key", extra.patch_merge_key, prop.get("x-kubernetes-patch-merge-key", ""))
        own_atomic = extra.atomic and not (field.struct is not None and field.struct.atomic)
        self._same(key, "atomic", own_atomic, prop.get("x-kubernetes-map-type") == "atomic")
        self._default(key, extra, prop)
        element = prop.get("items", prop) if field.shape == "kList" else prop
        got_enum = set(element.get("enum", []))
        enum = set(extra.enum_values.split(",")) if extra.enum_values else set()
        # Upstream's copy of OpenAPI is made without enums; should that change, values that only Go has came with the newer release.
        if not got_enum <= enum:
            self._error(OPENAPI_FIELDS, key, f"enum {sorted(enum)} in Go, {sorted(got_enum)} in OpenAPI")

    def _same(self, key: str, what: str, go_value, openapi_value):
        if go_value != openapi_value:
            self._error(OPENAPI_FIELDS, key, f"{what}: {go_value!r} in Go, {openapi_value!r} in OpenAPI")

    def _default(self, key: str, extra, prop: dict):
        got = prop.get("default")
        if extra.default_json:
            if json.loads(extra.default_json) != got:
                self._error(OPENAPI_FIELDS, key, f"default {extra.default_json} in Go, {got!r} in OpenAPI")
        elif got not in (None, {}, "", 0, False):
            # The empty value of a type without a pointer is no default of the API: it is what absence reads as.
            self._error(OPENAPI_FIELDS, key, f"no default in Go, {got!r} in OpenAPI")

    # ---- resources ----

    def _resources(self):
        kinds = {}
        for gv in self.gvs:
            for struct in gv.structs.values():
                if struct.kind is not None:
                    kinds[(struct.kind.group, struct.kind.version, struct.kind.kind)] = struct
        for key, resource in sorted(self.api.resources.items()):
            struct = kinds.get(key)
            if struct is None:
                self._error(OPENAPI_RESOURCES, key, "served, but no kind in Go")
                continue
            kind = struct.kind
            if not kind.resource:
                kind.resource, kind.namespaced = resource.name, resource.namespaced
            elif (kind.resource, kind.namespaced) != (resource.name, resource.namespaced):
                self._error(OPENAPI_RESOURCES, key, f"{kind.resource}, namespaced {kind.namespaced} in Go, {resource} in OpenAPI")
        for struct in kinds.values():
            self._list_of(struct)

    @staticmethod
    def _list_of(struct: Struct):
        """A list kind goes by the resource of its items."""
        for field in struct.fields:
            if struct.kind.is_list and isinstance(field, Field) and field.json_name == "items" and field.struct is not None:
                item = field.struct.kind
                if item is not None and item.kind + "List" == struct.kind.kind:
                    struct.kind.resource, struct.kind.namespaced = item.resource, item.namespaced
