"""Ops that write their first input. The other side is random_in_place_ops.cpp. Those of indexing are in
differential_indexing.py."""
import os
import re

import torch
import torch.nn.functional as F

from differential_calls import FLOATING, INTEGERS, define
from differential_draws import (IN_F64, operand, options, products, sinc, two_to_the, within_eps, without_gradient,
                                without_lowest, writable, written)


def in_place(name, draw, run, **more):
    define(name, lambda x, a: run(written(x[0]), x, a), draw, direct=True, **more)


def same(m):
    m.any_dtype()
    return writable(m, m.sizes(), special="all")


def same_floating(m):
    return writable(m, m.sizes(), special="all")


def same_and_tensor(m):
    sizes = m.sizes()
    writable(m, sizes)
    kind = m.rng.random()
    if kind < 0.15 and not m.grad:  # the written tensor itself
        return m.inputs.append(dict(m.inputs[0]))
    shape = [1 if m.chance(0.3) else s for s in sizes] if kind < 0.5 else sizes
    return m.tensor(shape, dtype=m.rng.choice(FLOATING) if kind > 0.85 else None)


def integer_and_tensor(m):
    m.dtype = m.rng.choice(INTEGERS)
    sizes = writable(m, m.sizes())
    m.tensor(sizes if m.chance(0.7) else sizes[1:])
    without_lowest(m)


def one_integer(m):
    m.dtype = m.rng.choice(INTEGERS)
    writable(m, m.sizes())


def any_and_tensor(m):
    m.any_dtype()
    same_and_tensor(m)


def divisible_and_tensor(m):
    m.any_dtype()
    sizes = writable(m, m.sizes(), special="all")
    m.tensor(sizes if m.chance(0.7) else sizes[1:], low=1, high=9)


def same_and_number(m):
    same(m)
    m.args["number"] = m.rng.choice([1, 2, 3, 0.5] + ([-1, -2.5] if m.dtype != "u8" else []))


def tame_and_number(m):
    """Without infinities: PyTorch's power 0.5 of -inf is NaN, not inf."""
    tame(m)
    m.args["number"] = m.rng.choice([1, 2, 0.5, -1])


def integer_and_number(m):
    m.dtype = m.rng.choice(INTEGERS)
    writable(m, m.sizes())
    m.args["number"] = m.rng.choice([0, 1, 3, 6]) if m.dtype != "bool" else 1


# ---- the methods of include/tandem/tensor/method_lists.inc
LISTS = os.path.join(os.path.dirname(__file__), "../../include/tandem/tensor/method_lists.inc")
with open(LISTS, encoding="utf-8") as rows:
    LISTED = re.findall(r"^TANDEM_(UNARY|BINARY)(?:_IN_PLACE)?_METHOD\((\w+)(?:, ([^)]+))?\)", rows.read(), re.M)


def method_in_place(name):
    """Returns PyTorch's method, or one made from the function where PyTorch has none."""
    if name == "ldexp":
        return lambda y, exponent: y.mul_(two_to_the(exponent))

    def made(y, *operands):
        result = (sinc if name == "sinc" else getattr(torch, name))(y.clone(), *operands)
        if result.dtype != y.dtype or result.shape != y.shape:
            raise TypeError("the result does not fit")
        return y.copy_(result)
    return made if name == "sinc" else getattr(torch.Tensor, name + "_", made)


COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal", "not_equal",
               "logical_and", "logical_or", "logical_xor", "logical_not"]


def tame(m):
    return writable(m, m.sizes())


def positive(m):
    return writable(m, m.sizes(), fill="uniform", low=0.05, high=6.0)


for kind, name, operand_type in LISTED:
    method = method_in_place(name)
    integer = name.startswith("bitwise_") or name in ("gcd", "lcm")
    plain = without_gradient if name in COMPARISONS else lambda draw: draw  # they differ: docs/differences.md
    if kind == "UNARY":
        draw = one_integer if integer else {"lgamma": tame, "digamma": positive}.get(name, same)
        in_place(name + "_", plain(draw), lambda y, x, a, f=method: f(y), **IN_F64.get(name, {}))
    elif operand_type == "Scalar":
        draw = integer_and_number if integer else tame_and_number if name == "float_power" else same_and_number
        in_place(name + "_.number", plain(draw), lambda y, x, a, f=method: f(y, a.number))
    else:
        divides = name in ("fmod", "remainder", "floor_divide")
        draw = integer_and_tensor if integer else divisible_and_tensor if divides else any_and_tensor
        in_place(name + "_", plain(draw), lambda y, x, a, f=method: f(y, x[1]))

