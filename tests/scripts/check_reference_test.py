"""scripts/check-reference: which of Doxygen's warnings count, and the pages that it writes itself.

usage: check_reference_test.py PATH_OF_CHECK
"""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

CHECK = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.dirname(CHECK))
loader = importlib.machinery.SourceFileLoader("check_reference", CHECK)
check_reference = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(check_reference)


class CheckReferenceTest(unittest.TestCase):
    def judge(self, *warnings):
        text = "\n".join(f"include/kube/base/a.h:7: warning: {warning}" for warning in warnings)
        fields, problems = check_reference.judge(text, lambda path: "/api/" in path)
        missing = [place for places in fields.values() for place in places] + [problem for problem in problems if problem.endswith(" has no comment")]
        return [place.split(": ", 1)[1].replace(" has no comment", "") for place in missing], [problem for problem in problems if problem not in missing]

    def test_names_without_a_comment(self):
        names, others = self.judge("Compound kube::Pod is not documented.", "Member Get(const Key &key) (function) of class kube::Client is not documented.",
                                   "Member name (variable) of struct kube::Options is not documented.", "Member Gvr (typedef) of namespace kube is not documented.",
                                   "Member KUBE_A(x) (macro definition) of file a.h is not documented.")
        self.assertEqual(sorted(names), ["a.h: KUBE_A(x)", "kube: Gvr", "kube::Client: Get(const Key &key)", "kube::Options: name", "kube::Pod"])
        self.assertEqual(others, [])

    def test_trivial_names(self):
        names, others = self.judge("Member List(List &&other) noexcept (function) of class kube::List is not documented.",
                                   "Member ~List() (function) of class kube::List is not documented.", "Member List(A a) (function) of class kube::List< T > is not documented.",
                                   "Member operator==(const A &a, const A &b) (friend) of struct kube::A is not documented.",
                                   "Member operator()(int a) const (function) of struct kube::A is not documented.",
                                   "Member operator bool() const (function) of class kube::A is not documented.",
                                   "Member begin() const (function) of class kube::List is not documented.", "Member value_type (typedef) of class kube::List is not documented.",
                                   "Compound kube::Hash< ObjectKey > is not documented.", "Member kType (variable) of struct kube::A is not documented.", "Member ToString(Kind kind) (function) of namespace kube is not documented.")
        self.assertEqual((names, others), ([], []))

    def test_a_free_function_is_no_constructor(self):
        self.assertEqual(self.judge("Member kube() (function) of namespace kube is not documented.")[0], ["kube: kube()"])

    def test_other_warnings_are_problems(self):
        odd = "include/kube/base/a.h:3: warning: unbalanced grouping commands"
        self.assertEqual(check_reference.judge(odd + "\nmore about it\n\n", lambda path: False), ({}, [odd, "more about it"]))

    def test_harmless_warnings(self):
        self.assertEqual(self.judge("Internal inconsistency: scope for class std::hash< kube::String > not found!"), ([], []))

    def test_generated_headers_need_no_comments(self):
        line = "include/kube/api/v1.h:1: warning: Member a (variable) of struct kube::A is not documented."
        self.assertEqual(check_reference.judge(line, lambda path: "/api/" in path), ({}, []))

    def test_fields_and_getters_are_counted_and_other_names_are_problems(self):
        text = "\n".join(f"include/kube/base/a.h:{line}: warning: {warning}" for line, warning in enumerate([
            "Member name (variable) of struct kube::A is not documented.", "Member url() const (function) of class kube::A is not documented.",
            "Member set_url(String url) (function) of class kube::A is not documented.", "Member Find(int a) const (function) of class kube::A is not documented.", "Member kMax (variable) of namespace kube is not documented."]))
        fields, problems = check_reference.judge(text, lambda path: False)
        self.assertEqual({room: len(places) for room, places in fields.items()}, {"base": 3})
        self.assertEqual(problems, ["include/kube/base/a.h:3: kube::A: Find(int a) const has no comment", "include/kube/base/a.h:4: kube: kMax has no comment"])

    def test_specializations_need_no_comment(self):
        self.assertEqual(self.judge("Member value() const (function) of class kube::Result< void > is not documented."), ([], []))

    def test_counts_may_only_fall(self):
        places = {"base": ["a", "b"]}
        self.assertEqual(check_reference.compare(places, {"base": 2, "codec": 3}), [])
        self.assertEqual(check_reference.compare(places, {"base": 1}),
                         ["a", "b", "include/kube/base: 2 public fields without a comment, more than the 1 of docs/reference/undocumented.json"])
        self.assertEqual(len(check_reference.compare(places, {})), 3)

    def test_rooms_come_from_the_table(self):
        self.assertEqual(check_reference.rooms("| room | contents |\n|---|---|\n| `base` | Result, Error | fmt |\n| `meta` | keys | - |\n"), [("base", "Result, Error"), ("meta", "keys")])
        pages = check_reference.room_pages("| `base` | results | fmt |\n| `generate` | headers | - |\n", {"base"})
        self.assertIn("@defgroup room_base base\n@brief Results.", pages)
        self.assertNotIn("generate", pages)

    def test_the_main_page(self):
        readme = "# kubexx\n\nKubernetes for [C++](a.md).\n[README in Chinese](b.md).\n\nMore.\n\n<!-- program: greeter -->\n```cpp\nint main() {}\n```\n"
        page = check_reference.main_page(readme, "| `base` | results | fmt |\n", {"base"})
        self.assertIn("Kubernetes for C++.\n", page)
        self.assertIn("@code{.cpp}\nint main() {}\n@endcode", page)
        self.assertIn("<td>@ref room_base</td><td>results</td>", page)
        with self.assertRaises(SystemExit):
            check_reference.main_page("# other\n", "", set())


if __name__ == "__main__":
    unittest.main()
