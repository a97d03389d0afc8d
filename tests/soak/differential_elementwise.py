"""Element-wise ops. The other side is random_elementwise_ops.cpp."""
import math
import os
import re

import torch
import torch.nn.functional as F

from differential_calls import INTEGERS, SPECIAL, define
from differential_draws import (IN_F64, divided, floating, one, one_floating, one_integer, one_positive, one_tame, operand,
                                options, rounded_number, sinc, softsign, tame_floating, two, two_floating, two_integers,
                                two_tame, two_to_the, with_number, within_eps, without_gradient)

# ---- one operand
# The ops of include/tandem/math/unary.inc, and some more.
with open(os.path.join(os.path.dirname(__file__), "../../include/tandem/math/unary.inc"), encoding="utf-8") as rows:
    UNARY = re.findall(r"^TANDEM_UNARY_OP\((\w+),", rows.read(), re.M)
UNARY += ["square", "frac", "deg2rad", "rad2deg", "positive", "isreal", "silu", "mish", "selu", "relu6", "hardsigmoid",
          "hardswish"]



for name in UNARY:
    in_torch = getattr(torch, name, None) or getattr(torch.special, name.removeprefix("special_"), None)
    in_torch = {"sinc": sinc, "softsign": softsign}.get(name, in_torch)
    draw = one if in_torch else one_floating  # those of torch.nn.functional refuse integers
    more = IN_F64.get(name, {})
    if name in ("lgamma", "softsign", "selu", "relu6", "hardswish"):
        draw = one_tame
    if name in ("i0", "special_i1"):
        draw = lambda m: m.tensor(m.sizes(), fill="uniform", low=-8.0, high=8.0)
        more = {"scale": lambda x: 1e3}  # of the size of the results
    if name == "digamma":
        draw = one_positive
    if name != "trigamma":
        define(name, lambda x, a, f=in_torch or getattr(F, name): f(x[0]), draw, **more)
define("trigamma", lambda x, a: torch.polygamma(1, x[0]), without_gradient(one_positive), **IN_F64["digamma"])
define("bitwise_not", lambda x, a: torch.bitwise_not(x[0]), one_integer)


def draw_logit(m):
    m.tensor(m.sizes(), **m.rng.choice([{"special": "all"}, {"fill": "uniform"}]))
    m.args["eps"] = m.rng.choice([None, None, 0.1, 0.25])


define("logit", lambda x, a: torch.logit(x[0], a.eps), within_eps(draw_logit))
define("round.decimals", lambda x, a: torch.round(x[0], decimals=a.decimals), options(one, decimals=[-2, -1, 0, 1, 2, 3]))
draw_nan_to_num = options(one, nan=[None, 0.5], posinf=[None, 7.0], neginf=[None, -2.0])
define("nan_to_num", lambda x, a: torch.nan_to_num(x[0], a.nan, a.posinf, a.neginf), draw_nan_to_num)


def draw_clamp(m):
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "bool" else m.dtype  # tandem has no clamp of bool
    m.tensor(m.sizes(), special="all")
    low = m.rng.choice([0, -1, 0.25] if m.dtype in SPECIAL else [0, -1, 3])
    m.args["min"], m.args["max"] = m.rng.choice([(low, None), (None, low), (low, low + 2), (low, low - 1)])


def draw_number_bound(m):
    draw_clamp(m)
    m.args["number"] = m.args["max"] if m.args["min"] is None else m.args["min"]


def draw_clamp_tensors(m):
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "bool" else m.dtype
    sizes = m.sizes()
    for _ in range(3):
        m.tensor(sizes if m.chance(0.7) else sizes[len(sizes) // 2:], special="all")


def draw_bound(m):
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "bool" else m.dtype
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    m.tensor(sizes, special="all", dtype="f64" if m.chance(0.2) else None)


define("clamp", lambda x, a: torch.clamp(x[0], a.min, a.max), draw_clamp)
define("clip", lambda x, a: torch.clip(x[0], a.min, a.max), draw_clamp)
define("clamp.tensors", lambda x, a: torch.clamp(x[0], x[1], x[2]), draw_clamp_tensors)
for name in ["clamp_min", "clamp_max"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), draw_bound)
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), draw_number_bound)


