#!/usr/bin/env python3
"""Tests of scripts/doc_code.py: doc_code_test.py SCRIPTS_FOLDER"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop(1))
import doc_code  # pylint: disable=wrong-import-position,import-error

PAGE = """# Title

<!-- program: first -->
```cpp
#include <kube/kube.h>
int main() {}
```

Text.

<!-- cpp
namespace {
TEST(Page, Adds) { int a = 1;
-->
```cpp
a->b += 1;
```
<!-- cpp EXPECT_EQ(a, 2); } } -->

```sh
make
```

<!-- examples/x/main.cc: part -->
```cpp
Copy();
```
"""


class DocCodeTest(unittest.TestCase):
    def test_a_program_is_a_source_of_its_own(self):
        self.assertEqual(doc_code.sources("docs/a.md", PAGE)["first.cc"], '#line 5 "docs/a.md"\n#include <kube/kube.h>\nint main() {}\n')

    def test_other_blocks_and_hidden_code_are_one_source_in_the_order_of_the_page(self):
        test = doc_code.sources("docs/a-b.md", PAGE)["a_b_page_test.cc"]
        self.assertEqual(test, '#include "page_test_util.h"\n\n'
                               '#line 11 "docs/a-b.md"\n\nnamespace {\nTEST(Page, Adds) { int a = 1;\n'
                               '#line 16 "docs/a-b.md"\na->b += 1;\n'
                               '#line 18 "docs/a-b.md"\n EXPECT_EQ(a, 2); } }\n')

    def test_the_line_of_a_block_is_that_of_the_page(self):
        for block in doc_code.blocks(PAGE):
            first = block.code.lstrip(" \n").split("\n", 1)[0].rstrip()
            line = block.line + block.code[:block.code.index(first)].count("\n")
            self.assertIn(first, PAGE.split("\n")[line - 1])

    def test_copies_of_regions_are_left_to_their_source(self):
        self.assertEqual([b.kind for b in doc_code.blocks(PAGE)], ["program", "hidden", "shown", "hidden", "region"])
        self.assertNotIn("Copy();", "".join(doc_code.sources("docs/a.md", PAGE).values()))

    def test_a_page_of_programs_has_no_test(self):
        page = PAGE[:PAGE.index("<!-- cpp")]
        self.assertEqual(list(doc_code.sources("docs/a.md", page)), ["first.cc"])

    def test_a_program_is_whole(self):
        self.assertEqual(doc_code.problems("a.md", PAGE), [])
        self.assertIn("without #include <kube/kube.h>", doc_code.problems("a.md", PAGE.replace("#include <kube/kube.h>\n", ""))[0])
        self.assertIn("without int main(", doc_code.problems("a.md", PAGE.replace("int main() {}", ""))[0])
        self.assertIn("needs <!-- program: NAME -->", doc_code.problems("a.md", PAGE.replace("<!-- program: first -->", ""))[0])


if __name__ == "__main__":
    unittest.main()
