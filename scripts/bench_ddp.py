#!/usr/bin/env python3
"""Measures data-parallel training on 1 and 2 processes of one thread, beside PyTorch's DistributedDataParallel over gloo.

Runs the four programs in turn, several rounds, and prints medians: milliseconds per step, the throughput of 2 processes
relative to one (2 is ideal), and tandem's throughput relative to PyTorch's. Build first: cmake --build --preset release
--target tandem_benchmark_ddp_bench. PyTorch comes from scripts/torch_venv.sh; without it tandem is measured alone.

Usage: scripts/bench_ddp.py [--rounds N] [--workload recipe|big_cnn ...] [--precision f32|bf16 ...] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TANDEM = ROOT / "build" / "release" / "benchmarks" / "ddp_bench"
PYTHON = ROOT / ".venv-torch" / "bin" / "python"
HEAP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}  # a heap that keeps its pages


def measure(program, ranks, workload, precision):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    if program == "torch":
        environment.update(HEAP)
        command = [str(PYTHON), str(ROOT / "benchmarks" / "torch" / "ddp.py")]
    else:
        command = [str(TANDEM)]
    run = subprocess.run(["mpirun", "-np", str(ranks), *command, "--workload", workload, "--precision", precision],
                         env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"bench_ddp: {program} on {ranks} processes failed:\n{run.stderr}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workload", nargs="+", default=["recipe", "big_cnn"])
    parser.add_argument("--precision", nargs="+", default=["bf16"])
    parser.add_argument("--json")
    args = parser.parse_args()
    programs = [("tandem", 1), ("tandem", 2)]
    if PYTHON.exists():
        programs += [("torch", 1), ("torch", 2)]
    results = []
    print(f"{'workload':10}{'precision':>10}{'1: ms':>10}{'2: ms':>10}{'scaling':>9}{'hidden':>8}"
          f"{'torch 1':>10}{'torch 2':>10}{'scaling':>9}{'speed, 2':>10}")
    for workload in args.workload:
        for precision in args.precision:
            runs = {program: [] for program in programs}
            for _ in range(args.rounds):
                for program in programs:
                    runs[program].append(measure(*program, workload, precision))
            ms = {program: statistics.median(run["ms"] for run in runs[program]) for program in programs}
            two = runs["tandem", 2]
            hidden = statistics.median(max(0.0, 1 - r["wait_ms"] / max(r["communication_ms"], 1e-9)) for r in two)
            result = {"workload": workload, "precision": precision, "examples": two[0]["examples"],
                      "ms_1": ms["tandem", 1], "ms_2": ms["tandem", 2],
                      "scaling": 2 * ms["tandem", 1] / ms["tandem", 2], "hidden": hidden,
                      "bytes": two[0]["bytes"],
                      "communication_ms": statistics.median(r["communication_ms"] for r in two),
                      "wait_ms": statistics.median(r["wait_ms"] for r in two)}
            line = (f"{workload:10}{precision:>10}{result['ms_1']:10.1f}{result['ms_2']:10.1f}"
                    f"{result['scaling']:9.2f}{100 * hidden:7.0f}%")
            if ("torch", 2) in ms:
                result.update(torch_ms_1=ms["torch", 1], torch_ms_2=ms["torch", 2],
                              torch_scaling=2 * ms["torch", 1] / ms["torch", 2],
                              speed=ms["torch", 2] / ms["tandem", 2])
                line += (f"{result['torch_ms_1']:10.1f}{result['torch_ms_2']:10.1f}{result['torch_scaling']:9.2f}"
                         f"{result['speed']:10.2f}")
            print(line, flush=True)
            results.append(result)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
