"""Ops that move elements or give views. The other side is random_geometry_ops.cpp."""
import math

import torch
import torch.nn.functional as F

from differential_calls import FLOATING, INTEGERS, define
from differential_draws import options, shaped, with_dim


def factors(m, n):
    sizes = []
    while n > 1 and len(sizes) < 3 and m.chance(0.8):
        f = m.rng.choice([d for d in range(1, n + 1) if n % d == 0])
        sizes.append(f)
        n //= f
    return sizes + [n]


# ---- views
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


def draw_movedim(m):
    sizes = shaped(m)
    dims = range(len(sizes))
    n = m.rng.randint(0, len(sizes))
    m.args.update(source=m.rng.sample(dims, n), destination=m.rng.sample(dims, n))


def draw_flatten(m):
    sizes = shaped(m)
    a, b = sorted([m.rng.randrange(max(1, len(sizes))) for _ in range(2)])
    m.args.update(a=a, b=b)


def draw_unflatten(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args["dim"] = dim = m.dim(sizes)
    m.args["sizes"] = factors(m, sizes[dim]) if sizes[dim] else [0, 2]


def draw_dims(m):
    sizes = shaped(m)
    m.args["dims"] = m.dims(sizes)


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
    return sizes, dim


def draw_slice(m):
    sizes = shaped(m, m.rng.randint(1, 4))
    m.args["dim"] = m.rng.randrange(len(sizes))
    m.args.update(start=m.rng.choice([None, m.rng.randint(-7, 7)]), stop=m.rng.choice([None, m.rng.randint(-7, 7)]),
                  step=m.rng.randint(1, 3))
    return sizes


def draw_narrow(m):
    sizes = shaped(m, m.rng.randint(1, 4))
    m.args["dim"] = dim = m.dim(sizes)
    m.args["start"] = start = m.rng.randint(0, sizes[dim])
    m.args["length"] = m.rng.randint(0, sizes[dim] - start)


def draw_as_strided(m):
    m.any_dtype()
    m.tensor([m.rng.randint(8, 24)], dense=True)
    m.args.update(sizes=[m.rng.randint(1, 3), m.rng.randint(1, 3)], strides=[m.rng.randint(0, 2), m.rng.randint(0, 1)],
                  offset=m.rng.randint(0, 1))
    m.sum = 9


def draw_diagonal(m):
    sizes = shaped(m, m.rng.randint(2, 4))
    dim1, dim2 = m.rng.sample(range(len(sizes)), 2)
    m.args.update(offset=m.rng.randint(-3, 3), dim1=dim1, dim2=dim2 - len(sizes) if m.chance(0.3) else dim2)
    return sizes


def draw_unfold(m):
    sizes = shaped(m, m.rng.randint(1, 4))
    m.args["dim"] = dim = m.dim(sizes)
    m.args.update(size=m.rng.randint(0, sizes[dim]), step=m.rng.randint(1, 3))
    m.sum = 20


def sliced(x, a):
    return x.transpose(0, a.dim)[a.start:a.stop:a.step].transpose(0, a.dim)


draw_dim = with_dim(shaped)
define("view", lambda x, a: x[0].view(a.sizes), draw_view, exact=True)
define("reshape", lambda x, a: x[0].reshape(a.sizes), draw_view, exact=True)
define("flatten", lambda x, a: torch.flatten(x[0], a.a, a.b), draw_flatten, exact=True)
define("unflatten", lambda x, a: torch.unflatten(x[0], a.dim, a.sizes), draw_unflatten, exact=True)
define("transpose", lambda x, a: x[0].transpose(a.a, a.b), draw_transpose, exact=True)
define("swapaxes", lambda x, a: x[0].swapaxes(a.a, a.b), draw_transpose, exact=True)
define("swapdims", lambda x, a: x[0].swapdims(a.a, a.b), draw_transpose, exact=True)
define("movedim", lambda x, a: x[0].movedim(a.source, a.destination), draw_movedim, exact=True)
define("moveaxis", lambda x, a: x[0].moveaxis(a.source, a.destination), draw_movedim, exact=True)
define("permute", lambda x, a: x[0].permute(a.dims), draw_permute, exact=True)
define("squeeze.dim", lambda x, a: x[0].squeeze(a.dim), draw_dim, exact=True)
define("squeeze.dims", lambda x, a: x[0].squeeze(a.dims), draw_dims, exact=True)
define("unsqueeze", lambda x, a: x[0].unsqueeze(a.dim), draw_unsqueeze, exact=True)
define("expand", lambda x, a: x[0].expand(a.sizes), draw_expand, exact=True)
define("broadcast_to", lambda x, a: x[0].broadcast_to(a.sizes), draw_expand, exact=True)
define("select", lambda x, a: x[0].select(a.dim, a.index), draw_select, exact=True)
define("slice", lambda x, a: sliced(x[0], a), draw_slice, exact=True)
define("narrow", lambda x, a: x[0].narrow(a.dim, a.start, a.length), draw_narrow, exact=True)
define("narrow_copy", lambda x, a: x[0].narrow(a.dim, a.start, a.length).clone(), draw_narrow, exact=True)
define("as_strided", lambda x, a: x[0].as_strided(a.sizes, a.strides, a.offset), draw_as_strided, exact=True)
define("diagonal", lambda x, a: x[0].diagonal(a.offset, a.dim1, a.dim2), draw_diagonal, exact=True)
define("unfold", lambda x, a: x[0].unfold(a.dim, a.size, a.step), draw_unfold, exact=True)
for name in ["squeeze", "ravel", "clone", "atleast_1d", "atleast_2d", "atleast_3d"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0]), shaped, exact=True)
define("t", lambda x, a: x[0].t(), lambda m: shaped(m, m.rng.randint(0, 2)), exact=True)
define("contiguous", lambda x, a: x[0].contiguous(), shaped, exact=True)


