#!/usr/bin/env python3
"""Generates random op calls, computes them with PyTorch, and runs the test program on them (random_ops_test.cpp).

    scripts/torch_venv.sh                                        # once: .venv-torch with PyTorch for the CPU
    .venv-torch/bin/python tests/soak/differential.py --seed 7 --seconds 600
    .venv-torch/bin/python tests/soak/differential.py --record   # writes the selection that CI replays, calls.jsonl.gz

A call is a line of JSON: an op, its arguments, and its inputs as (sizes, strides, offset) over one-dimensional bases whose
numbers come from the formula of tests/golden/counter.py. The line also has PyTorch's results, as bytes in hex, and the
tolerance of each result, from tests/support/tolerance.h. Results are computed in the dtypes of the call and again in
f64; a number that agrees with either is correct.
"""
import argparse
import gzip
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "golden")]
import counter  # noqa: E402
import differential_calls  # noqa: E402

DTYPES = differential_calls.DTYPES
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ROUNDOFF = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


def numbers(base):
    """Returns the numbers of a base as f64; the same as numbers() in random_calls.cpp."""
    seed, count = base["seed"], base["count"]
    if base["fill"] in ("distinct", "ascending"):
        ranks = counter.bits(seed, count).argsort(kind="stable").argsort(kind="stable").astype(np.float64)
        if base["fill"] == "ascending":  # with equal neighbours
            ranks = np.floor(np.arange(count) * 0.75)
        values = (base["low"] + ranks) * base["scale"]
    elif base["fill"] == "integers":
        values = counter.integers(seed, count, base["low"], base["high"])
    elif base["fill"] == "uniform":
        values = base["low"] + (base["high"] - base["low"]) * counter.unit(seed, count)
    else:
        values = counter.normal(seed, count) * base["scale"]
    special = [float(v) for v in base["special"]]
    if special:
        bits = counter.bits(seed + 1, count)
        chosen = np.array(special)[((bits >> np.uint64(8)) % np.uint64(len(special))).astype(np.int64)]
        values = np.where(bits % np.uint64(3) == 0, chosen, values)
    return torch.from_numpy(values)


def make_inputs(call, wide):
    bases = []
    for base in call["bases"]:
        x = numbers(base).to(DTYPES[base["dtype"]])
        if x.is_floating_point():  # PyTorch's conversion of NaN to bf16 sets its sign, which signbit shows
            x = x.where(~x.isnan(), math.nan)
        bases.append(x.double() if wide and x.is_floating_point() else x)
    inputs = []
    for spec in call["inputs"]:
        x = bases[spec["base"]].as_strided(spec["sizes"], spec["strides"], spec["offset"])
        inputs.append(x.detach().requires_grad_() if spec["grad"] else x)
    return bases, inputs


def run(call, wide):
    """Returns (outputs, gradients of the inputs that require grad; None for inputs without a gradient)."""
    bases, inputs = make_inputs(call, wide)
    args = dict(call["args"])
    if wide and args.get("dtype") in ROUNDOFF:
        args["dtype"] = "f64"
    outputs = differential_calls.OPS[call["op"]].torch(inputs, differential_calls.Arguments(args))
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    if call["direct"]:
        outputs = bases
    wanted = [x for x in inputs if x.requires_grad]
    roots = [(i, y) for i, y in enumerate(outputs) if y.requires_grad]
    if not (roots and wanted):
        return outputs, []
    weights = [torch.from_numpy(counter.normal(1000 + i, y.numel())).reshape(y.shape).to(y.dtype) for i, y in roots]
    return outputs, torch.autograd.grad([y for _, y in roots], wanted, weights, allow_unused=True)


def largest(tensors):
    finite = [x.detach().double().abs()[x.detach().isfinite()] for x in tensors if x.is_floating_point()]
    return max([float(x.max()) for x in finite if x.numel()] + [0.0])


def tolerance(dtype, op, call, scale, backward):
    """As tolerance() in tests/support/tolerance.h, but each rounding to f16 may be one of a subnormal number."""
    if dtype not in ROUNDOFF or (op.exact and not backward):
        return 0.0, 0.0
    wide = dtype == "f64" and call["args"].get("dtype", "f64") == "f64"
    if backward and call["op"].endswith("_"):  # gradients pass through the written tensor's dtype
        written = call["bases"][call["inputs"][0]["base"]]["dtype"]
        dtype = written if ROUNDOFF[written] > ROUNDOFF[dtype] else dtype
        wide = wide and written == "f64"
    compute = ROUNDOFF["f64" if wide else "f32"]
    rtol, atol = 8 * compute, compute * (8 + call["sum"]) * scale
    if wide:
        rtol, atol = rtol + op.f64, atol + op.f64 * max(1.0, scale)
    if op.relative:
        rtol += compute * call["sum"]
    if dtype in ("f16", "bf16"):
        roundings = op.roundings + (4 if backward else 0)
        rtol += 1.01 * ROUNDOFF[dtype]
        atol += (roundings - 1) * ROUNDOFF[dtype] * scale + (roundings * 2.0**-25 if dtype == "f16" else 0)
    return rtol, atol


