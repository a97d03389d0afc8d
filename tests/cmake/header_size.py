#!/usr/bin/env python3
"""Fails if a header includes too much text.

Every file of a user's program includes the umbrella header, so its cost is paid many times. Times of compilers depend
on what else the machine does, so the script compares sizes after the preprocessor: what the header brings, over what
the standard library's headers bring that most programs include anyway.
"""
import argparse
import subprocess
import sys

STANDARD = ["algorithm", "array", "concepts", "functional", "memory", "optional", "string", "tuple", "unordered_map",
            "vector"]


def preprocessed_bytes(command, headers):
    source = "".join(f"#include <{header}>\n" for header in headers)
    return len(subprocess.run([*command, "-E", "-P", "-x", "c++", "-"], input=source.encode(), stdout=subprocess.PIPE,
                              check=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--limit", type=float, required=True, help="bytes over those of the standard headers")
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    command = [*args.compiler, "-I", args.include]
    size, standard = preprocessed_bytes(command, [args.header]), preprocessed_bytes(command, STANDARD)
    print(f"{args.header}: {size} bytes, {size / standard:.2f} times the standard headers; limit: {args.limit}")
    return 0 if size <= args.limit * standard else 1


if __name__ == "__main__":
    sys.exit(main())