# ---- two operands
def draw_alpha(m):
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes)
    m.other(sizes)
    m.args["alpha"] = m.rng.choice([1, 2, -3] if m.dtype in INTEGERS else [1, 2, -0.5])


define("add", lambda x, a: torch.add(x[0], x[1], alpha=a.alpha), draw_alpha)
define("sub", lambda x, a: torch.sub(x[0], x[1], alpha=a.alpha), draw_alpha)
define("rsub", lambda x, a: torch.rsub(x[0], x[1], alpha=a.alpha), draw_alpha)
for name in ["mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
             "logical_xor", "pow", "fmax", "fmin", "copysign", "xlogy", "heaviside", "float_power"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), two)
define("ldexp", lambda x, a: (x[0] * two_to_the(x[1])).to(torch.ldexp(x[0], x[1]).dtype), two_tame)
for name in ["hypot", "logaddexp", "logaddexp2"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), two_floating)
for name in ["fmod", "remainder", "floor_divide"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), divided)
for name in ["gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), two_integers)
define("nextafter", lambda x, a: torch.nextafter(*floating(x)), without_gradient(two_floating), exact=True)
define("frexp", lambda x, a: torch.frexp(x[0]), one_floating, exact=True)
define("atan2", lambda x, a: torch.atan2(*floating(x)), two)
draw_rounded = options(divided, rounding_mode=[None, "floor", "trunc"])
define("div.rounded", lambda x, a: torch.div(x[0], x[1], rounding_mode=a.rounding_mode), draw_rounded)
define("isclose", lambda x, a: torch.isclose(x[0], x[1], a.rtol, a.atol, a.equal_nan),
       options(two, rtol=[0.0, 0.25, 1e-5], atol=[0.0, 0.5], equal_nan=[False, True]))


# ---- an operand and a number
def with_divisor(m):
    with_number(m)
    m.args["number"] = m.rng.choice([1, 2, 3, 7, 2.5, 0.5] + ([-3, -2, -0.5] if m.dtype != "u8" else []))


def with_bits(m):
    one_integer(m)
    m.args["number"] = m.rng.choice([0, 1, 3, 6]) if m.dtype != "bool" else 1


def with_exponent(m):
    with_number(m)
    if m.args["number"] == 0.5:  # PyTorch's root of -inf is NaN, also in the gradient of 1.5; the power is inf
        m.args["number"] = 0.75


for name in ["pow", "float_power"]:
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), with_exponent)
for name in ["add", "sub", "rsub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "copysign"]:
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), with_number)
define("xlogy.number", lambda x, a: torch.xlogy(x[0], a.number), rounded_number(with_number))
for name in ["fmod", "remainder", "floor_divide"]:
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), with_divisor)
for name in ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]:
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], a.number), with_bits)
define("pow.base", lambda x, a: torch.pow(a.number, x[0]), with_number)
define("float_power.base", lambda x, a: torch.float_power(a.number, x[0]), with_number)
define("xlogy.first", lambda x, a: torch.xlogy(a.number, x[0]), rounded_number(with_number))
define("div.rounded_number", lambda x, a: torch.div(x[0], a.number, rounding_mode=a.rounding_mode),
       options(with_divisor, rounding_mode=[None, "floor", "trunc"]))


# ---- three operands
def draw_where(m):
    sizes = m.sizes()
    m.tensor(sizes, dtype="bool")
    m.any_dtype()
    m.tensor(sizes, special="all")
    m.other(sizes, special="all")


def draw_where_number(m):
    sizes = m.sizes()
    m.tensor(sizes, dtype="bool")
    m.any_dtype()
    m.tensor(sizes if m.chance(0.7) else sizes[1:], special="all")
    m.args["number"] = m.number()


def draw_where_numbers(m):
    m.tensor(m.sizes(), dtype="bool")
    m.args.update(number=m.number(), other=m.number())


define("where", lambda x, a: torch.where(x[0], x[1], x[2]), draw_where, exact=True)
define("where.number", lambda x, a: torch.where(x[0], x[1], a.number), draw_where_number)
define("where.first_number", lambda x, a: torch.where(x[0], a.number, x[1]), draw_where_number)
define("where.numbers", lambda x, a: torch.where(x[0], a.number, a.other), draw_where_numbers)


