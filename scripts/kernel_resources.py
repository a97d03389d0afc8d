#!/usr/bin/env python3
"""Lists the resources of each CUDA kernel, from the compiler's report: registers, shared memory, stack, spills.

As a compiler launcher (CMake's TANDEM_KERNEL_REPORT) it stores ptxas's report next to each object. Otherwise it reads
these reports.

Usage: kernel_resources.py [--check] [--markdown FILE] BUILD_FOLDER     a table, the worst kernels first
       kernel_resources.py --launch COMPILER ARGUMENTS...               runs the compiler, writes OBJECT.resources

The table has the most registers of any instance of a kernel template on each architecture, and the most bytes of the
rest. --check: exits 1 if a kernel spills registers to memory or keeps arrays there (a stack frame) on any architecture
and is not excused at the top of this file, or if there is no report.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

# Kernels that may keep values in memory: part of the name, the bytes allowed, and the reason.
LARGE_ANGLES = "CUDA's own functions reduce large angles with a table in memory"
EXCUSES = [
    ("<double", 1 << 20, "f64 is for checks of gradients, not for speed"),
    ("unary::sin,", 32, LARGE_ANGLES),
    ("unary::cos,", 32, LARGE_ANGLES),
    ("unary::tan,", 32, LARGE_ANGLES),
    ("unary::sinc,", 40, LARGE_ANGLES),
    ("unary::digamma,", 40, LARGE_ANGLES),
    ("unary::trigamma,", 40, LARGE_ANGLES),
    ("unary::i0, float", 8, "needed to fit 4 blocks on a multiprocessor"),
    ("gradient_of_queries<tandem::", 16, "takes all 255 registers of a thread on compute capability 10 and 12"),
]

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
REPORT_LINE = re.compile(r"^ptxas info\s*:|bytes stack frame|^ptxas info$")

Kernel = collections.namedtuple("Kernel", "file name arch registers shared stack spills")


def launch(command):
    """Runs a compiler; writes ptxas's report on kernels next to the object, and the other messages to stderr."""
    result = subprocess.run(command + ["-Xptxas=-v"], stderr=subprocess.PIPE, text=True, errors="replace")
    report = []
    for line in result.stderr.splitlines(keepends=True):
        if REPORT_LINE.search(line):
            report.append(line)
        else:
            sys.stderr.write(line)
    if "-o" in command and result.returncode == 0:
        pathlib.Path(command[command.index("-o") + 1] + ".resources").write_text("".join(report))
    return result.returncode


def parse(file, text):
    """The kernels of one report. Functions that are called, not launched, are counted with the kernel before them."""
    kernels, current = [], None
    for line in text.splitlines():
        if found := ENTRY.search(line):
            current = {"file": file, "name": found[1], "arch": found[2], "registers": 0, "shared": 0, "stack": 0,
                       "spills": 0}
            kernels.append(current)
        elif current and (found := FRAME.search(line)):
            current["stack"] = max(current["stack"], int(found[1]))
            current["spills"] += int(found[2]) + int(found[3])
        elif current and (found := USED.search(line)):
            current["registers"] = int(found[1])
            shared = SHARED.search(line)
            current["shared"] = int(shared[1]) if shared else 0
    return [Kernel(**k) for k in kernels]


def demangled(names):
    try:
        result = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return list(names)
    return result.stdout.splitlines()


def base_name(name):
    """softmax_kernel of `void tandem::cuda::(anonymous namespace)::softmax_kernel<float, 4>(Args)`."""
    name = name.replace("(anonymous namespace)::", "")
    return re.sub(r"[<(].*", "", name).split("::")[-1].split(" ")[-1]


def read(build):
    kernels = []
    for path in sorted(pathlib.Path(build).rglob("*.cu.o.resources")):
        kernels += parse(path.name.removesuffix(".o.resources"), path.read_text())
    names = demangled([k.name for k in kernels])
    return [k._replace(name=n) for k, n in zip(kernels, names)]


def excused_bytes(kernel):
    return max((count for part, count, _ in EXCUSES if part in kernel.name), default=0)


def architectures(kernels):
    return sorted({k.arch for k in kernels}, key=lambda arch: (len(arch), arch))


def families(kernels):
    """The instances of each kernel template on all architectures, by file and name, sorted."""
    rows = collections.defaultdict(list)
    for k in kernels:
        rows[k.file, base_name(k.name)].append(k)
    return sorted(rows.items())


def markdown(kernels):
    archs = architectures(kernels)
    head = ["file", "kernel", "instances", *(f"sm_{a}" for a in archs), "shared memory", "stack", "spills"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (file, name), group in families(kernels):
        registers = [max((k.registers for k in group if k.arch == a), default="-") for a in archs]
        cells = [file, f"`{name}`", len({k.name for k in group}), *registers, max(k.shared for k in group),
                 most(group, "stack"), most(group, "spills")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def most(group, field):
    """The maximum of a field; if it differs between architectures, the maximum on each that is not 0."""
    worst = {a: max(getattr(k, field) for k in group if k.arch == a) for a in architectures(group)}
    if len(set(worst.values())) == 1:
        return next(iter(worst.values()))
    return ", ".join(f"{value} on sm_{a}" for a, value in worst.items() if value)


def faults(kernels):
    for k in kernels:
        if k.stack <= excused_bytes(k):
            continue
        where = f"{k.file}: sm_{k.arch}: {k.name}"
        if k.spills:
            yield f"{where}: {k.spills} bytes of registers spilled to memory"
        else:
            yield f"{where}: a stack frame of {k.stack} bytes: an array is indexed at run time"


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--launch":
        return launch(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", metavar="FILE", help="replace the table in this page, between its two markers")
    args = parser.parse_args()
    kernels = read(args.build)
    if not kernels:
        print(f"kernel_resources: no report in {args.build}; configure with -DTANDEM_KERNEL_REPORT=ON and build")
        return 1
    if args.markdown:
        page = pathlib.Path(args.markdown)
        head, _, rest = page.read_text().partition("<!-- table -->\n")
        page.write_text(head + "<!-- table -->\n" + markdown(kernels) + "<!-- end -->" +
                        rest.partition("<!-- end -->")[2])
    found = list(faults(kernels))
    if args.check:
        archs = ", ".join(f"sm_{a}" for a in architectures(kernels))
        print("\n".join(found + [f"kernel_resources: {len(kernels)} kernels for {archs}, {len(found)} with faults"]))
        return 1 if found else 0
    print(markdown(kernels), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
