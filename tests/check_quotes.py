#!/usr/bin/env python3
"""Checks that the C++ code in documents is quoted from files that are compiled: every ```cpp block must be in the file
named as `[path](...)` before it, line for line apart from indentation. `...` alone on a line skips lines of that file.
DOCUMENT#HEADING stands for one section of a document.

Usage: check_quotes.py DOCUMENT[#HEADING]...
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = re.compile(r"\[([\w/.-]+\.(?:cpp|cu|h|inc))\]\(")


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def stands_in(block, source):
    """Returns whether the pieces of a block, separated by '...', are in a source, in this order."""
    at = 0
    pieces = [[]]
    for line in block:
        if line == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    for piece in filter(None, pieces):
        starts = [i for i in range(at, len(source) - len(piece) + 1) if source[i:i + len(piece)] == piece]
        if not starts:
            return False
        at = starts[0] + len(piece)
    return True


def section_of(text, heading):
    """Returns the section below `## heading`."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, flags=re.S | re.M)
    return match[1] if match else ""


def check(document):
    """Returns the messages for one document, and the number of its blocks."""
    path, _, heading = document.partition("#")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"```cpp\n(.*?)```", section_of(text, heading) if heading else text, flags=re.S)
    messages = [] if len(parts) > 1 or not heading else [f"{document}: no such section with C++ code"]
    for number in range(1, len(parts), 2):
        named = SOURCE.findall(parts[number - 1].rstrip().rsplit("\n\n", 1)[-1])
        if not named:
            messages.append(f"{document}: block {number // 2 + 1} names no source file before it")
            continue
        with open(os.path.join(ROOT, named[-1]), encoding="utf-8") as file:
            source = lines_of(file.read())
        if not stands_in(lines_of(parts[number]), source):
            messages.append(f"{document}: block {number // 2 + 1} differs from {named[-1]}")
    return messages, len(parts) // 2


def self_test():
    source = ["a", "b", "c", "d"]
    assert stands_in(["b", "c"], source) and stands_in(["a", "...", "d"], source)
    assert not stands_in(["a", "c"], source) and not stands_in(["d", "...", "a"], source)
    text = "# x\n## a\n1\n### b\n2\n## c\n3\n"
    assert section_of(text, "a") == "1\n### b\n2\n" and section_of(text, "c") == "3\n" and not section_of(text, "b")


def main():
    self_test()
    messages, blocks = [], 0
    for document in sys.argv[1:]:
        found, count = check(document)
        messages += found
        blocks += count
    for message in messages:
        print(message)
    print(f"quotes: {blocks} blocks, {len(messages)} wrong")
    return 1 if messages or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
