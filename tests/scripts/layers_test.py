"""Runs scripts/check-layers on made-up rooms: which private headers of other rooms, and of other folders, a file may include.

usage: layers_test.py SCRIPTS
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = os.path.abspath(sys.argv.pop())
sys.path.insert(0, SCRIPTS)
loader = importlib.machinery.SourceFileLoader("check_layers", os.path.join(SCRIPTS, "check-layers"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check)

HEADERS = ["base/hash.h", "base/pool.h", "base/fake_test_util.h", "base/test_types.h", "testing/folder.h", "tool/names.h", "client/low/a.h", "client/high/b.h"]
UNLISTED = "a private header of another room; use its public headers, or list it in scripts/check-layers"


class LayersTest(unittest.TestCase):
    def problems(self, includes, shared=(), allowed=(), in_tests=(), public=()):
        """What the check says about sources: {path: [included header]}."""
        texts = {f"src/{header}": "" for header in HEADERS} | {f"include/kube/{header}": "" for header in public}
        texts |= {path: "".join(f'#include "{header}"\n' for header in headers) for path, headers in includes.items()}
        with tempfile.TemporaryDirectory() as root:
            for path, text in texts.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            tables = {"ROOMS": ["base", "client", "cache", "tool", "testing"], "FOLDERS": {"client": ["", "low", "high"]}, "TOOLS": ["tool"]}
            tables |= {"SHARED": {header: "" for header in shared}, "ALLOWED": {row: "" for row in allowed}, "ALLOWED_IN_TESTS": {row: "" for row in in_tests}}
            output = io.StringIO()
            with mock.patch.multiple(check, **tables), mock.patch.object(check.tree, "ROOT", root), contextlib.redirect_stdout(output):
                code = check.main()
        lines = output.getvalue().splitlines()[:-1]
        self.assertEqual(code, 1 if lines else 0)
        return lines

    def test_private_header_of_another_room(self):
        self.assertEqual(self.problems({"src/client/a.cc": ["base/hash.h"]}), [f"src/client/a.cc:1: includes base/hash.h: {UNLISTED}"])
        self.assertEqual(self.problems({"src/client/a_test.cc": ["base/hash.h"]}), [f"src/client/a_test.cc:1: includes base/hash.h: {UNLISTED}"])
        self.assertEqual(self.problems({"apps/tool/main.cc": ["base/hash.h"]}), [f"apps/tool/main.cc:1: includes base/hash.h: {UNLISTED}"])

    def test_own_and_public_headers(self):
        self.assertEqual(self.problems({"src/base/a.cc": ["base/hash.h"], "src/client/a.cc": ["kube/base/hash.h"]}, public=["base/hash.h"]), [])

    def test_rooms_without_public_headers(self):
        self.assertEqual(self.problems({"src/testing/a.cc": ["tool/names.h"], "apps/tool/main.cc": ["tool/names.h"]}), [])
        self.assertEqual(self.problems({}, public=["tool/names.h"]), ["scripts/check-layers: TOOLS has tool, which has public headers"])

    def test_paths_inside_of_a_program(self):
        self.assertEqual(self.problems({"apps/tool/main.cc": ["client/of_the_program.h", "names.h"]}), [])

    def test_shared(self):
        users = {"src/client/a.cc": ["base/hash.h"], "src/cache/a.cc": ["base/hash.h"]}
        self.assertEqual(self.problems(users, shared=["base/hash.h"]), [])
        self.assertEqual(self.problems({"src/client/a.cc": ["base/hash.h"], "apps/tool/main.cc": ["base/hash.h"]}, shared=["base/hash.h"]), [])

    def test_shared_by_one_room(self):
        stale = ["scripts/check-layers: SHARED has base/hash.h, which fewer than two other rooms include"]
        for other in ("src/client/b.cc", "src/base/a.cc", "src/cache/a_test.cc"):
            with self.subTest(other):
                self.assertEqual(self.problems({"src/client/a.cc": ["base/hash.h"], other: ["base/hash.h"]}, shared=["base/hash.h"]), stale)

    def test_allowed(self):
        users = {"src/client/a.cc": ["base/hash.h"], "src/client/a_test.cc": ["base/hash.h"]}
        self.assertEqual(self.problems(users, allowed=[("client", "base/hash.h")]), [])
        self.assertEqual(len(self.problems(users, allowed=[("client", "base/pool.h")])), 3)
        self.assertEqual(len(self.problems(users, allowed=[("cache", "base/hash.h")])), 3)

    def test_allowed_and_not_needed(self):
        stale = ["scripts/check-layers: ALLOWED has client and base/hash.h, which is not needed"]
        for users in ({}, {"src/client/a_test.cc": ["base/hash.h"]}, {"src/cache/a_test.cc": ["testing/folder.h"]}):
            with self.subTest(users):
                self.assertEqual(self.problems(users, allowed=[("client", "base/hash.h")]), stale)
        shared = {"src/client/a.cc": ["base/hash.h"], "src/cache/a.cc": ["base/hash.h"]}
        self.assertEqual(self.problems(shared, shared=["base/hash.h"], allowed=[("client", "base/hash.h")]), stale)

    def test_allowed_in_tests(self):
        row = [("client", "base/hash.h")]
        self.assertEqual(self.problems({"src/client/a_test.cc": ["base/hash.h"]}, in_tests=row), [])
        self.assertEqual(self.problems({}, in_tests=row), ["scripts/check-layers: ALLOWED_IN_TESTS has client and base/hash.h, which is not needed"])
        self.assertIn(f"src/client/a.cc:1: includes base/hash.h: {UNLISTED}", self.problems({"src/client/a.cc": ["base/hash.h"]}, in_tests=row))

    def test_helpers_of_tests(self):
        kit = ["base/fake_test_util.h", "base/test_types.h", "testing/folder.h"]
        self.assertEqual(self.problems({"src/client/a_test.cc": kit, "src/client/b_test_util.h": kit}), [])
        self.assertEqual(len(self.problems({"src/client/a.cc": kit})), 3)

    def test_folders_of_a_room(self):
        self.assertEqual(self.problems({"src/client/high/c.cc": ["client/low/a.h", "client/high/b.h"]}), [])
        self.assertEqual(self.problems({"src/client/low/c.cc": ["client/high/b.h"]}),
                         ["src/client/low/c.cc:1: includes client/high/b.h: folder 'low' comes before 'high'"])
        self.assertEqual(self.problems({"src/client/low/c_test.cc": ["client/high/b.h"]}), [])


if __name__ == "__main__":
    unittest.main()
