"""scripts/test_totals.py with results in the formats of ctest and GoogleTest."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TestTotals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name) / "test_results"
        self.results.mkdir()

    def ctest(self, **status):
        cases = "".join(f'<testcase name="{name}" status="{value}"/>' for name, value in status.items())
        (self.results / "ctest.xml").write_text(f"<testsuite>{cases}</testsuite>")

    def gtest(self, name, *cases):
        (self.results / f"{name}.json").write_text(json.dumps({"testsuites": [{"testsuite": list(cases)}]}))

    def totals(self):
        result = subprocess.run([sys.executable, str(ROOT / "scripts" / "test_totals.py"), str(self.results.parent)],
                                capture_output=True, text=True)
        return result.returncode, result.stdout.splitlines()

    def test_cases_count_and_so_do_other_tests(self):
        self.ctest(nn="run", layers="run", find_package="disabled")
        self.gtest("nn", {"status": "RUN"}, {"status": "RUN", "result": "SKIPPED"}, {"status": "NOTRUN"})
        self.assertEqual(self.totals(), (0, ["2 skipped", "2 passed, 0 failed"]))

    def test_failures(self):
        self.ctest(nn="fail", layers="fail")
        self.gtest("nn", {"status": "RUN"}, {"status": "RUN", "failures": [{}]})
        self.assertEqual(self.totals(), (1, ["1 passed, 2 failed"]))

    def test_what_fails_outside_its_cases_fails(self):
        self.ctest(leaks="fail", crashed="fail")
        self.gtest("leaks", {"status": "RUN"})
        (self.results / "crashed.json").write_text("{")
        self.assertEqual(self.totals(), (1, ["1 passed, 2 failed"]))

    def test_nothing_is_no_success(self):
        self.ctest()
        self.assertEqual(self.totals(), (1, ["0 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
