"""Reads generated.proto files: messages and their fields with label, type, name and number. Nothing else is in them."""

import dataclasses
import re


class ProtoSyntaxError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class ProtoField:
    label: str  # "optional", "repeated" or "map"
    type: str  # scalar name or full message name; for a map the type of the value
    name: str
    number: int


@dataclasses.dataclass
class ProtoFile:
    package: str
    messages: dict  # name -> {field name: ProtoField}


SCALARS = {"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"}

_FIELD = re.compile(r"^(optional|repeated|required)\s+([\w.]+)\s+(\w+)\s*=\s*(\d+)\s*;$")
_MAP_FIELD = re.compile(r"^map<\s*(\w+)\s*,\s*([\w.]+)\s*>\s+(\w+)\s*=\s*(\d+)\s*;$")


def parse(text: str, file_name: str = "generated.proto") -> ProtoFile:
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    result = ProtoFile("", {})
    fields = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("//")[0].strip() if not raw.strip().startswith(("import", "option")) else raw.strip()
        if not line or line.startswith(("syntax", "import", "option ")):
            continue
        where = f"{file_name}:{number}"
        if line.startswith("package "):
            result.package = line[len("package ") :].rstrip(";").strip()
        elif line.startswith("message ") and fields is None:
            name = line.split()[1]
            fields = result.messages.setdefault(name, {})
        elif line == "}" and fields is not None:
            fields = None
        elif fields is not None:
            field = _parse_field(line, result.package, where)
            if field.name in fields or field.number in [f.number for f in fields.values()]:
                raise ProtoSyntaxError(f"{where}: {field.name} is there twice")
            fields[field.name] = field
        else:
            raise ProtoSyntaxError(f"{where}: {line!r}")
    return result


def _parse_field(line: str, package: str, where: str) -> ProtoField:
    match = _FIELD.match(line)
    if match:
        label, type_name, name, number = match.groups()
        return ProtoField(label, _full_name(type_name, package), name, int(number))
    match = _MAP_FIELD.match(line)
    if match:
        key, type_name, name, number = match.groups()
        if key != "string":
            raise ProtoSyntaxError(f"{where}: map with keys of type {key}")
        return ProtoField("map", _full_name(type_name, package), name, int(number))
    raise ProtoSyntaxError(f"{where}: {line!r}")


def _full_name(type_name: str, package: str) -> str:
    if type_name in SCALARS:
        return type_name
    if type_name.startswith("."):
        return type_name[1:]
    return type_name if "." in type_name else package + "." + type_name
