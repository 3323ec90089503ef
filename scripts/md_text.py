"""The text of Markdown pages, for the checks beside this module."""

import re

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+).*?^ *(?P=fence)`*~*[ \t]*$", re.S | re.M)
COMMENT = re.compile(r"<!--.*?-->", re.S)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?P<text>.+?)(?<!`)\1(?!`)")


def blank(match):
    """The lines of a match without their text, so that line numbers stay."""
    return "\n" * match[0].count("\n")


def prose(text):
    """The page without code blocks and comments."""
    return COMMENT.sub(blank, FENCE.sub(blank, text))
