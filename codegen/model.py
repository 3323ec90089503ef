"""The schema as C++ will see it: structs with fields, built from the Go sources and checked against generated.proto.

A Go struct becomes a Struct. An embedded Go struct without a JSON name ("inline") becomes an Inline among its fields: its fields belong to
the outer struct in JSON and C++, and to a message of their own in protobuf.
"""

import dataclasses
import json
import re
from typing import Optional

import go_types
import naming
from exceptions import KINDS_OF_META, LEFT_OUT, NO_KINDS

META = "k8s.io/apimachinery/pkg/apis/meta/v1"

# Go types that are field types of their own in C++: (import path, name) -> kind.
LEAVES = {
    (META, "Time"): "kTime",
    (META, "MicroTime"): "kMicroTime",
    (META, "Duration"): "kDuration",
    (META, "FieldsV1"): "kRawJson",
    ("k8s.io/apimachinery/pkg/api/resource", "Quantity"): "kQuantity",
    ("k8s.io/apimachinery/pkg/util/intstr", "IntOrString"): "kIntOrString",
    ("k8s.io/apimachinery/pkg/runtime", "RawExtension"): "kRawJson",
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSON"): "kRawJson",
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1", "JSON"): "kRawJson",
    ("k8s.io/apimachinery/pkg/types", "UID"): "kString",
    ("k8s.io/apimachinery/pkg/types", "NodeName"): "kString",
}

BASIC = {"string": "kString", "bool": "kBool", "int32": "kInt32", "int64": "kInt64", "float64": "kDouble"}

# kind -> C++ element type, size, alignment.
CPP = {
    "kBool": ("bool", 1, 1),
    "kInt32": ("std::int32_t", 4, 4),
    "kInt64": ("std::int64_t", 8, 8),
    "kDouble": ("double", 8, 8),
    "kString": ("String", 16, 8),
    "kBytes": ("Bytes", 16, 8),
    "kQuantity": ("Quantity", 16, 8),
    "kTime": ("Time", 8, 8),
    "kMicroTime": ("MicroTime", 8, 8),
    "kDuration": ("Duration", 8, 8),
    "kIntOrString": ("IntOrString", 24, 8),
    "kRawJson": ("RawJson", 16, 8),
}

# Kinds whose empty value already means absent: a Go pointer to one needs no std::optional.
OWN_UNSET = {"kTime", "kMicroTime", "kRawJson"}


class SchemaError(Exception):
    pass


@dataclasses.dataclass
class GroupVersion:
    import_path: str
    folder: str  # "core"
    version: str  # "v1"
    group: str  # "" for core
    go: go_types.Package
    proto: Optional[object]
    module: str = ""
    structs: dict = dataclasses.field(default_factory=dict)  # name -> Struct
    aliases: dict = dataclasses.field(default_factory=dict)  # name -> Struct of another group-version

    @property
    def is_meta(self) -> bool:
        return self.import_path.startswith("k8s.io/apimachinery/")

    @property
    def namespace(self) -> str:
        return f"{self.folder}::{self.version}"

    @property
    def header(self) -> str:
        room = "meta" if self.is_meta else f"api/{self.folder}"
        return f"kube/{room}/{self.version}.h"

    @property
    def source(self) -> str:
        return f"src/meta/{self.version}.cc" if self.is_meta else f"src/api/{self.folder}_{self.version}.cc"

    @property
    def openapi_prefix(self) -> str:
        host, rest = self.import_path.split("/", 1)
        return ".".join(reversed(host.split("."))) + "." + rest.replace("/", ".")


@dataclasses.dataclass
class Kind:
    group: str
    version: str
    kind: str
    resource: str = ""
    namespaced: bool = False
    is_list: bool = False


@dataclasses.dataclass
class Struct:
    gv: GroupVersion
    name: str
    fields: list  # Field and Inline, in the order of the Go source
    form: str = "kStruct"
    markers: dict = dataclasses.field(default_factory=dict)
    kind: Optional[Kind] = None
    has_type_meta: bool = False
    has_proto: bool = True
    atomic: bool = False
    go_name: str = ""

    def flat(self):
        """All fields, those of inlined structs in their place."""
        for field in self.fields:
            if isinstance(field, Inline):
                yield from field.struct.flat()
            else:
                yield field

    @property
    def full_name(self) -> str:
        return f"{self.gv.folder}.{self.gv.version}.{self.name}"


