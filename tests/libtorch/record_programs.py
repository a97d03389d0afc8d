#!/usr/bin/env python3
"""Builds the programs of tests/libtorch/programs with libtorch, runs them, and writes what they print to expected/ and
the weights that they load.

Usage: .venv-torch/bin/python tests/libtorch/record_programs.py [NAME...]     (scripts/torch_venv.sh installs PyTorch)
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
ROOT = os.path.dirname(os.path.dirname(HERE))


def write_weights():
    """Writes the file that transfer.cpp loads: the state of a model with another last layer."""
    torch.manual_seed(0)
    nn = torch.nn
    features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(64, 16))
    model = nn.ModuleDict({"features": features, "head": nn.Linear(16, 10)})
    for _ in range(3):
        features(torch.randn(8, 1, 8, 8) * 2 + 1)  # running statistics
    torch.save(dict(model.state_dict()), os.path.join(PROGRAMS, "transfer.pt"))  # libtorch reads no OrderedDict


def check_trace(output, file, name):
    """The scales and skips of amp.cpp with compat/libtorch/amp.h must be those of Python's GradScaler."""
    with open(os.path.join(ROOT, "tests", "golden", file + ".json"), encoding="utf-8") as golden:
        run = json.load(golden)[name]["f16"]
    expected = [f"step {i}: scale 2^{round(math.log2(scale))}, {'skipped' if skipped else 'stepped'}"
                for i, (scale, skipped) in enumerate(zip(run["scales"], run["skipped"]))]
    if output.splitlines()[:len(expected)] != expected:
        sys.exit("amp.cpp: the trace of the scaler is not that of tests/golden/" + file + ".json")


def main():
    write_weights()
    home = os.path.dirname(torch.__file__)
    flags = ["-std=c++20", "-O0", "-I", ROOT, "-isystem", f"{home}/include", "-isystem",
             f"{home}/include/torch/csrc/api/include"]
    compiler = os.environ.get("CXX", "g++")
    names = sys.argv[1:] or sorted(f[:-4] for f in os.listdir(PROGRAMS) if f.endswith(".cpp"))
    os.makedirs(os.path.join(PROGRAMS, "expected"), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "tandem"))
        shutil.copy2(os.path.join(ROOT, "compat", "libtorch", "amp.h"),
                     os.path.join(folder, "tandem", "libtorch_amp.h"))
        header = os.path.join(folder, "program.h")  # a precompiled copy: parsing libtorch's headers takes 15 s
        shutil.copy2(os.path.join(PROGRAMS, "program.h"), header)
        subprocess.run([compiler, *flags, "-x", "c++-header", header, "-o", header + ".gch"], check=True)
        for name in names:
            binary = os.path.join(folder, name)
            subprocess.run([compiler, *flags, "-I", folder, "-include", header,
                            os.path.join(PROGRAMS, name + ".cpp"), "-o", binary, f"-L{home}/lib", f"-Wl,-rpath,{home}/lib", "-ltorch_cpu", "-lc10"], check=True)
            output = subprocess.run([binary], check=True, stdout=subprocess.PIPE, text=True, cwd=PROGRAMS).stdout
            if name == "amp":
                check_trace(output, "workflows", "clip_norm")
                check_trace(subprocess.run([binary, "training"], check=True, stdout=subprocess.PIPE, text=True).stdout,
                            "training", "mlp")
            with open(os.path.join(PROGRAMS, "expected", name + ".txt"), "w", encoding="utf-8") as file:
                file.write(output)
            print(name, flush=True)


if __name__ == "__main__":
    main()
