"""scripts/picture-terminal: which lines of a session are shown, how it keeps folder and environment, and how it is drawn.

usage: picture_terminal_test.py SCRIPTS
"""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SCRIPTS = os.path.abspath(sys.argv.pop())
sys.path.insert(0, SCRIPTS)
loader = importlib.machinery.SourceFileLoader("picture_terminal", os.path.join(SCRIPTS, "picture-terminal"))
terminal = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(terminal)

SVG = "{http://www.w3.org/2000/svg}"


class ShownTest(unittest.TestCase):
    def test_one_mark_stands_for_the_lines_that_are_left_out(self):
        self.assertEqual(terminal.shown("a1\nb\nc\na2\nd\n", "a"), ["a1", "...", "a2"])

    def test_nothing_is_shown_of_output_without_such_lines(self):
        self.assertEqual(terminal.shown("b\nc\n", "a"), [])
        self.assertEqual(terminal.shown("", ""), [])

    def test_times_and_ports_are_always_the_same(self):
        said = "ready at https://127.0.0.1:43117\n1/2 Test #1: A .... Passed    0.53 sec\nx   True    37s\n"
        self.assertEqual(terminal.shown(said, ""), ["ready at https://127.0.0.1:6443", "1/2 Test #1: A .... Passed", "x   True    1s"])


class SessionTest(unittest.TestCase):
    def test_cd_and_export_last(self):
        with tempfile.TemporaryDirectory() as folder:
            session = terminal.Session(folder, {"PATH": os.environ["PATH"]})
            session.run("mkdir a && cd a")
            session.run("export KUBECONFIG=$PWD/b")
            self.assertEqual(session.run("echo $(basename $PWD) ${KUBECONFIG##*/}"), "a b\n")

    def test_a_command_that_fails_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            session = terminal.Session(folder, {"PATH": os.environ["PATH"]})
            with self.assertRaisesRegex(terminal.Failed, "exit code 1\nbroken"):
                session.run("echo broken; false")

    def test_a_program_in_the_background_is_awaited_and_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            session = terminal.Session(folder, {"PATH": os.environ["PATH"]})
            self.addCleanup(session.end)
            self.assertIn("is ready", session.start("sh -c 'echo is ready; exec sleep 600' &", "is ready"))
            program = session.background[0]
            self.assertTrue(program.running())
            session.end()
            self.assertFalse(program.running())


class PictureTest(unittest.TestCase):
    def test_text_is_kept_as_it_is(self):
        svg = xml.etree.ElementTree.fromstring(terminal.picture('$ a <b> & "c"\nNAME   AGE\n...\n'))
        lines = ["".join(text.itertext()) for text in svg.findall(f"{SVG}text")]
        self.assertEqual(lines, ['$ a <b> & "c"', "NAME   AGE", "..."])

    def test_each_line_has_its_place(self):
        svg = xml.etree.ElementTree.fromstring(terminal.picture("$ a\nb\nc\n"))
        places = [float(text.get("y")) for text in svg.findall(f"{SVG}text")]
        self.assertEqual([places[1] - places[0], places[2] - places[1]], [terminal.LINE, terminal.LINE])
        self.assertLess(places[2], float(svg.get("height")))


if __name__ == "__main__":
    unittest.main()
