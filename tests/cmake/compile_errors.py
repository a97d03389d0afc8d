#!/usr/bin/env python3
"""Compiles a wrong program and checks the messages: each mistake must be explained early, with the program's line.

A line of the program that ends in `// error: TEXT` must give one error whose message has TEXT. The program's line must
be named before it, and the output may have at most `--most` lines per error. Exits 77 (skipped) without a
compiler.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which(args.compiler[0]):
        print(f"skipped: no {args.compiler[0]}")
        return SKIPPED
    with open(args.program) as file:
        expected = [(number, match.group(1)) for number, line in enumerate(file, 1)
                    if (match := re.search(r"// error: (.*)$", line))]
    command = [*args.compiler, "-fsyntax-only", "-I", args.include, args.program]
    result = subprocess.run(command, capture_output=True, text=True,
                            env={**os.environ, "CCACHE_DISABLE": "1", "LC_ALL": "C"})
    lines = result.stderr.splitlines()
    errors = [i for i, line in enumerate(lines) if " error: " in line]
    faults = [] if result.returncode else ["the program compiles"]
    if len(errors) != len(expected):
        faults.append(f"{len(errors)} errors, {len(expected)} are expected")
    if len(lines) > args.most * len(expected):
        faults.append(f"{len(lines)} lines for {len(expected)} errors")
    start = 0
    for at, (number, text) in zip(errors, expected):
        if text not in lines[at]:
            faults.append(f"'{text}' is not in: {lines[at]}")
        place = f"{os.path.basename(args.program)}:{number}:"
        if not any(place in line for line in lines[start:at + 1]):
            faults.append(f"{place} is not named before: {lines[at]}")
        start = at
    if faults:
        print(" ".join(command), result.stderr, *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
