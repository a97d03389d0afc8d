"""More ops for differential_calls.py: geometry, products, layers, losses and indices."""
import math

import torch
import torch.nn.functional as F

from differential_calls import FLOATING, INTEGERS, define
from differential_ops import operand


# ---- geometry
def shaped(m, rank=None, low=1):
    m.any_dtype()
    return m.tensor(m.sizes(rank, low), special="all")


def factors(m, n):
    sizes = []
    while n > 1 and len(sizes) < 3 and m.chance(0.8):
        f = m.rng.choice([d for d in range(1, n + 1) if n % d == 0])
        sizes.append(f)
        n //= f
    return sizes + [n]


def draw_view(m):
    sizes = m.sizes()
    m.any_dtype()
    m.tensor(sizes, special="all", dense=m.chance(0.6))
    m.args["sizes"] = factors(m, math.prod(sizes)) if math.prod(sizes) else [0, 2]
    m.sum = 20  # elements of an expanded leaf have separate gradients, but windows share them


def draw_transpose(m):
    sizes = shaped(m)
    m.args.update(a=m.dim(sizes), b=m.dim(sizes))


def draw_permute(m):
    sizes = shaped(m)
    dims = list(range(len(sizes)))
    m.rng.shuffle(dims)
    m.args["dims"] = dims


def draw_flatten(m):
    sizes = shaped(m)
    a, b = sorted([m.rng.randrange(max(1, len(sizes))) for _ in range(2)])
    m.args.update(a=a, b=b)


def draw_dim(m):
    sizes = shaped(m)
    m.args["dim"] = m.dim(sizes)


def draw_unsqueeze(m):
    sizes = shaped(m)
    m.args["dim"] = m.rng.randint(-len(sizes) - 1, len(sizes))


def draw_expand(m):
    sizes = [1 if m.chance(0.4) else s for s in m.sizes()]
    m.any_dtype()
    m.tensor(sizes)
    m.args["sizes"] = [m.rng.randint(1, 3) for _ in range(m.rng.randint(0, 1))] + [
        m.rng.randint(0, 4) if s == 1 else m.rng.choice([s, -1]) for s in sizes]
    m.sum = 100


def draw_select(m):
    sizes = shaped(m, m.rng.randint(1, 4))
    m.args["dim"] = dim = m.dim(sizes)
    m.args["index"] = m.rng.randrange(-sizes[dim], sizes[dim]) if sizes[dim] else 0


def draw_slice(m):
    sizes = shaped(m, m.rng.randint(1, 4))
    m.args["dim"] = m.rng.randrange(len(sizes))
    m.args.update(start=m.rng.choice([None, m.rng.randint(-7, 7)]), stop=m.rng.choice([None, m.rng.randint(-7, 7)]),
                  step=m.rng.randint(1, 3))


def draw_as_strided(m):
    m.any_dtype()
    m.tensor([m.rng.randint(8, 24)], dense=True)
    m.args.update(sizes=[m.rng.randint(1, 3), m.rng.randint(1, 3)], strides=[m.rng.randint(0, 2), m.rng.randint(0, 1)],
                  offset=m.rng.randint(0, 1))
    m.sum = 9


def sliced(x, a):
    return x.transpose(0, a.dim)[a.start:a.stop:a.step].transpose(0, a.dim)


define("view", lambda x, a: x[0].view(a.sizes), draw_view, exact=True)
define("reshape", lambda x, a: x[0].reshape(a.sizes), draw_view, exact=True)
define("flatten", lambda x, a: torch.flatten(x[0], a.a, a.b), draw_flatten, exact=True)
define("transpose", lambda x, a: x[0].transpose(a.a, a.b), draw_transpose, exact=True)
define("permute", lambda x, a: x[0].permute(a.dims), draw_permute, exact=True)
define("squeeze", lambda x, a: x[0].squeeze(), draw_dim, exact=True)
define("squeeze_dim", lambda x, a: x[0].squeeze(a.dim), draw_dim, exact=True)
define("unsqueeze", lambda x, a: x[0].unsqueeze(a.dim), draw_unsqueeze, exact=True)
define("expand", lambda x, a: x[0].expand(a.sizes), draw_expand, exact=True)
define("select", lambda x, a: x[0].select(a.dim, a.index), draw_select, exact=True)
define("slice", lambda x, a: sliced(x[0], a), draw_slice, exact=True)
define("as_strided", lambda x, a: x[0].as_strided(a.sizes, a.strides, a.offset), draw_as_strided, exact=True)
define("clone", lambda x, a: x[0].clone(), shaped, exact=True)
define("contiguous", lambda x, a: x[0].contiguous(), shaped, exact=True)


def draw_to(m):
    m.any_dtype()
    m.tensor(m.sizes(), special="tame")
    m.args["dtype"] = m.rng.choice(FLOATING + ["i64", "i32", "bool"])