# ---- arithmetic
for name in ["neg_", "abs_", "reciprocal_", "sqrt_", "rsqrt_", "exp_", "log_", "relu_", "sigmoid_", "tanh_", "zero_"]:
    in_place(name, same, lambda y, x, a, f=getattr(torch.Tensor, name): f(y))


def draw_pow(m):
    sizes = m.sizes()
    writable(m, sizes, fill="uniform", low=0.25, high=2.0)
    m.tensor(sizes)


in_place("add_", any_and_tensor, lambda y, x, a: y.add_(x[1], alpha=2))
in_place("sub_", any_and_tensor, lambda y, x, a: y.sub_(x[1]))
in_place("mul_", any_and_tensor, lambda y, x, a: y.mul_(x[1]))
in_place("div_", same_and_tensor, lambda y, x, a: y.div_(x[1]))
in_place("div_.rounded", options(divisible_and_tensor, rounding_mode=[None, "floor", "trunc"]),
         lambda y, x, a: y.div_(x[1], rounding_mode=a.rounding_mode))
in_place("pow_", draw_pow, lambda y, x, a: y.pow_(x[1]))
in_place("copy_", any_and_tensor, lambda y, x, a: y.copy_(x[1]))
in_place("clamp_", options(same_floating, min=[None, -1, 0], max=[0.5, 1]), lambda y, x, a: y.clamp_(a.min, a.max))
in_place("logit_", within_eps(options(same_floating, eps=[None, 0.25])), lambda y, x, a: y.logit_(a.eps))
in_place("round_.decimals", options(same_floating, decimals=[-1, 0, 1, 2]),
         lambda y, x, a: y.round_(decimals=a.decimals))
in_place("nan_to_num_", options(same, nan=[None, 0.5], posinf=[None, 7.0], neginf=[None, -2.0]),
         lambda y, x, a: y.nan_to_num_(a.nan, a.posinf, a.neginf))


def draw_fill(m):
    writable(m, m.sizes())
    m.args["number"] = m.number()


def same_and_two(m):
    sizes = m.sizes()
    writable(m, sizes)
    m.tensor(sizes)
    m.tensor([1 if m.chance(0.3) else s for s in sizes])


draw_addcmul = options(same_and_two, number=[1, 2, -0.5])
in_place("fill_", draw_fill, lambda y, x, a: y.fill_(a.number))
in_place("lerp_", same_and_two, lambda y, x, a: y.lerp_(x[1], x[2]), roundings=3,
         scale=lambda x: 2 * (1 + operand(x[2:])) * operand(x[:2]))
in_place("addcmul_", draw_addcmul, lambda y, x, a: y.addcmul_(x[1], x[2], value=a.number), roundings=2,
         scale=lambda x: operand(x[:1]) + 2 * operand(x[1:2]) * operand(x[2:]))
in_place("addcdiv_", draw_addcmul, lambda y, x, a: y.addcdiv_(x[1], x[2], value=a.number), roundings=2)


def draw_cumulative(m):
    sizes = m.sizes()
    writable(m, sizes, fill="uniform", low=0.5, high=1.25)
    m.args["dim"] = m.dim(sizes)
    m.sum = 20


def draw_triangle(m):
    m.any_dtype()
    writable(m, m.sizes(m.rng.randint(2, 4)), special="all")
    m.args["diagonal"] = m.rng.randint(-3, 3)


def draw_fill_diagonal(m):
    m.any_dtype()
    writable(m, [m.rng.randint(1, 7), m.rng.randint(1, 4)])
    m.args.update(number=m.rng.choice([0, 1, 3]), wrap=m.chance(0.5))


in_place("cumsum_", draw_cumulative, lambda y, x, a: y.cumsum_(a.dim), roundings=2, scale=lambda x: 20 * operand(x))
in_place("cumprod_", draw_cumulative, lambda y, x, a: y.cumprod_(a.dim), roundings=2, relative=True)
in_place("tril_", draw_triangle, lambda y, x, a: y.tril_(a.diagonal))
in_place("triu_", draw_triangle, lambda y, x, a: y.triu_(a.diagonal))
in_place("fill_diagonal_", draw_fill_diagonal, lambda y, x, a: y.fill_diagonal_(a.number, a.wrap))


