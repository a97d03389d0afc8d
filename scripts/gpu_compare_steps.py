#!/usr/bin/env python3
"""Checks that training steps on a CUDA device are right: compares train_bench's losses, gradient norms and parameter
changes with those of the CPU, and a CUDA graph's last loss with that of eager steps.

Usage: gpu_compare_steps.py TRAIN_BENCH WORKLOAD PRECISION [arguments...]     exit status 1: a step is wrong
"""
import json
import math
import subprocess
import sys

# Relative; f32 convolutions use TF32 on the GPU. The last loss follows after some 15 steps, in which differences grow.
TOLERANCE = {"f32": 5e-3, "f16": 1e-2, "bf16": 2e-2}
TOLERANCE_AFTER_STEPS = 5e-2


def measure(program, *arguments):
    result = subprocess.run([program, "--iterations", "1", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def differences(name, values, expected, tolerance):
    """Sentences about the values that differ. A value far below the largest of its list is compared with that."""
    if len(values) != len(expected):
        return [f"{name}: {len(values)} values instead of {len(expected)}"]
    least = 1e-3 * max(abs(e) for e in expected)
    return [f"{name}[{i}]: {v:.6g} instead of {e:.6g}" for i, (v, e) in enumerate(zip(values, expected))
            if not math.isfinite(v) or abs(v - e) > tolerance * max(abs(e), least)]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, workload, precision, *more = sys.argv[1:]
    common = ["--workload", workload, "--precision", precision, *more]
    cpu = measure(program, "--device", "cpu", "--warmup", "2", *common)
    eager = measure(program, "--device", "cuda", "--warmup", "4", *common)
    graph = measure(program, "--device", "cuda", "--warmup", "3", "--graph", *common)  # takes a step more before timing
    found = []
    for name in ("losses", "gradient_norms", "change_norms"):
        found += differences(f"{name}, CUDA against CPU", eager[name], cpu[name], TOLERANCE[precision])
        found += differences(f"{name}, before a graph", graph[name], cpu[name], TOLERANCE[precision])
    found += differences("last loss, graph against eager", [graph["final_loss"]], [eager["final_loss"]],
                         TOLERANCE_AFTER_STEPS)
    if graph["final_scale"] != eager["final_scale"]:
        found.append(f"scale, graph against eager: {graph['final_scale']} instead of {eager['final_scale']}")
    print("\n".join(found) or f"{workload} {precision}: losses {eager['losses']}, as on the CPU {cpu['losses']}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
