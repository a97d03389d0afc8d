#!/usr/bin/env python3
"""Checks that the output shown in a document is what the program prints: every line of a block indented by four spaces
must be among the program's lines, in this order. Numbers may differ, because processors differ.

Usage: check_output.py DOCUMENT PROGRAM [ARGUMENTS...]
"""
import re
import subprocess
import sys


def words(line):
    """Returns the words of a line, with N for words that contain a digit, and without the bars of histograms."""
    return ["N" if re.search(r"\d", word) else word for word in line.split() if word.strip("#")]


def missing_lines(shown, printed):
    """Returns the lines shown in the document that the program does not print after the line before."""
    missing, at = [], 0
    for line in shown:
        try:
            at = printed.index(words(line), at) + 1
        except ValueError:
            missing.append(line)
    return missing


def self_test():
    printed = [words(line) for line in ("op  f16", "linear  0  3", "2^4  1  ###", "relu  7")]
    assert not missing_lines(["op f16", "linear  1  44", "relu  2"], printed)
    assert not missing_lines(["2^5  12 ########"], printed)
    assert missing_lines(["relu  2", "linear  0  3"], printed) == ["linear  0  3"]
    assert missing_lines(["softmax  2"], printed)


def main():
    self_test()
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
    shown = [line[4:] for line in text.splitlines() if line.startswith("    ") and not line.lstrip().startswith("- ")]
    result = subprocess.run(sys.argv[2:], capture_output=True, text=True, check=True)
    missing = missing_lines(shown, [words(line) for line in result.stdout.splitlines()])
    for line in missing:
        print(f"{sys.argv[1]}: not printed: {line}")
    print(f"output: {len(shown)} lines, {len(missing)} wrong")
    return 1 if missing or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
