"""Ops that read or write elements chosen by indices or masks. The other sides are random_indexing_ops.cpp and, for those
that write in place, random_in_place_ops.cpp."""
import math

import torch
import torch.nn.functional as F

from differential_calls import INTEGERS, define
from differential_draws import operand, shaped, writable, written

REDUCE = ["sum", "prod", "mean", "amax", "amin"]


def pair(name, f, draw, **more):
    """Defines an op that gives a new tensor and its form in place: f(x, inputs, arguments, suffix)."""
    first, dot, form = name.partition(".")
    define(name, lambda x, a: f(x[0], x, a, ""), lambda m: draw(m, m.tensor), **more)
    define(first + "_" + dot + form, lambda x, a: f(written(x[0]), x, a, "_"),
           lambda m: draw(m, lambda sizes: writable(m, sizes)), direct=True, **more)


def calls(name):
    """Returns f for pair(): the methods `name` and `name`_ of the inputs after the first."""
    return lambda y, x, a, suffix: getattr(y, name + suffix)(*x[1:])


# ---- one index tensor along a dimension
def draw_embedding(m):
    n, k = m.rng.randint(1, 6), m.rng.randint(1, 4)
    m.tensor([n, k])
    m.tensor(m.sizes(m.rng.randint(0, 2)), dtype=m.rng.choice(["i64", "i32"]), low=0, high=n)
    m.args.update(padding=m.rng.choice([-1, -1, 0, n - 1]), by_frequency=m.chance(0.3))
    m.sum = 40


def draw_bags(m):
    m.dtype = m.rng.choice(["f32", "f64"])
    n, k, bags = m.rng.randint(1, 6), m.rng.randint(1, 4), m.rng.randint(1, 4)
    weighted = m.chance(0.3)
    mode = 0 if weighted else m.rng.randint(0, 2)
    m.args.update(mode=mode, padding=m.rng.choice([-1, -1, 0, n - 1]), by_frequency=mode < 2 and m.chance(0.3))
    m.tensor([n, k])
    m.tensor([2 * bags + 1], dtype=m.rng.choice(["i64", "i32"]), low=0, high=n)
    m.tensor([bags], dtype=m.bases[-1]["dtype"], low=0, high=3)  # the sizes of the bags but the last
    if weighted:
        m.tensor([2 * bags + 1])
    m.sum = 40


def bagged(x, a):
    starts = x[2].cumsum(0).to(x[2].dtype) - x[2]
    return torch.embedding_bag(x[0], x[1], starts, a.by_frequency, a.mode, False, x[3] if len(x) > 3 else None, False,
                               None if a.padding < 0 else a.padding)[0]


def nonempty(m, rank=None):
    return [max(1, s) for s in m.sizes(m.rng.randint(1, 3) if rank is None else rank)]


def draw_gather(m):
    sizes = nonempty(m)
    m.any_dtype()
    m.tensor(sizes)
    m.args["dim"] = dim = m.rng.randrange(len(sizes))
    shape = [m.rng.randint(1, s) for s in sizes]
    shape[dim] = m.rng.randint(0, 6)
    m.tensor(shape, dtype="i64", low=0, high=sizes[dim])
    m.sum = 20


def draw_along(m):
    draw_gather(m)
    if m.chance(0.3):
        m.args["dim"] = None
        m.inputs.pop()
        m.bases.pop()
        m.tensor(m.sizes(m.rng.randint(1, 2)), dtype="i64", low=0, high=math.prod(m.inputs[0]["sizes"]))


def draw_index_select(m):
    sizes = nonempty(m)
    m.any_dtype()
    m.tensor(sizes)
    m.args["dim"] = dim = m.dim(sizes)
    m.tensor([m.rng.randint(0, 5)], dtype=m.rng.choice(["i64", "i32"]), low=0, high=sizes[dim])
    m.sum = 20


def draw_take(m):
    sizes = nonempty(m)
    m.any_dtype()
    m.tensor(sizes)
    n = math.prod(sizes)
    m.tensor(m.sizes(m.rng.randint(0, 2)), dtype="i64", low=-n, high=n)
    m.sum = 40


