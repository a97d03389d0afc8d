"""Ops for differential_calls.py: elementwise, copies and reductions."""
import math
import os
import re

import torch
import torch.nn.functional as F

from differential_calls import FLOATING, INTEGERS, SPECIAL, define

# ---- one operand
# The ops of include/tandem/math/unary.inc, and square.
with open(os.path.join(os.path.dirname(__file__), "../../include/tandem/math/unary.inc"), encoding="utf-8") as rows:
    UNARY = re.findall(r"^TANDEM_UNARY_OP\((\w+),", rows.read(), re.M) + ["square"]


def one(m):
    m.any_dtype()
    m.tensor(m.sizes(), special="all")


def one_floating(m):
    m.tensor(m.sizes(), special="all")


for name in UNARY:  # those of torch.nn.functional refuse integers
    in_torch = getattr(torch, name, None)
    define(name, lambda x, a, f=in_torch or getattr(F, name): f(x[0]), one if in_torch else one_floating)


def draw_gelu(m):
    one_floating(m)
    m.args["approximate"] = m.rng.choice(["none", "tanh"])


define("gelu", lambda x, a: F.gelu(x[0], approximate=a.approximate), draw_gelu)


def writable(m, sizes, **more):
    """Draws an operand that is written: no two of its elements share memory."""
    m.tensor(sizes, dense=m.chance(0.5), **more)
    if 0 in m.inputs[-1]["strides"]:
        m.inputs[-1]["strides"] = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
        m.bases[-1]["count"] = m.inputs[-1]["offset"] + max(1, math.prod(sizes))


def written(x):
    """In-place ops need a result if x requires grad, because a leaf must not be changed."""
    return x.clone() if x.requires_grad else x


def in_place(name, draw, **more):
    define(name, lambda x, a, f=more.pop("run", None): f(written(x[0]), x, a), draw, direct=True, **more)


def draw_in_place(m):
    writable(m, m.sizes(), special="all")


for name in ["neg_", "abs_", "reciprocal_", "sqrt_", "rsqrt_", "exp_", "log_", "relu_", "sigmoid_", "tanh_"]:
    in_place(name, draw_in_place, run=lambda y, x, a, f=getattr(torch.Tensor, name): f(y))


# ---- two operands
def two(m):
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    m.other(sizes, special="all")


def with_number(m):
    m.any_dtype()
    m.tensor(m.sizes(), special="all")
    m.args["number"] = abs(m.number()) if m.dtype == "u8" else m.number()  # PyTorch's 3 < -1 is true for u8


def draw_alpha(m):
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes)
    m.other(sizes)
    m.args["alpha"] = m.rng.choice([1, 2, -3] if m.dtype in INTEGERS else [1, 2, -0.5])


define("add", lambda x, a: torch.add(x[0], x[1], alpha=a.alpha), draw_alpha)
define("sub", lambda x, a: torch.sub(x[0], x[1], alpha=a.alpha), draw_alpha)
for name in ["mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
             "logical_xor", "pow"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), two)


def floating(x):
    """Draws floating operands: PyTorch's gradient of atan2 squares integers in their own dtype, which overflows."""
    common = torch.result_type(*x)
    common = common if common.is_floating_point else torch.float32
    return [t if t.is_floating_point() else t.to(common) for t in x]


