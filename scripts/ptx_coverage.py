#!/usr/bin/env python3
"""Says which kernels and which instructions of nvcc's PTX the tests have executed (TANDEM_PTX_COVERAGE).

Usage: ptx_coverage.py COVERAGE_FOLDER PTX_FOLDER [--check] [--list] [--markdown FILE] [--select FILE]

An instruction is a line of a kernel's or a function's text. --check: exits 1 if a kernel, or more than 3 % of the
instructions, was not executed. --list prints what was not. --markdown writes the table by file. --select writes the
programs and tests that together execute what all tests of the folder do, the cheap ones first: a line each, the
program's name and a filter of Google Test.
"""
import argparse
import collections
import heapq
import pathlib
import re
import sys

LEAST_INSTRUCTIONS = 0.97
ENTRY = re.compile(r"\.entry\s+(\w+)")
INSTRUCTION = re.compile(r"(?:@!?%p\d+ )?[a-z][\w.]*[\s;]")  # not .reg, labels, braces, lists of arguments

Test = collections.namedtuple("Test", "program name seconds executed")


def read_ptx(folder):
    """The instructions, {(file, line): kernel}, and the kernels, {(file, kernel)}. Those of a function belong to the
    kernel before it."""
    instructions, kernels = {}, set()
    for path in sorted(pathlib.Path(folder).glob("*.ptx")):
        kernel = ""
        for number, line in enumerate(map(str.strip, path.read_text().splitlines()), 1):
            if found := ENTRY.search(line):
                kernel = found[1]
                kernels.add((path.name, kernel))
            elif INSTRUCTION.match(line) and not line.startswith("call"):
                instructions[path.name, number] = kernel
    return instructions, kernels


def executed_lines(ranges):
    """{(file, line)} of {(file, "first-last")}."""
    lines = set()
    for file, text in ranges:
        first, _, last = text.partition("-")
        lines.update((file, n) for n in range(int(first), int(last or first) + 1))
    return lines


def read_coverage(folder):
    tests = []
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        for line in path.read_text().splitlines():
            kind, *fields = line.split(" ")
            if kind == "test":
                tests.append(Test(path.name.split(".")[0], fields[0], float(fields[1]), []))
            else:
                file, kernel, *ranges = fields
                tests[-1].executed.append((file, kernel, ranges))
    return tests


def adding(tests):
    """The tests, cheap ones first, that execute an instruction that none before them does."""
    ranges_seen, seen, kept = set(), set(), []
    for test in sorted(tests, key=lambda t: t.seconds):
        ranges = {(f, text) for f, _, texts in test.executed for text in texts} - ranges_seen
        new = executed_lines(ranges) - seen
        ranges_seen |= ranges
        seen |= new
        if new:
            kept.append(test)
    return kept


def select(tests):
    """A greedy cover: again and again the test with the most new instructions per second."""
    tests = adding(tests)
    covers = [executed_lines({(f, text) for f, _, texts in t.executed for text in texts}) for t in tests]
    left = set().union(*covers)
    start = 0.05  # seconds that a test takes besides its kernels
    queue = [(-len(c) / (t.seconds + start), n) for n, (t, c) in enumerate(zip(tests, covers))]
    heapq.heapify(queue)
    chosen = []
    while left and queue:
        _, n = heapq.heappop(queue)
        value = -len(covers[n] & left) / (tests[n].seconds + start)
        if queue and value > queue[0][0]:
            heapq.heappush(queue, (value, n))
        elif value < 0:
            chosen.append(tests[n])
            left -= covers[n]
    return chosen


def write_selection(path, tests):
    chosen = select(tests)
    by_program = collections.defaultdict(list)
    for test in chosen:
        by_program[test.program].append(test.name)
    lines = ["# Made by scripts/ptx_coverage.py --select."]
    lines += [f"{program} {':'.join(sorted(names))}" for program, names in sorted(by_program.items())]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")
    print(f"selected {len(chosen)} of {len(tests)} tests; their kernels took {sum(t.seconds for t in chosen):.0f} s "
          f"of {sum(t.seconds for t in tests):.0f} s")


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("coverage")
    parser.add_argument("ptx")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--select")
    options = parser.parse_args()

    instructions, kernels = read_ptx(options.ptx)
    tests = read_coverage(options.coverage)
    ran = {(file, kernel) for t in tests for file, kernel, _ in t.executed}
    executed = executed_lines({(file, text) for t in tests for file, _, texts in t.executed for text in texts})
    executed &= instructions.keys()
    by_file = collections.defaultdict(lambda: [0, 0, 0, 0])
    for key in kernels:
        by_file[key[0]][0] += key in ran
        by_file[key[0]][1] += 1
    for key in instructions:
        by_file[key[0]][2] += key in executed
        by_file[key[0]][3] += 1
    if options.list:
        for file, kernel in sorted(kernels - ran):
            print(f"not executed: {file} {kernel}")
        text = {}
        for file, n in sorted(instructions.keys() - executed):
            if (file, instructions[file, n]) in ran:
                lines = text.setdefault(file, (pathlib.Path(options.ptx) / file).read_text().splitlines())
                print(f"not executed: {file}:{n}: {lines[n - 1].strip()}")
    if options.markdown:
        rows = ["| file | kernels executed | of | instructions executed | of |", "|---|---|---|---|---|"]
        rows += [f"| {file.removesuffix('.ptx')}.cu | {a} | {b} | {c} | {d} |" for file, (a, b, c, d) in
                 sorted(by_file.items())]
        pathlib.Path(options.markdown).write_text("\n".join(rows) + "\n")
    if options.select:
        write_selection(options.select, tests)
    print(f"kernels executed: {share(len(ran & kernels), len(kernels))}")
    print(f"instructions executed: {share(len(executed), len(instructions))}")
    complete = not kernels - ran and len(executed) >= LEAST_INSTRUCTIONS * len(instructions)
    return 0 if complete or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