def hexed(x):
    flat = torch.empty(x.numel(), dtype=x.dtype).copy_(x.detach().reshape(-1))
    return flat.view(torch.uint8).numpy().tobytes().hex()


def described(native, wide, op, call, scale, backward):
    if native is None:
        return None
    dtype = NAMES[native.dtype]
    rtol, atol = tolerance(dtype, op, call, scale, backward)
    entry = {"dtype": dtype, "sizes": list(native.shape), "grad": native.requires_grad, "rtol": rtol, "atol": atol,
             "hex": hexed(native)}
    if wide is not None and wide.shape == native.shape and native.is_floating_point():
        a, b = native.detach().double(), wide.detach().double()
        same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= 0.25 * (atol + rtol * b.abs()))
        if not bool(same.all()):
            entry["reference"] = hexed(b)
    return entry


def recorded(call):
    """Returns the call with PyTorch's results, or None if PyTorch refuses it."""
    op = differential_calls.OPS[call["op"]]
    try:
        outputs, gradients = run(call, wide=False)
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        return None, str(error)
    try:
        wide_outputs, wide_gradients = run(call, wide=True)
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
        wide_outputs, wide_gradients = [None] * len(outputs), [None] * len(gradients)
    inputs = make_inputs(call, wide=True)[1]
    size = largest(inputs)
    scale = op.scale(inputs) if op.scale else min(1.0, max(size, largest(outputs), 2.0**-100))
    result = dict(call)
    result["outputs"] = [described(y, w, op, call, scale, False) for y, w in zip(outputs, wide_outputs)]
    # Gradients are bounded by products of the operands and the weights, which are below 4. The bound is finite.
    sizes = min(1e300, 4 * max(1.0, scale, size, largest([g for g in gradients if g is not None])))
    result["gradients"] = [described(g, w, op, call, sizes, True) for g, w in zip(gradients, wide_gradients)]
    for gradient in filter(None, result["gradients"]):
        gradient["grad"] = False  # PyTorch's gradient of nothing may be the input itself
    return result, ""


def make_calls(seed, count, chosen):
    """Returns `count` calls, of all ops in turn, and what PyTorch refused."""
    made, refused, ops = [], {}, []
    rng = random.Random(seed)
    while len(made) < count:
        if not ops:
            ops = list(chosen or differential_calls.OPS)
            rng.shuffle(ops)
        op = ops.pop()
        for _ in range(60):
            result, error = recorded(differential_calls.make_call(rng, op))
            if result is not None:
                made.append(json.dumps(result, separators=(",", ":"), allow_nan=False))
                break
            refused.setdefault(op, []).append(error.split("\n")[0])
        else:
            sys.exit(f"{op}: PyTorch refuses all calls: {refused[op][-1]}")
    return made, refused


def write(path, lines):
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(("\n".join(lines) + "\n").encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", default=os.path.join(ROOT, "build/release/tests/soak_test"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000, help="calls in a round")
    parser.add_argument("--seconds", type=float, default=0, help="continue with further seeds for this many seconds")
    parser.add_argument("--record", action="store_true", help="only write calls.jsonl.gz next to this file")
    parser.add_argument("--keep", metavar="PATH", help="write the calls to PATH and keep the file")
    parser.add_argument("--ops", nargs="+", help="only these ops")
    parser.add_argument("--refused", action="store_true", help="list what PyTorch refused")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start, seed, failed, total = time.time(), args.seed, 0, 0
    while True:
        lines, refused = make_calls(seed, args.count, args.ops)
        if args.refused:
            for op, errors in sorted(refused.items()):
                print(f"{len(errors):5} {op}: {errors[0]}")
        if args.record:
            path = os.path.join(HERE, "calls.jsonl.gz")
            write(path, lines)
            print(f"{len(lines)} calls, {os.path.getsize(path) / 1024:.0f} KiB, PyTorch {torch.__version__}")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = args.keep or os.path.join(folder, "calls.jsonl.gz")
            write(path, lines)
            code = subprocess.run([args.test, "--gtest_brief=1", "--gtest_filter=*RandomOps*"],
                                  env={**os.environ, "TANDEM_SOAK_CALLS": path}).returncode
        total += len(lines)
        if code != 0:
            failed += 1
            print(f"reproduce with: .venv-torch/bin/python tests/soak/differential.py --seed {seed} --count {args.count}",
                  flush=True)
        seed += 1
        if time.time() - start >= args.seconds:
            break
    print(f"{total} calls compared with PyTorch {torch.__version__}, {failed} of {seed - args.seed} rounds failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