define("embedding_bag", bagged, draw_bags, scale=lambda x: 9 * max(1, operand(x[:1])) * max(1, operand(x[3:])))
define("embedding", lambda x, a: torch.embedding(x[0], x[1], a.padding, a.by_frequency), draw_embedding, exact=True)
define("gather", lambda x, a: torch.gather(x[0], a.dim, x[1]), draw_gather, exact=True)
define("take_along_dim", lambda x, a: torch.take_along_dim(x[0], x[1], a.dim), draw_along, exact=True)
define("index_select", lambda x, a: torch.index_select(x[0], a.dim, x[1]), draw_index_select, exact=True)
define("take", lambda x, a: torch.take(x[0], x[1]), draw_take, exact=True)


def draw_scatter_to(m, first, unique):
    """Draws x and an index. Unless it may repeat, it addresses one element a line, or all in another order."""
    sizes = nonempty(m)
    m.any_dtype()
    first(sizes)
    m.args["dim"] = dim = m.rng.randrange(len(sizes))
    shape = [m.rng.randint(1, s) for s in sizes]
    if unique and len(sizes) == 1:
        m.tensor(shape, dtype="i64", fill="distinct", low=0, dense=True)
    else:
        if unique:
            shape[dim] = 1
        m.tensor(shape, dtype="i64", low=0, high=sizes[dim])
    m.sum = 20
    return shape


def draw_scatter_add(m, first):
    m.tensor(draw_scatter_to(m, first, False), dtype=m.dtype)


def draw_scatter(m, first):
    m.tensor(draw_scatter_to(m, first, True), dtype=m.dtype)


def draw_scatter_number(m, first):
    draw_scatter_to(m, first, False)
    m.args["number"] = m.rng.choice([0, 1, 2])


def draw_scatter_combined(m, first):
    m.grad = False  # differs: docs/differences.md
    draw_scatter_add(m, first)
    m.args["reduce"] = m.rng.choice(["add", "multiply"])


def draw_scatter_combined_number(m, first):
    m.grad = False
    draw_scatter_number(m, first)
    m.args["reduce"] = m.rng.choice(["add", "multiply"])


def untied(m):
    """Without include_self PyTorch still divides the gradient by the elements of x that equal the result."""
    if not m.args["include_self"]:
        for base in m.bases:
            base["special"] = []


def draw_scatter_reduce(m, first):
    draw_scatter_add(m, first)
    m.args.update(reduce=m.rng.choice(REDUCE), include_self=m.chance(0.5))
    untied(m)


def added(x):
    return 4 * max(1, operand(x))


pair("scatter_add", lambda y, x, a, s: getattr(y, "scatter_add" + s)(a.dim, x[1], x[2]), draw_scatter_add, roundings=8,
     scale=added)
pair("scatter", lambda y, x, a, s: getattr(y, "scatter" + s)(a.dim, x[1], x[2]), draw_scatter)
pair("scatter.number", lambda y, x, a, s: getattr(y, "scatter" + s)(a.dim, x[1], a.number), draw_scatter_number)
pair("scatter.reduce", lambda y, x, a, s: getattr(y, "scatter" + s)(a.dim, x[1], x[2], reduce=a.reduce),
     draw_scatter_combined, roundings=8, scale=added, relative=True)
pair("scatter.reduce_number", lambda y, x, a, s: getattr(y, "scatter" + s)(a.dim, x[1], a.number, reduce=a.reduce),
     draw_scatter_combined_number, roundings=8, scale=added, relative=True)
pair("scatter_reduce",
     lambda y, x, a, s: getattr(y, "scatter_reduce" + s)(a.dim, x[1], x[2], a.reduce, include_self=a.include_self),
     draw_scatter_reduce, roundings=8, scale=added, relative=True)


