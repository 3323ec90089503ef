"""Reads the declarations of C++ sources, for the checks beside this file.

This is a tokenizer and a reader of declarations, not a compiler: it looks into no include and expands no macro. It follows namespaces, classes with
their sections, and the heads and bodies of functions. All branches of an #if are read, so each has to consist of whole declarations.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"(?P<skip>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/|(?:(?<=\n)|\A)[ \t]*#(?:\\\n|/\*.*?\*/|//[^\n]*|[^\n])*)"
    r'|(?P<text>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?\'(?:[^\'\\\n]|\\.)+\')'
    r"|(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)"
    r"|(?P<word>[A-Za-z_]\w*|::|->|\.\.\.|<=>|[=!<>]=|&&|\|\||.)",
    re.S,
)
CLOSES = {"(": ")", "[": "]", "{": "}"}
CLASS_KEYS = ("class", "struct", "union")
SECTIONS = ("public", "protected", "private")


class Unreadable(Exception):
    """The text has brackets that do not match."""


@dataclasses.dataclass
class Token:
    text: str
    line: int


@dataclasses.dataclass
class Declaration:
    """One declaration. `head` is what a reader of the interface needs: no body, no initializer, no member initializers."""

    head: list
    namespaces: list  # the names of the namespaces around it
    private: bool  # in a private section, or in a class that is in one
    friend: bool
    body: list = None  # the tokens of a function's body, with its braces
    name: str = ""


def tokens(text):
    """The tokens without comments and preprocessor lines; each literal text is \"\"."""
    out, line, last = [], 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        if match.lastgroup != "skip" and match["skip"] is None:
            out.append(Token('""' if match["text"] is not None else match.group(), line))
    return out


def declarations(text):
    """All declarations at namespace scope and in classes, in the order of their ends."""
    reader = _Reader(tokens(text))
    reader.scope([], False, None)
    if reader.at < len(reader.tokens):
        raise Unreadable(f"line {reader.tokens[reader.at].line}: brackets do not match")
    return reader.out


class _Reader:
    def __init__(self, read):
        self.tokens = read
        self.at = 0
        self.out = []

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at].text if at < len(self.tokens) else ""

    def take(self):
        if self.at >= len(self.tokens):
            raise Unreadable("the text ends inside a declaration")
        self.at += 1
        return self.tokens[self.at - 1]

    def group(self):
        """The tokens of a pair of brackets and of all that is in it."""
        out, open_brackets = [], []
        while True:
            token = self.take()
            out.append(token)
            if token.text in CLOSES:
                open_brackets.append(CLOSES[token.text])
            elif token.text in CLOSES.values() and token.text != open_brackets.pop():
                raise Unreadable(f"line {token.line}: brackets do not match")
            if not open_brackets:
                return out

    def angles(self):
        """The parameter list of a template."""
        out, depth = [], 0
        while True:
            if self.peek() in CLOSES:
                out += self.group()
                continue
            out.append(self.take())
            depth += (out[-1].text == "<") - (out[-1].text == ">")
            if depth == 0:
                return out

    def scope(self, namespaces, private, section):
        """Reads up to the } of the scope. `section`: of the class, None in a namespace."""
        while self.at < len(self.tokens) and self.peek() != "}":
            if self.peek() == ";":
                self.take()
            elif section is not None and self.peek() in SECTIONS and self.peek(1) == ":":
                section = self.take().text
                self.take()
            elif self.opens_namespace():
                names = []
                while self.peek() != "{":
                    names.append(self.take().text)
                self.take()
                inner = [n for n in names if re.fullmatch(r"\w+", n) and n not in ("inline", "namespace", "extern")]
                self.scope(namespaces + inner, private, None)
                self.take()
            else:
                self.declaration(namespaces, private or section == "private", section is not None)

    def opens_namespace(self):
        if self.peek() == "extern":
            return self.peek(1) == '""' and self.peek(2) == "{"
        if self.peek() != "namespace" and not (self.peek() == "inline" and self.peek(1) == "namespace"):
            return False
        ahead = 0
        while self.peek(ahead) not in ("{", ";", "=", ""):
            ahead += 1
        return self.peek(ahead) == "{"

    def declaration(self, namespaces, private, in_class):
        start, head = self.at, []
        made = Declaration(head, namespaces, private, False)
        while self.at < len(self.tokens) and self.peek() not in (";", "}"):
            text = self.peek()
            if in_class and head and text in SECTIONS and self.peek(1) == ":":
                break  # behind a macro without a semicolon
            if text == "template" and self.peek(1) == "<":
                head.append(self.take())
                head += self.angles()
            elif text in ("(", "["):
                head += self.group()
            elif text == "=" and head[-1].text != "operator" and not defines_name(head):
                self.skip_to_semicolon()
            elif text == ":" and has_parameters(head) and not is_type(head):
                self.skip_member_initializers()
            elif text == "{":
                if ends_in_requires(head) or defines_name(head):
                    head += self.group()
                elif is_type(head):
                    self.body_of_type(head, namespaces, private)
                elif has_parameters(head) and "enum" not in words(head):
                    made.body = self.group()
                    if self.peek() != ",":
                        break
                else:
                    self.group()
            else:
                head.append(self.take())
        if self.at == start:
            raise Unreadable(f"line {self.tokens[self.at].line}: unexpected {self.peek()}")
        made.friend = "friend" in words(head)
        made.name = name_of(head)
        self.out.append(made)

    def body_of_type(self, head, namespaces, private):
        self.take()
        key = next(word for word in words(head) if word in CLASS_KEYS)
        self.scope(namespaces, private, "private" if key == "class" else "public")
        self.take()

    def skip_to_semicolon(self):
        while self.peek() not in (";", "}", ""):
            if self.peek() in CLOSES:
                self.group()
            else:
                self.take()

    def skip_member_initializers(self):
        while True:
            while self.peek() not in ("(", "{"):
                self.take()
            self.group()
            if self.peek() == "...":
                self.take()
            if self.peek() != ",":
                return