# ---- activations
draw_elu = options(tame, alpha=[1, 0.5, 2], scale=[1, 0.5], input_scale=[1, 2])
for name in ["silu_", "mish_", "selu_", "relu6_", "hardsigmoid_", "hardswish_"]:
    in_place(name, tame, lambda y, x, a, f=getattr(torch, name, None) or getattr(torch._C._nn, name): f(y),
             **IN_F64.get(name[:-1], {}))
in_place("gelu_", options(tame, approximate=["none", "tanh"]),
         lambda y, x, a: torch._C._nn.gelu_(y, approximate=a.approximate))
in_place("elu_", draw_elu, lambda y, x, a: torch._C._nn.elu_(y, a.alpha, a.scale, a.input_scale))
in_place("celu_", options(tame, alpha=[1, 0.5, 2]), lambda y, x, a: torch.celu_(y, a.alpha))
in_place("leaky_relu_", options(same_floating, slope=[0.01, 0.25]), lambda y, x, a: F.leaky_relu_(y, a.slope))
in_place("rrelu_", options(same_floating, lower=[0.125, 0.25], upper=[0.5, 0.25]),
         lambda y, x, a: torch.rrelu_(y, a.lower, a.upper))
in_place("hardtanh_", options(tame, min=[-1, 0], max=[1, 2.5]), lambda y, x, a: F.hardtanh_(y, a.min, a.max))
in_place("threshold_", options(same_floating, threshold=[0, 1], value=[0, 2]),
         lambda y, x, a: torch.threshold_(y, a.threshold, a.value))


# ---- products
def draw_added(shapes):
    """Draws an op that adds a product: `shapes` are functions of the sizes n, k, p and b."""
    def draw(m):
        sizes = [m.rng.randint(1, 5) for _ in range(4)]
        writable(m, shapes[0](*sizes))
        for shape in shapes[1:]:
            m.tensor(shape(*sizes))
        m.args.update(beta=m.rng.choice([1, 0.5, 0]), alpha=m.rng.choice([1, -2, 0.25]))
        m.sum = 40
    return draw


def added(x):
    return 2 * products(x[1:]) + operand(x[:1])


for name, shapes in {
        "addmm_": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [n, k], lambda n, k, p, b: [k, p]),
        "addmv_": (lambda n, k, p, b: [n], lambda n, k, p, b: [n, k], lambda n, k, p, b: [k]),
        "addr_": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [n], lambda n, k, p, b: [p]),
        "addbmm_": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [b, n, k], lambda n, k, p, b: [b, k, p]),
        "baddbmm_": (lambda n, k, p, b: [b, n, p], lambda n, k, p, b: [b, n, k], lambda n, k, p, b: [b, k, p])}.items():
    in_place(name, draw_added(shapes),
             lambda y, x, a, f=getattr(torch.Tensor, name): f(y, x[1], x[2], beta=a.beta, alpha=a.alpha),
             roundings=6, scale=added)


def draw_renorm(m):
    writable(m, m.sizes(m.rng.randint(2, 4)))
    m.args.update(p=m.rng.choice([1, 2, 3.0]), dim=m.dim(m.inputs[0]["sizes"]), maxnorm=m.rng.choice([0.5, 2, 20]))
    m.sum = 40


def draw_rows_to_renorm(m):
    m.grad = False
    m.dtype = m.rng.choice(["f32", "f64"])
    n, k = m.rng.randint(1, 6), m.rng.randint(1, 4)
    writable(m, [n, k])
    m.tensor(m.sizes(m.rng.randint(0, 2)), dtype=m.rng.choice(["i64", "i32"]), low=0, high=n)
    m.args.update(p=m.rng.choice([1, 2, 3.0]), maxnorm=m.rng.choice([0.5, 2, 20]))
    m.sum = 40


in_place("embedding_renorm_", draw_rows_to_renorm,
         lambda y, x, a: torch.embedding_renorm_(y, x[1].contiguous(), a.maxnorm, a.p), roundings=2, scale=operand)
in_place("renorm_", draw_renorm, lambda y, x, a: y.renorm_(a.p, a.dim, a.maxnorm), roundings=2, scale=operand)
