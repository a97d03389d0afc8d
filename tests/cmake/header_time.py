#!/usr/bin/env python3
"""Compiles one header alone and fails if that takes longer than a limit.

Every file of a user's program includes the umbrella header, so its cost is paid many times. Machines are shared, so the
script measures processor time and takes the least of several tries. If the standard library's headers alone take longer
than `--yardstick` seconds, the machine is slow or busy, and the limit grows in proportion. Exits 77 (skipped) if the
compiler or the header is missing.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
STANDARD = ["algorithm", "array", "concepts", "functional", "memory", "optional", "string", "tuple", "unordered_map",
            "vector"]


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_seconds(command, folder, headers):
    """Returns the processor time to compile a file that includes the headers; exits if that fails."""
    source = os.path.join(folder, "headers.cpp")
    with open(source, "w") as file:
        file.writelines(f"#include <{header}>\n" for header in headers)
    whole = [*command, "-c", source, "-o", os.path.join(folder, "headers.o")]
    start = children_seconds()
    result = subprocess.run(whole, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    if result.returncode != 0:
        print(" ".join(whole), result.stdout, result.stderr, sep="\n")
        sys.exit(1)
    return children_seconds() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--limit", type=float, required=True, help="seconds of processor time")
    parser.add_argument("--yardstick", type=float, default=float("inf"),
                        help="seconds for the standard headers on the machine that the limit is meant for")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which(args.compiler[0]):
        print(f"skipped: no {args.compiler[0]}")
        return SKIPPED
    if not os.path.exists(os.path.join(args.include, args.header)):
        print(f"skipped: no {args.header}")
        return SKIPPED
    command = [*args.compiler, "-I", args.include]
    best = standard = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.tries):
            best = min(best, compile_seconds(command, folder, [args.header]))
            standard = min(standard, compile_seconds(command, folder, STANDARD))
            limit = args.limit * max(1, standard / args.yardstick)
            print(f"{args.header}: {best:.2f} s, standard headers: {standard:.2f} s, limit: {limit:.2f} s")
            if best <= limit:
                return 0
    print(f"{args.header} is too expensive to include: {best:.2f} s at best, the limit is {limit:.2f} s")
    return 1


if __name__ == "__main__":
    sys.exit(main())
