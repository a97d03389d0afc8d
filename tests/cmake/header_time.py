#!/usr/bin/env python3
"""Compiles one header alone and fails when that takes longer than a limit.

Every file of a user's program includes the umbrella header, so its cost is paid many times over. Machines are shared:
processor time is what is measured, and the least of several tries counts. Exits 77 (skipped) when the compiler or the
header is missing.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--limit", type=float, required=True, help="seconds of processor time")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    if not shutil.which(args.compiler[0]):
        print(f"skipped: no {args.compiler[0]}")
        return SKIPPED
    if not os.path.exists(os.path.join(args.include, args.header)):
        print(f"skipped: no {args.header}")
        return SKIPPED
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "umbrella.cpp")
        with open(source, "w") as file:
            file.write(f"#include <{args.header}>\n")
        command = [*args.compiler, "-I", args.include, "-c", source, "-o", os.path.join(folder, "umbrella.o")]
        for _ in range(args.tries):
            start = children_seconds()
            result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
            seconds = children_seconds() - start
            if result.returncode != 0:
                print(" ".join(command), result.stdout, result.stderr, sep="\n")
                return 1
            best = min(best, seconds)
            print(f"{args.header}: {seconds:.2f} s (limit {args.limit:g} s)")
            if best <= args.limit:
                return 0
    print(f"{args.header} is too expensive to include: {best:.2f} s at best, the limit is {args.limit:g} s")
    return 1


if __name__ == "__main__":
    sys.exit(main())
