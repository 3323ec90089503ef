#!/usr/bin/env python3
"""Runs scripts/check-links on made-up pages: which links are wrong.

usage: check_links_test.py PATH_OF_CHECK
"""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.abspath(sys.argv.pop())

OTHER = """# The other page

## From `Go` to *C++*: what's new?
## \u5de5\u4f5c\u961f\u5217\uff08WorkQueue\uff09
## Twice
## Twice
<a id="by-hand"></a>

```sh
# No heading
```
"""


class CheckLinksTest(unittest.TestCase):
    def check(self, page, **files):
        """Exit code and problems of docs/page.md, beside docs/other.md, src/main.cc and `files`."""
        files = {"docs/page.md": page, "docs/other.md": OTHER, "src/main.cc": "", "src/README.md": "# Sources\n", **files}
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run([sys.executable, "-B", CHECK, folder], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return done.returncode, done.stdout.splitlines()[:-1]

    def test_links_that_lead_somewhere(self):
        for link in ["other.md", "../docs/other.md", "../src", "../src/", "../src/main.cc", "../src/main.cc#L12", "../src/main.cc#L1-L9", "../src#sources", "#here",
                     "other.md#the-other-page", "other.md#from-go-to-c-whats-new", "other.md#\u5de5\u4f5c\u961f\u5217workqueue", "other.md#twice", "other.md#twice-1",
                     "other.md#by-hand", "https://example.com/no.md#at-all", "mailto:someone@example.com", 'other.md "The other page"', "<other.md>"]:
            with self.subTest(link):
                self.assertEqual(self.check(f"# Here\n\nSee [it]({link}).\n"), (0, []))

    def test_links_that_lead_nowhere(self):
        for link, says in [("no.md", "link to no.md, which is not there"), ("other.md#no", "docs/other.md has no such heading"),
                           ("other.md#twice-2", "no such heading"), ("other.md#no-heading", "no such heading"), ("#no", "docs/page.md has no such heading"),
                           ("../src#no", "src/README.md has no such heading"), ("../src/main.cc#main", "only pages have anchors"), ("", "link to nowhere"),
                           ("../../secret.md", "outside of the repository"), ("/docs/other.md", "outside of the repository")]:
            with self.subTest(link):
                code, problems = self.check(f"# Here\n\nSee [it]({link}).\n")
                self.assertEqual((code, len(problems)), (1, 1), problems)
                self.assertTrue(problems[0].startswith("docs/page.md:3: "), problems)
                self.assertIn(says, problems[0])

    def test_pictures_and_references_are_links(self):
        self.assertIn("no.svg", self.check("![A picture](no.svg)\n")[1][0])
        self.assertIn("no.md", self.check("See [it].\n\n[it]: no.md\n")[1][0])

    def test_code_and_comments_are_none(self):
        for text in ["```cpp\nf([](int i) {});\n```\n", "    \n```\n[a](no.md)\n```\n", "`[](const T& t)` is a lambda\n", "<!-- [a](no.md)\n[b](no.md) -->\n"]:
            with self.subTest(text):
                self.assertEqual(self.check(text), (0, []))

    def test_a_link_whose_text_is_code(self):
        self.assertIn("docs/page.md:5: link to no.md", self.check("```\na\nb\n```\n[`main.cc`](no.md)\n")[1][0])

    def test_all_pages_are_checked(self):
        self.assertIn("README.zh-CN.md:1: link to no.md", self.check("", **{"x/README.zh-CN.md": "[a](no.md)\n"})[1][0])


if __name__ == "__main__":
    unittest.main()
