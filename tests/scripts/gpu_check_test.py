"""scripts/gpu_check.sh with a package of stand-ins: the steps that run, their arguments, and a second call."""
import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("gpu_preflight", ROOT / "scripts" / "gpu_preflight.py")
gpu_preflight = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu_preflight)

# Writes its call to $CALLS; as a test, also writes a result with one case.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $TANDEM_TEST_DEVICE$GTEST_SHARD_INDEX $*" >> "$CALLS"
for a; do case $a in --gtest_output=json:*) echo '{"testsuites": [{"name": "S", "testsuite": [{"name": "EveryCaseRunsOnTheDevice", "status":
"RUN"}]}]}' > "${a#--gtest_output=json:}";; esac; done
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "package" / "bin"
        self.bin.mkdir(parents=True)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.gpu("a GPU, 580.65, 9.0, 80000")
        self.program(self.tools / "compute-sanitizer", STAND_IN)
        for name in ("ops_test", "base_test", "train_bench", "device_bench"):
            self.program(self.bin / name, STAND_IN)

    def gpu(self, answer):
        self.program(self.tools / "nvidia-smi", "#!/bin/sh\ncase \"$*\" in *compute_cap*) echo '" + answer + "';; "
                     "*) echo 'a GPU, 580, 80000 MiB';; esac\n")

    def program(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def check(self, *arguments, **variables):
        calls = self.folder / "calls"
        calls.write_text("")
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "CALLS": str(calls),
                       "TANDEM_GPU_PACKAGE": str(self.folder / "package"), **variables}
        result = subprocess.run([str(ROOT / "scripts" / "gpu_check.sh"), "--out", str(self.out), *arguments],
                                env=environment, capture_output=True, text=True)
        return result, calls.read_text().splitlines()

    @property
    def out(self):
        return self.folder / "results"

    def test_tests_run_once_in_shards(self):
        result, calls = self.check("--stage", "tests")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(sorted(c.split(" --")[0] for c in calls), ["base_test cpu0"] + [f"ops_test cuda{i}" for i in range(6)])
        summary = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(summary["gpu"], "a GPU, 580, 80000 MiB")
        self.assertEqual(summary["tests"], {"passed": 7, "failed": 0, "skipped": 0})
        self.assertEqual(self.check("--stage", "tests")[1], [])

    def test_a_failed_step_is_repeated_when_asked_for(self):
        broken = self.folder / "broken"
        broken.touch()
        self.program(self.bin / "base_test", STAND_IN.replace("\n", f"\n[ -e {broken} ] && exit 3\n", 1))
        result, _ = self.check("--stage", "tests")
        self.assertEqual(result.returncode, 1)
        self.assertIn("test_base_test.0: FAILED (3)", result.stdout)
        broken.unlink()
        self.assertEqual(self.check("--stage", "tests")[0].returncode, 1)
        result, calls = self.check("--stage", "tests", "--retry")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(len(calls), 1)

    def test_the_sanitizer_runs_every_tool(self):
        _, calls = self.check("--stage", "sanitizer")
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            mine = [c for c in calls if f"--tool {tool} " in c]
            self.assertEqual(len(mine), 6)
            self.assertTrue(all("--error-exitcode" in c and "package/bin/" in c for c in mine))
        self.assertEqual(sum("Ops/CudaTest.F16/*" in c for c in calls), 8)

    def test_a_missing_tool_is_no_failure(self):
        (self.tools / "compute-sanitizer").unlink()
        result, calls = self.check("--stage", "sanitizer", PATH=f"{self.tools}:/usr/bin:/bin", CUDA_PATH="/nowhere")
        self.assertIn("skipped: no compute-sanitizer", result.stdout)
        self.assertEqual(calls, [])

    def test_results_of_other_binaries_are_dropped(self):
        self.check("--stage", "tests")
        self.program(self.bin / "base_test", STAND_IN + "# another build\n")
        self.assertEqual(len(self.check("--stage", "tests")[1]), 7)

    def test_tests_that_skip_the_device_do_not_pass(self):
        self.program(self.bin / "ops_test", STAND_IN.replace('"RUN"', '"RUN", "result": "SKIPPED"'))
        self.program(self.bin / "base_test", STAND_IN.replace("EveryCaseRunsOnTheDevice", "T"))
        result, _ = self.check("--stage", "tests")
        self.assertEqual(result.returncode, 1)
        self.assertIn("NOT ON THE GPU", result.stdout)

    def test_the_memory_stage_asks_for_both_batches_and_the_largest(self):
        _, calls = self.check("--stage", "memory")
        for memory_format in ("contiguous", "channels_last"):
            for run in ("--precision f32 --batch 590", "--precision f16 --batch 1000"):
                self.assertEqual(sum(f"{run} --memory-format {memory_format}" in c for c in calls), 1)
        self.assertEqual(sum("--largest-batch" in c for c in calls), 2)

    def test_cnns_run_in_both_memory_formats(self):
        for stage in ("steps", "benchmarks"):
            _, calls = self.check("--dry-run", "--stage", stage)
            formats = {workload: {c.split("--memory-format ")[1].split()[0] for c in calls if workload in c}
                       for workload in ("simple_cnn", "tiny_mlp")}
            self.assertEqual(formats, {"simple_cnn": {"contiguous", "channels_last"}, "tiny_mlp": {"contiguous"}})

    def test_kernels_run_in_groups(self):
        _, calls = self.check("--stage", "kernels")
        self.assertEqual([c.split("--only ")[1] for c in calls], ["products", "passes", "convolutions", "launches"])

    def refusal(self):
        result, calls = self.check("--stage", "kernels")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertEqual(calls, [])
        return result.stdout

    def test_what_the_machine_lacks_is_said_first(self):
        (self.folder / "package" / "build.txt").write_text("cuda=13.0.48\narchitectures=90\n")
        self.assertEqual(len(self.check("--stage", "kernels")[1]), 4)
        self.gpu("an old GPU, 570.1, 8.6, 500")
        said = self.refusal()
        self.assertIn("The NVIDIA driver 570.1 is too old for CUDA 13; install 580 or newer.", said)
        self.assertIn("an old GPU has compute capability 8.6, but the package has code for 9.0; build it with --arch 86.", said)
        self.assertIn("Only 500 MiB of the GPU's memory are free", said)
        self.program(self.tools / "nvidia-smi", "#!/bin/sh\necho 'no devices were found'; exit 6\n")
        self.assertIn("nvidia-smi failed: no devices were found", self.refusal())

    def test_native_code_runs_on_its_major_version_and_ptx_on_later_devices(self):
        build = {"cuda": "13.0.48", "architectures": "75,80,100,120"}
        runs = [c for c in ("7.0", "7.5", "8.6", "9.0", "10.3", "11.0", "12.1", "13.0")
                if not list(gpu_preflight.check_gpu(["a GPU", "580.1", c, "80000"], build))]
        self.assertEqual(runs, ["7.5", "8.6", "10.3", "12.1", "13.0"])

    def test_missing_libraries_are_named(self):
        self.program(self.tools / "ldd", "#!/bin/sh\necho '\tlibcudnn.so.9 => not found'\n"
                     "echo \"prog: libc.so.6: version \\`GLIBC_2.36' not found\"\n")
        said = self.refusal()
        self.assertIn("libcudnn.so.9 is not found; pip install nvidia-cudnn-cu13", said)
        self.assertIn("too old (no GLIBC_2.36)", said)
        (self.folder / "package" / "build.txt").write_text("cuda=12.8.93\narchitectures=75\n")
        self.assertIn("libcudnn.so.9 is not found; pip install nvidia-cudnn-cu12", self.refusal())

    def test_an_unknown_stage_is_refused(self):
        result, _ = self.check("--stage", "nonsense")
        self.assertEqual(result.returncode, 2)
        self.assertIn("unknown stage 'nonsense'", result.stderr)


if __name__ == "__main__":
    unittest.main()
