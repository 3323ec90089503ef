"""Runs scripts/run-tests on a folder of made-up tests: which failures are repeated, and what counts as red.

usage: run_tests_test.py PATH_OF_RUN_TESTS
"""

import os
import subprocess
import sys
import tempfile
import unittest

RUN_TESTS = os.path.abspath(sys.argv.pop())

# Fails the first time, passes from then on.
ONCE = "if [ -e {name}.ran ]; then exit 0; fi; touch {name}.ran; echo first try of {name}; exit 1"


class RunTestsTest(unittest.TestCase):
    def run_tests(self, tests, *arguments):
        """Runs run-tests on `tests`, a map of names to shell commands. Returns exit code, output and the flaky list."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as f:
                for name, command in tests.items():
                    f.write(f'add_test({name} sh -c "{command.format(name=name)}")\n')
            done = subprocess.run([RUN_TESTS, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
            flaky = os.path.join(folder, "flaky.txt")
            lines = []
            if os.path.exists(flaky):
                with open(flaky, encoding="utf-8") as f:
                    lines = f.read().splitlines()
            return done.returncode, done.stdout, lines

    def test_all_pass(self):
        code, _, flaky = self.run_tests({"a": "exit 0"}, "--retry-once", "flaky.txt")
        self.assertEqual((code, flaky), (0, []))

    def test_without_the_option_one_failure_is_red(self):
        code, output, flaky = self.run_tests({"a": "exit 0", "b": ONCE})
        self.assertNotEqual(code, 0)
        self.assertIn("==== b failed", output)
        self.assertEqual(flaky, [])

    def test_a_test_that_passes_the_second_time_is_flaky(self):
        code, output, flaky = self.run_tests({"a": "exit 0", "b": ONCE, "c": ONCE}, "--retry-once", "flaky.txt", "-j", "2")
        self.assertEqual(code, 0, output)
        self.assertEqual(sorted(flaky), ["FLAKY: b", "FLAKY: c"])
        self.assertIn("first try of b", output)

    def test_a_second_failure_is_red(self):
        code, output, flaky = self.run_tests({"a": "exit 1", "b": ONCE}, "--retry-once", "flaky.txt")
        self.assertNotEqual(code, 0)
        self.assertIn("==== a failed twice", output)
        self.assertEqual(flaky, ["FLAKY: b"])

    def test_only_failed_tests_run_again(self):
        code, output, _ = self.run_tests({"a": "if [ -e a.ran ]; then exit 1; fi; touch a.ran", "b": ONCE}, "--retry-once", "flaky.txt")
        self.assertEqual(code, 0, output)

    def test_a_stale_list_of_failures_is_not_used(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "CTestTestfile.cmake")
            with open(path, "w", encoding="utf-8") as f:
                f.write('add_test(a sh -c "exit 1")\n')
            subprocess.run([RUN_TESTS], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
            # No tests match: an error of ctest, and none that a second run of `a` could mend.
            done = subprocess.run([RUN_TESTS, "--retry-once", "flaky.txt", "--no-tests=error", "-R", "nothing"], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("==== a", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