def draw_cat(m):
    m.any_dtype()
    sizes = m.sizes(m.rng.randint(1, 4))
    dim = m.rng.randrange(len(sizes))
    for _ in range(m.rng.randint(1, 4)):
        sizes = list(sizes)
        sizes[dim] = m.rng.randint(0, 4)
        m.tensor(sizes, dtype=m.rng.choice(FLOATING + INTEGERS) if m.chance(0.15) else None)
    m.args["dim"] = dim - len(sizes) if m.chance(0.3) else dim


def draw_stack(m):
    m.any_dtype()
    sizes = m.sizes(m.rng.randint(0, 3))
    for _ in range(m.rng.randint(1, 3)):
        m.tensor(sizes)
    m.args["dim"] = m.rng.randint(-len(sizes) - 1, len(sizes))


def draw_chunk(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args.update(chunks=m.rng.randint(1, 6), dim=m.dim(sizes))


define("to", lambda x, a: x[0].to(a.dtype), draw_to, roundings=2)
define("cat", lambda x, a: torch.cat(x, a.dim), draw_cat, exact=True)
define("stack", lambda x, a: torch.stack(x, a.dim), draw_stack, exact=True)
define("chunk", lambda x, a: torch.chunk(x[0], a.chunks, a.dim), draw_chunk, exact=True)


# ---- products
def products(x):
    return math.prod(max(operand([t]), 2.0**-30) for t in x[:2]) + (operand(x[2:]) if len(x) > 2 else 0)


def draw_mm(m):
    n, k, p = m.rng.randint(1, 6), m.rng.randint(0 if m.chance(0.1) else 1, 9), m.rng.randint(1, 6)
    m.tensor([n, k])
    m.tensor([k, p])
    m.sum = 10
    return n, p


def draw_bmm(m):
    b, n, k, p = (m.rng.randint(1, 4) for _ in range(4))
    m.tensor([b, n, k])
    m.tensor([b, k, p])
    m.sum = 4


def draw_addmm(m):
    m.grad = m.grad and m.dtype in ("f32", "f64")
    n, p = draw_mm(m)
    m.tensor(m.rng.choice([[n, p], [p], [1, p], [n, 1], []]))
    m.args.update(beta=m.rng.choice([1, 0.5, 2]), alpha=m.rng.choice([1, -2, 0.25]))


def draw_matmul(m):
    n, k, p = (m.rng.randint(1, 5) for _ in range(3))
    batch = [m.rng.choice([1, 2]) for _ in range(m.rng.randint(0, 2))]
    left = m.rng.choice([[k], [n, k], batch + [n, k]])
    right = m.rng.choice([[k], [k, p], [2] + [k, p]])
    m.tensor(left)
    m.tensor(right)
    m.sum = 40


def draw_linear(m):
    k, p = m.rng.randint(1, 9), m.rng.randint(1, 5)
    rows = m.sizes(m.rng.randint(0, 2))
    m.tensor(rows + [k])
    m.tensor([p, k])
    if m.chance(0.6):
        m.tensor([p])
    m.sum = max(k + 1, math.prod(rows), p)


define("mm", lambda x, a: torch.mm(x[0], x[1]), draw_mm, scale=products)
define("bmm", lambda x, a: torch.bmm(x[0], x[1]), draw_bmm, scale=products)
define("addmm", lambda x, a: torch.addmm(x[2], x[0], x[1], beta=a.beta, alpha=a.alpha), draw_addmm, roundings=2,
       scale=lambda x: 2 * products(x))
define("matmul", lambda x, a: torch.matmul(x[0], x[1]), draw_matmul, scale=products)
define("linear", lambda x, a: F.linear(*x), draw_linear, roundings=2, scale=products)


# ---- layers
def draw_conv(m):
    groups = m.rng.choice([1, 1, 2])
    c, o, k = groups * m.rng.randint(1, 3), groups * m.rng.randint(1, 3), m.rng.randint(1, 3)
    m.tensor([m.rng.randint(1, 2), c, m.rng.randint(k, 7), m.rng.randint(k, 7)])
    m.tensor([o, c // groups, k, k])
    if m.chance(0.5):
        m.tensor([o])
    m.args.update(stride=m.rng.randint(1, 3), padding=m.rng.randint(0, 2), dilation=1, groups=groups)
    if k <= 2 and m.chance(0.3):
        m.args["dilation"] = 2
        m.args["padding"] = 1
    m.sum = 128


def draw_pool(m):
    k = m.rng.randint(1, 3)
    m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 3), m.rng.randint(k, 7), m.rng.randint(k, 7)])
    m.args.update(kernel=k, stride=m.rng.randint(1, 3), padding=m.rng.randint(0, k // 2), ceil=m.chance(0.5),
                  dilation=1, include=m.chance(0.5))
    m.sum = 16


def draw_adaptive(m):
    m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 3), m.rng.randint(1, 7), m.rng.randint(1, 7)])
    m.args["sizes"] = [m.rng.randint(1, 4), m.rng.randint(1, 4)]
    m.sum = 64


def conv(x, a):
    return F.conv2d(x[0], x[1], x[2] if len(x) > 2 else None, a.stride, a.padding, a.dilation, a.groups)


