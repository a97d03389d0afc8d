#!/usr/bin/env python3
"""Counts the instructions per element of the hot CUDA kernels and predicts their share of an H100's memory bandwidth.

Each kernel of HOT is compiled for sm_90 and disassembled. Of all paths through the loop that makes the stated loads and
stores, once around, it takes the one with the fewest instructions in f64, and of these the one with the fewest
instructions. So the counts are lower bounds: the path goes past a nested loop, such as that of a fold, or through it as
rarely as the accesses allow. Of a kernel that converts dtypes at run time this selects the branches of the stated dtype.
The model: a multiprocessor issues 4 instructions of 32 threads per cycle, and memory reaches REACHABLE of its peak. It
does not regard that many GPUs execute instructions in f64 at 1/32 or 1/64 of the rate of f32.

Usage: kernel_instructions.py [--nvcc NVCC] [--nvdisasm NVDISASM] [--tree FOLDER] [--markdown FILE]

nvdisasm comes with the CUDA toolkit, and from PyPI as nvidia-cuda-nvdisasm. --markdown replaces the page's table.
"""
import argparse
import collections
import heapq
import pathlib
import re
import subprocess
import sys
import tempfile

# An H100 SXM: multiprocessors, clock in Hz, peak bandwidth in bytes/s (data sheet); the part that copies reach.
MULTIPROCESSORS, CLOCK, BANDWIDTH, REACHABLE = 132, 1.755e9, 3.35e12, 0.92

