"""scripts/bench_table.py with results in the format of train_bench."""
import contextlib
import importlib.util
import io
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("bench_table", ROOT / "scripts" / "bench_table.py")
bench_table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_table)

RESULTS = {"results": [
    {"workload": "gpt", "precision": "f32", "ms": 80.0, "peer_ms_default": 120.0, "peer_ms_cached_heap": 110.0,
     "peer_ms_compiled": 100.0, "ratio_best": 0.8},
    {"workload": "lstm", "precision": "bf16", "ms": 40.0, "peer_ms_default": None, "peer_ms_cached_heap": None,
     "peer_ms_compiled": None, "ratio_best": None}]}


class BenchTable(unittest.TestCase):
    def setUp(self):
        self.rows = list(bench_table.rows_of(RESULTS, {"gpt": 10_000_000_000}, {"f32": 200.0}))

    def test_better_heap_and_roof(self):
        self.assertEqual(self.rows[0]["libtorch"], 110)
        self.assertEqual(self.rows[0]["roof"], 50)
        self.assertIsNone(self.rows[1]["libtorch"])
        self.assertIsNone(self.rows[1]["roof"])

    def test_table(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            bench_table.print_table(self.rows)
        self.assertEqual(text.getvalue().splitlines()[2:],
                         ["| gpt | f32 | 80 | 110 | 100 | 50 | 0.80 |", "| lstm | bf16 | 40 | - | - | - | - |"])

    def test_picture_has_a_bar_per_ratio(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bench.svg"
            bench_table.draw(self.rows, file)
            texts = [e.text for e in xml.etree.ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("gpt f32", texts)
        self.assertNotIn("lstm bf16", texts)


if __name__ == "__main__":
    unittest.main()
