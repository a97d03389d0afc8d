#!/usr/bin/env python3
"""Compiles all public headers together and fails if the compiler warns: users may compile with strict warnings."""
import argparse
import os
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow"]


def public_headers(include):
    """Returns relative paths, without the -inl.h files, whose function bodies the library compiles."""
    for folder, _, names in os.walk(include):
        for name in names:
            if name.endswith(".h") and not name.endswith("-inl.h"):
                yield os.path.relpath(os.path.join(folder, name), include)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True)
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "headers.cpp")
        with open(source, "w") as file:
            file.writelines(f"#include <{header}>\n" for header in sorted(public_headers(args.include)))
        command = [*args.compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, "-I", args.include, source]
        result = subprocess.run(command, capture_output=True, text=True)
    sys.stdout.write(result.stderr)
    return 1 if result.returncode or "warning:" in result.stderr else 0


if __name__ == "__main__":
    sys.exit(main())