# ---- copies
def draw_to(m):
    m.any_dtype()
    m.tensor(m.sizes(), special="tame")
    m.args["dtype"] = m.rng.choice(FLOATING + ["i64", "i32", "bool"])


def draw_roll(m):
    sizes = shaped(m)
    dims = m.dims(sizes) if m.chance(0.7) else []
    m.args.update(dims=dims, shifts=[m.rng.randint(-9, 9) for _ in dims or [0]])


def draw_rot90(m):
    sizes = shaped(m, m.rng.randint(2, 4))
    m.args.update(k=m.rng.randint(-5, 5), dims=m.rng.sample(range(len(sizes)), 2))


def draw_repeat(m):
    sizes = shaped(m)
    m.args["repeats"] = [m.rng.randint(0 if m.chance(0.1) else 1, 3) for _ in range(len(sizes) + m.rng.randint(0, 1))]
    m.sum = 100


def draw_interleave(m):
    sizes = shaped(m)
    m.args.update(repeats=m.rng.randint(0, 3), dim=m.dim(sizes) if m.chance(0.7) else None)
    m.sum = 100


def draw_interleave_tensor(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args["dim"] = dim = m.dim(sizes) if m.chance(0.7) else None
    n = math.prod(sizes) if dim is None else sizes[dim]
    m.tensor([n] if m.chance(0.8) else [1], dtype=m.rng.choice(["i64", "i32"]), low=0, high=4)
    m.sum = 100


def draw_counts(m):
    m.tensor([m.rng.randint(0, 9)], dtype=m.rng.choice(["i64", "i32"]), low=0, high=4)


def draw_triangle(m):
    shaped(m, m.rng.randint(2, 4))
    m.args["diagonal"] = m.rng.randint(-3, 3)


def draw_indices(m):
    m.args.update(rows=m.rng.randint(0, 6), columns=m.rng.randint(0, 6), diagonal=m.rng.randint(-4, 4))


def draw_diag(m):
    shaped(m, m.rng.randint(1, 2))
    m.args["diagonal"] = m.rng.randint(-3, 3)


def draw_diagflat(m):
    shaped(m, m.rng.randint(0, 1))
    m.args["diagonal"] = m.rng.randint(-3, 3)


def draw_diag_embed(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    dim1, dim2 = m.rng.sample(range(len(sizes) + 1), 2)
    m.args.update(offset=m.rng.randint(-3, 3), dim1=dim1, dim2=dim2)


def result_of(f, m):
    """Returns the sizes of a view of the first input."""
    return list(f(torch.empty(m.inputs[0]["sizes"])).shape)


def draw_diagonal_scatter(m):
    draw_diagonal(m)
    a = m.args
    m.tensor(result_of(lambda x: x.diagonal(a["offset"], a["dim1"], a["dim2"]), m), special="all")


def draw_select_scatter(m):
    sizes, dim = draw_select(m)
    sizes = list(sizes)
    del sizes[dim]
    m.tensor(sizes, special="all")


def draw_slice_scatter(m):
    draw_slice(m)
    m.args["start"], m.args["stop"] = m.args["start"] or 0, m.args["stop"]
    a = m.args
    m.tensor(result_of(lambda x: torch.ops.aten.slice(x, a["dim"], a["start"], a["stop"], a["step"]), m), special="all")


def draw_as_strided_scatter(m):
    draw_as_strided(m)
    m.grad = False  # differs: docs/differences.md
    m.inputs[0]["grad"] = False
    m.args["strides"] = [m.args["sizes"][1], 1]  # which of several values an element gets is not defined
    m.tensor(m.args["sizes"])


def draw_constant_pad(m):
    m.any_dtype()
    sizes = m.tensor(m.sizes(m.rng.randint(1, 4)), special="all")
    m.args["pad"] = [m.rng.randint(-1, 3) for _ in range(2 * m.rng.randint(0, len(sizes)))]
    m.args["value"] = m.rng.choice([0, 1, 2]) if m.dtype in INTEGERS else m.rng.choice([0, 1.5, -2])


def draw_pad(m):
    n = m.rng.randint(1, 3)
    sizes = m.tensor([m.rng.randint(1, 5 if n < 3 else 3) for _ in range(n + m.rng.randint(1, 2))], special="all")
    m.args["mode"] = m.rng.choice(["reflect", "replicate", "circular"])
    crops = m.chance(0.2) and m.args["mode"] != "circular"  # PyTorch's circular padding reads what it crops
    m.args["pad"] = [m.rng.randint(-1 if crops else 0, 3) for _ in range(2 * n)]
    m.sum = 64


def draw_shuffle(m):
    r = m.rng.randint(1, 3)
    m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 2) * r * r, m.rng.randint(1, 3), m.rng.randint(1, 3)], special="all")
    m.args["factor"] = r


