"""scripts/networks.py with results in the format of the examples."""
import importlib.util
import json
import pathlib
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("networks", ROOT / "scripts" / "networks.py")
networks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(networks)


def a_run(precision, metrics, ms, peak):
    return {"precision": precision, "metrics": metrics, "ms_per_step": ms, "seconds_per_epoch": 2.0,
            "peak_bytes": peak << 20, "skipped_steps": 1, "final_scale": 65536.0}


def entry(name, metric="accuracy in percent"):
    return {"network": name, "steps": 10, "metric": metric, "baseline": 10,
            "runs": [a_run("f32", [80, 82], [4, 8], 20), a_run("bf16", [81, 84], [3, 3], 15),
                     a_run("f16", [79, 80], [6, 6], 15)]}


class Networks(unittest.TestCase):
    def test_results_are_relative_to_f32(self):
        rows = list(networks.results_table([entry("vit")]))
        self.assertEqual(rows[2], "| `vit` | 10 | f32 | 81.00 % | 10.00 % | 6 | 2 | 20.0 | 1 | 65536 | 1.00 | 1.00 |")
        self.assertEqual(rows[3], "|  |  | bf16 | 82.50 % |  | 3 | 2 | 15.0 | 1 | 65536 | 2.00 | 0.75 |")

    def test_small_compares_means_with_seeds(self):
        rows = list(networks.small_table([entry("gpt", "bits per character")]))
        self.assertEqual(rows[2], "| `gpt` | 10 | 10.000 | 81.000 ± 1.000 | 82.500 ± 1.500 | 79.500 ± 0.500 | 3.000 | 3.000 |")

    def test_run_replaces_entries(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.json"
            for steps, names in ((1, ["vit", "tabular"]), (2, ["vit"])):
                with mock.patch.object(networks, "result_of", lambda name, _: entry(name) | {"steps": steps}):
                    networks.run(file, names, [])
            found = [(n["network"], n["steps"]) for n in json.loads(file.read_text())["networks"]]
        self.assertEqual(found, [("tabular", 1), ("vit", 2)])

    def test_time_replaces_times_by_medians(self):
        times = iter([5, 1, 2, 9, 2, 2, 4, 8, 2])  # three rounds of three precisions
        result = lambda *_: {"runs": [{"ms_per_step": [next(times)]}]}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.json"
            file.write_text(json.dumps({"networks": [entry("gpt"), entry("vit")]}))
            with mock.patch.object(networks, "result_of", result):
                networks.retime(file, ["vit"])
            gpt, vit = json.loads(file.read_text())["networks"]
        self.assertEqual(gpt, entry("gpt"))
        self.assertEqual([run["ms_per_step"] for run in vit["runs"]], [[5], [2], [2]])
        self.assertEqual(vit["runs"][0]["seconds_per_epoch"], 2 * 5 / 6)


if __name__ == "__main__":
    unittest.main()
