#!/usr/bin/env python3
"""Runs scripts/check-functions on made-up sources: what counts as a function, and which of its lines count.

usage: check_functions_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())
LINE = "  f(x);\n"


class CheckFunctionsTest(unittest.TestCase):
    def check(self, text, name="a.cc"):
        """[(line, function, lines)]"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([sys.executable, "-B", CHECK, path], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            lines = [line.removeprefix(path + ":") for line in done.stdout.splitlines()[:-1]]
        self.assertEqual(done.returncode, 1 if lines else 0)
        out = []
        for line in lines:
            number, _, rest = line.partition(": ")
            function, _, rest = rest.partition(" has ")
            out.append((int(number), function, int(rest.split(" ")[0])))
        return out

    def test_the_limit(self):
        self.assertEqual(self.check("void F() {\n" + 60 * LINE + "}\n"), [])
        self.assertEqual(self.check("\nvoid F() {\n" + 61 * LINE + "}\n"), [(2, "F", 61)])

    def test_the_limit_of_tests(self):
        for name in ("a_test.cc", "a_test_util.h", "a_benchmark.cc"):
            with self.subTest(name):
                self.assertEqual(self.check("void F() {\n" + 100 * LINE + "}\n", name), [])
                self.assertEqual(self.check("TEST(A, B) {\n" + 101 * LINE + "}\n", name), [(1, "TEST(A, B)", 101)])

    def test_kinds_of_functions(self):
        body = "{\n" + 61 * LINE + "}\n"
        for head, name in [
            ("Result<std::vector<int>> A::B::F(int x) const& noexcept ", "A::B::F"),
            ("A::A(int x) : x_(x), y_{x}, B(std::move(x)) ", "A::A"),
            ("A::~A() ", "A::~A"),
            ("bool operator==(const A& a, const A& b) ", "operator=="),
            ("template <typename T, int N = (1 > 0)> requires(C<T>) auto F(T t) -> decltype(t.x()) ", "F"),
            ("template <typename T> requires requires(T t) { t.x(); } void F(T t) ", "F"),
            ("namespace a { namespace { static inline void F() ", "F"),
            ("class A { private: struct B { void F() ", "F"),
            ("void F(\n    int x) KUBE_REQUIRES(mu_) ", "F"),
        ]:
            with self.subTest(head):
                closed = (head.count("{") - head.count("}")) * "};"
                self.assertEqual([(n, c) for _, n, c in self.check(head + body + closed)], [(name, 61)])

    def test_lambdas_count_with_their_function(self):
        self.assertEqual(self.check("void F() {\n  auto f = [] {\n" + 61 * LINE + "  };\n}\n"), [(1, "F", 63)])

    def test_braces_in_texts_and_comments(self):
        self.assertEqual(self.check("void F() {\n  // {\n  a = \"{\"; b = '{'; c = R\"({)\";\n}\nvoid G() {\n" + 60 * LINE + "}\n"), [])

    def test_tables_are_exempt(self):
        rows = "".join(f"  {{{i}, \"a\"}},\n" for i in range(80))
        self.assertEqual(self.check("constexpr Row kRows[] = {\n" + rows + "};\nconst std::map<int, std::function<void(int)>> map{\n" + rows + "};\n"), [])
        self.assertEqual(self.check("int F() {\n  static const Row rows[] = {\n" + rows + "  };\n  return Find(rows);\n}\n"), [])
        cases = "".join(f"    case {i}:\n      return \"{i}\";\n" for i in range(40))
        self.assertEqual(self.check("const char* F(int x) {\n  switch (x) {\n" + cases + "    default:\n      return {};\n  }\n}\n".replace("{}", "\"\"")), [])
        self.assertEqual(len(self.check("int F(int x) {\n  switch (x) {\n" + cases.replace("return", "f(); return") + "  }\n  return 0;\n}\n")), 1)


if __name__ == "__main__":
    unittest.main()
