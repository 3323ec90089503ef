"""The C++ in the Markdown pages, which is compiled as it stands there.

    doc_code.py PAGE.md FOLDER [PROGRAM...]

writes FOLDER/PROGRAM.cc for each whole program of the page, and FOLDER/<page>_page_test.cc if the page has other blocks. `#line` makes errors name the
line of the page.

    <!-- program: list -->      A block after this line is a whole program: it has includes and a main function. Readers copy it.
    ```cpp

    <!-- cpp ... -->            Code that is compiled and not shown. All blocks of a page that are no programs, and these comments, make up one
                                GoogleTest source, in the order of the page: the hidden code opens and closes the test around a block.

A block after `<!-- examples/x/main.cc: name -->` is a copy of a region of that file (scripts/check-doc-snippets), which is compiled there.
"""

import os
import re
import sys

ITEM = re.compile(
    r"^(?:<!-- program: (?P<program>[\w-]+) -->\n)?(?P<region><!-- [\w./-]+\.\w+: [\w-]+ -->\n)?```(?:cpp|c\+\+)\n(?P<code>.*?)^```$"
    r"|^<!-- cpp\b(?P<hidden>.*?)-->$", re.S | re.M)
INCLUDE = "#include <kube/kube.h>"


class Block:
    """One block: `kind` is "program", "shown", "hidden" or "region"; `line` is that of its first line of code."""

    def __init__(self, match, text):
        group = "hidden" if match["hidden"] is not None else "code"
        self.kind = "hidden" if group == "hidden" else "region" if match["region"] else "program" if match["program"] else "shown"
        self.name = match["program"]
        self.code = match[group]
        self.start, self.end = match.span(group)
        self.line = text.count("\n", 0, self.start) + 1


def blocks(text):
    return [Block(match, text) for match in ITEM.finditer(text)]


def problems(page, text):
    """What is wrong with the page, apart from what the compiler finds."""
    found = []
    for block in blocks(text):
        where = f"{page}:{block.line}"
        if block.kind == "program" and INCLUDE not in block.code:
            found.append(f"{where}: a program without {INCLUDE}")
        if block.kind == "program" and not re.search(r"^int main\(", block.code, re.M):
            found.append(f"{where}: a program without int main(")
        if block.kind == "shown" and re.search(r"^int main\(", block.code, re.M):
            found.append(f"{where}: a whole program needs <!-- program: NAME --> in front of it")
    return found


def sources(page, text):
    """{file name: its text}."""
    out = {}
    test = []
    for block in blocks(text):
        lines = f'#line {block.line} "{page}"\n{block.code.rstrip()}\n'
        if block.kind == "program":
            out[block.name + ".cc"] = lines
        elif block.kind != "region":
            test.append(lines)
    if any(block.kind == "shown" for block in blocks(text)):
        stem = os.path.basename(page).removesuffix(".md").replace("-", "_").lower()
        out[stem + "_page_test.cc"] = '#include "page_test_util.h"\n\n' + "".join(test)
    return out


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    page, folder, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(os.path.join(root, page), encoding="utf-8") as f:
        text = f.read()
    found = problems(page, text)
    made = sources(page, text)
    programs = sorted(name.removesuffix(".cc") for name in made if not name.endswith("_page_test.cc"))
    if programs != sorted(wanted):
        found.append(f"{page}: has the programs {programs}, and docs/CMakeLists.txt names {sorted(wanted)}")
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    os.makedirs(folder, exist_ok=True)
    for name, code in made.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
