"""scripts/gpu_compare_steps.py with a stand-in for train_bench."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGHT = {"losses": [2.5, 2.25], "gradient_norms": [1.0, 1e-9], "change_norms": [0.5], "final_loss": 2.0,
         "final_scale": 65536.0}


class GpuCompareSteps(unittest.TestCase):
    def compare(self, cuda=None, graph=None, precision="f32"):
        """The results of a comparison in which eager steps and a graph on CUDA differ from RIGHT in these values."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "train_bench"
            lines = {"cpu": RIGHT, "cuda": RIGHT | (cuda or {}), "graph": RIGHT | (graph or {})}
            program.write_text(f"""#!/bin/sh
case "$*" in
  *--graph*) echo '{json.dumps(lines["graph"])}' ;;
  *"--device cuda"*) echo '{json.dumps(lines["cuda"])}' ;;
  *) echo '{json.dumps(lines["cpu"])}' ;;
esac
""")
            program.chmod(0o755)
            return subprocess.run([str(ROOT / "scripts" / "gpu_compare_steps.py"), str(program), "simple_cnn", precision],
                                  capture_output=True, text=True)

    def test_equal_steps_pass(self):
        result = self.compare(cuda={"losses": [2.5001, 2.25], "gradient_norms": [1.0, 1e-7]})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_each_difference_is_named(self):
        for values, text in (({"losses": [2.5, 2.5]}, "losses, CUDA against CPU[1]: 2.5 instead of 2.25"),
                             ({"gradient_norms": [1.0, 0.1]}, "gradient_norms, CUDA against CPU[1]: 0.1"),
                             ({"change_norms": [float("nan")]}, "change_norms, CUDA against CPU[0]: nan"),
                             ({"losses": [2.5]}, "1 values instead of 2")):
            result = self.compare(cuda=values)
            self.assertEqual(result.returncode, 1)
            self.assertIn(text, result.stdout)

    def test_a_graph_is_compared_with_eager_steps(self):
        self.assertIn("last loss, graph against eager", self.compare(graph={"final_loss": 2.2}).stdout)
        result = self.compare(graph={"final_scale": 32768.0})
        self.assertIn("32768.0 instead of 65536.0", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_narrow_precisions_may_differ_more(self):
        self.assertEqual(self.compare(cuda={"losses": [2.53, 2.25]}, precision="bf16").returncode, 0)
        self.assertEqual(self.compare(cuda={"losses": [2.53, 2.25]}, precision="f32").returncode, 1)


if __name__ == "__main__":
    unittest.main()
