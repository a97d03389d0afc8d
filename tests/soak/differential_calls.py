"""Random op calls: for each op, its computation in PyTorch and the drawing of its arguments. The modules imported at the
end define the ops, a family each; random_*_ops.cpp have the same ops under the same names.

To have another op called, add a line `define(name, how PyTorch computes it, how its arguments are drawn)`."""
import importlib
import math

import torch

DTYPES = {
    "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "bool": torch.bool, "bf16": torch.bfloat16,
}
FLOATING = ["f32", "f32", "f32", "f64", "f16", "bf16"]
INTEGERS = ["i64", "i32", "i16", "i8", "u8", "bool"]
SPECIAL = {
    "f16": [0, -0.0, math.inf, -math.inf, math.nan, 65504, -65504, 2.0**-24, -2.0**-15, 1, -1, 2.0**-14],
    "bf16": [0, -0.0, math.inf, -math.inf, math.nan, 2.0**127, -2.0**127, 2.0**-126, 2.0**-130, 1, -1],
    "f32": [0, -0.0, math.inf, -math.inf, math.nan, 2.0**127, -2.0**127, 2.0**-126, 2.0**-149, 1, -1, 88, -104, 2.0**-24],
    "f64": [0, -0.0, math.inf, -math.inf, math.nan, 1e300, -1e300, 2.0**-1022, 2.0**-1074, 1, -1, 710, -745, 2.0**-53],
}
TAME = [0, -0.0, 1, -1, 0.5]  # for sums: their order must not matter
LIMITS = {"u8": (0, 256), "i8": (-128, 128), "i16": (-300, 300), "i32": (-9, 10), "i64": (-9, 10), "bool": (0, 2)}


class Arguments:
    """The arguments of a call by name."""

    def __init__(self, values):
        self.values = values

    def __getattr__(self, name):
        v = self.values.get(name)
        if name == "dtype":
            return None if v is None else DTYPES[v]
        return float(v) if v in ("inf", "-inf") else v

    __getitem__ = __getattr__


class Op:
    """One op.

    exact: results are moved values, without rounding
    roundings: how often a value is rounded to a low dtype, as in tests/support/tolerance.h
    scale: a function of the inputs in f64: the largest number that may have been rounded
    relative: rounding errors grow with the length of the sum relative to the result, as in a product of many numbers
    f64: the error of PyTorch's own results in f64, with which there is nothing better to compare
    direct: the op writes its first input
    """

    def __init__(self, torch_function, draw, exact=False, roundings=1, scale=None, relative=False, f64=0.0, direct=False):
        self.torch, self.draw, self.exact, self.roundings, self.scale = torch_function, draw, exact, roundings, scale
        self.relative, self.f64, self.direct = relative, f64, direct


