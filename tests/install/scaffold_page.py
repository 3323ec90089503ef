#!/usr/bin/env python3
"""What docs/scaffolding.md shows under "Ten minutes".

    scaffold_page.py PAGE N              the Nth block of shell commands, from 1
    scaffold_page.py PAGE --edit FOLDER  changes the lines of its table in a project
"""

import os
import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        part = f.read().partition("\n## Ten minutes\n")[2].partition("\n## ")[0]
    if sys.argv[2] != "--edit":
        print(re.findall(r"^```sh\n(.*?)^```$", part, re.M | re.S)[int(sys.argv[2]) - 1], end="")
        return
    edits = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", part, re.M)
    assert len(edits) == 3, edits
    for name, before, after in edits:
        path = os.path.join(sys.argv[3], name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        assert text.count(before) == 1, f"{name} does not have one line with {before}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(before, after))


if __name__ == "__main__":
    main()
