#!/usr/bin/env python3
"""Runs scripts/check-guide-index on made-up tables: what has to be in them.

usage: check_guide_index_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())

SEEDS = """
with self.running("examples/pod_watch", "--timeout", "6"):
    self.run("examples/pod_crud")
with self.operator("at"):
    pass
with self.webhooks("pod-labeler"):
    pass
"""
TABLE = """| document | program | command | tested by |
|---|---|---|---|
| 004 | a watch | `pod_watch` | `e2e.examples` |
| 004 | a pod ([page](a.md)) | `pod_crud` | `e2e.examples` |
| 003, 004 | At | `at/manager` | `operator.at_*`, `e2e.examples` |
| 004 | a webhook | `pod-labeler/manager` | |
"""


class CheckGuideIndexTest(unittest.TestCase):
    def check(self, english=TABLE, chinese=TABLE, seeds=SEEDS):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (("docs/guide/README.md", english), ("docs/zh-CN/guide/README.md", chinese), ("scripts/seeds", seeds)):
                os.makedirs(os.path.dirname(os.path.join(folder, path)))
                with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, "-B", CHECK, folder], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return done.returncode, done.stdout.splitlines()[:-1]

    def test_all_is_there(self):
        self.assertEqual(self.check(), (0, []))

    def test_words_may_differ(self):
        self.assertEqual(self.check(chinese=TABLE.replace("a watch", "another").replace("003, 004", "003 and 004").replace(", `e2e", " and `e2e")), (0, []))

    def test_a_program_of_the_walk_that_lacks(self):
        for row, name in (("| 004 | a watch |", "pod_watch"), ("| 003, 004 |", "at"), ("| 004 | a webhook", "pod-labeler")):
            with self.subTest(name):
                table = "".join(line for line in TABLE.splitlines(True) if not line.startswith(row))
                code, problems = self.check(table, table)
                self.assertEqual((code, problems), (1, [f"docs/guide/README.md: {name}, which scripts/seeds starts, is in no row"]))

    def test_part_of_a_name_does_not_do(self):
        table = TABLE.replace("`at/manager`", "`cat`, `at-last`")
        self.assertEqual(self.check(table, table)[0], 1)

    def test_rows_that_differ(self):
        for was, becomes in (("`pod_crud`", "`pod_watch`"), ("| `e2e.examples` |", "| `e2e.demo` |"), ("| 003, 004 |", "| 004 |"), (", `e2e.examples`", "")):
            with self.subTest(becomes):
                code, problems = self.check(chinese=TABLE.replace(was, becomes))
                self.assertEqual(code, 1)
                self.assertIn("differ from those of docs/guide/README.md:", problems[0])

    def test_a_row_that_lacks(self):
        code, problems = self.check(chinese="".join(TABLE.splitlines(True)[:-1]))
        self.assertEqual((code, problems), (1, ["docs/zh-CN/guide/README.md: has 3 rows, docs/guide/README.md has 4"]))

    def test_a_walk_that_it_cannot_read(self):
        self.assertEqual(self.check(seeds="start(pod_watch)\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
