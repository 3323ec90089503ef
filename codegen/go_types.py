"""Reads the declarations of a Go package that matter for an API schema: types, struct fields with tags and markers, string constants.

This is not a Go compiler. It tokenises properly (strings, comments, raw strings), understands type expressions, and skips everything
else by matching brackets. What it does not understand inside a type it reports, so that nothing is lost silently.
"""

import dataclasses
import re
from typing import Optional


class GoSyntaxError(Exception):
    pass


# ---- Type expressions ----


@dataclasses.dataclass(frozen=True)
class Named:
    package: str  # the qualifier as written in the file, "" for a name of this package
    name: str


@dataclasses.dataclass(frozen=True)
class Pointer:
    elem: object


@dataclasses.dataclass(frozen=True)
class Slice:
    elem: object


@dataclasses.dataclass(frozen=True)
class MapOf:
    key: object
    value: object


@dataclasses.dataclass(frozen=True)
class Interface:
    pass


@dataclasses.dataclass
class Field:
    name: str
    type: object
    embedded: bool
    tags: dict
    markers: dict  # marker name -> list of values

    def json_name(self) -> str:
        return self.tags.get("json", "").split(",")[0]

    def json_options(self) -> list:
        return self.tags.get("json", "").split(",")[1:]


@dataclasses.dataclass
class Struct:
    fields: list


@dataclasses.dataclass
class TypeDecl:
    name: str
    type: object  # Struct or a type expression; None where it is something that no schema uses (function types, arrays)
    alias: bool
    markers: dict


@dataclasses.dataclass
class ConstDecl:
    name: str
    type: Optional[Named]
    value: Optional[str]  # the string, where it is one


@dataclasses.dataclass
class Package:
    types: dict  # name -> TypeDecl
    consts: dict  # name -> ConstDecl
    imports: dict  # file name -> {qualifier: import path}
    file_of: dict  # type name -> file name
    registered: list  # names of kinds that register.go adds to the scheme
    group: Optional[str] = None


# ---- Tokens ----

_TOKEN = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<space>[ \t\r]+)
  | (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*.*?\*/)
  | (?P<raw>`[^`]*`)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<rune>'(?:\\.|[^'\\\n])+')
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<dots>\.\.\.)
  | (?P<op>.)
""",
    re.VERBOSE | re.DOTALL,
)


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    line: int


def tokenize(text: str) -> list:
    tokens = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        value = match.group()
        if kind != "space":
            tokens.append(Token("newline" if kind == "block_comment" and "\n" in value else kind, value, line))
        line += value.count("\n")
    tokens.append(Token("end", "", line))
    return tokens


def parse_tags(raw: str) -> dict:
    return {key: _unquote('"' + value + '"') for key, value in re.findall(r'([\w.-]+):"((?:\\.|[^"\\])*)"', raw)}


def parse_markers(comments: list) -> dict:
    """`+name`, `+name=value` and `+name:value` lines of a comment block; several values of one name are kept in order."""
    markers = {}
    for comment in comments:
        match = re.match(r"//\s*\+([A-Za-z][\w.:()-]*)(?:=(.*))?$", comment.strip())
        if match:
            markers.setdefault(match.group(1), []).append((match.group(2) or "").strip())
    return markers


def _unquote(literal: str) -> str:
    if literal.startswith("`"):
        return literal[1:-1]

    def escape(match):
        char = match.group(1)
        simple = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'"}
        if char in simple:
            return simple[char]
        raise GoSyntaxError("unsupported escape in " + literal)

    return re.sub(r"\\(.)", escape, literal[1:-1])


# ---- Parser of one file ----


