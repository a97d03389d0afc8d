#!/usr/bin/env python3
"""Checks that the C++ code in documents is quoted from files that are compiled: every ```cpp block must be in the file
named as `[path](...)` in the paragraph before it, or else in that of the block before it, line for line apart from
indentation. `...` alone on a line skips lines of that file. If the paragraph before a table names a file and ends in a colon, the file must contain the code in
the table's last column, outside comments.

Usage: check_quotes.py [DOCUMENT...]        without arguments, README.md and its neighbours, and docs/*.md
"""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = re.compile(r"\[([\w/.-]+\.(?:cpp|cu|h|inc))\]\(")
BLOCK = re.compile(r"```(?:cpp|c\+\+|cuda)\n(.*?)```", flags=re.S)
TABLE = re.compile(r"([^\n]+):\n\n((?:\|[^\n]*\n)+)")


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


def code_of_table(table):
    """Returns the code in the last column of a table, without its two header lines."""
    return [code for row in lines_of(table)[2:] for code in re.findall("`([^`]+)`", row.rsplit(" | ", 1)[-1])]


def contains(source, code):
    """Returns whether a source has a piece of code, as whole words, outside comments."""
    text = " ".join(re.sub("//.*", "", source).split())
    before, after = r"(?<!\w)" if code[0].isalnum() else "", r"(?!\w)" if code[-1].isalnum() else ""
    return re.search(before + re.escape(code) + after, text) is not None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check(document):
    """Returns the messages for one document, and the number of its blocks and pieces of code in tables."""
    text = read(document)
    name = os.path.relpath(document, ROOT)
    messages, count, file = [], 0, None
    for match in BLOCK.finditer(text):
        count += 1
        named = SOURCE.findall(text[:match.start()].rstrip().rsplit("\n\n", 1)[-1])
        file = named[-1] if named else file
        if not file:
            messages.append(f"{name}: block {count} names no source file before it")
        elif not stands_in(lines_of(match[1]), lines_of(read(os.path.join(ROOT, file)))):
            messages.append(f"{name}: block {count} differs from {file}")
    for match in TABLE.finditer(text):
        named = SOURCE.findall(text[:match.end(1)].rsplit("\n\n", 1)[-1])
        if named:
            codes, source = code_of_table(match[2]), read(os.path.join(ROOT, named[-1]))
            messages += [f"{name}: {named[-1]} lacks {code}" for code in codes if not contains(source, code)]
            count += len(codes)
    return messages, count


def self_test():
    source = ["a", "b", "c", "d"]
    assert stands_in(["b", "c"], source) and stands_in(["a", "...", "d"], source)
    assert not stands_in(["a", "c"], source) and not stands_in(["d", "...", "a"], source)
    assert code_of_table("| x | y |\n|---|---|\n| `a` | `b`, or `c d` ([e](e.md)) |\n") == ["b", "c d"]
    assert contains("f(a,\n  b);", "f(a, b)") and not contains("// f(a)", "f(a)")
    assert not contains("kHalfs, ykHalf", "kHalf") and contains("kHalfs, kHalf", "kHalf")


def main():
    self_test()
    messages, total = [], 0
    documents = sys.argv[1:] or sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md")))
    for document in documents:
        found, count = check(document)
        messages += found
        total += count
    for message in messages:
        print(message)
    print(f"quotes: {total} blocks and expressions, {len(messages)} wrong")
    return 1 if messages or not total else 0


if __name__ == "__main__":
    sys.exit(main())