define("atan2", lambda x, a: torch.atan2(*floating(x)), two)
for name in ["add", "sub", "rsub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge"]:
    define(name + "_number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), with_number)
define("rpow_number", lambda x, a: torch.pow(a.number, x[0]), with_number)


def draw_clamp(m):
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "bool" else m.dtype  # tandem has no clamp of bool
    m.tensor(m.sizes(), special="all")
    low = m.rng.choice([0, -1, 0.25] if m.dtype in SPECIAL else [0, -1, 3])
    m.args["min"], m.args["max"] = m.rng.choice([(low, None), (None, low), (low, low + 2), (low, low - 1)])


define("clamp", lambda x, a: torch.clamp(x[0], a.min, a.max), draw_clamp)


def draw_where(m):
    sizes = m.sizes()
    m.tensor(sizes, dtype="bool")
    m.any_dtype()
    m.tensor(sizes, special="all")
    m.other(sizes, special="all")


define("where", lambda x, a: torch.where(x[0], x[1], x[2]), draw_where, exact=True)


def draw_in_place_two(m):
    sizes = m.sizes()
    writable(m, sizes)
    kind = m.rng.random()
    if kind < 0.15 and not m.grad:  # the written tensor itself, or its mirror image
        return m.inputs.append(dict(m.inputs[0]))
    shape = [1 if m.chance(0.3) else s for s in sizes] if kind < 0.5 else sizes
    return m.tensor(shape, dtype=m.rng.choice(FLOATING) if kind > 0.85 else None)


def draw_in_place_pow(m):
    sizes = m.sizes()
    writable(m, sizes, fill="uniform", low=0.25, high=2.0)
    m.tensor(sizes)


in_place("add_", draw_in_place_two, run=lambda y, x, a: y.add_(x[1], alpha=2))
in_place("sub_", draw_in_place_two, run=lambda y, x, a: y.sub_(x[1]))
in_place("mul_", draw_in_place_two, run=lambda y, x, a: y.mul_(x[1]))
in_place("div_", draw_in_place_two, run=lambda y, x, a: y.div_(x[1]))
in_place("pow_", draw_in_place_pow, run=lambda y, x, a: y.pow_(x[1]))
in_place("copy_", draw_in_place_two, run=lambda y, x, a: y.copy_(x[1]))


def draw_addcmul(m):
    sizes = m.sizes()
    writable(m, sizes)
    m.tensor(sizes)
    m.tensor([1 if m.chance(0.3) else s for s in sizes])
    m.args["number"] = m.rng.choice([1, 2, -0.5])


in_place("addcmul_", draw_addcmul, run=lambda y, x, a: y.addcmul_(x[1], x[2], value=a.number), roundings=2,
         scale=lambda x: operand(x[:1]) + 2 * operand(x[1:2]) * operand(x[2:]))


def draw_fill(m):
    writable(m, m.sizes())
    m.args["number"] = m.number()


in_place("fill_", draw_fill, run=lambda y, x, a: y.fill_(a.number))
in_place("zero_", draw_in_place, run=lambda y, x, a: y.zero_())


# ---- reductions
def reduced(m, special="tame", low=1, integers=True):
    if integers:
        m.any_dtype()
    sizes = m.sizes(low=low)
    m.tensor(sizes, special=special)
    m.sum = max(1, math.prod(sizes))
    return sizes


def draw_sum(m):
    sizes = reduced(m)
    m.args.update(dims=m.dims(sizes), keepdim=m.chance(0.5))
    if m.chance(0.2):
        m.args["dtype"] = m.rng.choice(["f32", "f64"])


def draw_mean(m):
    sizes = reduced(m, integers=False)
    m.args.update(dims=m.dims(sizes), keepdim=m.chance(0.5))


def draw_var(m):
    draw_mean(m)
    m.args["correction"] = m.rng.choice([0, 1, 2])


def draw_norm(m):
    draw_mean(m)
    m.args["p"] = m.rng.choice([1, 2, 2.0, "inf", 3, 2.5])


def operand(x):
    """Returns the largest finite absolute value of the operands."""
    finite = [float(t.detach().double().abs().nan_to_num(0, 0, 0).max()) for t in x if t.numel()]
    return max(finite + [2.0**-30])


define("sum", lambda x, a: torch.sum(x[0], a.dims, a.keepdim, dtype=a.dtype), draw_sum, scale=operand)
define("mean", lambda x, a: torch.mean(x[0], a.dims, a.keepdim), draw_mean, scale=operand)


def draw_cumsum(m):
    sizes = reduced(m)
    m.args["dim"] = m.dim(sizes)
    if m.chance(0.2):
        m.args["dtype"] = m.rng.choice(["f32", "f64"])


define("cumsum", lambda x, a: torch.cumsum(x[0], a.dim, dtype=a.dtype), draw_cumsum, scale=operand)
define("var", lambda x, a: torch.var(x[0], a.dims, correction=a.correction, keepdim=a.keepdim), draw_var,
       scale=lambda x: operand(x) ** 2)
define("norm", lambda x, a: torch.linalg.vector_norm(x[0], a.p, a.dims, a.keepdim), draw_norm, roundings=2,
       scale=lambda x: 8 * operand(x))


def draw_dim(m):
    sizes = reduced(m, special="all")
    m.args.update(dim=m.dim(sizes), keepdim=m.chance(0.5))


def draw_all(m):
    reduced(m, special="all")


def draw_any(m):
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "u8" else m.dtype  # of u8 PyTorch's result is u8
    m.tensor(m.sizes(), special="all")


for name in ["max", "min"]:
    define(name + "_dim", lambda x, a, f=getattr(torch, name): f(x[0], a.dim, a.keepdim), draw_dim, exact=True)
    define(name + "_all", lambda x, a, f=getattr(torch, name): f(x[0]), draw_all, exact=True)
    define("arg" + name, lambda x, a, f=getattr(torch, "arg" + name): f(x[0], a.dim, a.keepdim), draw_dim, exact=True)
define("any", lambda x, a: torch.any(x[0]), draw_any)
define("all", lambda x, a: torch.all(x[0]), draw_any)


def draw_softmax(m):
    sizes = reduced(m, integers=False)
    m.args["dim"] = m.dim(sizes)
    if m.chance(0.2):
        m.args["dtype"] = m.rng.choice(["f32", "f64"])


define("softmax", lambda x, a: torch.softmax(x[0], a.dim, dtype=a.dtype), draw_softmax, roundings=2, scale=lambda x: 1.0)
define("log_softmax", lambda x, a: torch.log_softmax(x[0], a.dim, dtype=a.dtype), draw_softmax, roundings=2,
       scale=lambda x: 8 + operand(x))

import differential_layers  # noqa: E402,F401  the others
