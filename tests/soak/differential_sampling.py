"""Samples of images: grids, unpooling, windows at random places, and resizing that averages. The other side is
random_sampling_ops.cpp."""
import torch
import torch.nn.functional as F

from differential_calls import define
from differential_draws import operand
from differential_layers import draw_resize


# ---- grids. In f32 and f64 only: a grid rounded to 16 bits points elsewhere.
def draw_grid(n):
    def draw(m):
        m.dtype = m.rng.choice(["f32", "f64"])
        batch = m.rng.randint(1, 2)
        m.tensor([batch, m.rng.randint(1, 3)] + [m.rng.randint(1, 5) for _ in range(n)])
        m.tensor([batch] + [m.rng.randint(1, 4) for _ in range(n)] + [n], fill="uniform", low=-1.3, high=1.3)
        m.args.update(mode=m.rng.choice([0, 1, 2] if n == 2 else [0, 1]), padding=m.rng.randint(0, 2),
                      align=m.chance(0.5))
        m.sum = 64
    return draw


def draw_affine(m):
    m.dtype = m.rng.choice(["f32", "f64"])
    n = m.rng.choice([2, 3])
    batch = m.rng.randint(1, 2)
    m.tensor([batch, n, n + 1])
    m.args.update(sizes=[batch, m.rng.randint(1, 3)] + [m.rng.randint(1, 4) for _ in range(n)], align=m.chance(0.5))
    m.sum = 64


def sampled(x, a):
    return torch.grid_sampler(x[0], x[1], a.mode, a.padding, a.align)


# The position in the image is computed from the grid: its rounding is multiplied by the slope of the image.
define("grid_sampler", sampled, draw_grid(2), scale=lambda x: 16 * operand(x[:1]))
define("grid_sampler.volume", sampled, draw_grid(3), scale=lambda x: 16 * operand(x[:1]))
define("affine_grid_generator", lambda x, a: torch.affine_grid_generator(x[0], a.sizes, a.align), draw_affine,
       scale=lambda x: 4 * operand(x))


# ---- the reverse of max_pool with windows that do not overlap
def draw_unpool(n):
    def draw(m):
        kernel = m.rng.randint(1, 3)
        size = [m.rng.randint(kernel, [9, 7, 4][n - 1]) for _ in range(n)]
        m.tensor(([] if m.chance(0.15) else [m.rng.randint(1, 2)]) + [m.rng.randint(1, 3)] + size)
        m.args.update(kernel=[kernel] * n, sizes=size)
    return draw


def unpooled(x, a, n):
    y, indices = getattr(F, f"max_pool{n}d")(x[0], a.kernel, a.kernel, return_indices=True)
    more = ([1] * n, [0] * n) if n == 3 else ()  # the stride and padding of max_unpool3d, which it only checks
    return getattr(torch._C._nn, f"max_unpool{n}d")(y, indices, a.sizes, *more)


for n in [2, 3]:
    define(f"max_unpool{n}d", lambda x, a, n=n: unpooled(x, a, n), draw_unpool(n), exact=True)


# ---- windows at random places
def draw_fractional(n):
    def draw(m):
        m.dtype = m.rng.choice(["f32", "f64"])
        size = [m.rng.randint(3, [9, 7, 5][n - 1]) for _ in range(n)]
        kernel = [m.rng.randint(1, 2) for _ in range(n)]
        batch, c = m.rng.randint(1, 2), m.rng.randint(1, 3)
        m.tensor([batch, c] + size)
        m.tensor([batch, c, n], fill="uniform", low=0.0, high=1.0, grad=False)
        m.args.update(kernel=kernel, sizes=[m.rng.randint(1, s - k) for s, k in zip(size, kernel)])
        m.sum = 8
    return draw


for n in [2, 3]:
    define(f"fractional_max_pool{n}d",
           lambda x, a, f=getattr(torch._C._nn, f"fractional_max_pool{n}d"): f(x[0], a.kernel, a.sizes, x[1]),
           draw_fractional(n), exact=True)

# ---- resizing that averages. Where the width becomes 1, all rows of PyTorch's result are its first one.
def draw_aa(m):
    draw_resize(2, True)(m)
    if m.args["sizes"][1] == 1:
        m.args.update(sizes=[m.args["sizes"][0], 2], scale=None)


for name in ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]:
    define(name, lambda x, a, f=getattr(torch._C._nn, name): f(x[0], a.sizes, a.align, a.scale, a.scale),
           draw_aa, roundings=3, scale=lambda x: 4 * operand(x))
