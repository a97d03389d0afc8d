"""Pooling, normalisation, interpolation and attention. The other side is random_layer_ops.cpp."""
import math

import torch
import torch.nn.functional as F

from differential_calls import define
from differential_draws import operand


# ---- pooling
def image(m, n, low=1, **more):
    """Draws a batch of channels over n dimensions, sometimes without the batch."""
    space = [m.rng.randint(low, [9, 7, 4][n - 1]) for _ in range(n)]
    return m.tensor(([] if m.chance(0.15) else [m.rng.randint(1, 2)]) + [m.rng.randint(1, 3)] + space, **more)


def draw_pool(n):
    def draw(m):
        kernel = [m.rng.randint(1, 3) for _ in range(n)]
        image(m, n, max(kernel))
        m.args.update(kernel=kernel, stride=[m.rng.randint(1, 3) for _ in range(n)],
                      padding=[m.rng.randint(0, k // 2) for k in kernel], ceil=m.chance(0.5),
                      dilation=[m.rng.choice([1, 1, 2]) for _ in range(n)], include=m.chance(0.5),
                      divisor=m.rng.choice([None, None, 3]))
        m.sum = 64
    return draw


def draw_lp_pool(n):
    def draw(m):
        draw_pool(n)(m)
        m.args["p"] = m.rng.choice([1.0, 2.0, 3.0])
        m.bases[-1].update(fill="uniform", low=0.25, high=2.0)  # the root has a pole at 0
    return draw


def draw_adaptive(n):
    def draw(m):
        image(m, n)
        m.args["sizes"] = [m.rng.randint(1, 4) for _ in range(n)]
        m.sum = 64
    return draw


def whole(a, n):
    """The kernel and the stride; as numbers for one dimension, where PyTorch's lp_pool1d takes no list."""
    return (a.kernel[0], a.stride[0]) if n == 1 else (a.kernel, a.stride)


def averaged(x, a, f):
    return f(x[0], a.kernel, a.stride, a.padding, a.ceil, a.include, a.divisor)


for n in [1, 2, 3]:
    max_pool, adaptive_max = getattr(F, f"max_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")
    define(f"max_pool{n}d", lambda x, a, f=max_pool: f(x[0], a.kernel, a.stride, a.padding, a.dilation, a.ceil),
           draw_pool(n), exact=True)
    define(f"max_pool{n}d_with_indices",
           lambda x, a, f=max_pool: f(x[0], a.kernel, a.stride, a.padding, a.dilation, a.ceil, return_indices=True),
           draw_pool(n), exact=True)
    define(f"adaptive_max_pool{n}d", lambda x, a, f=adaptive_max: f(x[0], a.sizes, return_indices=True),
           draw_adaptive(n), exact=True)
    define(f"adaptive_avg_pool{n}d", lambda x, a, f=getattr(F, f"adaptive_avg_pool{n}d"): f(x[0], a.sizes),
           draw_adaptive(n), scale=operand)
    define(f"lp_pool{n}d", lambda x, a, f=getattr(F, f"lp_pool{n}d"), n=n: f(x[0], a.p, *whole(a, n), a.ceil),
           draw_lp_pool(n), roundings=6, scale=lambda x: 27 * max(1, operand(x)) ** 3)
define("avg_pool1d", lambda x, a: F.avg_pool1d(x[0], a.kernel, a.stride, a.padding, a.ceil, a.include), draw_pool(1),
       scale=operand)
define("avg_pool2d", lambda x, a: averaged(x, a, F.avg_pool2d), draw_pool(2), scale=operand)
define("avg_pool3d", lambda x, a: averaged(x, a, F.avg_pool3d), draw_pool(3), scale=operand)


# ---- normalisation
def spread(m, sizes, **more):
    m.tensor(sizes, fill="uniform", low=-2.0, high=2.0, **more)


def draw_layer_norm(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    n = m.rng.randint(1, len(sizes))
    spread(m, sizes)
    if m.chance(0.6):
        m.tensor(sizes[-n:])
        m.tensor(sizes[-n:])
    m.args.update(sizes=sizes[-n:], eps=1e-2)
    m.sum = 2 * math.prod(sizes) + 8


def draw_add_layer_norm(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    n = m.rng.randint(1, len(sizes))
    spread(m, sizes)
    spread(m, sizes)
    if m.chance(0.6):
        m.tensor(sizes[-n:])
        m.tensor(sizes[-n:])
    m.args.update(sizes=sizes[-n:], eps=1e-2)
    m.sum = 2 * math.prod(sizes) + 8


def draw_rms_norm(m):
    draw_layer_norm(m)
    del m.inputs[2:]
    m.args["eps"] = m.rng.choice([1e-2, 1.0])


def channels(m, c):
    sizes = [m.rng.randint(1, 3), c] + [m.rng.randint(1, 4) for _ in range(m.rng.randint(1, 3))]
    spread(m, sizes)
    m.sum = 2 * math.prod(sizes) + 8


def draw_group_norm(m):
    groups = m.rng.randint(1, 3)
    c = groups * m.rng.randint(1, 3)
    channels(m, c)
    if m.chance(0.6):
        m.tensor([c], dense=True)
        m.tensor([c], dense=True)
    m.args.update(groups=groups, eps=1e-2)


def draw_batch_norm(m):
    c = m.rng.randint(1, 4)
    spread(m, m.rng.choice([[5, c], [3, c, 2, 4], [2, c, 5]]))
    m.tensor([c], dense=True)  # PyTorch reads an expanded weight as if it were dense
    m.tensor([c], dense=True)
    m.args.update(eps=1e-2)
    m.sum = 64


def draw_batch_norm_running(m):
    draw_batch_norm(m)
    c = m.inputs[1]["sizes"]
    m.tensor(c, dense=True, grad=False)
    m.tensor(c, dense=True, grad=False, fill="uniform", low=0.25, high=2.0)


def draw_instance_norm(m):
    c = m.rng.randint(1, 4)
    channels(m, c)
    if m.chance(0.6):
        m.tensor([c], dense=True)
        m.tensor([c], dense=True)
    m.args["eps"] = 1e-2


def draw_response(m):
    channels(m, m.rng.randint(1, 5))
    m.args.update(size=m.rng.randint(1, 4), alpha=m.rng.choice([1e-4, 0.5]), beta=m.rng.choice([0.75, 0.5]),
                  k=m.rng.choice([1.0, 2.0]))


def normalised(x):
    return 64 * (1 + operand(x))


def weights(x):
    return x[1] if len(x) > 1 else None, x[2] if len(x) > 2 else None


define("layer_norm", lambda x, a: F.layer_norm(x[0], a.sizes, *x[1:], eps=a.eps), draw_layer_norm, roundings=4,
       scale=normalised)
define("add_layer_norm", lambda x, a: (F.layer_norm(x[0] + x[1], a.sizes, *x[2:], eps=a.eps), x[0] + x[1]),
       draw_add_layer_norm, roundings=5, scale=normalised)
define("rms_norm", lambda x, a: F.rms_norm(x[0], a.sizes, *x[1:], eps=a.eps), draw_rms_norm, roundings=4, scale=normalised)
define("group_norm", lambda x, a: F.group_norm(x[0], a.groups, *weights(x), eps=a.eps), draw_group_norm, roundings=4,
       scale=normalised)
define("batch_norm", lambda x, a: F.batch_norm(x[0], None, None, x[1], x[2], True, 0.1, a.eps), draw_batch_norm,
       roundings=4, scale=normalised)
define("batch_norm.running", lambda x, a: F.batch_norm(x[0], x[3], x[4], x[1], x[2], False, 0.1, a.eps),
       draw_batch_norm_running, roundings=4, scale=normalised)
define("instance_norm", lambda x, a: F.instance_norm(x[0], None, None, *weights(x), True, 0.1, a.eps),
       draw_instance_norm, roundings=4, scale=normalised)
define("local_response_norm", lambda x, a: F.local_response_norm(x[0], a.size, a.alpha, a.beta, a.k), draw_response,
       roundings=8, scale=normalised)


# ---- interpolation
def draw_resize(n, with_scale):
    def draw(m):
        space = [m.rng.randint(1, [9, 6, 3][n - 1]) for _ in range(n)]
        m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 3)] + space)
        m.args.update(sizes=[m.rng.randint(1, [12, 8, 5][n - 1]) for _ in range(n)])
        m.sum = 64
        if with_scale:
            m.args.update(align=m.chance(0.5), scale=None)
            if m.chance(0.4):
                m.args["scale"] = scale = m.rng.choice([0.5, 2.0, 1.5, 2.5])
                m.args["sizes"] = [max(1, int(s * scale)) for s in space]
    return draw


for name, n in [("upsample_nearest1d", 1), ("upsample_nearest2d", 2), ("upsample_nearest3d", 3),
                ("_upsample_nearest_exact1d", 1), ("_upsample_nearest_exact2d", 2), ("_upsample_nearest_exact3d", 3)]:
    define(name, lambda x, a, f=getattr(torch._C._nn, name): f(x[0], a.sizes), draw_resize(n, False), exact=True)
for name, n in [("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3),
                ("upsample_bicubic2d", 2)]:
    define(name, lambda x, a, f=getattr(torch._C._nn, name), n=n: f(x[0], a.sizes, a.align, *[a.scale] * n),
           draw_resize(n, True), roundings=3, scale=lambda x: 4 * operand(x))


# ---- attention
def draw_attention(m):
    b, h, q, k, e, v = (m.rng.randint(1, [2, 2, 5, 5, 4, 4][i]) for i in range(6))
    m.args.update(gqa=m.chance(0.2), causal=m.chance(0.3), scale=m.rng.choice([None, None, 0.5]))
    m.tensor([b, 2 * h if m.args["gqa"] else h, q, e])
    m.tensor([b, h, k, e])
    m.tensor([b, h, k, v])
    if not m.args["causal"] and m.chance(0.4):
        if m.chance(0.5):
            m.tensor([q, k], dtype="bool")
        else:
            m.tensor([q, k], grad=False)
    m.sum = 64


def attended(x, a):
    return F.scaled_dot_product_attention(x[0], x[1], x[2], x[3] if len(x) > 3 else None, 0.0, a.causal, scale=a.scale,
                                          enable_gqa=a.gqa)


define("scaled_dot_product_attention", attended, draw_attention, roundings=6,
       scale=lambda x: 8 * max(1, operand(x[:1]) * operand(x[1:2])) * max(1, operand(x[2:3])))