# ---- an index of whole slices
def draw_slices(m, first, unique):
    sizes = nonempty(m)
    m.any_dtype()
    first(sizes)
    m.args["dim"] = dim = m.dim(sizes)
    n = m.rng.randint(1, sizes[dim]) if unique else m.rng.randint(0, 5)
    if unique:
        m.tensor([n], dtype="i64", fill="distinct", low=0, dense=True)
    else:
        m.tensor([n], dtype="i64", low=0, high=sizes[dim])
    m.sum = 20
    sizes = list(sizes)
    sizes[dim] = n
    return sizes


def draw_index_add(m, first):
    m.tensor(draw_slices(m, first, False), dtype=m.dtype)
    m.args["alpha"] = m.rng.choice([1, 2, 3] if m.dtype in INTEGERS else [1, -2, 0.5])


def draw_index_copy(m, first):
    m.tensor(draw_slices(m, first, True), dtype=m.dtype)


def draw_index_fill(m, first):
    draw_slices(m, first, False)
    m.args["number"] = m.rng.choice([0, 1, 2])


def draw_index_reduce(m, first):
    m.tensor(draw_slices(m, first, False), dtype=m.dtype)
    means = m.dtype != "bool"  # PyTorch refuses the mean of bool unless the index is empty, tandem always
    m.args.update(reduce=m.rng.choice(REDUCE[1:] if means else [r for r in REDUCE[1:] if r != "mean"]),
                  include_self=m.chance(0.5))
    untied(m)


def draw_index_fill_tensor(m):
    draw_slices(m, m.tensor, False)
    m.tensor([], dtype=m.dtype)


pair("index_add", lambda y, x, a, s: getattr(y, "index_add" + s)(a.dim, x[1], x[2], alpha=a.alpha), draw_index_add,
     roundings=8, scale=added)
pair("index_copy", lambda y, x, a, s: getattr(y, "index_copy" + s)(a.dim, x[1], x[2]), draw_index_copy)
pair("index_fill", lambda y, x, a, s: getattr(y, "index_fill" + s)(a.dim, x[1], a.number), draw_index_fill)
pair("index_reduce",
     lambda y, x, a, s: getattr(y, "index_reduce" + s)(a.dim, x[1], x[2], a.reduce, include_self=a.include_self),
     draw_index_reduce, roundings=8, scale=added, relative=True)
define("index_fill.tensor", lambda x, a: torch.index_fill(x[0], a.dim, x[1], x[2]), draw_index_fill_tensor)


# ---- several indices and masks
def draw_indexed(m, first, unique=False):
    """Draws x, and returns a function that draws its indices, and the sizes of the elements that they choose; None as a
    size if it depends on a mask's numbers."""
    sizes = nonempty(m, m.rng.randint(1, 4))
    m.any_dtype()
    first(sizes)
    rank = len(sizes)
    if unique or m.chance(0.3):  # one mask or one index without repetition
        skipped = m.rng.randrange(rank)
        m.args["at"] = [skipped]
        if unique and m.chance(0.5):
            n = m.rng.randint(1, sizes[skipped])
            return (lambda: m.tensor([n], dtype="i64", fill="distinct", low=0, dense=True),
                    sizes[:skipped] + [n] + sizes[skipped + 1:])
        masked = m.rng.randint(1, rank - skipped)
        return (lambda: m.tensor(sizes[skipped:skipped + masked], dtype="bool"),
                sizes[:skipped] + [None] + sizes[skipped + masked:])
    at = sorted(m.rng.sample(range(rank), m.rng.randint(1, min(rank, 3))))
    m.args["at"] = at
    common = m.rng.choice([[], [3], [2], [2, 3], [1], [0]])
    shapes = [m.shape_like(common) if m.chance(0.3) else common for _ in at]
    zeros = [None] * (at[-1] + 1)
    for dim, shape in zip(at, shapes):
        zeros[dim] = torch.zeros(shape, dtype=torch.long)

    def indices():
        for dim, shape in zip(at, shapes):
            m.tensor(shape, dtype="i64", low=-sizes[dim], high=sizes[dim])

    return indices, list(torch.ops.aten.index(torch.empty(sizes), zeros).shape)


def placed(x, first, at):
    """The indices as a list: those of the dimensions `at`."""
    indices = [None] * (at[-1] + 1)
    for dim, index in zip(at, x[first:]):
        indices[dim] = index
    return indices


