"""scripts/preset.sh chooses a preset by the tools in PATH."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTED = "GPU 0: NVIDIA H200 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)"


@unittest.skipIf(os.path.exists("/dev/nvidia0"), "this machine has a GPU")
class Preset(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tools = pathlib.Path(folder.name)

    def tool(self, name, script):
        path = self.tools / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)

    def choose(self, **environment):
        # Only these tools and the system's: the machine may have a CUDA toolkit.
        clean = {"PATH": f"{self.tools}:/usr/bin:/bin", **environment}
        result = subprocess.run([str(ROOT / "scripts" / "preset.sh"), "--choose"], env=clean, capture_output=True, text=True,
                                check=True)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stdout.strip(), result.stderr

    def test_without_a_gpu(self):
        preset, why = self.choose()
        self.assertEqual(preset, "release")
        self.assertIn("no GPU", why)

    def test_a_driver_without_devices(self):
        self.tool("nvidia-smi", "echo No devices were found; exit 0")
        self.assertIn("no GPU", self.choose()[1])
        self.tool("nvidia-smi", "exit 9")
        self.assertIn("no GPU", self.choose()[1])

    def test_a_gpu(self):
        self.tool("nvidia-smi", f"echo '{LISTED}'")
        self.tool("nvcc", "exit 0")
        self.tool("cmake", "exit 0")  # as if cuDNN was found
        preset, why = self.choose()
        self.assertEqual(preset, "cuda")
        self.assertIn("NVIDIA H200", why)
        self.assertNotIn("UUID", why)
        self.tool("cmake", "exit 1")
        preset, why = self.choose()
        self.assertEqual(preset, "release")
        self.assertIn("cuDNN", why)

    def test_the_environment_decides(self):
        self.tool("nvidia-smi", f"echo '{LISTED}'")
        self.assertEqual(self.choose(TANDEM_PRESET="asan")[0], "asan")


if __name__ == "__main__":
    unittest.main()
