#!/usr/bin/env python3
"""Puts what a server answered into the expectations of the contract suite.

    KUBEXX_CONTRACT_SERVERS=real-newest KUBEXX_CONTRACT_RECORD=/tmp/answers api_contract_test
    tests/contract/api/record.py /tmp/answers

What the oldest release answers otherwise goes into oldest.yaml. Else the last raw string of each EXPECT_STATUS, EXPECT_BODY, EXPECT_VALUE and EXPECT_MANAGED_FIELDS that failed is replaced. For new cases
(write them with an empty expectation) and for a new release of Kubernetes; read the difference before you keep it.
"""

import json
import os
import re
import sys

CALL = re.compile(r"EXPECT_(STATUS_ANY_ORDER|STATUS|BODY|VALUE|MANAGED_FIELDS)\(")


def expectations(text):
    """(first line, last line, span of the last raw string) of each call."""
    for call in CALL.finditer(text):
        at, depth, span = call.end(), 1, None
        while depth > 0:
            if text.startswith('R"(', at):
                end = text.index(')"', at)
                span = (at + 3, end)
                at = end + 2
            elif text[at] == '"':
                at += 1
                while text[at] != '"':
                    at += 2 if text[at] == "\\" else 1
                at += 1
            else:
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
        if span:
            yield text.count("\n", 0, call.start()) + 1, text.count("\n", 0, at) + 1, span


def record_oldest(new):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oldest.yaml")
    head, entries, key = [], {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                head.append(line)
            elif line.strip() and not line.startswith(" "):
                key = line.rstrip(": |\n")
                entries[key] = ""
            elif key is not None:
                entries[key] += line[2:] if line.strip() else "\n"
    entries.update(new)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(head)
        for key in sorted(entries):
            f.write(f"{key}: |\n")
            f.writelines(f"  {line}\n" if line else "\n" for line in entries[key].splitlines())
    print(f"{path}: {len(new)} expectations")


def main():
    answers = {}
    oldest = {}
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            answer = json.loads(line)
            if "key" in answer:
                oldest[answer["key"]] = answer["yaml"]
                continue
            answers.setdefault(answer["file"], {}).setdefault(answer["line"], answer["yaml"])
    for path, by_line in answers.items():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        changes = []
        for first, last, span in expectations(text):
            for line, yaml in by_line.items():
                if first <= line <= last:
                    changes.append((span, yaml))
        for (start, end), yaml in sorted(changes, reverse=True):
            text = text[:start] + "\n" + yaml + text[end:]
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        print(f"{path}: {len(changes)} expectations")
    if oldest:
        record_oldest(oldest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
