#!/usr/bin/env python3
"""Copies the PTX out of the CUDA objects of a build: one file for each .cu file, for one architecture.

The build must embed it as text: CMAKE_CUDA_ARCHITECTURES=90 (not 90-real), CMAKE_CUDA_FLAGS=--compress-mode=none.

Usage: ptx_extract.py BUILD_FOLDER ARCHITECTURE OUT_FOLDER
"""
import pathlib
import re
import sys

TARGET = re.compile(rb"^\.target sm_(\w+)", re.MULTILINE)


def texts(data):
    """The PTX texts of an object: each begins with its version and ends with a zero byte."""
    at = 0
    while (at := data.find(b"\n.version ", at)) >= 0:
        end = data.index(b"\0", at)
        yield data[at + 1 : end]
        at = end


def main(build, architecture, out):
    objects = sorted(pathlib.Path(build).rglob("*.cu.o"))
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for path in objects:
        found = [t for t in texts(path.read_bytes()) if TARGET.search(t)[1].decode() == architecture]
        if len(found) != 1:
            sys.exit(f"{path} has {len(found)} PTX texts for sm_{architecture}, not 1; see --help")
        (out / path.name.replace(".cu.o", ".ptx")).write_bytes(found[0])
    if not objects:
        sys.exit(f"{build} has no CUDA objects")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
