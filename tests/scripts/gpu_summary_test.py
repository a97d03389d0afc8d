"""scripts/gpu_summary.py with folders that scripts/gpu_check.sh might have left."""
import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("gpu_summary", ROOT / "scripts" / "gpu_summary.py")
gpu_summary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu_summary)

PEAK = 3 << 30


class Folder:
    def __init__(self, path, gpu="NVIDIA H200, 580.1, 141000 MiB"):
        self.path = pathlib.Path(path)
        (self.path / "gpu.txt").write_text(gpu + "\n")

    def step(self, name, *entries, status=0):
        lines = ["a line of something else", "{not JSON"] + [json.dumps(e) for e in entries]
        (self.path / f"{name}.log").write_text("\n".join(lines) + "\n")
        (self.path / f"{name}.status").write_text(f"{status}\n")

    def run(self, program, workload, precision, ms, variant=None, batch=None, **more):
        kind = program.split(" ")[0]
        parts = [kind, workload, precision, variant, more.get("memory_format"), f"batch{batch}" if batch else None]
        name = "_".join(filter(None, parts))
        entry = {"program": program, "workload": workload, "precision": precision, "ms": ms, "peak_bytes": PEAK,
                 "batch": batch or 64, **more}
        self.step(name, entry | ({"variant": variant} if variant else {}))

    def tests(self, name, passed, failed=0, skipped=0):
        cases = ([{"name": f"ok{i}" if i else gpu_summary.ON_DEVICE, "status": "RUN", "result": "COMPLETED"} for i in range(passed)] +
                 [{"name": f"bad{i}", "status": "RUN", "result": "COMPLETED", "failures": [{}]} for i in range(failed)] +
                 [{"name": f"skip{i}", "status": "RUN", "result": "SKIPPED"} for i in range(skipped)] +
                 [{"name": "elsewhere", "status": "NOTRUN", "result": "SUPPRESSED"}])
        (self.path / f"{name}.json").write_text(json.dumps({"testsuites": [{"name": "S", "testsuite": cases}]}))
        self.step("test_" + name, status=1 if failed else 0)


