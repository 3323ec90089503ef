"""Runs scripts/check-one-definition on made-up sources: what counts as two types of one name.

usage: one_definition_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())


class OneDefinitionTest(unittest.TestCase):
    def check(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, text in enumerate(texts):
                paths.append(os.path.join(folder, f"{number}.h"))
                with open(paths[-1], "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, CHECK, *paths], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return done.returncode, done.stdout

    def test_same_name_in_same_namespace(self):
        code, output = self.check("namespace a::b { class X { int i; }; }", "namespace a { namespace b { struct X final : Y<int> {}; } }")
        self.assertEqual(code, 1)
        self.assertIn("a::b::X: defined in", output)

    def test_templates_attributes_and_macros(self):
        body = "template <typename T, int N = (1 > 0)> requires true class KUBE_EXPORT alignas(8) X {};"
        self.assertEqual(self.check(f"namespace a {{ {body} }}", "namespace a { struct [[nodiscard]] X {}; }")[0], 1)

    def test_what_is_no_matter(self):
        for one, other in [
            ("namespace a { struct X {}; }", "namespace b { struct X {}; }"),
            ("namespace a { struct X {}; }", "namespace a { namespace { struct X {}; } }"),
            ("namespace a { struct X {}; }", "namespace a { struct Y { struct X {}; }; }"),
            ("namespace a { struct X {}; }", "namespace a { void F() { struct X {}; } }"),
            ("namespace a { struct X {}; }", "namespace a { struct X; }"),
            ("namespace a { template <typename T> struct X {}; }", "namespace a { template <> struct X<int> {}; }"),
            ("namespace a { struct X {}; }", 'namespace a { const char* t = "struct X {"; /* struct X {} */ }'),
            ("namespace a { struct Y::X {}; }", "namespace a { struct Z::X {}; }"),
            ("namespace a { struct X {}; }", "namespace a { X Make(struct Other o) { return {}; } }"),
        ]:
            with self.subTest(other):
                self.assertEqual(self.check(one, other)[0], 0)


if __name__ == "__main__":
    unittest.main()