define("conv2d", conv, draw_conv, scale=products, roundings=2)
define("max_pool2d", lambda x, a: F.max_pool2d(x[0], a.kernel, a.stride, a.padding, a.dilation, a.ceil), draw_pool,
       exact=True)
define("avg_pool2d", lambda x, a: F.avg_pool2d(x[0], a.kernel, a.stride, a.padding, a.ceil, a.include), draw_pool,
       scale=operand)
define("adaptive_avg_pool2d", lambda x, a: F.adaptive_avg_pool2d(x[0], a.sizes), draw_adaptive, scale=operand)


def draw_layer_norm(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    n = m.rng.randint(1, len(sizes))
    m.tensor(sizes, fill="uniform", low=-2.0, high=2.0)
    if m.chance(0.6):
        m.tensor(sizes[-n:])
        m.tensor(sizes[-n:])
    m.args.update(sizes=sizes[-n:], eps=1e-2)
    m.sum = 2 * math.prod(sizes) + 8


def draw_batch_norm(m):
    c = m.rng.randint(1, 4)
    m.tensor(m.rng.choice([[5, c], [3, c, 2, 4], [2, c, 5]]), fill="uniform", low=-2.0, high=2.0)
    m.tensor([c], dense=True)  # PyTorch reads an expanded weight as if it were dense
    m.tensor([c], dense=True)
    m.args.update(eps=1e-2)
    m.sum = 64


define("layer_norm", lambda x, a: F.layer_norm(x[0], a.sizes, *x[1:], eps=a.eps), draw_layer_norm, roundings=4,
       scale=lambda x: 64 * (1 + operand(x)))
define("batch_norm", lambda x, a: F.batch_norm(x[0], None, None, x[1], x[2], True, 0.1, a.eps), draw_batch_norm,
       roundings=4, scale=lambda x: 64 * (1 + operand(x)))


# ---- indices and losses
def draw_embedding(m):
    n, k = m.rng.randint(1, 6), m.rng.randint(1, 4)
    m.tensor([n, k])
    m.tensor(m.sizes(m.rng.randint(0, 2)), dtype=m.rng.choice(["i64", "i32"]), low=0, high=n)
    m.sum = 40


def draw_gather(m):
    sizes = m.sizes(m.rng.randint(1, 3), low=1)
    sizes = [max(1, s) for s in sizes]
    m.any_dtype()
    m.tensor(sizes)
    m.args["dim"] = dim = m.rng.randrange(len(sizes))
    shape = [m.rng.randint(1, s) for s in sizes]
    m.tensor(shape, dtype="i64", low=0, high=sizes[dim])
    m.sum = 20
    return shape


def draw_scatter(m):
    m.tensor(draw_gather(m), dtype=m.dtype)


def draw_index_select(m):
    sizes = [max(1, s) for s in m.sizes(m.rng.randint(1, 3))]
    m.tensor(sizes)
    m.args["dim"] = dim = m.rng.randrange(len(sizes))
    m.tensor([m.rng.randint(1, 5)], dtype=m.rng.choice(["i64", "i32"]), low=0, high=sizes[dim])
    m.sum = 20


define("embedding", lambda x, a: F.embedding(x[1], x[0]), draw_embedding, exact=True)
define("gather", lambda x, a: torch.gather(x[0], a.dim, x[1]), draw_gather, exact=True)
define("scatter_add", lambda x, a: torch.scatter_add(x[0], a.dim, x[1], x[2]), draw_scatter, roundings=8, scale=operand)
define("index_select", lambda x, a: torch.index_select(x[0], a.dim, x[1]), draw_index_select, exact=True)


def draw_classes(m):
    n, c = m.rng.randint(1, 5), m.rng.randint(1, 6)
    m.tensor([n, c])
    m.tensor([n], dtype="i64", low=0, high=c)
    m.args["reduction"] = m.rng.choice(["none", "mean", "sum"])
    m.args["smoothing"] = m.rng.choice([0.0, 0.0, 0.25])
    m.sum = 64


def draw_pair(m):
    sizes = m.sizes()
    m.tensor(sizes)
    m.tensor(sizes, fill="uniform")
    m.args["reduction"] = m.rng.choice(["none", "mean", "sum"])
    m.sum = max(1, math.prod(sizes))


define("cross_entropy", lambda x, a: F.cross_entropy(x[0], x[1], reduction=a.reduction, label_smoothing=a.smoothing),
       draw_classes, roundings=8, scale=lambda x: 8 + operand(x))
define("nll_loss", lambda x, a: F.nll_loss(x[0], x[1], reduction=a.reduction), draw_classes, roundings=2, scale=operand)
define("mse_loss", lambda x, a: F.mse_loss(x[0], x[1], reduction=a.reduction), draw_pair, roundings=3,
       scale=lambda x: (1 + operand(x)) ** 2)
define("binary_cross_entropy_with_logits",
       lambda x, a: F.binary_cross_entropy_with_logits(x[0], x[1], reduction=a.reduction), draw_pair, roundings=3,
       scale=lambda x: 2 + operand(x))
