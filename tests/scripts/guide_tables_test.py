"""scripts/check-guide-tables: which rows count, which names are unknown, and which pages differ.

usage: guide_tables_test.py SCRIPTS
"""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

SCRIPTS = os.path.abspath(sys.argv.pop())
sys.path.insert(0, SCRIPTS)
loader = importlib.machinery.SourceFileLoader("check_guide_tables", os.path.join(SCRIPTS, "check-guide-tables"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check)

PAGE = """
| other | |
|---|---|
| `NotCounted` | |

| library | kubexx | what differs |
|---|---|---|
| `Theirs` | `Client::FromConfig`, `IsNotFound` | the same `word` |
| `Or` | `\\|\\|` of `MetaPredicate` | |
| `Absent` | - | why |
"""


class GuideTablesTest(unittest.TestCase):
    known, of = check.known_words(), check.members()

    def problems(self, text):
        return check.unknown("page", text, self.known, self.of)

    def test_rows_of_tables_with_our_column(self):
        self.assertEqual([cells[0] for _, cells in check.rows(PAGE)], ["`Theirs`", "`Or`", "`Absent`"])

    def test_names_of_the_headers_are_known(self):
        self.assertEqual(self.problems(PAGE), [])

    def test_a_name_that_does_not_exist(self):
        self.assertEqual(self.problems(PAGE.replace("IsNotFound", "IsNotFond")), ["page:8: `IsNotFond`: there is no IsNotFond"])

    def test_a_member_of_another_class(self):
        self.assertEqual(self.problems(PAGE.replace("Client::FromConfig", "Client::AddAfter")), ["page:8: `Client::AddAfter`: Client has no AddAfter"])

    def test_translations_have_the_same_code_in_each_row(self):
        free = PAGE.replace("the same `word`", "other words").replace("`\\|\\|` of `MetaPredicate`", "`MetaPredicate`: `\\|\\|`")
        self.assertEqual(check.compare("b", free, "a", PAGE), [])
        self.assertEqual(check.compare("b", PAGE.replace("`Or`", "`And`"), "a", PAGE), ["b:9: differs from a:9"])
        self.assertEqual(check.compare("b", PAGE.replace("| `Absent` | - | why |\n", ""), "a", PAGE), ["b: has 2 rows and a has 3"])


if __name__ == "__main__":
    unittest.main()
