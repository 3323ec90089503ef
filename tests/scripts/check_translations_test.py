#!/usr/bin/env python3
"""Runs scripts/check-translations on made-up pages: which differences matter.

usage: check_translations_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())

ENGLISH = """# Title

<!-- program: first -->
```cpp
#include <kube/kube.h>
int main() {}
```

Some text.

<!-- cpp TEST(Page, Adds) { int a = 1; -->
```cpp
a += 1;  // one more
```
<!-- cpp } -->

<!-- examples/x/main.cc: part -->
```cpp
Copy();
```

```go
queue.Add(key)  // soon
url := "https://example.com"
```

```sh
make seeds     # a walk
echo "#1"
```

```
output
```
"""
CHINESE = (ENGLISH.replace("Some text.", "Text.").replace("<!-- cpp TEST(Page, Adds) { int a = 1; -->\n", "").replace("<!-- cpp } -->\n", "")
           .replace("soon", "later").replace("     # a walk", "  # all of it").replace("output", "what it prints"))


class CheckTranslationsTest(unittest.TestCase):
    def check(self, translation, english=ENGLISH):
        """Exit code and problems of docs/zh-CN/guide/a.md."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (("docs/guide/a.md", english), ("docs/zh-CN/guide/a.md", translation)):
                if text is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(folder, path)))
                with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, "-B", CHECK, folder], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return done.returncode, done.stdout.splitlines()[:-1]

    def test_hidden_code_comments_texts_and_output_may_differ(self):
        self.assertEqual(self.check(CHINESE), (0, []))

    def test_code_and_commands_may_not(self):
        for was, becomes, says in [
            ("int main() {}", "int main() { return 1; }", "docs/zh-CN/guide/a.md:5: the C++ differs from that in docs/guide/a.md:5"),
            ("a += 1;  // one more", "a += 1;", "the C++ differs"),
            ("a += 1;", "a += 2;", "a.md:12: the C++ differs from that in docs/guide/a.md:13"),
            ("Copy();", "Move();", "the C++ differs"),
            ("queue.Add(key)", "queue.Add(other)", "the go differs"),
            ("https://example.com", "https://example.org", "the go differs"),
            ("make seeds", "make demo", "the sh differs"),
            ('echo "#1"', 'echo "#2"', "the sh differs"),
        ]:
            with self.subTest(becomes):
                code, problems = self.check(CHINESE.replace(was, becomes))
                self.assertEqual((code, len(problems)), (1, 1), problems)
                self.assertIn(says, problems[0])

    def test_a_block_that_lacks(self):
        code, problems = self.check(CHINESE[:CHINESE.index("```go")])
        self.assertEqual(code, 1)
        self.assertIn("has 3 blocks of code and docs/guide/a.md has 5; the first without a counterpart is the go in docs/guide/a.md:23", problems[0])

    def test_blocks_in_another_order(self):
        one, two = CHINESE.index("```go"), CHINESE.index("```sh")
        self.assertEqual(self.check(CHINESE[:one] + CHINESE[two:CHINESE.index("```\noutput".replace("output", "what"))] + CHINESE[one:two])[0], 1)

    def test_a_page_that_stands_for_none(self):
        code, problems = self.check(CHINESE, english=None)
        self.assertEqual((code, problems), (1, ["docs/zh-CN/guide/a.md: there is no docs/guide/a.md"]))


if __name__ == "__main__":
    unittest.main()
