"""scripts/doxygen-filter: which comments of a header become Doxygen's, and what they look like then.

usage: doxygen_filter_test.py PATH_OF_FILTER
"""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

FILTER = os.path.abspath(sys.argv.pop())
loader = importlib.machinery.SourceFileLoader("doxygen_filter", FILTER)
doxygen_filter = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(doxygen_filter)


class FilterTest(unittest.TestCase):
    def filtered(self, text, path="a.h"):
        made = doxygen_filter.Filter(text, path).filtered()
        self.assertEqual(made.count("\n"), text.count("\n"))  # lines stay where they are
        return made.split("\n")

    def test_the_opening_comment_is_the_files(self):
        made = self.filtered("// Queue: keys to work on.\n//\n// More.\n#pragma once\n", "/x/include/kube/queue/work_queue.h")
        self.assertEqual(made[:4], ["/// Queue: keys to work on.", "///", "/// More.", "/// @file kube/queue/work_queue.h @ingroup room_queue"])

    def test_comments_before_and_behind_declarations(self):
        made = self.filtered("\n// A pair.\nstruct Pair {\n  int a = 0;  // the one\n  // The other.\n  int b = 0;\n};\n")
        self.assertEqual(made[1], "/// A pair.")
        self.assertEqual(made[3], "  int a = 0;  ///< the one")
        self.assertEqual(made[4], "  /// %The other.")

    def test_a_comment_that_goes_on_below(self):
        made = self.filtered("\nstruct S {\n  int a = 0;  // one\n              // two\n  int b;\n};\n")
        self.assertEqual(made[2:4], ["  int a = 0;  ///< one", "              ///< two"])

    def test_enumerators(self):
        made = self.filtered("\nenum class E {\n  kA,  // a\n  // b\n  kB\n};\n")
        self.assertEqual(made[2:4], ["  kA,  ///< a", "  /// b"])

    def test_a_comment_before_an_empty_line_documents_nothing(self):
        self.assertEqual(self.filtered("\n// Apart.\n\nint f();\n")[1], "// Apart.")

    def test_comments_in_bodies_and_parameters_stay(self):
        text = "\n// Runs.\ninline int f(int a,  // not documented\n             int b) {\n  // why\n  return a + b;  // sum\n}\n"
        made = self.filtered(text)
        self.assertEqual(made[1], "/// Runs.")
        self.assertEqual(made[2:], text.split("\n")[2:])

    def test_closing_braces_and_tools_are_no_comments(self):
        made = self.filtered("\nnamespace a {\n// NOLINTNEXTLINE(x)\nint f();  // NOLINT(y)\n}  // namespace a\n")
        self.assertEqual(made[2:5], ["// NOLINTNEXTLINE(x)", "int f();  // NOLINT(y)", "}  // namespace a"])

    def test_private_members_and_internal_namespaces_are_left_out(self):
        made = self.filtered("\nnamespace internal {\n// Hidden.\nint f();\n}\n// Seen.\nclass C {\n  int a_;  // hidden\n public:\n  int b();  // seen\n\n private:\n  int c_;\n};\nint g();\n")
        self.assertEqual([line for line in made if line.strip()],
                         ["/// Seen.", "class C {", " public:", "  int b();  ///< seen", " private:", "};", "int g();"])

    def test_an_internal_class_that_is_a_public_base_stays(self):
        made = self.filtered("\nnamespace internal {\nint f();\n// A base.\nclass B {\n public:\n  void Run();  // runs\n private:\n  int a_;\n};\n}\nclass C : public internal::B {};\n")
        self.assertEqual([line for line in made if line.strip()],
                         ["namespace internal {", "/// A base.", "class B {", " public:", "  void Run();  ///< runs", " private:", "};", "}", "class C : public internal::B {};"])

    def test_overloads_share_a_comment(self):
        made = self.filtered("\n// Adds.\nvoid Add(int a);\n\nvoid Add(double a);\nvoid Remove(int a);\n")
        self.assertEqual(made[4], "/** Adds. */ void Add(double a);")
        self.assertEqual(made[5], "void Remove(int a);")

    def test_a_family_in_one_paragraph_shares_a_comment(self):
        made = self.filtered("\n// Predicates.\nbool IsGone(const Error& e);\nbool IsConflict(const Error& e);\nbool IsNew(int e);\n\nbool IsLate(const Error& e);\n")
        self.assertEqual(made[3], "/** Predicates. */ bool IsConflict(const Error& e);")
        self.assertEqual(made[4], "bool IsNew(int e);")
        self.assertEqual(made[6], "bool IsLate(const Error& e);")

    def test_three_functions_of_one_signature_share_a_comment(self):
        made = self.filtered("\n// Common errors.\nError Decode(int a);\nError Invalid(int a);\nError Timeout(int a);\n\n// Starts it.\nvoid Start();\nvoid Stop();\n")
        self.assertEqual(made[3:5], ["/** %Common errors. */ Error Invalid(int a);", "/** %Common errors. */ Error Timeout(int a);"])
        self.assertEqual(made[8], "void Stop();")

    def test_a_comment_documents_the_functions_that_it_names(self):
        made = self.filtered("\n// Stop ends it; Start(int) begins.\nvoid Stop();\nint Start(int a);\nint Starts();\n\nint Start();\nint StopAll();\n")
        self.assertEqual(made[3], "/** %Stop ends it; Start(int) begins. */ int Start(int a);")
        self.assertEqual(made[4], "int Starts();")
        self.assertEqual(made[7], "int StopAll();")

    def test_a_long_comment_documents_only_what_follows(self):
        self.assertEqual(self.filtered("\n// 1\n// 2\n// 3\n// 4\n// Stop.\nint f();\nvoid Stop();\n")[7], "void Stop();")

    def test_a_long_title_of_a_section_is_a_comment(self):
        made = self.filtered("\nclass C {\n public:\n  void Run();\n  // ---- Verbs, with the kind first ----\n  int Get();\n  // Own.\n  int List();\n  // ---- Faults ----\n  int Kill();\n};\n")
        self.assertEqual([made[3], made[5], made[7], made[9]], ["  void Run();", "  /** Verbs, with the kind first */ int Get();", "  int List();", "  int Kill();"])

    def test_sections(self):
        made = self.filtered("\nclass C {\n public:\n  // ---- Reads ----\n  // One.\n  int a();\n};\n// ---- All ----\n")
        self.assertEqual(made[3:5], ["  /** @name Reads */", "  /// One."])
        self.assertEqual(made[7], "// ---- All ----")

    def test_macros(self):
        made = self.filtered("\n// Marks it.\n#define KUBE_MARK(x) \\\n  x\n#define KUBE_INTERNAL_A(x) \\\n  x // y\nint f();\n")
        self.assertEqual(made[1:7], ["/// %Marks it.", "#define KUBE_MARK(x) \\", "  x", "", "", "int f();"])

    def test_comments_behind_macros(self):
        made = self.filtered('\n#define A "a//b"  // text\n#define B(x)\n#define KUBE_INTERNAL_C  // hidden\n#define D 1  // NOLINT\n')
        self.assertEqual(made[1:5], ['#define A "a//b"  ///< text', "#define B(x)", "", "#define D 1  // NOLINT"])

    def test_a_comment_above_several_macros(self):
        made = self.filtered("\n// Numbers.\n#define A 1\n#define B 2\n#define KUBE_INTERNAL_C 3\n#define D(x) \\\n  x\n\n#define E 4\n")
        self.assertEqual(made[2:9], ["#define A 1", "#define B 2  ///< Numbers.", "", "#define D(x) \\", "  x  ///< Numbers.", "", "#define E 4"])

    def test_requires_clauses_are_left_out(self):
        made = self.filtered("\n// Adds.\ntemplate <typename T>\nrequires std::is_same_v<T, int> || (sizeof(T) > 1) void Add(T t);\n"
                             "template <typename S>\n  requires requires(S& s) { s.x(); }\nint g(S& s) requires Good<S> { return 1; }\n")
        self.assertEqual([" ".join(line.split()) for line in made[2:7]], ["template <typename T>", "void Add(T t);", "template <typename S>", "", "int g(S& s) { return 1; }"])

    def test_names_of_functions(self):
        for text, name in (("Result<void> Run(int a) const", "Run"), ("explicit operator bool() const", "operatorbool"), ("bool operator==(const A& a)", "operator=="),
                           ("template <typename F> auto and_then(F&& f) -> std::invoke_result_t<F>", "and_then"), ("std::function<void(int)> on_add{}", ""),
                           ("int a = f()", ""), ("[[nodiscard]] KUBE_EXPORT A Make()", "Make"), ("using F = void(int)", ""), ("~A()", "~A")):
            with self.subTest(text):
                self.assertEqual(doxygen_filter.function_name(text), name)

    def test_generated_structs_get_a_sentence(self):
        made = self.filtered("// Generated by x\n//\n// Kinds of batch/v1: Job,\n// Cron.\n#pragma once\nnamespace kube::batch::v1 {\nstruct Job {};\nstruct JobList {};\nstruct Spec {\n};\n}\n",
                             "include/kube/api/batch/v1.h")
        self.assertEqual(made[0], "")
        self.assertTrue(made[6].startswith("/** Kind of batch/v1. */ struct Job"))
        self.assertTrue(made[7].startswith("/** List of Job objects of batch/v1. */ struct JobList"))
        self.assertTrue(made[8].startswith("/** Part of objects of batch/v1. */ struct Spec"))