class Maker:
    """One call while its arguments are drawn."""

    def __init__(self, rng):
        self.rng = rng
        self.bases, self.inputs, self.args, self.sum = [], [], {}, 1
        self.dtype = rng.choice(FLOATING)
        self.grad = rng.random() < 0.6

    def chance(self, p):
        return self.rng.random() < p

    def sizes(self, rank=None, low=1):
        if rank is None:
            rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 4])
        sizes = [self.rng.randint(low, [0, 19, 6, 4, 3][min(rank, 4)]) for _ in range(rank)]
        if rank and low == 1 and self.chance(0.04):
            sizes[self.rng.randrange(rank)] = 0
        return sizes

    def layout(self, sizes):
        """Returns (strides, offset, number of elements that the base needs)."""
        n, kind = len(sizes), self.rng.choice(["dense", "dense", "permuted", "gaps", "expanded", "offset", "last"])
        order = list(range(n))
        if kind == "permuted":
            self.rng.shuffle(order)
        elif kind == "last" and n == 4:
            order = [0, 2, 3, 1]
        strides, step = [0] * n, self.rng.choice([2, 3]) if kind == "gaps" else 1
        for d in reversed(order):
            strides[d] = step
            step *= max(sizes[d], 1)
            if kind == "gaps" and self.chance(0.3):
                step += self.rng.randint(1, 3)
        if kind == "expanded" and n:
            strides[self.rng.randrange(n)] = 0
        offset = self.rng.randint(1, 5) if kind in ("gaps", "offset") else 0
        return strides, offset, offset + 1 + sum(max(s - 1, 0) * t for s, t in zip(sizes, strides))

    def tensor(self, sizes, dtype=None, fill="normal", low=None, high=None, special="tame", grad=True, dense=False):
        dtype = dtype or self.dtype
        strides, offset, count = self.layout(sizes)
        if dense:
            strides, offset = [math.prod(sizes[i + 1:]) for i in range(len(sizes))], 0
            count = math.prod(sizes)
        floating = dtype in SPECIAL
        if fill == "distinct":
            low = -(count // 2) if low is None else low
        elif not floating:
            fill = "integers"
            if low is None:
                low, high = LIMITS[dtype]
        elif low is None:
            low, high = 0.0, 1.0
        values = []
        if floating and fill == "normal" and self.chance(0.3):
            values = {"all": SPECIAL[dtype], "tame": TAME, "none": []}[special]
        scale = 1.0
        if fill == "normal" and self.chance(0.15):
            scale = 2.0 ** self.rng.choice([-20, -10, 3])
        self.bases.append({"dtype": dtype, "count": count, "fill": fill, "seed": self.rng.getrandbits(48), "low": low,
                           "high": high, "scale": scale, "special": [str(v) for v in values]})
        return self.view(len(self.bases) - 1, sizes, strides, offset, grad)

    def view(self, base, sizes, strides, offset, grad=True):
        floating = self.bases[base]["dtype"] in SPECIAL
        self.inputs.append({"base": base, "sizes": sizes, "strides": strides, "offset": offset,
                            "grad": floating and grad and self.grad})
        return sizes

    def other(self, sizes, **more):
        """Draws a second operand: broadcast, the same tensor, another view of it, or of another dtype."""
        kind = self.rng.random()
        if kind < 0.1:
            return self.inputs.append(dict(self.inputs[-1]))
        if kind < 0.2 and len(sizes) == 2 and sizes[0] == sizes[1]:
            last = self.inputs[-1]
            return self.view(last["base"], sizes, last["strides"][::-1], last["offset"])
        shape = list(sizes)
        if kind < 0.5:
            shape = [1 if self.chance(0.4) else s for s in shape][self.rng.randint(0, len(shape)):]
        if kind > 0.8:
            more["dtype"] = self.rng.choice(FLOATING + INTEGERS)
        return self.tensor(shape, **more)

    def any_dtype(self):
        if self.chance(0.3):
            self.dtype = self.rng.choice(INTEGERS)

    def dim(self, sizes):
        return self.rng.randrange(-len(sizes), len(sizes)) if sizes else self.rng.choice([0, -1])

    def dims(self, sizes):
        chosen = [d for d in range(len(sizes)) if self.chance(0.5)] or ([0] if sizes else [])
        self.rng.shuffle(chosen)
        return [d - len(sizes) if self.chance(0.3) else d for d in chosen]

    def shape_like(self, sizes):
        """Draws sizes that broadcast to `sizes`."""
        return [1 if self.chance(0.3) else s for s in sizes][self.rng.randint(0, len(sizes)) if self.chance(0.3) else 0:]

    def number(self):
        return self.rng.choice([0, 1, -1, 2, 3, 0.5, -2.5, 1.0, 0.1, 7])


def make_call(rng, op):
    m = Maker(rng)
    OPS[op].draw(m)
    direct = OPS[op].direct and all(not x["grad"] for x in m.inputs)
    return {"op": op, "args": m.args, "bases": m.bases, "inputs": m.inputs, "sum": m.sum, "direct": direct}


OPS = {}


def define(name, torch_function, draw, **more):
    OPS[name] = Op(torch_function, draw, **more)


# The families, which fill OPS.
for family in ["elementwise", "in_place", "geometry", "indexing", "reductions", "sorting", "products", "layers",
               "losses", "convolutions", "sampling", "recurrence"]:
    importlib.import_module("differential_" + family)
