"""Names: Go and JSON names to C++ ones, kinds to plural resource names."""

import re

# Keywords of C++20, and macros that common system headers or compilers define.
_RESERVED = set(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const consteval
    constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    unix linux major minor errno stdin stdout stderr assert""".split()
)


# Plurals of abbreviations, which would otherwise split before their last letter: podIPs is pod_ips, not pod_i_ps.
_PLURAL = re.compile(r"([A-Z]{2,})s(?![a-z])")
# Names that no rule splits well.
_IRREGULAR = {"jSONSchemas": "json_schemas", "openAPIV3Schema": "open_api_v3_schema"}


def snake_case(json_name: str) -> str:
    """podIPs -> pod_ips, hostPID -> host_pid, x-kubernetes-int-or-string -> x_kubernetes_int_or_string, $ref -> ref."""
    if json_name in _IRREGULAR:
        return _IRREGULAR[json_name]
    name = re.sub(r"[^A-Za-z0-9]+", "_", json_name).strip("_")
    name = _PLURAL.sub(lambda match: match.group(1).capitalize() + "s", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return name.lower()


def member_name(json_name: str) -> str:
    name = snake_case(json_name)
    if name in _RESERVED:
        name += "_"
    if name[0].isdigit():
        raise ValueError("no member name for " + json_name)
    return name


def constant_name(go_name: str) -> str:
    return "k" + go_name[0].upper() + go_name[1:]


def plural(kind: str) -> str:
    """The resource name that upstream's client generator gives a kind."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return name + "es"
    if name.endswith("y") and name[-2] not in "aeiou":
        return name[:-1] + "ies"
    return name + "s"