class FileParser:
    def __init__(self, text: str, file_name: str):
        self.tokens = tokenize(text)
        self.pos = 0
        self.file_name = file_name
        self.comments = []  # the comments above the current token
        self.package_name = ""
        self.imports = {}
        self.types = {}
        self.consts = {}
        self.registered = []
        self._pull_comments()

    # -- token access. `newline` tokens are kept: they end fields and constants.

    def _pull_comments(self):
        """Moves over comments and keeps them. A blank line does not end a block above a type: its markers often stand apart."""
        while self.tokens[self.pos].kind == "line_comment":
            self.comments.append(self.tokens[self.pos].text)
            self.pos += 1

    def peek(self) -> Token:
        return self.tokens[self.pos]

    def next(self) -> Token:
        token = self.tokens[self.pos]
        self.pos += 1
        self._pull_comments()
        return token

    def skip_newlines(self, blank_line_ends_comment: bool = False):
        while self.peek().kind == "newline" or self.peek().text == ";":
            before = self.pos
            self.next()
            if blank_line_ends_comment and self.pos == before + 1 and self.peek().kind == "newline":
                self.comments = []

    def take_comments(self) -> list:
        comments, self.comments = self.comments, []
        return comments

    def expect(self, text: str) -> Token:
        token = self.next()
        if token.text != text:
            raise GoSyntaxError(f"{self.file_name}:{token.line}: expected {text!r}, got {token.text!r}")
        return token

    def skip_balanced(self):
        """The current token opens a bracket; moves behind the matching one."""
        depth = 0
        while True:
            token = self.next()
            if token.kind == "end":
                raise GoSyntaxError(self.file_name + ": unbalanced brackets")
            if token.kind == "op" and token.text in "([{":
                depth += 1
            elif token.kind == "op" and token.text in ")]}":
                depth -= 1
                if depth == 0:
                    return

    def skip_to_line_end(self):
        while self.peek().kind not in ("newline", "end"):
            if self.peek().kind == "op" and self.peek().text in "([{":
                self.skip_balanced()
            else:
                self.next()

    # -- declarations

    def parse(self):
        while self.peek().kind != "end":
            token = self.peek()
            if token.kind == "name" and token.text == "package":
                self.next()
                self.package_name = self.next().text
                self.take_comments()
            elif token.kind == "name" and token.text == "import":
                self.next()
                self._group(self._import)
            elif token.kind == "name" and token.text == "type":
                self.next()
                self._group(self._type)
            elif token.kind == "name" and token.text == "const":
                self.next()
                self._group(self._const)
            elif token.kind == "name" and token.text in ("func", "var"):
                start = self.pos
                self.skip_to_line_end()
                self._find_registrations(start, self.pos)
                self.take_comments()
            else:
                if token.kind not in ("newline", "end"):
                    raise GoSyntaxError(f"{self.file_name}:{token.line}: unexpected {token.text!r}")
                self.next()
        return self

    def _group(self, one):
        if self.peek().text == "(":
            self.take_comments()
            self.next()
            self.skip_newlines()
            while self.peek().text != ")":
                one(self.take_comments())
                self.skip_newlines()
            self.next()
        else:
            one(self.take_comments())
        self.take_comments()

    def _import(self, _comments):
        token = self.next()
        if token.kind == "string":
            path = token.text[1:-1]
            self.imports[path.rsplit("/", 1)[-1]] = path
        else:
            self.imports[token.text] = self.next().text[1:-1]

    def _const(self, _comments):
        name = self.next().text
        while self.peek().text == ",":
            self.next()
            self.next()
        const_type = None
        if self.peek().kind == "name":
            const_type = self._type_expression()
        value = None
        if self.peek().text == "=":
            self.next()
            start = self.pos
            self.skip_to_line_end()
            value = self._constant_string(self.tokens[start : self.pos])
        self.consts[name] = ConstDecl(name, const_type if isinstance(const_type, Named) else None, value)

    def _constant_string(self, tokens: list) -> Optional[str]:
        """A string, a concatenation of strings and constants, or a conversion `T("...")` of one."""
        parts = [t for t in tokens if t.kind not in ("line_comment", "block_comment")]
        if len(parts) == 4 and parts[0].kind == "name" and parts[1].text == "(":
            parts = [parts[2]]
        result = ""
        for i, token in enumerate(parts):
            if i % 2 == 1:
                if token.text != "+":
                    return None
            elif token.kind in ("string", "raw"):
                result += _unquote(token.text)
            elif token.kind == "name" and token.text in self.consts and self.consts[token.text].value is not None:
                result += self.consts[token.text].value
            else:
                return None
        return result if len(parts) % 2 == 1 else None

    def _type(self, comments):
        name = self.next().text
        alias = False
        if self.peek().text == "=":
            alias = True
            self.next()
        self.types[name] = TypeDecl(name, self._type_expression(), alias, parse_markers(comments))

    def _find_registrations(self, start: int, end: int):
        """`&Pod{}` arguments of AddKnownTypes."""
        tokens = [t for t in self.tokens[start:end] if t.kind not in ("newline", "line_comment")]
        texts = [t.text for t in tokens]
        for i, text in enumerate(texts):
            if text not in ("AddKnownTypes", "AddKnownTypeWithName"):
                continue
            depth = 0
            for j in range(i + 1, len(texts)):
                if texts[j] in "([{":
                    depth += 1
                elif texts[j] in ")]}":
                    depth -= 1
                    if depth == 0:
                        break
                elif texts[j] == "&" and texts[j + 2] == "{":
                    self.registered.append(texts[j + 1])

    # -- types

    def _type_expression(self):
        token = self.next()
        if token.text == "*":
            return Pointer(self._type_expression())
        if token.text == "[":
            if self.peek().text == "]":
                self.next()
                return Slice(self._type_expression())
            self.skip_to_line_end()
            return None
        if token.text == "map":
            self.expect("[")
            key = self._type_expression()
            self.expect("]")
            return MapOf(key, self._type_expression())
        if token.text == "interface":
            if self.peek().text != "{":
                raise GoSyntaxError(f"{self.file_name}:{token.line}: interface without a body")
            self.skip_balanced()
            return Interface()
        if token.text == "any":
            return Interface()
        if token.text == "struct":
            return self._struct()
        if token.text == "func":
            self.skip_to_line_end()
            return None
        if token.kind == "name":
            if self.peek().text == ".":
                self.next()
                return Named(token.text, self.next().text)
            return Named("", token.text)
        raise GoSyntaxError(f"{self.file_name}:{token.line}: unexpected {token.text!r} in a type")

    def _struct(self) -> Struct:
        self.expect("{")
        self.take_comments()
        fields = []
        self.skip_newlines(blank_line_ends_comment=True)
        while self.peek().text != "}":
            comments = self.take_comments()
            fields.extend(self._field(comments))
            self.skip_newlines(blank_line_ends_comment=True)
        self.next()
        return Struct(fields)

    def _field(self, comments) -> list:
        names = []
        embedded = False
        first, second = self.peek(), self.tokens[self.pos + 1]
        if first.text == "*" or (first.kind == "name" and (second.kind in ("newline", "raw", "string") or second.text in (".", "}"))):
            embedded = True
            field_type = self._type_expression()
            inner = field_type.elem if isinstance(field_type, Pointer) else field_type
            names = [inner.name]
        else:
            names = [self.next().text]
            while self.peek().text == ",":
                self.next()
                names.append(self.next().text)
            field_type = self._type_expression()
        tags = {}
        if self.peek().kind in ("raw", "string"):
            tags = parse_tags(_unquote(self.next().text))
        if self.peek().kind not in ("newline", "end") and self.peek().text not in ("}", ";"):
            raise GoSyntaxError(f"{self.file_name}:{self.peek().line}: unexpected {self.peek().text!r} after a field")
        self.comments = []  # a comment behind the field, on the same line
        return [Field(name, field_type, embedded, tags, parse_markers(comments)) for name in names]


def parse_file(text: str, file_name: str = "input.go") -> FileParser:
    return FileParser(text, file_name).parse()


def parse_package(files: dict) -> Package:
    """`files`: file name -> text. Test files, generated deep copies and the like are the caller's to leave out."""
    package = Package({}, {}, {}, {}, [])
    for file_name, text in sorted(files.items()):
        parsed = parse_file(text, file_name)
        package.imports[file_name] = parsed.imports
        for name, decl in parsed.types.items():
            package.types[name] = decl
            package.file_of[name] = file_name
        package.consts.update(parsed.consts)
        for name in parsed.registered:
            if name not in package.registered:
                package.registered.append(name)
    if "GroupName" in package.consts:
        package.group = package.consts["GroupName"].value
    return package