class MarkupTest(unittest.TestCase):
    def test_text_is_text(self):
        self.assertEqual(doxygen_filter.prose("a <b> & --flag, `<T> @x` #1 @me"), "a &lt;b&gt; &amp; \\--flag, `<T> @x` \\#1 \\@me")
        self.assertEqual(doxygen_filter.prose("List of them. Value is one; WorkQueue too"), "%List of them. %Value is one; WorkQueue too")

    def test_code(self):
        self.assertEqual(doxygen_filter.markup(["Use:", "", "  int a;", "", "  f(a);", "", "Done."]),
                         ["Use:", "@code{.cpp}", "int a;", "", "f(a);", "@endcode", "Done."])

    def test_code_right_below_its_announcement(self):
        self.assertEqual(doxygen_filter.markup(["Example:", "  f();"]), ["<b>%Example</b>: @code{.cpp}", "f(); @endcode"])

    def test_a_hanging_indent_is_text(self):
        self.assertEqual(doxygen_filter.markup(["Lifetime: it waits", "  for the end."]), ["<b>%Lifetime</b>: it waits", "for the end."])

    def test_tables(self):
        self.assertEqual(doxygen_filter.markup(["Parts:", "", "  A      the <first>", "         of all", "  Bcd    second"]),
                         ["Parts:", "", "<table><tr><td><code>A</code></td><td>the &lt;first&gt;", "of all",
                          "</td></tr><tr><td><code>Bcd</code></td><td>second</td></tr></table>"])

    def test_lists(self):
        self.assertEqual(doxygen_filter.markup(["In short:", "  - one <T>", "    and more", "  - two"]), ["%In short:", "- one &lt;T&gt;", "  and more", "- two"])

    def test_labels_begin_paragraphs(self):
        self.assertEqual(doxygen_filter.markup(["It is.", "Thread safety: any thread."]), ["%It is.", "<p><b>%Thread safety</b>: any thread."])


if __name__ == "__main__":
    unittest.main()