class GpuSummary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Folder(folder.name)

    def summary(self):
        return gpu_summary.collect(self.folder.path)

    def goal(self, name):
        return next(g for g in self.summary()["goals"] if g["goal"] == name)

    def main(self):
        argv, sys.argv = sys.argv, ["gpu_summary.py", str(self.folder.path)]
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                return gpu_summary.main(), out.getvalue()
        finally:
            sys.argv = argv

    def test_tests_of_all_shards_are_added_up(self):
        self.folder.tests("ops_test.0", 3, skipped=1)
        self.folder.tests("ops_test.1", 4)
        self.assertEqual(self.summary()["tests"], {"passed": 7, "failed": 0, "skipped": 1})
        self.assertEqual(self.main()[0], 0)

    def test_a_failure_is_named_and_fails(self):
        self.folder.tests("ops_test.0", 3, failed=1)
        status, text = self.main()
        self.assertEqual(status, 1)
        self.assertIn("failed: ops_test.0: S.bad0", text)
        self.assertIn("step test_ops_test.0: exit status 1", text)

    def test_without_a_gpu_or_a_test_it_fails(self):
        self.assertEqual(self.main()[0], 1)
        self.folder.tests("ops_test.0", 3)
        self.assertEqual(self.main()[0], 0)
        Folder(self.folder.path, gpu="no GPU: nvidia-smi failed")
        self.assertEqual(self.main()[0], 1)

    def test_a_torn_result_of_a_test_is_left_to_its_step(self):
        self.folder.tests("ops_test.0", 3)
        (self.folder.path / "nn_test.0.json").write_text('{"testsuites": [')
        self.folder.step("test_nn_test.0", status=124)
        status, text = self.main()
        self.assertEqual(status, 1)
        self.assertIn("step test_nn_test.0: exit status 124", text)

    def test_skipped_steps_are_named_and_do_not_fail(self):
        self.folder.tests("ops_test.0", 3)
        self.folder.step("sanitizer_memcheck_ops_F32", status=77)
        status, text = self.main()
        self.assertEqual(status, 0)
        self.assertIn("lacks: sanitizer_memcheck_ops_F32", text)

    def test_ratios_stand_beside_their_goals(self):
        name = "recipe f16 / torch eager"
        self.assertIsNone(self.goal(name)["measured"])
        self.folder.run("torch 2.11", "recipe", "f16", 1.0, "eager")
        for ms, reached in ((0.5, "ambitious"), (0.6, "ambitious"), (0.7, "must"), (0.8, "missed")):
            self.folder.run("tandem", "recipe", "f16", ms)
            self.assertEqual(self.goal(name)["reached"], reached)
            self.assertAlmostEqual(self.goal(name)["measured"], ms)
        self.assertEqual((self.goal(name)["must"], self.goal(name)["ambitious"]), (0.75, 0.60))
        self.assertIn("missed", self.main()[1])

    def test_the_graphed_step_counts_where_it_is_faster(self):
        self.folder.run("torch 2.11", "simple_cnn", "f16", 1.0, "eager")
        self.folder.run("tandem", "simple_cnn", "f16", 0.5)
        self.folder.run("tandem", "simple_cnn", "f16", 0.1, "graph")
        row = self.goal("simple_cnn f16 / torch eager")
        self.assertEqual((row["measured"], row["tandem_variant"], row["reached"]), (0.1, "graph", "must"))

    def test_speedup_over_f32(self):
        self.folder.run("tandem", "recipe", "f32", 5.0)
        self.folder.run("tandem", "recipe", "f16", 1.0)
        row = self.goal("recipe: f32 / f16")
        self.assertEqual((row["measured"], row["reached"]), (5.0, "must"))

    def test_batches_are_not_mixed(self):
        self.folder.run("tandem", "big_cnn", "f16", 10.0, batch=1000)
        self.folder.run("tandem", "big_cnn", "f16", 0.1)
        self.folder.run("torch 2.11", "big_cnn", "f16", 20.0, "eager", batch=1000, memory_format="contiguous")
        self.folder.run("torch 2.11", "big_cnn", "f16", 0.3, "eager", memory_format="contiguous")
        self.assertEqual(self.goal("big_cnn f16, batch 1000 / torch eager")["measured"], 0.5)
        text = self.main()[1]
        self.assertIn("tandem/this 0.50  peak 3.00 GiB", text)
        self.assertIn("tandem/this 0.33", text)

    def test_the_faster_memory_format_counts_unless_the_goal_names_one(self):
        self.folder.run("tandem", "simple_cnn", "f16", 2.0, memory_format="contiguous")
        self.folder.run("tandem", "simple_cnn", "f16", 1.0, memory_format="channels_last")
        for ms, memory_format in ((8.0, "contiguous"), (10.0, "channels_last")):
            self.folder.run("torch 2.11", "simple_cnn", "f16", ms, "eager", memory_format=memory_format)
            self.folder.run("torch 2.11", "big_cnn", "f16", ms, "eager", batch=1000, memory_format=memory_format)
        row = self.goal("simple_cnn f16 / torch eager")
        self.assertEqual((row["measured"], row["tandem_memory_format"], row["torch_memory_format"]),
                         (0.125, "channels_last", "contiguous"))
        self.folder.run("tandem", "big_cnn", "f16", 4.0, batch=1000, memory_format="channels_last")
        self.assertEqual(self.goal("big_cnn f16, batch 1000 / torch eager")["measured"], 0.5)
        self.assertEqual(self.goal("big_cnn f16, batch 1000 / torch channels-last")["measured"], 0.4)
        self.assertIn("eager channels_last batch 1000", self.main()[1])

    def test_a_failed_step_gives_no_number(self):
        self.folder.step("tandem_recipe_f16", {"program": "tandem", "workload": "recipe", "precision": "f16", "ms": 1},
                         status=1)
        self.assertEqual(self.summary()["benchmarks"], [])

    def test_requests_for_memory(self):
        name = "driver memory requests per step"
        self.folder.run("tandem", "recipe", "f16", 1.0, system_allocations_per_step=0.0)
        self.assertEqual(self.goal(name)["reached"], "ambitious")
        self.folder.run("tandem", "recipe", "f32", 1.0, system_allocations_per_step=0.5)
        self.assertEqual(self.goal(name)["reached"], "missed")

    def test_largest_batches(self):
        entry = {"program": "tandem", "workload": "big_cnn", "precision": "f32", "largest_batch": 5000,
                 "smallest_too_large": 5050, "peak_bytes": PEAK, "stopped_by": "no memory"}
        self.folder.step("tandem_big_cnn_f32_largest", entry)
        self.folder.step("torch_big_cnn_f32_largest", entry | {"program": "torch 2.11", "largest_batch": 0})
        text = self.main()[1]
        self.assertIn("5000 is the largest batch, peak 3.00 GiB", text)
        self.assertIn("no batch fits: no memory", text)

    def test_kernels_and_predictions(self):
        self.folder.step(
            "kernels", {"group": "products", "kernel": "f16 forward", "us": 28.0, "flops": 6e14},
            {"group": "products", "kernel": "f16 weight gradient to f32", "us": 36.0, "flops": 5e14},
            {"group": "products", "kernel": "bf16 forward", "us": 90.0, "flops": 1e14},
            {"group": "passes", "kernel": "copy", "us": 98.0, "bytes_per_second": 4e12, "of_copy": 1.0},
            {"group": "passes", "kernel": "check f32", "us": 98.0, "bytes_per_second": 2e12, "of_copy": 0.5},
            {"group": "launches", "kernel": "kernel on 8 numbers", "us": 4.0},
            {"program": "torch 2.11", "kernel": "copy", "bytes_per_second": 4.3e12})
        kernels = self.summary()["kernels"]
        self.assertEqual([k.get("as_predicted") for k in kernels], [True, True, None, None, False, True, None])
        text = self.main()[1]
        self.assertIn("predicted 26 to 31 us: yes", text)
        self.assertIn("predicted 0.92 to  of_copy: NO", text)
        self.assertIn("torch copy: 4.30 TB/s", text)


if __name__ == "__main__":
    unittest.main()