def three(m):
    sizes = m.sizes()
    m.tensor(sizes)
    m.tensor(sizes if m.chance(0.7) else sizes[1:])
    m.tensor(sizes if m.chance(0.7) else sizes[1:])


def draw_addcmul(m):
    if m.chance(0.2):
        m.dtype = m.rng.choice(["i64", "i32", "u8"])
    three(m)
    m.args["number"] = m.rng.choice([1, 2, 3] if m.dtype in INTEGERS else [1, 2, -0.5])


def draw_addcdiv(m):
    three(m)
    m.args["number"] = m.rng.choice([1, 2, -0.5])


def lerped(x):
    return (1 + operand(x[2:])) * operand(x[:2])


define("lerp", lambda x, a: torch.lerp(*x), three, roundings=3, scale=lambda x: 2 * lerped(x))
define("lerp.number", lambda x, a: torch.lerp(x[0], x[1], a.number),
       options(two_floating, number=[0, 1, 0.25, 0.75, -0.5, 2.0]), roundings=3, scale=lambda x: 4 * operand(x))
define("addcmul", lambda x, a: torch.addcmul(*x, value=a.number), draw_addcmul, roundings=2,
       scale=lambda x: operand(x[:1]) + 2 * operand(x[1:2]) * operand(x[2:]))
define("addcdiv", lambda x, a: torch.addcdiv(*x, value=a.number), draw_addcdiv, roundings=2)


# ---- activations with arguments
def draw_glu(m):
    sizes = m.sizes(m.rng.randint(1, 4))
    m.args["dim"] = dim = m.dim(sizes)
    sizes[dim] = 2 * m.rng.randint(1, 3)
    m.tensor(sizes, special="all")
    # Without huge numbers, whose products with weights overflow.
    m.bases[0]["special"] = [v for v in m.bases[0]["special"] if not 1e4 < abs(float(v)) < math.inf]


def draw_prelu(m):
    sizes = m.tensor(m.sizes(), special="all")
    m.tensor([sizes[1]] if len(sizes) > 1 and m.chance(0.5) else [1])
    m.sum = 200


draw_elu = options(tame_floating, alpha=[1, 0.5, 2], scale=[1, 0.5], input_scale=[1, 2])
draw_rrelu = options(one_floating, lower=[0.125, 0.25], upper=[0.5, 0.25])
draw_threshold = options(one, threshold=[0, 1], value=[0, 2])  # PyTorch wraps -1 of u8
define("gelu", lambda x, a: F.gelu(x[0], approximate=a.approximate), options(one_floating, approximate=["none", "tanh"]))
define("softplus", lambda x, a: F.softplus(x[0], a.beta, a.threshold),
       options(one_floating, beta=[1, 2, 0.5], threshold=[20, 1, 3]))
define("elu", lambda x, a: torch._C._nn.elu(x[0], a.alpha, a.scale, a.input_scale), draw_elu)
define("celu", lambda x, a: torch.celu(x[0], a.alpha), options(tame_floating, alpha=[1, 0.5, 2]))
define("leaky_relu", lambda x, a: F.leaky_relu(x[0], a.slope), options(one_floating, slope=[0.01, 0.25, 0]))
define("rrelu", lambda x, a: F.rrelu(x[0], a.lower, a.upper), draw_rrelu)
define("prelu", lambda x, a: F.prelu(*x), draw_prelu, scale=lambda x: operand(x[:1]) * max(1, operand(x[1:])))
define("hardtanh", lambda x, a: F.hardtanh(x[0], a.min, a.max), options(tame_floating, min=[-1, 0, 0.25], max=[1, 2.5]))
define("hardshrink", lambda x, a: F.hardshrink(x[0], a["lambda"]), options(tame_floating, **{"lambda": [0.5, 0, 1]}))
define("softshrink", lambda x, a: F.softshrink(x[0], a["lambda"]), options(tame_floating, **{"lambda": [0.5, 0, 1]}))
define("threshold", lambda x, a: F.threshold(x[0], a.threshold, a.value), draw_threshold)
define("glu", lambda x, a: F.glu(x[0], a.dim), draw_glu, roundings=2, scale=operand)
