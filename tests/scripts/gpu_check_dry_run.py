"""scripts/gpu_check.sh from beginning to end, with the programs of the emulated device as the package and a
compute-sanitizer that only runs the program.

Usage: gpu_check_dry_run.py BUILD_FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1])
# Some tests of each kind: the suite runs as a whole in the tests on_cuda_*.
FILTER = "Cuda.*:Ops/CudaTest.F16/add_*:Graph.ReplaysOfAnMlp*:Sequential.*:Sgd*:TrainLog*:Conv.Empty*"
SANITIZER = """#!/bin/sh
case $1 in --help) echo '  --kernel-name arg   kernels to check'; exit;; esac
while [ "${1#/}" = "$1" ]; do shift; done
case $1 in *ops_test) exit;; esac
exec "$@"
"""


def fill(folder):
    """Makes the package and the tools that the script finds on a machine with a GPU."""
    programs = folder / "package" / "bin"
    tools = folder / "tools"
    programs.mkdir(parents=True)
    tools.mkdir()
    for program in (BUILD / "tests").glob("on_cuda_*"):
        name = program.name.removeprefix("on_cuda_").removeprefix("benchmark_").removeprefix("example_")
        (programs / name).symlink_to(program)
    for name in ("base_test", "math_test"):
        (programs / name).symlink_to(BUILD / "tests" / name)
    for name, text in (("compute-sanitizer", SANITIZER),
                       ("nvidia-smi", "#!/bin/sh\necho 'an emulated GPU, 580.65, 9.0, 80000'\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return tools


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    tools = fill(folder)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "GTEST_FILTER": FILTER,
                   "TANDEM_GPU_PACKAGE": str(folder / "package"), "OMP_WAIT_POLICY": "passive"}
    status = subprocess.run([str(ROOT / "scripts" / "gpu_check.sh"), "--dry-run", "--out", str(folder / "out")],
                            env=environment).returncode
    summary = json.loads((folder / "out" / "summary.json").read_text())
    for step, code in summary["steps"].items():
        if code not in (0, 77):
            print(f"---- {step}\n{(folder / 'out' / (step + '.log')).read_text()[-2000:]}")
    assert status == 0, status
    assert summary["on_device"] and summary["tests"]["failed"] == 0 and summary["tests"]["passed"] > 20, summary["tests"]
    assert {"steps_simple_cnn_f16", "steps_simple_cnn_f16_channels_last", "sanitizer_racecheck_training_f32", "tandem_tiny_mlp_bf16_graph",
            "kernels_convolutions", "example_cuda_graph"} <= summary["steps"].keys()
    assert all(code == 0 for step, code in summary["steps"].items() if not step.startswith(("torch", "kernels_torch")))