def outside(head):
    """The tokens that are in no brackets and in no parameter list of a template; ( stands for a whole pair of them."""
    depth, angles, previous = 0, 0, ""
    for token in head:
        text = token.text
        if angles or (text == "<" and previous == "template"):
            angles += (text == "<" and depth == 0) - (text == ">" and depth == 0)
        elif text in CLOSES and depth == 0:
            yield text
        elif depth == 0 and text not in CLOSES.values():
            yield text
        depth += (text in CLOSES) - (text in CLOSES.values())
        previous = text


def words(head):
    return list(outside(head))


def defines_name(head):
    """True for `using X =` and `concept X =`: what follows is what the name means."""
    return any(word in ("using", "concept") for word in outside(head))


def has_parameters(head):
    found = words(head)
    if "(" not in found:
        return False
    # A variable, as `std::function<void()> f`.
    named = re.fullmatch(r"\w*[a-z]\w*", found[-1]) and found[-1] not in ("const", "noexcept", "override", "final")
    return not (named and found[-2] in (">", "&", "*") and "->" not in found)


def is_type(head):
    """True for what stands before the { of a class."""
    found = words(head)
    if "enum" in found or not any(word in CLASS_KEYS for word in found):
        return False
    key = next(i for i, word in enumerate(found) if word in CLASS_KEYS)
    if "(" in found[:key]:
        return False
    base = found.index(":") if ":" in found else len(found)
    return re.fullmatch(r"\w+|>", found[base - 1]) is not None and found[base - 1] not in ("const", "noexcept", "override")


def ends_in_requires(head):
    if not head:
        return False
    if head[-1].text == "requires":
        return True
    depth = 0
    for i in range(len(head) - 1, 0, -1):
        depth += (head[i].text == ")") - (head[i].text == "(")
        if depth == 0:
            return head[i].text == "(" and head[i - 1].text == "requires"
    return False


def name_of(head):
    """The name of a function, "TEST(A, B)" for a macro that looks like one; otherwise "" or something near to a name."""
    depth = angles = 0
    for i, token in enumerate(head):
        text = token.text
        if angles or (text == "<" and i and head[i - 1].text == "template"):
            angles += (text == "<" and depth == 0) - (text == ">" and depth == 0)
        elif text == "(" and depth == 0 and i and (head[i - 1].text not in ("alignas", "explicit", "requires", "decltype", "noexcept", "[", "]")):
            first = i
            while first and (head[first - 1].text in ("::", "~") or (re.fullmatch(r"\w+", head[first - 1].text) and (
                    first == i or head[first].text in ("::", "~")) and not (head[first].text == "::" and head[first - 1].text in ("return", "const")))):
                first -= 1
            name = "".join(t.text for t in head[first:i])
            if i and first == i:  # operator==, Foo<T>
                back = next((k for k in range(i - 1, -1, -1) if head[k].text == "operator"), None)
                name = "".join(t.text for t in head[back:i]) if back is not None else head[i - 1].text
            if re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", name):
                close = next(k for k in range(i, len(head)) if head[k].text == ")")
                return name + "(" + " ".join(t.text for t in head[i + 1:close]).replace(" ,", ",") + ")"
            return name
        depth += (text in CLOSES) - (text in CLOSES.values())
    return ""
