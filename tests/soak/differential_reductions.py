"""Reductions, statistics and scans. The other side is random_everyday_ops.cpp."""
import math

import torch

from differential_calls import FLOATING, define
from differential_draws import operand, reduced, shaped, with_dim, with_dims, with_dtype, writable


def floats(m, special="tame"):
    return reduced(m, special, integers=False)


def numbers(m):
    return reduced(m)


def all_numbers(m):
    return reduced(m, special="all")


def any_numbers(m):
    """Draws the input of any and all: of u8 PyTorch's result is u8, and tandem's is bool."""
    m.any_dtype()
    m.dtype = "i8" if m.dtype == "u8" else m.dtype
    return m.tensor(m.sizes(), special="all")


def spread(m):
    """Draws numbers of which no row is constant: the deviation of equal numbers is rounding errors."""
    sizes = m.sizes()
    m.sum = 2 * max(1, math.prod(sizes)) + 8
    return writable(m, sizes, fill="uniform", low=-2.0, high=2.0)


def factors(m):
    """Draws numbers near 1 and some zeros, for products."""
    m.any_dtype()
    sizes = m.sizes()
    m.sum = max(1, math.prod(sizes))
    if m.dtype in FLOATING:
        return m.tensor(sizes, **m.rng.choice([{"fill": "uniform", "low": 0.5, "high": 1.25}, {"special": "tame"}]))
    return m.tensor(sizes, low=0 if m.chance(0.3) else 1, high=3)


def with_correction(draw):
    def extended(m):
        draw(m)
        m.args["correction"] = m.rng.choice([0, 1, 2])
    return extended


def squared(x):
    return max(1, operand(x)) ** 2


# ---- sums
define("sum", lambda x, a: torch.sum(x[0], a.dims, a.keepdim, dtype=a.dtype), with_dtype(with_dims(numbers)), scale=operand)
define("sum.all", lambda x, a: torch.sum(x[0], dtype=a.dtype), with_dtype(numbers), scale=operand)
define("nansum", lambda x, a: torch.nansum(x[0], a.dims, a.keepdim, dtype=a.dtype), with_dtype(with_dims(numbers)),
       scale=operand)
define("mean", lambda x, a: torch.mean(x[0], a.dims, a.keepdim), with_dims(floats), scale=operand)
define("mean.all", lambda x, a: torch.mean(x[0], dtype=a.dtype), with_dtype(floats), scale=operand)
define("nanmean", lambda x, a: torch.nanmean(x[0], a.dims, a.keepdim), with_dims(floats), scale=operand)
define("prod", lambda x, a: torch.prod(x[0], a.dim, a.keepdim, dtype=a.dtype), with_dtype(with_dim(factors)),
       roundings=2, relative=True)
define("prod.all", lambda x, a: torch.prod(x[0], dtype=a.dtype), with_dtype(factors), roundings=2, relative=True)


def draw_sum_to_size(m):
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes)
    m.args["sizes"] = m.shape_like(sizes) or [1]  # for [] PyTorch's result is i64 even if nothing is summed
    m.sum = max(1, math.prod(sizes))


define("sum_to_size", lambda x, a: x[0].sum_to_size(a.sizes), draw_sum_to_size, scale=operand)


# ---- deviations
define("var", lambda x, a: torch.var(x[0], a.dims, correction=a.correction, keepdim=a.keepdim),
       with_correction(with_dims(floats)), scale=lambda x: operand(x) ** 2)
define("var.all", lambda x, a: torch.var(x[0]), floats, scale=squared)
define("std", lambda x, a: torch.std(x[0], a.dims, correction=a.correction, keepdim=a.keepdim),
       with_correction(with_dims(spread)), roundings=2, scale=squared)
define("std.all", lambda x, a: torch.std(x[0]), spread, roundings=2, scale=squared)
for name in ["var_mean", "std_mean"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], a.dims, correction=a.correction, keepdim=a.keepdim),
           with_correction(with_dims(spread)), roundings=2, scale=squared)
define("logsumexp", lambda x, a: torch.logsumexp(x[0], a.dims, a.keepdim), with_dims(all_numbers), roundings=2,
       scale=lambda x: 8 + min(operand(x), 64))

# ---- counts and extremes
define("count_nonzero", lambda x, a: torch.count_nonzero(x[0], a.dims or None), with_dims(shaped))
define("any", lambda x, a: torch.any(x[0]), any_numbers)
define("all", lambda x, a: torch.all(x[0]), any_numbers)
define("any.dims", lambda x, a: torch.any(x[0], a.dims or None, a.keepdim), with_dims(any_numbers))
define("all.dims", lambda x, a: torch.all(x[0], a.dims or None, a.keepdim), with_dims(any_numbers))
define("amax", lambda x, a: torch.amax(x[0], a.dims, a.keepdim), with_dims(all_numbers), exact=True)
define("amin", lambda x, a: torch.amin(x[0], a.dims, a.keepdim), with_dims(all_numbers), exact=True)


def maybe_dim(draw):
    def extended(m):
        draw(m)
        if m.chance(0.3):
            m.args["dim"] = None
    return extended


define("aminmax", lambda x, a: torch.aminmax(x[0], dim=a.dim, keepdim=a.keepdim), maybe_dim(with_dim(all_numbers)),
       exact=True)
for name in ["max", "min"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0]), all_numbers, exact=True)
    define(name + ".dim", lambda x, a, f=getattr(torch, name): f(x[0], a.dim, a.keepdim), with_dim(all_numbers), exact=True)
    define("arg" + name, lambda x, a, f=getattr(torch, "arg" + name): f(x[0], a.dim, a.keepdim),
           maybe_dim(with_dim(all_numbers)), exact=True)