# what, file, pattern of the demangled kernel, elements per pass through the loop, bytes moved per element, the fewest
# bytes, and the accesses of a pass: loads and stores of 16, 8, 4, 2 and 1 bytes by width.
Hot = collections.namedtuple("Hot", "what file kernel elements bytes least loads stores")
HOT = [
    Hot("add, f16", "binary", r"visit_runs<float, float, 3ul.*binary::add, float>", 8, 6, 6, {16: 2}, {16: 1}),
    Hot("add, f32", "binary", r"visit_runs<float, float, 3ul.*binary::add, float>", 8, 12, 12, {16: 4}, {16: 2}),
    Hot("relu, f16", "unary", r"visit_runs<float, float, 2ul.*unary::relu, float>", 8, 4, 4, {16: 1}, {16: 1}),
    Hot("gelu, f16", "unary", r"visit_runs<float, float, 2ul.*unary::gelu, float>", 8, 4, 4, {16: 1}, {16: 1}),
    Hot("gelu_backward, f16", "binary", r"visit_runs<float, float, 3ul.*binary::gelu_backward, float>", 8, 6, 6,
        {16: 2}, {16: 1}),
    Hot("cast f32 to f16", "copy", r"copy_chunks<.*InlineTable<480ul>", 16, 6, 6, {16: 4}, {16: 2}),
    Hot("cast f16 to f32", "copy", r"copy_chunks<.*InlineTable<480ul>", 16, 6, 6, {16: 2}, {16: 4}),
    Hot("max_pool2d 2x2, f16, channels-last, per output", "pool", r"max_forward<.*Half, 8>", 8, 11, 11, {16: 4},
        {16: 1, 8: 1}),
    Hot("max_pool2d 2x2, backward, f16, channels-last, per output", "pool", r"max_scatter<.*Half, 8>", 8, 11, 11,
        {16: 1, 8: 1}, {16: 4}),
    Hot("max_pool2d 2x2, f16, per output", "pool", r"max_forward_runs<.*Half, 2>", 4, 11, 11, {16: 2}, {8: 1, 4: 1}),
    Hot("max_pool2d 2x2, backward, f16, per output", "pool", r"max_scatter_runs<.*Half>", 4, 11, 11, {8: 1, 4: 1},
        {16: 2}),
    Hot("max_pool2d 3x3, stride 2, f16, per output", "pool", r"max_forward_runs<.*Half, 3>", 4, 11, 11, {16: 3, 2: 3},
        {8: 1, 4: 1}),
    Hot("max_pool2d 3x3, stride 2, backward, f16, per input", "pool", r"max_backward_runs<.*Half>", 8, 2.75, 2.75,
        {8: 2, 4: 2, 2: 2, 1: 2}, {16: 1}),
    Hot("index_select, f16, whole rows", "index", r"take_each<.*Pack<unsigned long, 2>, long>", 8, 5, 5,
        {16: 1, 8: 1}, {16: 1}),
    Hot("embedding, backward, f16, whole rows", "index", r"add_terms<float, .*Half, long, 4>", 4, 10, 10, {8: 2}, {}),
    Hot("softmax, f16", "softmax", r"softmax_rows<float, false, true>", 8, 4, 4, {16: 1}, {16: 1}),
    Hot("softmax, backward, f16", "softmax", r"softmax_backward_rows<float, false, true>", 8, 6, 6, {16: 2}, {16: 1}),
    Hot("cross_entropy, f16", "cross_entropy", r"cross_entropy_rows<float, false, true>", 8, 2, 2, {16: 1}, {}),
    Hot("cross_entropy, backward, f16", "cross_entropy", r"cross_entropy_backward_rows<float, false>", 8, 4, 4, {16: 1},
        {16: 1}),
    # The sums are also read back. With fewer accesses, as in layer_norm, a path that writes sums and normalises nothing
    # would fit, too.
    Hot("add_layer_norm, f16 and f32, f32 weight and bias", "layer_norm", r"normalise_rows<float, true, true, true>", 8,
        14, 14, {16: 9}, {16: 4}),
    Hot("layer_norm, backward, gx, f16, f32 weight", "layer_norm", r"backward_rows<float, true, true, true>", 8, 6, 6,
        {16: 4, 4: 2}, {16: 1}),
    Hot("layer_norm, backward, gweight and gbias, f16", "layer_norm", r"sum_columns<float, .*2, 4>", 16, 4, 4,
        {8: 8, 4: 8}, {}),
    Hot("batch_norm, statistics, f16", "batch_norm", r"sum_channels<float, .*0>", 8, 2, 2, {16: 1}, {}),
    Hot("batch_norm, statistics, f16, channels-last", "batch_norm", r"sum_columns<float, .*0, 4>", 16, 2, 2, {8: 4}, {}),
    Hot("batch_norm, normalisation, f16", "batch_norm", r"map_channels<float, false>", 8, 4, 4, {16: 1, 4: 4}, {16: 1}),
    Hot("batch_norm, normalisation, f16, channels-last", "batch_norm", r"map_columns<float, false, 8>", 8, 4, 4, {16: 1},
        {16: 1}),
    Hot("batch_norm, backward, sums, f16", "batch_norm", r"sum_channels<float, .*1>", 8, 4, 4, {16: 2}, {}),
    Hot("batch_norm, backward, gx, f16", "batch_norm", r"map_channels<float, true>", 8, 6, 6, {16: 2, 4: 5}, {16: 1}),
    Hot("Adam, f32", "optim", r"update_list<.*Rule<float, .*Adam>.*InlineTable<480ul>", 4, 28, 28, {16: 4}, {16: 3}),
    Hot("SGD with momentum, f32", "optim", r"update_list<.*Rule<float, .*Sgd>.*InlineTable<480ul>", 4, 20, 20, {16: 3},
        {16: 2}),
    Hot("unscale, f16", "amp", r"process_list<.*InlineTable<480ul>", 8, 4, 4, {16: 1}, {16: 1}),
]

FUNCTION = re.compile(r"^(_Z\w+):")
LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]+\*/\s+(?:(@!?U?P\d+)\s+)?([A-Z][A-Z0-9_.]*)(.*?);")
TARGET = re.compile(r"\.L_x_\d+")
WIDTHS = {"128": 16, "64": 8, "U8": 1, "S8": 1, "U16": 2, "S16": 2}

F64_OPCODES = {"DADD", "DMUL", "DFMA", "DSETP"}

Step = collections.namedtuple("Step", "opcode guarded targets access width f64")


def width_of(opcode):
    return next((WIDTHS[part] for part in opcode.split(".") if part in WIDTHS), 4)


def functions(text):
    """The instructions and the labels of each function: {name: (steps, {label: index})}."""
    found, steps, labels = {}, None, None
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            steps, labels = found.setdefault(match[1], ([], {}))
        elif steps is None:
            continue
        elif match := LABEL.match(line):
            labels[match[1]] = len(steps)
        elif match := INSTRUCTION.match(line):
            guard, opcode, rest = match.groups()
            name = opcode.split(".")[0]
            access = {"LDG": "load", "STG": "store", "LD": "load", "ST": "store"}.get(name)
            branches = name in ("BRA", "BRX")
            steps.append(Step(name, guard is not None, TARGET.findall(rest) if branches else [], access,
                              width_of(opcode) if access else 0, name in F64_OPCODES or "F64" in opcode.split(".")))
    return found


