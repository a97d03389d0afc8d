#!/usr/bin/env python3
"""Compiles a wrong program and checks the messages: each mistake must be explained early, with the program's line.

The first error for a line of the program that ends in `// error: TEXT` must have TEXT, and other lines must have no
error. A message belongs to the line of the program that the compiler named last. Each mistake may have at most `--most`
lines of messages, without the notes of how the compiler came to a file. Exits 77 (skipped) without a compiler.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--most", type=int, default=15)
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which(args.compiler[0]):
        print(f"skipped: no {args.compiler[0]}")
        return SKIPPED
    with open(args.program) as file:
        expected = {number: match.group(1) for number, line in enumerate(file, 1)
                    if (match := re.search(r"// error: (.*)$", line))}
    includes = [flag for folder in args.include for flag in ("-I", folder)]
    command = [*args.compiler, "-fsyntax-only", *includes, args.program]
    result = subprocess.run(command, capture_output=True, text=True,
                            env={**os.environ, "CCACHE_DISABLE": "1", "LC_ALL": "C"})
    lines = result.stderr.splitlines()
    faults = [] if result.returncode else ["the program compiles"]
    place = re.compile(re.escape(os.path.basename(args.program)) + r":(\d+):")
    first, lengths, number = {}, Counter(), None
    for line in lines:
        if match := place.search(line):
            number = int(match.group(1))
        if " error: " in line:
            first.setdefault(number, line)
        if not re.match("(In file included|  +)from ", line):
            lengths[number] += 1
    for number in sorted({*first, *expected}, key=lambda n: n or 0):
        if number not in expected:
            faults.append(f"line {number} has an error that is not expected: {first[number]}")
        elif expected[number] not in first.get(number, ""):
            faults.append(f"line {number}: '{expected[number]}' is not in: {first.get(number, 'no error')}")
    faults += [f"line {n}: {lengths[n]} lines of messages" for n in expected if lengths[n] > args.most]
    if faults:
        print(" ".join(command), result.stderr, *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
