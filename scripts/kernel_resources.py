#!/usr/bin/env python3
"""Lists the resources of each CUDA kernel, from the compiler's report: registers, shared memory, stack, spills.

As a compiler launcher (CMake's TANDEM_KERNEL_REPORT) it stores ptxas's report next to each object. Otherwise it reads
these reports.

Usage: kernel_resources.py [--check] [--markdown FILE] BUILD_FOLDER     a table, the worst kernels first
       kernel_resources.py --launch COMPILER ARGUMENTS...               runs the compiler, writes OBJECT.resources

--check: exits 1 if a kernel spills registers to memory or keeps arrays there (a stack frame) and is not excused at the
top of this file, or if there is no report.
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
    ("unary::sinc,", 32, LARGE_ANGLES),
    ("unary::digamma,", 40, LARGE_ANGLES),
    ("unary::trigamma,", 40, LARGE_ANGLES),
    ("binary::sigmoid_backward, float", 8, "needed to fit 8 blocks on a multiprocessor"),
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


def families(kernels):
    """The instances of each kernel template, by file and name, sorted."""
    rows = collections.defaultdict(list)
    for k in kernels:
        rows[k.file, base_name(k.name)].append(k)
    return sorted(rows.items())


def markdown(kernels):
    lines = ["| file | kernel | instances | registers | shared memory, bytes | stack, bytes | spills, bytes |",
             "|---|---|---|---|---|---|---|"]
    for (file, name), group in families(kernels):
        low, high = min(k.registers for k in group), max(k.registers for k in group)
        registers = str(high) if low == high else f"{low} to {high}"
        cells = [file, f"`{name}`", len(group), registers, *(max(getattr(k, f) for k in group)
                                                            for f in ("shared", "stack", "spills"))]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def faults(kernels):
    for k in kernels:
        if k.stack <= excused_bytes(k):
            continue
        if k.spills:
            yield f"{k.file}: {k.name}: {k.spills} bytes of registers spilled to memory"
        else:
            yield f"{k.file}: {k.name}: a stack frame of {k.stack} bytes: an array is indexed at run time"


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
        print("\n".join(found + [f"kernel_resources: {len(kernels)} kernels, {len(found)} with faults"]))
        return 1 if found else 0
    print(markdown(kernels), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