def draw_unshuffle(m):
    r = m.rng.randint(1, 3)
    m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 2), m.rng.randint(1, 3) * r, m.rng.randint(1, 3) * r], special="all")
    m.args["factor"] = r


def draw_channel_shuffle(m):
    groups = m.rng.randint(1, 3)
    m.tensor([m.rng.randint(1, 2), m.rng.randint(1, 3) * groups] + m.sizes(2, 1), special="all")
    m.args["groups"] = groups


def in_slices(x, a):
    return torch.slice_scatter(x[0], x[1], a.dim, a.start, a.stop, a.step)


define("to", lambda x, a: x[0].to(a.dtype), draw_to, roundings=2)
define("flip", lambda x, a: torch.flip(x[0], a.dims), draw_dims, exact=True)
define("fliplr", lambda x, a: torch.fliplr(x[0]), lambda m: shaped(m, m.rng.randint(2, 4)), exact=True)
define("flipud", lambda x, a: torch.flipud(x[0]), lambda m: shaped(m, m.rng.randint(1, 4)), exact=True)
define("roll", lambda x, a: torch.roll(x[0], a.shifts, a.dims), draw_roll, exact=True)
define("rot90", lambda x, a: torch.rot90(x[0], a.k, a.dims), draw_rot90, exact=True)
define("repeat", lambda x, a: x[0].repeat(a.repeats), draw_repeat, exact=True)
define("tile", lambda x, a: x[0].tile(a.repeats), draw_repeat, exact=True)
define("repeat_interleave", lambda x, a: x[0].repeat_interleave(a.repeats, a.dim), draw_interleave, exact=True)
define("repeat_interleave.tensor", lambda x, a: x[0].repeat_interleave(x[1], a.dim), draw_interleave_tensor, exact=True)
define("repeat_interleave.counts", lambda x, a: torch.repeat_interleave(x[0]), draw_counts)
define("tril", lambda x, a: torch.tril(x[0], a.diagonal), draw_triangle, exact=True)
define("triu", lambda x, a: torch.triu(x[0], a.diagonal), draw_triangle, exact=True)
define("tril_indices", lambda x, a: torch.tril_indices(a.rows, a.columns, a.diagonal), draw_indices)
define("triu_indices", lambda x, a: torch.triu_indices(a.rows, a.columns, a.diagonal), draw_indices)
define("diag", lambda x, a: torch.diag(x[0], a.diagonal), draw_diag, exact=True)
define("diagflat", lambda x, a: torch.diagflat(x[0], a.diagonal), draw_diagflat, exact=True)
define("diag_embed", lambda x, a: torch.diag_embed(x[0], a.offset, a.dim1, a.dim2), draw_diag_embed, exact=True)
define("diagonal_scatter", lambda x, a: torch.diagonal_scatter(x[0], x[1], a.offset, a.dim1, a.dim2),
       draw_diagonal_scatter, exact=True)
define("select_scatter", lambda x, a: torch.select_scatter(x[0], x[1], a.dim, a.index), draw_select_scatter, exact=True)
define("slice_scatter", in_slices, draw_slice_scatter, exact=True)
define("as_strided_scatter", lambda x, a: torch.as_strided_scatter(x[0], x[1], a.sizes, a.strides, a.offset),
       draw_as_strided_scatter, exact=True)
define("constant_pad_nd", lambda x, a: torch.constant_pad_nd(x[0], a.pad, a.value), draw_constant_pad, exact=True)
define("pad", lambda x, a: F.pad(x[0], a.pad, a.mode), draw_pad, exact=True)
define("pixel_shuffle", lambda x, a: F.pixel_shuffle(x[0], a.factor), draw_shuffle, exact=True)
define("pixel_unshuffle", lambda x, a: F.pixel_unshuffle(x[0], a.factor), draw_unshuffle, exact=True)
define("channel_shuffle", lambda x, a: F.channel_shuffle(x[0], a.groups), draw_channel_shuffle, exact=True)


