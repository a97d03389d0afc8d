"""scripts/plot_log.py with logs in the format of amp::TrainLog."""
import contextlib
import importlib.util
import io
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "plot_log.py"
spec = importlib.util.spec_from_file_location("plot_log", SCRIPT)
plot_log = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plot_log)

JSONL = '{"step": 0, "loss": 2.5, "scale": 65536, "skipped": 1}\n{"step": 1, "loss": 2.25, "scale": 32768, "skipped": 0}\n'
CSV = "step,loss,scale\n0,2.5,65536\n1,2.25,\n"


class PlotLog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def log(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def quietly(self, function, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            return function(*arguments), errors.getvalue()

    def test_both_formats_give_the_same_steps(self):
        lines, table = plot_log.read(self.log("a.jsonl", JSONL)), plot_log.read(self.log("a.csv", CSV))
        self.assertEqual(plot_log.series(lines, "loss"), plot_log.series(table, "loss"))
        self.assertEqual(plot_log.series(table, "scale"), ([0], [65536]))

    def test_half_a_line_is_left_out(self):
        for name, text in (("a.jsonl", JSONL + '{"step": 2, "lo'), ("a.csv", CSV + "2,2")):
            rows, message = self.quietly(plot_log.read, self.log(name, text))
            self.assertEqual(len(rows), 2)
            self.assertIn("incomplete line", message)

    def test_runs_share_the_column_of_their_name(self):
        names = [self.log(name, JSONL) for name in ("simple_cnn_f16.jsonl", "mlp_f16.jsonl", "mlp_f32.jsonl")]
        empty = self.log("mlp_bf16.jsonl", "")
        columns, message = self.quietly(plot_log.group, [*names, empty])
        self.assertEqual({column: [run for run, _ in runs] for column, runs in columns.items()},
                         {"simple_cnn": ["f16"], "mlp": ["f16", "f32"]})
        self.assertIn("mlp_bf16.jsonl: skipped, no steps", message)

    def test_the_mean_leaves_inf_out(self):
        smoothed = plot_log.smoothed([math.inf, 1.0, 3.0, math.nan, 5.0], 2)
        self.assertTrue(math.isnan(smoothed[0]))
        self.assertEqual(smoothed[1:], [1.0, 2.0, 3.0, 5.0])

    def test_a_picture_where_matplotlib_is(self):
        picture = self.folder / "picture.png"
        result = subprocess.run([sys.executable, str(SCRIPT), self.log("a_f16.jsonl", JSONL), "-o", str(picture)],
                                capture_output=True, text=True)
        if importlib.util.find_spec("matplotlib"):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        else:
            self.assertEqual(result.returncode, plot_log.NO_MATPLOTLIB)
            self.assertIn("install it", result.stderr)

    def test_without_steps_it_fails(self):
        if not importlib.util.find_spec("matplotlib"):
            self.skipTest("no matplotlib")
        result = subprocess.run([sys.executable, str(SCRIPT), self.log("a.jsonl", "")], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no steps", result.stderr)


if __name__ == "__main__":
    unittest.main()
