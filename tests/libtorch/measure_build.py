#!/usr/bin/env python3
"""Measures what a program written for libtorch costs to build with libtorch and with tandem: processor time of the
compiler, and the size of the program with the libraries that it loads. Prints a table.

Usage: .venv-torch/bin/python tests/libtorch/measure_build.py [NAME...]     (scripts/torch_venv.sh installs PyTorch)
Needs a build of the preset release. System libraries (in /lib and /usr/lib) do not count.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "release")
TRIES = 3


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "CCACHE_DISABLE": "1"}, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def libraries(binary):
    """The libraries that a program loads, apart from the system's."""
    listing = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    paths = {os.path.realpath(line.split("=>")[1].split()[0]) for line in listing.splitlines() if "=> /" in line}
    return [path for path in paths if not path.startswith(("/lib", "/usr/lib"))]


def link_arguments(name):
    """The libraries with which CMake links the program of this name."""
    target = f"tests/tandem_libtorch_{name}"
    commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], check=True, capture_output=True,
                              text=True).stdout.splitlines()
    words = commands[-1].split()
    return [os.path.join(BUILD, w) if w.endswith(".a") and not w.startswith("/") else w
            for w in words if w.endswith((".a", ".so")) or w.startswith(("-l", "-Wl,-rpath", "-Wl,--dep", "/"))
            if not w.endswith((".o", "c++", "ccache"))]


def main():
    home = os.path.dirname(torch.__file__)
    compiler = os.environ.get("CXX", "g++")
    names = sys.argv[1:] or ["mlp", "cnn", "transformer"]
    libtorch = ([f"-isystem{home}/include", f"-isystem{home}/include/torch/csrc/api/include"],
                lambda name: [f"-L{home}/lib", f"-Wl,-rpath,{home}/lib", "-ltorch_cpu", "-lc10"])
    tandem = ([f"-I{BUILD}/compat/include", f"-I{ROOT}/include"], link_arguments)
    print("| program | libtorch | tandem | ratio | libtorch, size | tandem, size |\n|---|---|---|---|---|---|")
    for name in names:
        times, sizes = [[], []], []
        with tempfile.TemporaryDirectory() as folder:
            for side, (flags, link) in enumerate((libtorch, tandem)):
                source, path = os.path.join(HERE, "programs", name + ".cpp"), os.path.join(folder, f"{name}{side}")
                command = [compiler, "-std=c++20", "-O2", "-I", ROOT, *flags, "-c", source, "-o", path + ".o"]
                times[side] = [seconds(command) for _ in range(TRIES)]
                subprocess.run([compiler, path + ".o", "-o", path, *link(name)], check=True)
                sizes.append(sum(os.path.getsize(f) for f in [path, *libraries(path)]))
        a, b = (statistics.median(t) for t in times)
        print(f"| {name} | {a:.1f} s | {b:.1f} s | {b / a:.2f} | {sizes[0] / 1e6:.0f} MB | {sizes[1] / 1e6:.0f} MB |")


if __name__ == "__main__":
    main()
