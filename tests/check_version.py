#!/usr/bin/env python3
"""Checks that files which repeat the version of include/tandem/version.h agree with it."""
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def found(pattern, path):
    match = re.search(pattern, read(path), re.M)
    return match.group(1) if match else None


def main():
    header = read("include/tandem/version.h")
    version = ".".join(re.findall(r"^#define TANDEM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
    stated = {
        "CHANGELOG.md (the first heading of a version)": found(r"^## \[(\d[^]]*)\]", "CHANGELOG.md"),
        "CITATION.cff": found(r"^version: (\S+)$", "CITATION.cff"),
        "packaging/vcpkg/ports/tandem/vcpkg.json":
            json.loads(read("packaging/vcpkg/ports/tandem/vcpkg.json"))["version-semver"],
    }
    wrong = {path: other for path, other in stated.items() if other != version}
    for path, other in wrong.items():
        print(f"{path} has version {other}, include/tandem/version.h has {version}")
    print(f"version {version}: {len(stated)} files, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
