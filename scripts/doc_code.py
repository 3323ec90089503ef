"""The C++ in the Markdown pages, which is compiled as it stands there.

    doc_code.py PAGE.md FOLDER [PROGRAM...]
    doc_code.py --files PAGE.md FOLDER

writes FOLDER/PROGRAM.cc for each whole program of the page, and FOLDER/<page>_page_test.cc if the page has other blocks. `#line` makes errors name the
line of the page. With --files it writes the files of the project that the page shows.

    <!-- program: list -->      A block after this line is a whole program: it has includes and a main function. Readers copy it.
    ```cpp

    <!-- file: src/main.cc --> A block after this line is a file of a project that readers make, whatever its language. The test in PROJECT_PAGES
    ```cpp                  builds the project.

    <!-- cpp ... -->            Code that is compiled and not shown. All blocks of a page that are no programs, and these comments, make up one
                                GoogleTest source, in the order of the page: the hidden code opens and closes the test around a block.

A block after `<!-- examples/x/main.cc: name -->` is a copy of a region of that file (scripts/check-doc-snippets), which is compiled there.

The blocks of a page in docs/zh-CN/ are those of the page that it stands for (scripts/check-translations), without the hidden code.
"""

import os
import re
import sys

ITEM = re.compile(
    r"^(?:<!-- program: (?P<program>[\w-]+) -->\n)?(?:<!-- file: (?P<file>[\w./-]+) -->\n)?(?P<region><!-- [\w./-]+\.\w+: [\w-]+ -->\n)?```(?:cpp|c\+\+)\n(?P<code>.*?)^```$"
    r"|^<!-- cpp\b(?P<hidden>.*?)-->$", re.S | re.M)
FILE = re.compile(r"^<!-- file: (?P<path>[\w./-]+) -->\n```\w+\n(?P<text>.*?)^```$", re.S | re.M)
# The page of a project, and the test that builds it.
PROJECT_PAGES = {"docs/own-kinds.md": "tests/install/own_kinds_page.sh"}
INCLUDE = "#include <kube/kube.h>"


class Block:
    """One block: `kind` is "program", "file", "shown", "hidden" or "region"; `line` is that of its first line of code."""

    def __init__(self, match, text):
        group = "hidden" if match["hidden"] is not None else "code"
        self.kind = "hidden" if group == "hidden" else "region" if match["region"] else "file" if match["file"] else "program" if match["program"] else "shown"
        self.name = match["program"]
        self.code = match[group]
        self.start, self.end = match.span(group)
        self.line = text.count("\n", 0, self.start) + 1


def original(page):
    """The page that a translation stands for: docs/a.md for docs/zh-CN/a.md; None for other pages."""
    return page.replace("docs/zh-CN/", "docs/", 1) if page.startswith("docs/zh-CN/") else None


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
        if block.kind == "file" and page not in PROJECT_PAGES:
            found.append(f"{where}: a file of a project that no test builds; add the page to PROJECT_PAGES in scripts/doc_code.py")
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
        elif block.kind not in ("region", "file"):
            test.append(lines)
    if any(block.kind == "shown" for block in blocks(text)):
        stem = os.path.basename(page).removesuffix(".md").replace("-", "_").lower()
        out[stem + "_page_test.cc"] = '#include "page_test_util.h"\n\n' + "".join(test)
    return out


def write_files(text, folder):
    for match in FILE.finditer(text):
        path = os.path.join(folder, match["path"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(match["text"])


def main():
    files = sys.argv[1:2] == ["--files"]
    if files:
        del sys.argv[1]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    page, folder, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(os.path.join(root, page), encoding="utf-8") as f:
        text = f.read()
    if files:
        write_files(text, folder)
        return 0
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
