"""scripts/plot_log.py with logs in the format of amp::TrainLog."""
import contextlib
import importlib.util
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

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

    def drawn(self, logs, *options):
        """Runs the script on logs (name -> text) and returns the page's elements."""
        page = self.folder / "page.html"
        names = [self.log(name, text) for name, text in logs.items()]
        result = subprocess.run([sys.executable, str(SCRIPT), *names, "-o", str(page), *options], capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], f"plot_log: wrote {page}")
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("<script", text)
        self.assertNotRegex(text, r"(?:src|href)=|url\(")  # needs no other file
        return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))

    def curves(self, page, figure):
        """The points of each curve of a figure."""
        paths = page.findall(f".//figure[@data-field='{figure}']/svg/path[@class='curve']")
        return [[(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path.get("d"))] for path in paths]

    def rows(self, page):
        """The table's rows, as column -> text."""
        titles = [cell.text for cell in page.findall(".//thead/tr/th")]
        return [dict(zip(titles, (cell.text for cell in row))) for row in page.findall(".//tbody/tr")]

    def test_curves_and_table_show_the_data(self):
        losses = {"f32": [2.5, 1.5, 1.75, 1.0, 0.5], "f16": [2.4, 1.6, 1.7, 1.1, 0.4],
                  "bf16": [2.6, 1.4, 1.8, 0.9, 0.6]}
        accuracy = {"f32": 87.5, "f16": 87.75, "bf16": 87.25}
        logs = {}
        for run, values in losses.items():
            speed = 50 if run == "f32" else 100
            rows = [{"step": i, "loss": v, "samples_per_second": speed} for i, v in enumerate(values)]
            if run == "f16":
                for i, row in enumerate(rows):
                    row.update({"scale": 65536 / 2**i, "skipped": i < 4})
            logs[f"net_{run}.jsonl"] = "\n".join(map(json.dumps, [*rows, {"step": 5, "test_accuracy": accuracy[run]}]))
        page = self.drawn(logs)
        runs = ["f32", "f16", "bf16"]
        self.assertEqual([item.find("svg").tail for item in page.findall(".//ul[@class='legend']/li")], runs)
        self.assertEqual(len(self.curves(page, "samples_per_second")), 3)
        for run, curve in zip(runs, self.curves(page, "loss"), strict=True):
            self.assertEqual([x for x, _ in curve], sorted(x for x, _ in curve))
            # The distances in the picture are those of the data, upwards.
            slope = (curve[0][1] - curve[-1][1]) / (losses[run][0] - losses[run][-1])
            self.assertLess(slope, 0)
            for (_, y), value in zip(curve, losses[run], strict=True):
                self.assertAlmostEqual(y, curve[0][1] + slope * (value - losses[run][0]), delta=0.02)
        self.assertEqual(len(page.findall(".//figure[@data-field='scale']//path[@class='skip']")), 4)
        for row, run in zip(self.rows(page), runs, strict=True):
            self.assertEqual((row["run"], row["steps"], float(row["last loss"])), (run, "5", losses[run][-1]))
            self.assertEqual(float(row["test accuracy"]), float(f"{accuracy[run]:.4g}"))
            self.assertEqual(row["speed / f32"], "1.00" if run == "f32" else "2.00")
            self.assertEqual(row["skipped steps"], "4" if run == "f16" else "0")
        self.assertEqual(self.rows(page)[1]["last loss scale"].replace("\u202f", ""), "4096")
        self.assertEqual(page.find(".//h2").text,
                         "net: against f32, f16 accuracy +0.25 points, 2.00\u00d7 the speed; "
                         "bf16 accuracy \u22120.25 points, 2.00\u00d7 the speed")

    def test_odd_logs(self):
        long = "\n".join(json.dumps({"step": i, "loss": 1 + (i % 7)}) for i in range(5000))
        for name, text, last in (("one_point", '{"step": 3, "loss": 2}', "2"),
                                 ("nan_loss", '{"step": 0, "loss": 2}\n{"step": 1, "loss": "nan"}', "nan"),
                                 ("inf_scale", '{"step": 0, "loss": 2, "scale": "inf"}', "2"),
                                 ("zero_loss", '{"step": 0, "loss": 0}\n{"step": 1, "loss": 0}', "0"),
                                 ("negative", '{"step": 0, "loss": -2}\n{"step": 1, "loss": -300}', "\u2212300"),
                                 ("no_loss", '{"step": 0, "grad_norm": 2}', "\u2013"),
                                 ("only_inf", '{"step": 0, "loss": "inf"}', "inf"),
                                 ("small", '{"step": 0, "loss": 1e-30}\n{"step": 1, "loss": 1e-3}', "0.001"),
                                 ("a<b&c", '{"step": 0, "loss": 2, "<f>accuracy": 1}', "2"),
                                 ("no_scale", '{"step": 0, "loss": 2, "scale": 0}', "2"),
                                 ("large", '{"step": 0, "loss": 1234567}', "1.2346e+06"),
                                 ("long", long, str(1 + 4999 % 7))):
            with self.subTest(name):
                page = self.drawn({name + ".jsonl": text})
                self.assertEqual([row["last loss"] for row in self.rows(page)], [last])
                for figure in page.findall(".//figure"):
                    for circle in figure.findall(".//circle"):
                        self.assertLess(abs(float(circle.get("cx"))) + abs(float(circle.get("cy"))), 1000)
                    for curve in self.curves(page, figure.get("data-field")):
                        self.assertLessEqual(len(curve), plot_log.MOST_POINTS + 1)
                        for x, y in curve:
                            self.assertTrue(0 <= x <= plot_log.WIDTH and 0 <= y <= plot_log.HEIGHT, (x, y))

    def test_ticks_are_round(self):
        for low, high in ((0, 2.31), (81.3, 87.9), (-5, 5), (0, 123456), (1e-9, 3e-9), (7, 7)):
            ticks = [value for value, _ in plot_log.Axis([low, high], 0, 1).ticks]
            self.assertTrue(3 <= len(ticks) <= 7, ticks)
            self.assertTrue(ticks[0] <= low and high <= ticks[-1], ticks)
            step = (ticks[-1] - ticks[0]) / (len(ticks) - 1)
            self.assertIn(f"{step:.6e}"[0], "125")
            self.assertAlmostEqual(ticks[0] / step, round(ticks[0] / step), places=6)

    def test_ticks_are_legible(self):
        for low, high in ((0, 2.31), (0, 123456), (1e-9, 3e-9), (0, 8e9), (2000000, 2000004), (-2e-5, 2e-5)):
            ticks = plot_log.Axis([low, high], 0, 1).ticks
            self.assertLessEqual(max(len(text) for _, text in ticks), 9, ticks)
            self.assertEqual(len({text for _, text in ticks}), len(ticks), ticks)
            for value, text in ticks:
                text = text.replace("\u202f", "").replace("\u2212", "-")
                self.assertAlmostEqual(float(text), value, delta=1e-9 * abs(value))
        for last_step in (0, 1, 2, 3, 7, 2500000):
            ticks = plot_log.Axis([0, last_step], 0, 1, whole=True).ticks
            self.assertEqual([value for value, _ in ticks], [int(value) for value, _ in ticks])

    def test_titles(self):
        f32 = '{"step": 0, "loss": 2, "a_accuracy": 0.5}\n{"step": 1, "loss": 1, "a_accuracy": 0.875}'
        for text, title in (('{"step": 0, "loss": 1e9}', "f32, b-f16 loss +1e+11 %"),
                            ('{"step": 0, "loss": 0.5}', "f32, b-f16 loss \u221250.0 %"),
                            ('{"step": 0, "loss": 2}\n{"step": 1, "loss": "nan"}', "f32, b-f16 last loss nan"),
                            ('{"step": 0, "loss": 1, "a_accuracy": 0.5}', "f32, b-f16 accuracy \u221237.50 points")):
            page = self.drawn({"a-net_f32.jsonl": f32, "a-net_b-f16.jsonl": text})
            self.assertEqual(page.find(".//h2").text, "a-net: against " + title)
        page = self.drawn({"net.jsonl": '{"step": 0, "loss": 2}\n{"step": 1, "loss": "nan"}'})
        self.assertEqual(page.find(".//h2").text, "net: loss 2 to nan")
        self.assertEqual(page.findall(".//text[@class='label']"), [])

    def test_labels_fit_and_ids_are_unique(self):
        page = self.drawn({name: JSONL for name in ("a_f32.jsonl", "a_automatic-mixed.jsonl", "b_f32.jsonl")})
        labels = [text.text for text in page.findall(".//figure[@data-field='loss']/svg/text[@class='label']")]
        self.assertEqual(sorted(labels), ["automat\u2026", "f32"])
        ids = [element.get("id") for element in page.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)))

    def test_faults_name_file_and_line_and_keep_the_old_page(self):
        page = self.folder / "page.html"
        for name, text, fault in (("a.jsonl", '{"step": 0, "loss": 1}\n[1]', ":2: not a JSON object"),
                                  ("a.jsonl", '{"step": 0, "loss": "low"}', ":1: 'loss' is not a number: 'low'"),
                                  ("a.jsonl", '{"loss": 1}', ":1: the line has no number for 'step'"),
                                  ("a.csv", "step,loss\n0,1\n1,low\n", ":3: 'loss' is not a number: 'low'")):
            page.write_text("old")
            path = self.log(name, text)
            result = subprocess.run([sys.executable, str(SCRIPT), path, "-o", str(page)], capture_output=True,
                                    text=True)
            self.assertEqual(result.returncode, 1)
            self.assertTrue(result.stderr.startswith(f"plot_log: {path}{fault}"), result.stderr)
            self.assertEqual(page.read_text(), "old")

    def test_without_steps_it_fails(self):
        result = subprocess.run([sys.executable, str(SCRIPT), self.log("a.jsonl", "")], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no steps", result.stderr)


if __name__ == "__main__":
    unittest.main()
