"""bench/peers/figures.py: what a run of the benchmark changes in figures.json; and what scripts/plot-figures makes of it.

usage: figures_test.py ROOT
"""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = os.path.abspath(sys.argv.pop())
sys.path[:0] = [os.path.join(ROOT, "bench", "peers"), os.path.join(ROOT, "scripts")]

import figures  # noqa: E402


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(ROOT, "scripts", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def two_tables():
    def table(command, rows):
        return {"command": command, "what": "work", "date": "2026-01-01", "where": "a machine", "columns": ["kubexx", "client-go"],
                "titles": ["kubexx", "client-go"], "rows": rows}

    return {"tables": [
        table("make a", [{"name": "cpu", "label": "CPU, s", "decimals": 2, "values": {"kubexx": 0.5, "client-go": 2.0}, "plot": ["CPU", "s"]},
                         {"name": "quick", "label": "quick, us", "decimals": 0, "values": {"kubexx": 71}}]),
        table("make b", [{"name": "other", "label": "B", "decimals": 1, "values": {"kubexx": 1.0, "client-go": 3.0}}])]}


class FiguresTest(unittest.TestCase):
    def test_a_run_changes_the_tables_that_it_measured_and_no_others(self):
        data = two_tables()
        measured = {"cpu": {"kubexx": 0.4567, "client-go": 3, "kube-rs": 5}, "quick": {"kubexx": 60.4, "client-go": 99}, "unknown": {"kubexx": 1}}
        self.assertEqual(figures.update(data, measured, "another", "2026-02-02"), ["make a: 2 rows changed"])
        first, second = data["tables"]
        self.assertEqual(first["rows"][0]["values"], {"kubexx": 0.46, "client-go": 3})
        self.assertEqual(first["rows"][1]["values"], {"kubexx": 60})  # the row publishes no column of client-go
        self.assertEqual((first["date"], first["where"]), ("2026-02-02", "another"))
        self.assertEqual(second, two_tables()["tables"][1])

    def test_figures_of_two_runs_are_not_mixed(self):
        data = two_tables()
        said = figures.update(data, {"cpu": {"kubexx": 0.4}}, "another", "2026-02-02")
        self.assertEqual(said, ["make a: not changed, for this run lacks cpu (client-go), quick (kubexx)"])
        self.assertEqual(data, two_tables())

    def test_the_file_keeps_all_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figures.json"
            figures.write(two_tables(), path)
            self.assertEqual(figures.read(path), two_tables())
            self.assertEqual(sum('"name"' in line for line in path.read_text().splitlines()), 3)  # a line for each row

    def test_the_committed_file_is_as_it_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figures.json"
            figures.write(figures.read(), path)
            self.assertEqual(path.read_text(), figures.FILE.read_text())


class PlotTest(unittest.TestCase):
    plot = load("plot-figures")

    def test_bars_are_as_long_as_their_figures(self):
        svg = xml.etree.ElementTree.fromstring(self.plot.picture(two_tables()))
        bars = [float(bar.get("width")) for bar in svg.findall("{http://www.w3.org/2000/svg}rect") if bar.get("class") in ("ours", "other")]
        self.assertEqual(len(bars), 2)
        self.assertAlmostEqual(bars[0] / bars[1], 0.25, places=2)

    def test_the_picture_says_where_and_when(self):
        words = "".join(xml.etree.ElementTree.fromstring(self.plot.picture(two_tables())).itertext())
        self.assertIn("2026-01-01 on a machine: make a", words)
        self.assertNotIn("make b", words)  # nothing of that table is drawn

    def test_tables(self):
        text = self.plot.tables(two_tables())
        self.assertIn("| `make a`: work | kubexx | client-go |\n|---|--:|--:|\n| CPU, s | 0.50 | 2.00 |\n| quick, us | 71 |  |\n", text)
        self.assertIn("Measured 2026-01-01 on a machine.\n", text)

    def test_tables_of_two_machines_are_told_apart(self):
        data = two_tables()
        data["tables"][1]["where"] = "another machine"
        text = self.plot.tables(data)
        self.assertIn("Measured 2026-01-01 on a machine (`make a`).\nMeasured 2026-01-01 on another machine (`make b`).\n", text)

    def test_a_readme_without_marks_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "found 0"):
            self.plot.with_tables("# kubexx\n", two_tables())


if __name__ == "__main__":
    unittest.main()