@dataclasses.dataclass
class Extra:
    list_type: str = "kUnset"
    atomic: bool = False
    map_keys: str = ""
    patch_strategy: str = ""
    patch_merge_key: str = ""
    default_json: str = ""
    enum_values: str = ""

    def is_default(self) -> bool:
        return self == Extra()


@dataclasses.dataclass
class Field:
    json_name: str
    member: str
    kind: str
    shape: str  # kPlain, kOptional, kList, kMap
    number: int
    required: bool
    struct: Optional[Struct]  # for kMessage
    extra: Extra
    go: go_types.Field
    named_type: Optional[tuple] = None  # (import path, name) of a named string type, for enums


@dataclasses.dataclass
class Inline:
    struct: Struct
    number: int
    go: go_types.Field


@dataclasses.dataclass
class Resolved:
    kind: str
    shape: str
    struct: Optional[Struct] = None
    named_type: Optional[tuple] = None
    markers: dict = dataclasses.field(default_factory=dict)  # of named types on the way
    basic: str = ""


class Builder:
    """Turns the parsed packages into structs."""

    def __init__(self, gvs: list):
        self.gvs = {gv.import_path: gv for gv in gvs}
        self.errors = []  # all that was found wrong, so that one run shows everything

    def build(self):
        for gv in self.gvs.values():
            for name in gv.go.types:
                if name[0].isupper():
                    self._declare(gv, name)
        for gv in self.gvs.values():
            for struct in list(gv.structs.values()):
                self._try(self._fill, struct)
        for gv in self.gvs.values():
            self._try(self._kinds, gv)

    def _try(self, function, *args):
        try:
            function(*args)
        except SchemaError as error:
            self.errors.append(str(error))

    # ---- names ----

    def _import(self, gv: GroupVersion, type_name: str, qualifier: str) -> str:
        imports = gv.go.imports[gv.go.file_of[type_name]]
        if qualifier not in imports:
            raise SchemaError(f"{gv.import_path}.{type_name}: unknown package {qualifier}")
        return imports[qualifier]

    def _target(self, gv: GroupVersion, owner: str, named: go_types.Named):
        """(group-version or None, import path, name) that a type name stands for, behind Go aliases."""
        path = self._import(gv, owner, named.package) if named.package else gv.import_path
        target = self.gvs.get(path)
        if target is not None and named.name in target.go.types:
            decl = target.go.types[named.name]
            if decl.alias and isinstance(decl.type, go_types.Named):
                return self._target(target, named.name, decl.type)
        return target, path, named.name

    def _go_struct(self, gv: GroupVersion, name: str):
        """The fields of a Go struct type, behind `type List metav1.List`; also the group-version in which to resolve them."""
        decl = gv.go.types[name]
        if isinstance(decl.type, go_types.Struct):
            return gv, name, decl.type
        if isinstance(decl.type, go_types.Named) and decl.type.name not in BASIC:
            target, _, target_name = self._target(gv, name, decl.type)
            if target is not None and target_name in target.go.types:
                return self._go_struct(target, target_name)
        return None

    def _declare(self, gv: GroupVersion, name: str):
        decl = gv.go.types[name]
        if (gv.import_path, name) in LEAVES or (gv.import_path, name) in LEFT_OUT:
            return
        if decl.alias:
            if isinstance(decl.type, go_types.Named):
                target, _, target_name = self._target(gv, name, decl.type)
                if target is not None and target is not gv and target_name in target.go.types and self._go_struct(target, target_name):
                    gv.aliases[name] = (target, target_name)
            return
        found = self._go_struct(gv, name)
        messages = gv.proto.messages if gv.proto else {}
        if found is not None:
            struct = Struct(gv, name, [], markers=decl.markers, has_proto=name in messages)
            if self._is_by_token(name, found[2]):
                struct.form = "kByToken"
        elif name in messages and isinstance(decl.type, go_types.Slice):
            struct = Struct(gv, name, [], form="kOnlyField", markers=decl.markers)
        else:
            return
        struct.atomic = decl.markers.get("structType") == ["atomic"] or decl.markers.get("mapType") == ["atomic"]
        gv.structs[name] = struct

    @staticmethod
    def _is_by_token(name: str, go_struct: go_types.Struct) -> bool:
        """Union types with a hand-written JSON form: no field has a JSON name."""
        return bool(go_struct.fields) and all("json" not in f.tags for f in go_struct.fields) and "protobuf" in go_struct.fields[0].tags

    # ---- fields ----

    def _fill(self, struct: Struct):
        gv = struct.gv
        messages = gv.proto.messages if gv.proto else {}
        message = dict(messages.get(struct.name, {}))
        if struct.form == "kOnlyField":
            resolved = self._resolve(gv, struct.name, gv.go.types[struct.name].type, struct.full_name)
            items = message.pop("items", None)
            if items is None or message or resolved.shape != "kList":
                raise SchemaError(f"{struct.full_name}: expected one list, `items`")
            self._check_proto(struct.full_name, resolved, items)
            struct.fields = [Field("items", "items", resolved.kind, "kList", items.number, True, resolved.struct, Extra(), None)]
            return
        source_gv, source_name, go_struct = self._go_struct(gv, struct.name)
        for go_field in go_struct.fields:
            self._try(self._add_field, struct, source_gv, source_name, go_field, message)
        if message:
            raise SchemaError(f"{struct.full_name}: in generated.proto only: {sorted(message)}")
        seen = set()
        for field in struct.flat():
            if field.json_name in seen:
                raise SchemaError(f"{struct.full_name}: two fields {field.json_name}")
            seen.add(field.json_name)

    def _add_field(self, struct: Struct, gv, owner: str, go_field: go_types.Field, message: dict):
        where = f"{struct.full_name}.{go_field.name}"
        json_name = go_field.json_name()
        inline = go_field.embedded and json_name == ""
        if json_name == "-" and not struct.form == "kByToken":
            return
        proto_name, tag_number = self._protobuf_tag(go_field)
        if inline:
            inner = go_field.type.elem if isinstance(go_field.type, go_types.Pointer) else go_field.type
            target, path, name = self._target(gv, owner, inner)
            if (path, name) == (META, "TypeMeta"):
                struct.has_type_meta = True
                return
            if isinstance(go_field.type, go_types.Pointer) or target is None or name not in target.structs:
                raise SchemaError(f"{where}: cannot inline {inner}")
            number = 0
            if struct.has_proto:
                proto_field = message.pop(proto_name, None)
                expected = self._proto_name(target, name)
                if proto_field is None or proto_field.number != tag_number or proto_field.type != expected or proto_field.label != "optional":
                    raise SchemaError(f"{where}: generated.proto has {proto_field}, the Go tag {proto_name} = {tag_number} of type {expected}")
                number = proto_field.number
            struct.fields.append(Inline(target.structs[name], number, go_field))
            return
        if struct.form == "kByToken":
            json_name = proto_name
        if not json_name:
            raise SchemaError(f"{where}: no JSON name")
        resolved = self._resolve(gv, owner, go_field.type, where)
        number = 0
        if struct.has_proto:
            proto_field = message.pop(proto_name, None)
            if proto_field is None or proto_field.number != tag_number:
                raise SchemaError(f"{where}: generated.proto has {proto_field}, the Go tag {proto_name} = {tag_number}")
            self._check_proto(where, resolved, proto_field)
            number = proto_field.number
        elif resolved.kind == "int":
            resolved.kind = "kInt64"
        options = go_field.json_options()
        omits = "omitempty" in options or "omitzero" in options
        # Written even when empty, as Go does. Unset times are left out all the same: to a server both read alike.
        required = not omits and resolved.shape != "kOptional" and not (resolved.shape == "kPlain" and resolved.kind in OWN_UNSET)
        if resolved.shape == "kPlain" and resolved.kind == "kQuantity":
            required = True  # to Go a struct, which omitempty never leaves out
        if struct.form == "kByToken":
            required = False
        if resolved.shape == "kOptional" and resolved.kind == "kRawJson":
            resolved.shape = "kPlain"
        struct.fields.append(
            Field(
                json_name,
                naming.member_name(json_name),
                resolved.kind,
                resolved.shape,
                number,
                required,
                resolved.struct,
                self._extra(gv, where, go_field, resolved),
                go_field,
                resolved.named_type,
            )
        )

    @staticmethod
    def _protobuf_tag(go_field: go_types.Field):
        parts = go_field.tags.get("protobuf", "").split(",")
        if len(parts) < 2:
            return None, None
        names = [p[len("name=") :] for p in parts if p.startswith("name=")]
        # Without a name, go-to-protobuf takes that of the Go field.
        return (names or [go_field.name[0].lower() + go_field.name[1:]])[0], int(parts[1])

    @staticmethod
    def _proto_name(gv: GroupVersion, name: str) -> str:
        return gv.proto.package + "." + name

    def _resolve(self, gv, owner: str, expression, where: str) -> Resolved:
        if isinstance(expression, go_types.Interface):
            return Resolved("kRawJson", "kPlain")
        if isinstance(expression, go_types.Pointer):
            inner = self._resolve(gv, owner, expression.elem, where)
            if inner.shape != "kPlain":
                raise SchemaError(f"{where}: pointer to a list, map or pointer")
            inner.shape = "kOptional"
            return inner
        if isinstance(expression, go_types.Slice):
            if expression.elem in (go_types.Named("", "byte"), go_types.Named("", "uint8")):
                return Resolved("kBytes", "kPlain")
            inner = self._resolve(gv, owner, expression.elem, where)
            if inner.shape == "kOptional" and inner.kind == "kMessage":
                inner.shape = "kPlain"
            if inner.shape != "kPlain":
                raise SchemaError(f"{where}: list of lists, maps or optional scalars")
            inner.shape = "kList"
            return inner
        if isinstance(expression, go_types.MapOf):
            key = self._resolve(gv, owner, expression.key, where)
            if (key.kind, key.shape) != ("kString", "kPlain"):
                raise SchemaError(f"{where}: map with keys that are no strings")
            inner = self._resolve(gv, owner, expression.value, where)
            if inner.shape != "kPlain":
                raise SchemaError(f"{where}: map to lists, maps or pointers")
            inner.shape = "kMap"
            return inner
        if isinstance(expression, go_types.Named):
            return self._resolve_named(gv, owner, expression, where)
        raise SchemaError(f"{where}: type {expression}")

    def _resolve_named(self, gv, owner: str, named: go_types.Named, where: str) -> Resolved:
        if not named.package and named.name not in gv.go.types:
            if named.name in BASIC:
                return Resolved(BASIC[named.name], "kPlain", basic=named.name)
            if named.name in ("int", "uint32", "uint64", "uint8", "int8", "uint16", "int16"):
                return Resolved("int", "kPlain", basic=named.name)
            raise SchemaError(f"{where}: unknown type {named.name}")
        target, path, name = self._target(gv, owner, named)
        if (path, name) in LEAVES:
            return Resolved(LEAVES[(path, name)], "kPlain")
        if target is None:
            raise SchemaError(f"{where}: type of an unknown package: {path}.{name}")
        if name in target.structs:
            struct = target.structs[name]
            return Resolved("kMessage", "kPlain", struct, markers=struct.markers)
        decl = target.go.types[name]
        resolved = self._resolve(target, name, decl.type, where)
        resolved.markers = {**resolved.markers, **decl.markers}
        if resolved.kind == "kString" and resolved.shape == "kPlain" and resolved.named_type is None:
            resolved.named_type = (path, name)
        return resolved

    def _check_proto(self, where: str, resolved: Resolved, proto_field):
        """The type that generated.proto gives must be the one that Go gives. A Go `int` takes its width from there."""
        label = {"kList": "repeated", "kMap": "map"}.get(resolved.shape, "optional")
        if resolved.kind == "int":
            widths = {"int32": "kInt32", "int64": "kInt64"}
            if proto_field.type not in widths:
                raise SchemaError(f"{where}: integer {resolved.basic} is {proto_field.type} in generated.proto")
            resolved.kind = widths[proto_field.type]
        expected = {
            "kString": ["string"],
            "kBytes": ["bytes"],
            "kBool": ["bool"],
            "kInt32": ["int32"],
            "kInt64": ["int64"],
            "kDouble": ["double"],
            "kTime": ["k8s.io.apimachinery.pkg.apis.meta.v1.Time"],
            "kMicroTime": ["k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime"],
            "kDuration": ["k8s.io.apimachinery.pkg.apis.meta.v1.Duration"],
            "kQuantity": ["k8s.io.apimachinery.pkg.api.resource.Quantity"],
            "kIntOrString": ["k8s.io.apimachinery.pkg.util.intstr.IntOrString"],
            "kRawJson": [
                "k8s.io.apimachinery.pkg.runtime.RawExtension",
                "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
                "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON",
                "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1beta1.JSON",
            ],
        }
        types = expected.get(resolved.kind) or [self._proto_name(resolved.struct.gv, resolved.struct.name)]
        if proto_field.type not in types or proto_field.label != label:
            raise SchemaError(f"{where}: {label} {types} in Go, {proto_field.label} {proto_field.type} in generated.proto")

    def _default(self, gv, where: str, text: str) -> str:
        """A default as JSON; `ref(Name)` and `ref(import/path.Name)` stand for a constant."""
        match = re.fullmatch(r"ref\((?:(.+)\.)?(\w+)\)", text)
        if match:
            package = self.gvs.get(match.group(1), gv) if match.group(1) else gv
            const = package.go.consts.get(match.group(2))
            if const is None or const.value is None:
                raise SchemaError(f"{where}: default {text}")
            return json.dumps(const.value)
        try:
            return json.dumps(json.loads(text), separators=(",", ":"))
        except json.JSONDecodeError:
            raise SchemaError(f"{where}: default {text}") from None

    def _extra(self, gv, where: str, go_field: go_types.Field, resolved: Resolved) -> Extra:
        markers = go_field.markers
        extra = Extra()
        list_type = markers.get("listType", resolved.markers.get("listType", []))
        if list_type and resolved.shape == "kList":
            if list_type[0] not in ("atomic", "set", "map"):
                raise SchemaError(f"{where}: list type {list_type}")
            extra.list_type = "k" + list_type[0].capitalize()
        if markers.get("structType") == ["atomic"] or markers.get("mapType") == ["atomic"]:
            extra.atomic = True
        if resolved.struct is not None and resolved.struct.atomic:
            if resolved.shape == "kMap":
                raise SchemaError(f"{where}: a map of atomic structs; FieldExtra cannot say so")
            extra.atomic = True
        extra.map_keys = ",".join(markers.get("listMapKey", []))
        extra.patch_strategy = go_field.tags.get("patchStrategy", "")
        extra.patch_merge_key = go_field.tags.get("patchMergeKey", "")
        default = markers.get("default", [])
        if default:
            extra.default_json = self._default(gv, where, default[0])
        if resolved.named_type is not None and "enum" in resolved.markers:
            extra.enum_values = ",".join(self._enum_values(resolved.named_type))
        return extra

    def _enum_values(self, named_type) -> list:
        gv = self.gvs[named_type[0]]
        values = [c.value for c in gv.go.consts.values() if c.type == go_types.Named("", named_type[1]) and c.value is not None]
        return sorted(set(values))

    # ---- kinds ----

    def _kinds(self, gv: GroupVersion):
        registered = dict.fromkeys(gv.go.registered, gv.group)
        if gv.import_path == META:
            registered = KINDS_OF_META
        for name, group in registered.items():
            if name not in gv.structs:
                if name in gv.aliases or name in gv.go.types:
                    continue
                raise SchemaError(f"{gv.import_path}: registers an unknown type {name}")
            struct = gv.structs[name]
            if not struct.has_type_meta:
                if f"{struct.full_name}" in NO_KINDS:
                    continue
                raise SchemaError(f"{struct.full_name}: registered, but has no TypeMeta")
            struct.kind = Kind(group, gv.version, name)
            struct.kind.is_list = any(isinstance(f, Field) and f.json_name == "items" and f.shape == "kList" for f in struct.fields)
            if "genclient" in struct.markers and "genclient:noVerbs" not in struct.markers:
                struct.kind.resource = struct.markers.get("resourceName", [naming.plural(name)])[0]
                struct.kind.namespaced = "genclient:nonNamespaced" not in struct.markers
        for struct in gv.structs.values():
            if struct.has_type_meta and struct.kind is None and struct.full_name not in NO_KINDS:
                raise SchemaError(f"{struct.full_name}: has a TypeMeta, but register.go does not register it")
