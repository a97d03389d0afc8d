"""Convolutions and columns of images. The other side is random_convolution_ops.cpp."""
import torch
import torch.nn.functional as F

from differential_calls import define
from differential_draws import operand, products


def space(m, kernel):
    return [m.rng.randint(k, [9, 7, 4][len(kernel) - 1]) for k in kernel]


def draw_conv(n, transposed=False):
    def draw(m):
        groups = m.rng.choice([1, 1, 2])
        c, o = groups * m.rng.randint(1, 3), groups * m.rng.randint(1, 3)
        kernel = [m.rng.randint(1, 3 if n < 3 else 2) for _ in range(n)]
        m.tensor(([] if m.chance(0.15) else [m.rng.randint(1, 2)]) + [c] + space(m, kernel))
        m.tensor(([c, o // groups] if transposed else [o, c // groups]) + kernel)
        if m.chance(0.5):
            m.tensor([o])
        stride = [m.rng.randint(1, 3) for _ in range(n)]
        dilation = [m.rng.choice([1, 1, 1, 2]) for _ in range(n)]
        padding = [m.rng.randint(0, 2) for _ in range(n)]
        m.args.update(stride=stride, padding=padding, dilation=dilation, groups=groups)
        if transposed:
            m.args["output_padding"] = [m.rng.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation)]
            # PyTorch refuses only some results without elements.
            for d in range(n):
                while (m.inputs[0]["sizes"][d - n] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) < 2 * padding[d]:
                    padding[d] -= 1
        m.sum = 128
    return draw


def draw_convolution(m):
    transposed = m.chance(0.5)
    draw_conv(m.rng.choice([1, 2, 3]), transposed)(m)
    if len(m.inputs[0]["sizes"]) != len(m.inputs[1]["sizes"]):  # takes batches only
        draw = m.inputs[0]
        draw["sizes"], draw["strides"] = [1] + draw["sizes"], [0] + draw["strides"]
    m.args.update(transposed=transposed)
    m.args.setdefault("output_padding", [0] * len(m.args["stride"]))


def weight(x):
    """Contiguous: with other weights PyTorch's oneDNN computes wrong results of groups of channels-last images, and its
    f64 gradients are refused."""
    return x[1].contiguous()


def bias(x):
    return x[2] if len(x) > 2 else None


def convolved(x, a, f):
    return f(x[0], weight(x), bias(x), a.stride, a.padding, a.dilation, a.groups)


def transposed(x, a, f):
    return f(x[0], weight(x), bias(x), a.stride, a.padding, a.output_padding, a.groups, a.dilation)


for n in [1, 2, 3]:
    define(f"conv{n}d", lambda x, a, f=getattr(F, f"conv{n}d"): convolved(x, a, f), draw_conv(n), scale=products,
           roundings=2)
    define(f"conv_transpose{n}d", lambda x, a, f=getattr(F, f"conv_transpose{n}d"): transposed(x, a, f),
           draw_conv(n, True), scale=products, roundings=3)
define("conv2d_relu", lambda x, a: convolved(x, a, F.conv2d).relu(), draw_conv(2), scale=products, roundings=2)
define("convolution",
       lambda x, a: torch.convolution(x[0], weight(x), bias(x), a.stride, a.padding, a.dilation, a.transposed,
                                      a.output_padding, a.groups), draw_convolution, scale=products, roundings=3)


def draw_tbc(m):
    k, c, o = m.rng.randint(1, 3), m.rng.randint(1, 3), m.rng.randint(1, 3)
    m.tensor([m.rng.randint(k, 6), m.rng.randint(1, 3), c])
    m.tensor([k, c, o])
    m.tensor([o])
    m.args["pad"] = m.rng.randint(0, 2)
    m.sum = 64


define("conv_tbc", lambda x, a: torch.conv_tbc(x[0], x[1], x[2], a.pad), draw_tbc, scale=products, roundings=2)


# ---- columns
def draw_columns(m):
    """Draws the arguments of im2col, and returns the sizes of an image and the number of its blocks."""
    kernel = [m.rng.randint(1, 3) for _ in range(2)]
    sizes = [m.rng.randint(2, 6) for _ in range(2)]
    m.args.update(kernel=kernel, dilation=[m.rng.choice([1, 1, 2]) for _ in range(2)],
                  padding=[m.rng.randint(0, 2) for _ in range(2)], stride=[m.rng.randint(1, 3) for _ in range(2)])
    blocks = 1
    for s, k, d, p, t in zip(sizes, kernel, m.args["dilation"], m.args["padding"], m.args["stride"]):
        blocks *= (s + 2 * p - d * (k - 1) - 1) // t + 1
    m.sum = 9
    return sizes, blocks


def draw_im2col(m):
    sizes, _ = draw_columns(m)
    m.tensor(([] if m.chance(0.15) else [m.rng.randint(1, 2)]) + [m.rng.randint(1, 3)] + sizes)


def draw_col2im(m):
    sizes, blocks = draw_columns(m)
    kernel = m.args["kernel"]
    m.tensor(([] if m.chance(0.15) else [m.rng.randint(1, 2)]) + [m.rng.randint(1, 3) * kernel[0] * kernel[1], blocks])
    m.args["sizes"] = sizes


define("im2col", lambda x, a: F.unfold(x[0], a.kernel, a.dilation, a.padding, a.stride), draw_im2col, exact=True)
define("col2im", lambda x, a: F.fold(x[0], a.sizes, a.kernel, a.dilation, a.padding, a.stride), draw_col2im,
       scale=operand, roundings=9)
