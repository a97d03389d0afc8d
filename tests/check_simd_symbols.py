#!/usr/bin/env python3
"""Checks objects compiled for AVX2 and AVX-512: symbols that the linker may share must name the SIMD level.

The linker keeps one copy of an inline function or template that several objects define (a weak symbol). If it kept one
compiled for AVX-512, an older processor would crash in code that looks harmless. A weak symbol is safe if its name
contains that of the instruction set: it is in that namespace, or is a template over a type from there.
Fix: move the helper into namespace TANDEM_SIMD, make it static, or mark it always-inline.

Usage: check_simd_symbols.py [--nm NM] OBJECT...
"""
import argparse
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", default="nm")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    bad = 0
    for path in args.objects:
        listing = subprocess.run([args.nm, "--defined-only", path], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            parts = line.split(maxsplit=2)
            # W: weak code. Data (V, u) has no instructions; DW.ref.* are references in the exception tables.
            if len(parts) != 3 or parts[1] != "W" or re.search("avx2|avx512", parts[2]):
                continue
            name = subprocess.run(["c++filt", parts[2]], capture_output=True, text=True).stdout.strip() or parts[2]
            print(f"{path}: shares {name} with objects for older processors")
            bad += 1
    print(f"simd symbols: {len(args.objects)} objects, {bad} bad symbols")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
