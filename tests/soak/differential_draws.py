"""Draws of inputs and arguments that several families of ops share, and the sizes that scale their tolerances."""
import math

import torch

from differential_calls import DTYPES, INTEGERS, SPECIAL


# ---- inputs
def one(m):
    m.any_dtype()
    return m.tensor(m.sizes(), special="all")


def one_tame(m):
    """Without huge numbers: every huge negative number is a pole of the gamma function, which PyTorch misses. See also
    tame_floating."""
    m.any_dtype()
    return m.tensor(m.sizes(), special="tame")


def tame_floating(m):
    """Without NaN and infinities: whether PyTorch's gradient of elu, hardtanh and others at NaN is NaN depends on the
    element's position, and that of softsign at infinity is NaN."""
    return m.tensor(m.sizes(), special="tame")


def one_positive(m):
    """For the derivatives of lgamma: at the poles PyTorch's trigamma is finite."""
    return m.tensor(m.sizes(), fill="uniform", low=0.05, high=6.0)


def one_floating(m):
    return m.tensor(m.sizes(), special="all")


def one_integer(m):
    m.dtype = m.rng.choice(INTEGERS)
    return m.tensor(m.sizes())


def two(m):
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    m.other(sizes, special="all")


def two_tame(m):
    """Without infinities: for an infinite exponent, tandem's ldexp of nothing has the gradient NaN."""
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes)
    m.other(sizes)


def two_floating(m):
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    m.other(sizes, special="all")


def two_integers(m):
    m.dtype = m.rng.choice(INTEGERS)
    sizes = m.sizes()
    m.tensor(sizes)
    m.other(sizes)
    without_lowest(m)


def without_lowest(m):
    """|-128| does not fit into i8, and PyTorch's gcd is negative."""
    for base in m.bases:
        if base["dtype"] == "i8":
            base["low"] = -127


def divided(m):
    """Draws a dividend and a divisor; an integer divisor is not zero, which is an error."""
    m.any_dtype()
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    kind = m.rng.random()
    shape = [1 if m.chance(0.4) else s for s in sizes] if kind < 0.3 else sizes
    # The divisor is not subnormal: PyTorch's remainder is NaN if the quotient overflows.
    m.tensor(shape, dtype=m.rng.choice(["f32", "f64", "i32", "i64", "u8"]) if kind > 0.8 else None, low=1, high=9)


def with_number(m):
    m.any_dtype()
    m.tensor(m.sizes(), special="all")
    m.args["number"] = abs(m.number()) if m.dtype == "u8" else m.number()  # PyTorch's 3 < -1 is true for u8


def rounded_number(draw):
    """Extends `draw`: the number is exact in the tensor's dtype, to which the op rounds it, but not PyTorch in f64."""
    def extended(m):
        draw(m)
        if m.dtype in SPECIAL:
            m.args["number"] = torch.tensor(m.args["number"], dtype=DTYPES[m.dtype]).item()
    return extended


def within_eps(draw):
    """Extends `draw` of logit: no NaN with eps, where PyTorch's gradient is NaN or 0 by the element's position."""
    def extended(m):
        draw(m)
        if m.args["eps"] is not None:
            m.bases[0]["special"] = [v for v in m.bases[0]["special"] if v != "nan"]
    return extended


def shaped(m, rank=None, low=1):
    m.any_dtype()
    return m.tensor(m.sizes(rank, low), special="all")


def writable(m, sizes, **more):
    """Draws an operand that is written: no two of its elements share memory."""
    m.tensor(sizes, dense=m.chance(0.5), **more)
    if 0 in m.inputs[-1]["strides"]:
        m.inputs[-1]["strides"] = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
        m.bases[-1]["count"] = m.inputs[-1]["offset"] + max(1, math.prod(sizes))
    return sizes


def distinct(m, sizes, dtypes=("i64", "i32", "i16")):
    """Draws numbers none of which are equal, for ops where the choice among equal elements is not defined."""
    if m.chance(0.3):
        m.dtype = m.rng.choice(dtypes)
    return writable(m, sizes, fill="distinct")


def reduced(m, special="tame", low=1, integers=True, **more):
    """Draws the input of a reduction."""
    if integers:
        m.any_dtype()
    sizes = m.sizes(low=low)
    m.tensor(sizes, special=special, **more)
    m.sum = max(1, math.prod(sizes))
    return sizes


def without_gradient(draw):
    def drawn(m):
        m.grad = False
        return draw(m)
    return drawn


# ---- arguments
def options(draw, **choices):
    """Extends `draw`: each argument is one of its choices."""
    def extended(m):
        draw(m)
        for name, values in choices.items():
            m.args[name] = m.rng.choice(values)
    return extended


def with_dims(draw):
    """Extends `draw`, which returns sizes, by the arguments dims and keepdim."""
    def extended(m):
        sizes = draw(m)
        m.args.update(dims=m.dims(sizes), keepdim=m.chance(0.5))
        return sizes
    return extended


def with_dim(draw):
    """Extends `draw`, which returns sizes, by the arguments dim and keepdim."""
    def extended(m):
        sizes = draw(m)
        m.args.update(dim=m.dim(sizes), keepdim=m.chance(0.5))
        return sizes
    return extended


def with_dtype(draw):
    """Extends `draw` by the argument dtype, which most calls lack."""
    def extended(m):
        sizes = draw(m)
        if m.chance(0.2):
            m.args["dtype"] = m.rng.choice(["f32", "f64"])
        return sizes
    return extended


# ---- computing
def written(x):
    """In-place ops need a result if x requires grad, because a leaf must not be changed."""
    return x.clone() if x.requires_grad else x


def floating(x):
    """Converts operands as the op does. For ops of which PyTorch computes the gradients of integers in their own dtype,
    which overflows."""
    common = torch.result_type(*x)
    common = common if common.is_floating_point else torch.float32
    return [t if t.is_floating_point() else t.to(common) for t in x]


def sinc(x):
    """torch.sinc, near 0 by its series, since PyTorch's derivative cancels there."""
    near = (x < 0.01) & (x > -0.01)
    t = (math.pi * x.where(near, 0)) ** 2
    return torch.where(near, 1 - t / 6 * (1 - t / 20 * (1 - t / 42)), torch.sinc(x.where(~near, 1)))


def softsign(x):
    """Of integers in f32: PyTorch's 1 + |x| wraps in their dtype."""
    return torch.nn.functional.softsign(x if x.is_floating_point() else x.float())


def two_to_the(exponent):
    """In f64: PyTorch's ldexp is NaN where 2^exponent overflows and x is 0."""
    return torch.exp2(exponent.double())


# ---- tolerances
# Of some functions PyTorch's results or gradients have fewer digits than f64.
IN_F64 = {
    "digamma": {"f64": 1e-8},  # trigamma, the derivative, sums a short series
    "lgamma": {"f64": 1e-12},  # the derivative cancels near its poles
    "hardsigmoid": {"f64": 1e-7},  # the derivative is 1/6 in f32
    "sinc": {"f64": 1e-10, "scale": lambda x: 1.0},  # sin(pi x) cancels near integers
}


def operand(x):
    """Returns the largest finite absolute value of the operands."""
    finite = [float(t.detach().double().abs().nan_to_num(0, 0, 0).max()) for t in x if t.numel()]
    return max(finite + [2.0**-30])


def products(x):
    return math.prod(max(operand([t]), 2.0**-30) for t in x[:2]) + (operand(x[2:]) if len(x) > 2 else 0)
