#!/usr/bin/env python3
"""Runs a program and compares what it prints with what it printed with libtorch.

Usage: tests/libtorch/compare_program.py EXPECTED PROGRAM

Lines that end in a number are compared with tolerance: 1e-4, relative above 1, grown by 1 % per line, because rounding
errors grow in training. Other lines must be equal, with `tandem` for `torch` in names of modules.
"""
import os
import re
import subprocess
import sys

NUMBER = re.compile(r"^(?P<name>\S.*?) (?P<value>-?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan))$")


def main():
    expected_path, program = sys.argv[1:]
    with open(expected_path, encoding="utf-8") as file:
        expected = file.read().replace("torch::", "tandem::").splitlines()
    run = subprocess.run([program], capture_output=True, text=True, cwd=os.path.dirname(os.path.dirname(expected_path)))
    actual = run.stdout.replace("torch::", "tandem::").splitlines()  # expressions that the program prints
    faults = [] if run.returncode == 0 else [f"exit status {run.returncode}: {run.stderr}"]
    if len(actual) != len(expected):
        faults.append(f"{len(actual)} lines, expected {len(expected)}")
    for number, (line, wanted) in enumerate(zip(actual, expected), 1):
        got, want = NUMBER.match(line), NUMBER.match(wanted)
        if got and want and got["name"] == want["name"]:
            a, b = float(got["value"]), float(want["value"])
            if a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * max(1, abs(b)) * 1.01**number:
                continue
        elif line == wanted:
            continue
        faults.append(f"line {number}: {line!r}, with libtorch {wanted!r}")
    if faults:
        print(program, *faults[:20], sep="\n")
    else:
        print(f"{len(actual)} lines agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
