"""Writes what the schema of a CRD needs to know of the built-in structs, as data of the room `generate`.

The field tables say how values are read and written. A schema also has to say which fields are required and which values are allowed, so the
markers of the Go sources that controller-gen acts on are carried over, in the line format of src/generate/builtin_types.h. Descriptions are
left out: they are upstream's text.
"""

import json

import emit
import go_types
import model
from model import Inline

_MARKERS = {"listType", "listMapKey", "mapType", "structType", "nullable", "default"}
_MARKERS |= {"k8s:listType", "k8s:listMapKey", "k8s:maxItems", "k8s:minimum", "k8s:maximum", "k8s:immutable", "k8s:required"}

_SCALARS = {
    "kBool": "bool",
    "kInt32": "std::int32_t",
    "kInt64": "std::int64_t",
    "kDouble": "double",
    "kString": "kube::String",
    "kBytes": "kube::Bytes",
    "kQuantity": "kube::Quantity",
    "kTime": "kube::Time",
    "kMicroTime": "kube::MicroTime",
    "kDuration": "kube::Duration",
    "kIntOrString": "kube::IntOrString",
    "kRawJson": "kube::RawJson",
}


def _qualified(struct) -> str:
    return f"kube::{struct.gv.namespace}::{struct.name}"


def _type_of(field) -> str:
    if field.kind != "kMessage":
        element = _SCALARS[field.kind]
    elif field.struct.form == "kOnlyField":
        element = _type_of(field.struct.fields[0])
    elif field.struct.form == "kByToken":
        element = "kube::RawJson"
    else:
        element = _qualified(field.struct)
    return {"kList": f"kube::List<{element}>", "kMap": f"kube::Map<{element}>"}.get(field.shape, element)


def _is_required(field) -> bool:
    """As controller-gen decides it: markers, then whether Go leaves the field out when it is empty."""
    markers = field.go.markers
    for names, answer in (
        (("kubebuilder:validation:Optional",), False),
        (("kubebuilder:validation:Required",), True),
        (("optional", "k8s:optional"), False),
        (("required", "k8s:required"), True),
    ):
        if any(name in markers for name in names):
            return answer
    options = field.go.json_options()
    return "omitempty" not in options and "omitzero" not in options


def _marker_lines(markers: dict) -> list:
    lines = []
    for name, values in sorted(markers.items()):
        known = name in _MARKERS or name.startswith("kubebuilder:")
        if not known or name in ("kubebuilder:validation:Required", "kubebuilder:validation:Optional"):
            continue
        for value in values:
            if value.startswith("ref("):
                continue
            lines.append(f"M +{name}" + (f"={value}" if value else ""))
    return lines


def _enum_line(field, builder) -> list:
    """A named string with +k8s:enum allows its constants."""
    if field.named_type is None or field.named_type[0] not in builder.gvs:
        return []
    decl = builder.gvs[field.named_type[0]].go.types.get(field.named_type[1])
    if decl is None or "k8s:enum" not in decl.markers or field.shape not in ("kPlain", "kOptional"):
        return []
    values = builder._enum_values(field.named_type)  # pylint: disable=protected-access
    return ["M +kubebuilder:validation:Enum=" + ";".join(json.dumps(value) for value in values)]


def _lines(struct, builder) -> list:
    out = _marker_lines(struct.markers)
    if struct.has_type_meta:
        out += ["F apiVersion kube::String", "F kind kube::String"]
    for field in struct.fields:
        if isinstance(field, Inline):
            out.append(f"I - {_qualified(field.struct)}")
            continue
        out.append(f"{'R' if _is_required(field) else 'F'} {field.json_name} {_type_of(field)}")
        if field.kind == "kRawJson" and "RawExtension" in str(field.go.type):
            out.append("M +kubebuilder:validation:Type=object")
        out += _enum_line(field, builder)
        out += _marker_lines(field.go.markers)
    return out


def _spelled(resolved) -> str:
    return _type_of(resolved) if resolved.kind in _SCALARS or resolved.kind == "kMessage" else ""


def _go_type_rows(gv, builder) -> dict:
    """Types of a Go package that are no struct of kubexx: what stands for them, and their markers."""
    rows = {}
    for name, decl in gv.go.types.items():
        struct = gv.structs.get(name)
        if (gv.import_path, name) in model.LEAVES or (struct is not None and struct.form == "kStruct"):
            continue
        if name in gv.aliases:
            target, target_name = gv.aliases[name]
            rows[f"{gv.import_path}.{name}"] = f"T kube::{target.namespace}::{target_name}\n"
            continue
        try:
            resolved = builder._resolve_named(gv, name, go_types.Named("", name), name)  # pylint: disable=protected-access
        except (model.SchemaError, KeyError, AttributeError):
            continue  # an interface, a function, a map by struct: no field has it
        spelled = _spelled(resolved)
        if spelled and resolved.shape != "kOptional":
            resolved.named_type = resolved.named_type or (gv.import_path, name)
            lines = _enum_line(resolved, builder) + _marker_lines(decl.markers)
            rows[f"{gv.import_path}.{name}"] = f"T {spelled}\n" + "".join(line + "\n" for line in lines)
    return rows


def write_go_types(group_versions: list, builder, versions: dict) -> str:
    rows = {}
    for gv in group_versions:
        rows[gv.import_path] = f"P kube::{gv.namespace}\n"
        rows.update(_go_type_rows(gv, builder))
    for (path, name), kind in model.LEAVES.items():
        rows[f"{path}.{name}"] = f"T {_SCALARS[kind]}\n"
        if name == "RawExtension":
            rows[f"{path}.{name}"] += "M +kubebuilder:validation:Type=object\n"
    used = {gv.module: versions[gv.module] for gv in group_versions}
    return (
        emit._banner(used)  # pylint: disable=protected-access
        + '#include "generate/go_builtins.h"\n\nnamespace kube::generate {\nnamespace {\n\nconstexpr BuiltinText kTexts[] = {\n'
        + "".join(f"    {{{json.dumps(name)}, {json.dumps(text, ensure_ascii=True)}}},\n" for name, text in sorted(rows.items()))
        + "};\n\n}  // namespace\n\nstd::span<const BuiltinText> GoBuiltinTexts() { return kTexts; }\n\n}  // namespace kube::generate\n"
    )


def write_schemas(group_versions: list, builder, versions: dict) -> str:
    structs = [s for gv in group_versions for s in gv.structs.values() if s.form == "kStruct"]
    rows = []
    for struct in sorted(structs, key=_qualified):
        text = "".join(line + "\n" for line in _lines(struct, builder))
        rows.append(f"    {{{json.dumps(_qualified(struct))}, {json.dumps(text, ensure_ascii=True)}}},\n")
    used = {gv.module: versions[gv.module] for gv in group_versions}
    return (
        emit._banner(used)  # pylint: disable=protected-access
        + '#include "generate/builtin_types.h"\n\nnamespace kube::generate {\nnamespace {\n\nconstexpr BuiltinText kTexts[] = {\n'
        + "".join(rows)
        + "};\n\n}  // namespace\n\nstd::span<const BuiltinText> BuiltinTexts() { return kTexts; }\n\n}  // namespace kube::generate\n"
    )