# ---- softmax
for name in ["softmax", "softmin", "log_softmax"]:
    in_torch = getattr(torch, name, None) or torch.nn.functional.softmin
    define(name, lambda x, a, f=in_torch: f(x[0], a.dim, dtype=a.dtype), with_dtype(with_dim(floats)), roundings=2,
           scale=(lambda x: 8 + operand(x)) if name == "log_softmax" else lambda x: 1.0)

# ---- scans
define("cumsum", lambda x, a: torch.cumsum(x[0], a.dim, dtype=a.dtype), with_dtype(with_dim(numbers)), scale=operand)
define("cumprod", lambda x, a: torch.cumprod(x[0], a.dim, dtype=a.dtype), with_dtype(with_dim(factors)), roundings=2,
       relative=True)
define("cummax", lambda x, a: torch.cummax(x[0], a.dim), with_dim(all_numbers), exact=True)
define("cummin", lambda x, a: torch.cummin(x[0], a.dim), with_dim(all_numbers), exact=True)
define("logcumsumexp", lambda x, a: torch.logcumsumexp(x[0], a.dim), with_dim(numbers), roundings=2,
       scale=lambda x: 8 + min(operand(x), 64))


def draw_diff(m):
    m.any_dtype()
    sizes = m.sizes(m.rng.randint(1, 3))
    m.tensor(sizes)
    m.args.update(n=m.rng.choice([0, 1, 1, 2, 3]), dim=m.dim(sizes))
    for _ in range(m.rng.randint(0, 2)):
        sizes = list(sizes)
        sizes[m.args["dim"]] = m.rng.randint(0, 2)
        m.tensor(sizes)
    m.sum = 8


def draw_trapezoid(m):
    sizes = [max(1, s) for s in m.sizes(m.rng.randint(1, 3))]
    m.tensor(sizes)
    m.args["dim"] = dim = m.dim(sizes)
    m.tensor([sizes[dim]] if m.chance(0.5) else sizes)
    m.sum = 2 * max(1, math.prod(sizes))


def draw_steps(m):
    sizes = [max(1, s) for s in m.sizes(m.rng.randint(1, 3))]  # of nothing PyTorch's result has no history
    m.tensor(sizes)
    m.args["dim"] = m.dim(sizes)
    m.sum = max(1, math.prod(sizes))
    m.args["number"] = m.rng.choice([1, 0.5, 2])


define("diff", lambda x, a: torch.diff(x[0], a.n, a.dim, *x[1:]), draw_diff, roundings=8, scale=lambda x: 8 * operand(x))
for name in ["trapezoid", "cumulative_trapezoid"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1], dim=a.dim), draw_trapezoid, roundings=8,
           scale=lambda x: 20 * operand(x[:1]) * operand(x[1:]))
    define(name + ".number", lambda x, a, f=getattr(torch, name): f(x[0], dx=a.number, dim=a.dim), draw_steps, roundings=8,
           scale=lambda x: 20 * operand(x))


def draw_gradient(m):
    m.args["edge_order"] = m.rng.choice([1, 2])
    sizes = [max(3, s) for s in m.sizes(m.rng.randint(1, 3))]
    m.tensor(sizes)
    m.args["dim"] = m.dim(sizes) if m.chance(0.5) else None
    m.args["number"] = m.rng.choice([None, 1, 0.5, 2])


def draw_gradient_points(m):
    draw_gradient(m)
    m.args["dim"] = m.args["dim"] or 0
    m.tensor([m.inputs[0]["sizes"][m.args["dim"]]], fill="distinct", grad=False, dense=True)


def gradient(x, a):
    dims = list(range(x[0].dim())) if a.dim is None else a.dim
    return torch.gradient(x[0], spacing=1 if a.number is None else a.number, dim=dims, edge_order=a.edge_order)


define("gradient", gradient, draw_gradient, roundings=8, scale=lambda x: 8 * operand(x))
define("gradient.points", lambda x, a: torch.gradient(x[0], spacing=(x[1],), dim=a.dim, edge_order=a.edge_order),
       draw_gradient_points, roundings=12, scale=lambda x: 100 * operand(x[:1]))


def draw_cov(m):
    sizes = [m.rng.randint(1, 4), m.rng.randint(3, 12)][m.rng.randint(0, 1):]
    m.tensor(sizes, special="none")
    m.args["correction"] = m.rng.choice([0, 1])
    m.sum = 3 * sizes[-1]


def draw_weighted_cov(m):
    draw_cov(m)
    n = m.inputs[0]["sizes"][-1]
    m.tensor([n], dtype="i64", low=1, high=4)
    m.tensor([n], fill="uniform", low=0.5, high=1.5, special="none")


define("cov", lambda x, a: torch.cov(x[0], correction=a.correction), draw_cov, roundings=6,
       scale=lambda x: (1 + operand(x)) ** 2)
define("cov.weights", lambda x, a: torch.cov(x[0], correction=a.correction, fweights=x[1], aweights=x[2]),
       draw_weighted_cov, roundings=8, scale=lambda x: (1 + operand(x)) ** 2)
def draw_corrcoef(m):
    draw_cov(m)
    m.bases[0]["scale"] = 1.0  # the gradient is of the size of 1 / x


define("corrcoef", lambda x, a: torch.corrcoef(x[0]), draw_corrcoef, roundings=12, scale=lambda x: 100.0)
