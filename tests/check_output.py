#!/usr/bin/env python3
"""Checks that the output shown in a document is what the program prints: every line of a block indented by four spaces
must be among the program's lines, in this order. Numbers may differ, because processors differ. DOCUMENT#HEADING stands
for one section of a document; --any-order is for tables that are sorted by time.

Usage: check_output.py [--any-order] DOCUMENT[#HEADING] PROGRAM [ARGUMENTS...]
"""
import argparse
import re
import subprocess
import sys


def words(line):
    """Returns the words of a line, with N for numbers (not for names such as f16), and without bars of histograms."""
    return ["N" if re.search(r"^[^A-Za-z]*\d", word) else word for word in line.split() if word.strip("#")]


def missing_lines(shown, printed, any_order=False):
    """Returns the lines shown in the document that the program does not print (in order: after the line before)."""
    missing, at = [], 0
    for line in shown:
        try:
            found = printed.index(words(line), at)
        except ValueError:
            missing.append(line)
            continue
        if any_order:
            printed = printed[:found] + printed[found + 1:]
        else:
            at = found + 1
    return missing


def section_of(text, heading):
    """Returns the section below `## heading`."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, flags=re.S | re.M)
    return match[1] if match else ""


def self_test():
    printed = [words(line) for line in ("op  f16", "linear  0  3", "2^4  1  ###", "relu  7")]
    assert not missing_lines(["op f16", "linear  1  44", "relu  2"], printed)
    assert not missing_lines(["2^5  12 ########"], printed)
    assert missing_lines(["relu  2", "linear  0  3"], printed) == ["linear  0  3"]
    assert missing_lines(["softmax  2"], printed) and missing_lines(["op  f32"], printed)
    assert not missing_lines(["relu  2", "linear  0  3"], printed, any_order=True)
    assert missing_lines(["relu  2", "relu  3"], printed, any_order=True) == ["relu  3"]
    text = "# x\n## a\n1\n### b\n2\n## c\n3\n"
    assert section_of(text, "a") == "1\n### b\n2\n" and section_of(text, "c") == "3\n" and not section_of(text, "b")


def main():
    self_test()
    parser = argparse.ArgumentParser()
    parser.add_argument("--any-order", action="store_true")
    parser.add_argument("document")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    path, _, heading = args.document.partition("#")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
    text = section_of(text, heading) if heading else text
    shown = [line[4:] for line in text.splitlines() if line.startswith("    ") and not line.lstrip().startswith("- ")]
    result = subprocess.run(args.program, capture_output=True, text=True, check=True)
    missing = missing_lines(shown, [words(line) for line in result.stdout.splitlines()], args.any_order)
    for line in missing:
        print(f"{args.document}: not printed: {line}")
    print(f"output: {len(shown)} lines, {len(missing)} wrong")
    return 1 if missing or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