def successors(i, steps, labels):
    step = steps[i]
    if step.opcode in ("RET", "EXIT") and not step.guarded or step.opcode == "CALL":  # a call is a slow path
        return []
    after = [labels[target] for target in step.targets if target in labels]
    if not step.targets or step.guarded:
        after.append(i + 1)
    return [j for j in after if j < len(steps)]


def fewest(steps, labels, loads, stores):
    """The instructions in f64 and all instructions of the cheapest closed path with these accesses, or None."""
    wanted = [(kind, width, count) for kind, widths in (("load", loads), ("store", stores))
              for width, count in widths.items()]
    place = {(kind, width): k for k, (kind, width, _) in enumerate(wanted)}
    goal = tuple(count for _, _, count in wanted)
    heads = {labels[t] for i, s in enumerate(steps) for t in s.targets if t in labels and labels[t] <= i}
    best = None
    for head in sorted(heads):
        queue, seen = [((0, 0), head, (0,) * len(goal))], set()
        while queue:
            cost, i, done = heapq.heappop(queue)
            f64, length = cost
            if best is not None and cost >= best:
                break
            if length and i == head and done == goal:
                best = cost
                break
            if (i, done) in seen and length:
                continue
            seen.add((i, done))
            step, after = steps[i], done
            if step.access:
                k = place.get((step.access, step.width))
                if k is None or done[k] == goal[k]:
                    if not step.guarded:
                        continue
                else:
                    after = done[:k] + (done[k] + 1,) + done[k + 1:]
            for j in successors(i, steps, labels):
                heapq.heappush(queue, ((f64 + step.f64, length + 1), j, after))
    return best


def disassemble(file, args, folder):
    cubin = folder / (file + ".cubin")
    subprocess.run([args.nvcc, "-cubin", "-arch=sm_90", "-O3", "-DNDEBUG", "-std=c++20",
                    "-DTANDEM_LEAST_ARCHITECTURE=75", f"-I{args.tree}/include", f"-I{args.tree}",
                    f"{args.tree}/kernels/cuda/{file}.cu", "-o", str(cubin)], check=True)
    return subprocess.run([args.nvdisasm, "-c", str(cubin)], check=True, capture_output=True, text=True).stdout


def named(found):
    names = list(found)
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(plain.splitlines(), (found[n] for n in names)))


def row(hot, kernels):
    """The cells of a kernel's row."""
    counts = [fewest(*kernel, hot.loads, hot.stores) for name, kernel in kernels.items() if re.search(hot.kernel, name)]
    counts = [c for c in counts if c]
    if not counts:
        raise SystemExit(f"kernel_instructions: {hot.what}: {hot.file}.cu has no such kernel or no such loop")
    f64, instructions = min(counts)
    per_element = instructions / hot.elements
    issued = MULTIPROCESSORS * CLOCK * 4 * 32 / per_element * hot.bytes  # bytes/s if only issuing took time
    share = min(REACHABLE, issued / BANDWIDTH)
    in_flight = sum(width * count for width, count in hot.loads.items())
    return [hot.what, f"{hot.file}.cu", f"{hot.bytes:g} ({hot.least:g})",
            f"{sum(hot.loads.values())} ({in_flight})", f"{per_element:.1f}", f"{f64 / hot.elements:.3g}",
            f"{share:.0%}".replace("%", " %")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--tree", default=str(pathlib.Path(__file__).resolve().parent.parent))
    parser.add_argument("--markdown", metavar="FILE")
    args = parser.parse_args()
    lines = ["| kernel | file | bytes per element (fewest possible) | loads in flight per thread (bytes) | instructions "
             "per element | of these in f64 | predicted share of an H100's peak bandwidth |", "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        kernels = {file: named(functions(disassemble(file, args, pathlib.Path(folder))))
                   for file in sorted({hot.file for hot in HOT})}
    for hot in HOT:
        lines.append("| " + " | ".join(row(hot, kernels[hot.file])) + " |")
    table = "\n".join(lines) + "\n"
    if args.markdown:
        page = pathlib.Path(args.markdown)
        head, _, rest = page.read_text().partition("<!-- instructions -->\n")
        page.write_text(head + "<!-- instructions -->\n" + table + "<!-- end of instructions -->" +
                        rest.partition("<!-- end of instructions -->")[2])
    else:
        print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