def draw_index(m):
    indices, _ = draw_indexed(m, m.tensor)
    indices()
    m.sum = 64


def draw_index_put(m, first):
    accumulate = m.chance(0.6)
    indices, sizes = draw_indexed(m, first, unique=not accumulate)
    known = sizes[sizes.index(None) + 1:] if None in sizes else sizes
    m.tensor(known[m.rng.randint(0, len(known)):] if m.chance(0.5) else known, dtype=m.dtype)
    indices()
    m.args["accumulate"] = accumulate
    m.sum = 300


def draw_index_put_number(m):
    indices, _ = draw_indexed(m, m.tensor)
    indices()
    m.args.update(accumulate=m.chance(0.3), number=m.rng.choice([0, 1, 2]))


def put_values(y, x, a, suffix):
    return getattr(torch.ops.aten, "index_put" + suffix)(y, placed(x, 2, a["at"]), x[1], a.accumulate)


def put_number(x, a):
    number = torch.tensor(a.number).to(x[0].dtype)
    return torch.ops.aten.index_put(x[0], placed(x, 1, a["at"]), number, a.accumulate)


def draw_put(m, first):
    sizes = nonempty(m)
    m.any_dtype()
    first(sizes)
    n = math.prod(sizes)
    m.args["accumulate"] = accumulate = m.chance(0.5)
    if accumulate:
        shape = m.tensor(nonempty(m, m.rng.randint(1, 2)), dtype="i64", low=-n, high=n)
    else:
        shape = m.tensor([m.rng.randint(1, n)], dtype="i64", fill="distinct", low=0, dense=True)
    m.tensor(shape, dtype=m.dtype)
    m.sum = 40


define("index", lambda x, a: torch.ops.aten.index(x[0], placed(x, 1, a["at"])), draw_index, exact=True)
pair("index_put", put_values, draw_index_put, roundings=12, scale=lambda x: 8 * max(1, operand(x)))
define("index_put.number", put_number, draw_index_put_number, roundings=12, scale=lambda x: 8 * max(1, operand(x)))
pair("put", lambda y, x, a, s: getattr(y, "put" + s)(x[1], x[2], a.accumulate), draw_put, roundings=12,
     scale=lambda x: 8 * max(1, operand(x)))


# ---- masks
def draw_mask(m, first):
    m.any_dtype()
    sizes = m.sizes()
    first(sizes)
    m.tensor(m.shape_like(sizes), dtype="bool")
    m.sum = 20
    return sizes


def draw_masked_number(m, first):
    draw_mask(m, first)
    m.args["number"] = m.rng.choice([0, 1, 2])


def draw_masked_tensor(m):
    draw_mask(m, m.tensor)
    m.tensor([], dtype=m.dtype)
    m.sum = 128


def draw_masked_scatter(m, first):
    sizes = draw_mask(m, first)
    m.tensor([math.prod(sizes) + m.rng.randint(0, 2)], dtype=m.dtype)


define("masked_select", lambda x, a: torch.masked_select(x[0], x[1]), lambda m: draw_mask(m, m.tensor), exact=True)
pair("masked_fill", lambda y, x, a, s: getattr(y, "masked_fill" + s)(x[1], a.number), draw_masked_number)
define("masked_fill.tensor", lambda x, a: x[0].masked_fill(x[1], x[2]), draw_masked_tensor)
pair("masked_scatter", calls("masked_scatter"), draw_masked_scatter, exact=True)


def draw_one_hot(m):
    classes = m.rng.randint(1, 6)
    m.tensor(m.sizes(), dtype="i64", low=0, high=classes)
    m.args["classes"] = m.rng.choice([classes, classes + 2, -1])


define("nonzero", lambda x, a: torch.nonzero(x[0]), shaped)
define("argwhere", lambda x, a: torch.argwhere(x[0]), shaped)
define("where.indices", lambda x, a: torch.where(x[0]), shaped)
define("one_hot", lambda x, a: F.one_hot(x[0], a.classes), draw_one_hot)
