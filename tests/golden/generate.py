#!/usr/bin/env python3
"""Computes the golden values of the case table with PyTorch and writes manifest.json and <family>.bin to its folder.

    scripts/torch_venv.sh                                   # once: .venv-torch with PyTorch for the CPU
    cmake --build --preset release --target tandem_ops_test
    .venv-torch/bin/python tests/golden/generate.py [--cases build/release/tests/ops_test]

The test program lists the cases as JSON lines (--list-cases). Values are computed in f64 from the f32 inputs and stored
rounded to f32; dtypes are those of PyTorch's results for f32 inputs.
"""
import argparse
import datetime
import json
import math
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

import counter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DTYPES = {
    "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "bool": torch.bool, "bf16": torch.bfloat16,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LETTERS = "abcdefghijkl"


def numbers(spec):
    """Returns the numbers of one input, in row-major order."""
    count = math.prod(spec["sizes"])
    fill = spec["fill"]
    if fill == "values":
        data = np.array(spec["list"], dtype=np.float64)
    elif fill == "normal":
        data = counter.normal(spec["seed"], count)
    elif fill == "uniform":
        data = spec["low"] + (spec["high"] - spec["low"]) * counter.unit(spec["seed"], count)
    elif fill == "integers":
        data = counter.integers(spec["seed"], count, int(spec["low"]), int(spec["high"]))
    elif fill == "boolean":
        data = counter.integers(spec["seed"], count, 0, 2)
    else:
        raise ValueError(f"unknown fill {fill}")
    return torch.from_numpy(data.astype(np.float32).astype(np.float64)).reshape(spec["sizes"])


def make_input(spec, dtype):
    dtype = DTYPES[spec["dtype"]] if "dtype" in spec else dtype
    x = numbers(spec).to(dtype)
    layout = spec["layout"]
    if layout == "transposed":
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    elif layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
    elif layout == "gaps":
        storage = torch.zeros(2 * max(1, x.numel()), dtype=dtype)
        x = storage.as_strided(x.shape, [2 * s for s in x.stride()]).copy_(x).detach()
    return x.requires_grad_() if spec["grad"] else x


def run(case, dtype):
    inputs = [make_input(spec, dtype) for spec in case["inputs"]]
    names = {"torch": torch, "F": F, **dict(zip(LETTERS, inputs))}
    outputs = eval(case["torch"], names)  # the expressions come from this repository
    return inputs, list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def output_gradient(y, index):
    return torch.from_numpy(counter.normal(1000 + index, y.numel())).reshape(y.shape).to(y.dtype)


def flat(x):
    """Returns the values as f32 in row-major order."""
    values = x.detach().to(torch.float64).reshape(-1).numpy()
    if not x.dtype.is_floating_point and np.any(np.abs(values) > 2**24):
        raise ValueError("an integer result does not fit in f32")
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def golden(case):
    """Returns (outputs for the manifest, values)."""
    _, typed = run(case, torch.float32)
    inputs, outputs = run(case, torch.float64)
    values = [flat(y) for y in outputs]
    roots = [(i, y) for i, y in enumerate(outputs) if y.requires_grad]
    wanted = [x for x in inputs if x.requires_grad]
    if roots and wanted:
        gradients = torch.autograd.grad(
            [y for _, y in roots], wanted, [output_gradient(y, i) for i, y in roots], allow_unused=True)
        for x, g in zip(wanted, gradients):
            values.append(flat(torch.zeros_like(x) if g is None else g))
    described = [[NAMES[t.dtype], list(t.shape), y.requires_grad] for t, y in zip(typed, outputs)]
    return described, np.concatenate(values) if values else np.zeros(0, np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=os.path.join(ROOT, "build/release/tests/ops_test"),
                        help="the test program, or a file with what its --list-cases printed")
    args = parser.parse_args()
    if os.access(args.cases, os.X_OK):
        listing = subprocess.run([args.cases, "--list-cases"], check=True, capture_output=True, text=True).stdout
    else:
        with open(args.cases, encoding="utf-8") as file:
            listing = file.read()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    entries, files, failed = {}, {}, 0
    for line in listing.splitlines():
        case = json.loads(line, parse_int=lambda text: -0.0 if text == "-0" else int(text))  # a number is listed as -0
        if not case["torch"]:
            continue
        try:
            outputs, values = golden(case)
        except Exception as error:  # report every bad case, not only the first
            print(f"{case['case']}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
            continue
        data = files.setdefault(case["family"], [])
        at = sum(len(v) for v in data)
        data.append(values)
        entries[case["case"]] = {"hash": counter.fnv1a(line), "at": at, "outputs": outputs}
    if failed:
        sys.exit(f"{failed} cases failed; nothing was written")

    total = 0
    for family, data in files.items():
        path = os.path.join(HERE, family + ".bin")
        np.concatenate(data).astype("<f4").tofile(path)
        total += os.path.getsize(path)
    with open(os.path.join(HERE, "manifest.json"), "w", encoding="utf-8") as file:
        made = json.dumps(torch.__version__), json.dumps(datetime.date.today().isoformat())
        file.write('{\n"torch": %s,\n"date": %s,\n"cases": {\n' % made)
        file.write(",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()))
        file.write("\n}\n}\n")
    print(f"{len(entries)} cases, {total / 1024:.0f} KiB, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