# ---- joins
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


def draw_vectors(m):
    m.any_dtype()
    for _ in range(m.rng.randint(1, 3)):
        m.tensor(m.sizes(m.rng.randint(0, 1) if m.chance(0.3) else 1)[:1] and [m.rng.randint(1, 4)])
    m.sum = 64


def draw_matrices(m):
    m.any_dtype()
    for _ in range(m.rng.randint(1, 3)):
        m.tensor(m.sizes(m.rng.randint(0, 2)))


def draw_broadcast(m):
    m.any_dtype()
    sizes = m.sizes(m.rng.randint(0, 3))
    for _ in range(m.rng.randint(1, 3)):
        m.tensor(m.shape_like(sizes))
    m.sum = 100


for name in ["cat", "concat", "concatenate"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x, a.dim), draw_cat, exact=True)
define("stack", lambda x, a: torch.stack(x, a.dim), draw_stack, exact=True)
for name in ["hstack", "vstack", "row_stack", "dstack", "column_stack"]:
    in_torch = torch.vstack if name == "row_stack" else getattr(torch, name)
    define(name, lambda x, a, f=in_torch: f(x), draw_stack, exact=True)
# As matrices: PyTorch's gradient beside a vector of no elements, which is a row, is shifted by that row.
define("block_diag", lambda x, a: torch.block_diag(*map(torch.atleast_2d, x)), draw_matrices, exact=True)
define("broadcast_tensors", lambda x, a: torch.broadcast_tensors(*x), draw_broadcast, exact=True)
define("cartesian_prod", lambda x, a: torch.cartesian_prod(*x), draw_vectors, exact=True)
define("meshgrid", lambda x, a: torch.meshgrid(*x, indexing=a.indexing), options(draw_vectors, indexing=["ij", "xy"]),
       exact=True)


def draw_combinations(m):
    m.any_dtype()
    m.tensor([m.rng.randint(0, 6)])
    m.args.update(r=m.rng.randint(1, 3), with_replacement=m.chance(0.5))
    m.sum = 64


define("combinations", lambda x, a: torch.combinations(x[0], a.r, a.with_replacement), draw_combinations, exact=True)


# ---- splits
def draw_chunk(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args.update(chunks=m.rng.randint(1, 6), dim=m.dim(sizes))


def draw_split(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args.update(size=m.rng.randint(1, 6), dim=m.dim(sizes))


def draw_split_sizes(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args["dim"] = dim = m.dim(sizes)
    cuts = sorted(m.rng.randint(0, sizes[dim]) for _ in range(m.rng.randint(0, 3)))
    m.args["sizes"] = [b - a for a, b in zip([0] + cuts, cuts + [sizes[dim]])]


def draw_sections(m):
    sizes = shaped(m, m.rng.randint(1, 3))
    m.args.update(sections=m.rng.randint(1, 6), dim=m.dim(sizes))


def draw_cuts(rank):
    def draw(m):
        sizes = shaped(m, m.rng.randint(rank, 4))
        m.args.update(indices=[m.rng.randint(-3, 5) for _ in range(m.rng.randint(0, 3))], dim=m.dim(sizes))
    return draw


def draw_cut_tensor(m):
    draw_sections(m)
    m.tensor(m.rng.choice([[], [2]]), dtype="i64", low=1, high=4)


define("chunk", lambda x, a: torch.chunk(x[0], a.chunks, a.dim), draw_chunk, exact=True)
define("split", lambda x, a: torch.split(x[0], a.size, a.dim), draw_split, exact=True)
define("split_with_sizes", lambda x, a: torch.split_with_sizes(x[0], a.sizes, a.dim), draw_split_sizes, exact=True)
define("tensor_split", lambda x, a: torch.tensor_split(x[0], a.sections, a.dim), draw_sections, exact=True)
define("tensor_split.indices", lambda x, a: torch.tensor_split(x[0], a.indices, a.dim), draw_cuts(1), exact=True)
define("tensor_split.tensor", lambda x, a: torch.tensor_split(x[0], x[1], a.dim), draw_cut_tensor, exact=True)
define("hsplit", lambda x, a: torch.hsplit(x[0], a.indices), draw_cuts(1), exact=True)
define("vsplit", lambda x, a: torch.vsplit(x[0], a.indices), draw_cuts(2), exact=True)
define("dsplit", lambda x, a: torch.dsplit(x[0], a.indices), draw_cuts(3), exact=True)
define("unbind", lambda x, a: torch.unbind(x[0], a.dim), draw_dim, exact=True)
