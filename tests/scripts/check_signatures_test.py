#!/usr/bin/env python3
"""Runs scripts/check-signatures on made-up headers: what counts as a signature that users read.

usage: check_signatures_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())


class CheckSignaturesTest(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.h")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([sys.executable, "-B", CHECK, path], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return done.returncode, [line.removeprefix(path + ":") for line in done.stdout.splitlines()]

    def hits(self, text):
        """[(line, name)] in a header with this text inside of namespace kube, which begins on line 1."""
        code, lines = self.check(f"namespace kube {{ {text} }}\n")
        self.assertEqual(code, 1 if len(lines) > 1 else 0)
        return [(int(line.split(":")[0]), line.split(": ")[1].split(" ")[0]) for line in lines[:-1]]

    def test_signatures(self):
        for text in [
            "internal::X F();",
            "kube::internal::X F();",
            "void F(const std::vector<internal::X>& x);",
            "void F(int n = internal::X);",
            "inline void F(internal::X x) { Use(x); }",
            "auto F() -> decltype(internal::X()) { return {}; }",
            "template <internal::X T> void F(T t);",
            "template <typename T> requires internal::X<T> void F(T t) { }",
            "template <typename T> requires requires(T t) { internal::X(t); } void F(T t) { }",
            "template <typename T> concept C = requires(T t) { internal::X(t); };",
            "using Y = internal::X;",
            "using internal::X;",
            "extern internal::X x;",
            "struct S : internal::X { };",
            "template <typename T> class S final : public internal::X<T>, Y { };",
            "struct S { internal::X x{}; };",
            "struct S { internal::X x = Y; };",
            "struct S { S(internal::X x) : x_(x), y_{x} { } };",
            "class KUBE_CAPABILITY(\"mutex\") S { public: internal::X F() const; };",
            "class S { protected: internal::X F() const; };",
            "class S { private: int i; public: class T { public: void F(internal::X x); }; };",
            "class S { friend bool operator==(internal::X a, internal::X b) { return true; } public: int i; };".replace("class", "struct"),
            "struct S { KUBE_TABLE(S) private: int i; public: internal::X x; };",
            "extern \"C\" { void F(internal::X x); }",
            "inline namespace v1 { void F(internal::X x); }",
            "std::function<void(internal::X)> f{};",
            "bool operator<(internal::X a, int b);",
            "struct S { S& operator=(internal::X x); };",
            "template <int N = (1 > 0)> internal::X F();",
        ]:
            with self.subTest(text):
                self.assertEqual(self.hits(text), [(1, "internal::X")])

    def test_what_users_do_not_read(self):
        for text in [
            "namespace internal { internal::X F(); struct S { internal::X x; }; }",
            "} namespace kube::internal { internal::X F();",
            "namespace { } namespace internal::deep { internal::X F(); }",
            "inline void F() { internal::X x; if (true) { internal::X y; } }",
            "struct S { S() : x_(internal::X()), y_{internal::X()} { internal::X z; } };",
            "template <typename... T> struct S : T... { S(T... t) : T(internal::X(t))... { internal::X(); } };",
            "class S { internal::X x; };",
            "class S { public: int i; private: internal::X x; void F(internal::X x); class T { public: internal::X x; }; };",
            "class S { public: friend class internal::X; friend struct internal::Y; friend void F(internal::X x); };",
            "inline constexpr int x = internal::X;",
            "struct S { int i = internal::X(); int j{internal::X()}; };",
            "const auto f = [](internal::X x) { return internal::X(x); };",
            "// internal::X F();\n/* internal::X F(); */ const char* text = \"internal::X\"; char c = '\"'; int n = 1'000; const char* raw = R\"(\" internal::X)\";",
            "\n#define KUBE_X(a) \\\n  internal::X a;\n",
            "struct internal_name::S; my::internals::X F();",
        ]:
            with self.subTest(text):
                self.assertEqual(self.hits(text), [])

    def test_lines(self):
        self.assertEqual(self.hits("\nclass S {\n public:\n  void F(\n      internal::X x,\n      internal::Y y);\n private:\n  internal::Z z;\n};\n"),
                         [(5, "internal::X"), (6, "internal::Y")])

    def test_each_problem_has_a_remedy(self):
        code, lines = self.check("internal::X F();\n")
        self.assertEqual((code, len(lines)), (1, 2))
        self.assertIn("give it a public name", lines[0])

    def test_brackets_that_do_not_match(self):
        code, lines = self.check("#if A\nstruct S {\n#else\nstruct T {\n#endif\n};\n")
        self.assertEqual(code, 1)
        self.assertIn("each branch of an #if", lines[0])


if __name__ == "__main__":
    unittest.main()
