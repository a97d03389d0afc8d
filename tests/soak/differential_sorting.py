"""Sorting, selection, unique elements and search. The other side is random_everyday_ops.cpp."""
import math

import torch

from differential_calls import INTEGERS, define
from differential_draws import distinct, operand, options, reduced, shaped, with_dim


def all_numbers(m):
    return reduced(m, special="all")


def distinct_numbers(m):
    return distinct(m, m.sizes())


def some_numbers(m):
    """The median of nothing is an error in tandem."""
    distinct(m, [max(1, s) for s in m.sizes()])


# ---- sorting. Only a stable sort defines the order of equal elements.
order = {"descending": [False, True]}
define("sort", lambda x, a: torch.sort(x[0], a.dim, a.descending), options(with_dim(distinct_numbers), **order), exact=True)
define("sort.stable", lambda x, a: torch.sort(x[0], dim=a.dim, descending=a.descending, stable=True),
       options(with_dim(all_numbers), **order), exact=True)
define("argsort", lambda x, a: torch.argsort(x[0], a.dim, a.descending), options(with_dim(distinct_numbers), **order))
# Not torch.msort, which is not stable: at ties its gradient would be in another order.
define("msort", lambda x, a: torch.sort(x[0], dim=0, stable=True)[0], lambda m: shaped(m, m.rng.randint(1, 3)), exact=True)


# ---- selection. Which of several equal elements is chosen is not defined.
def draw_topk(m):
    sizes = distinct_numbers(m)
    m.args["dim"] = dim = m.dim(sizes)
    m.args.update(k=m.rng.randint(0, sizes[dim] if sizes else 1), largest=m.chance(0.5))


def draw_kthvalue(m):
    sizes = distinct_numbers(m)
    m.args.update(dim=m.dim(sizes), keepdim=m.chance(0.5))
    m.args["k"] = m.rng.randint(1, max(1, sizes[m.args["dim"]] if sizes else 1))


def few_numbers(m):
    """Draws numbers many of which are equal, at most 16: longer rows PyTorch's mode sorts without stability."""
    sizes = [min(s, 16) for s in m.sizes()]
    if m.chance(0.5):
        m.dtype = m.rng.choice(INTEGERS)
        return m.tensor(sizes, low=0, high=2 if m.dtype == "bool" else 4)
    return m.tensor(sizes, fill="ascending", low=-2.0)


define("topk", lambda x, a: torch.topk(x[0], a.k, a.dim, a.largest), draw_topk, exact=True)
define("kthvalue", lambda x, a: torch.kthvalue(x[0], a.k, a.dim, a.keepdim), draw_kthvalue, exact=True)
for name in ["median", "nanmedian"]:
    define(name, lambda x, a, f=getattr(torch, name): f(x[0]), some_numbers, exact=True)
    define(name + ".dim", lambda x, a, f=getattr(torch, name): f(x[0], a.dim, a.keepdim), with_dim(distinct_numbers),
           exact=True)
define("mode", lambda x, a: torch.mode(x[0], a.dim, a.keepdim), with_dim(few_numbers), exact=True)


def draw_quantile(m):
    m.dtype = m.rng.choice(["f32", "f64"])  # PyTorch has no others
    sizes = m.sizes()
    distinct(m, sizes, dtypes=["f32"])
    m.args.update(dim=m.dim(sizes) if m.chance(0.7) else None, keepdim=m.chance(0.5),
                  interpolation=m.rng.choice(["linear", "lower", "higher", "midpoint", "nearest"]))


def draw_quantiles(m):
    draw_quantile(m)
    m.tensor(m.rng.choice([[], [1], [3]]), fill="uniform", grad=False)


def quantiles(f):
    return lambda x, a: f(x[0], x[1], a.dim, a.keepdim, interpolation=a.interpolation)


define("quantile", quantiles(torch.quantile), draw_quantiles, scale=operand)
define("nanquantile", quantiles(torch.nanquantile), draw_quantiles, scale=operand)
define("quantile.number", lambda x, a: torch.quantile(x[0], a.q, a.dim, a.keepdim, interpolation=a.interpolation),
       options(draw_quantile, q=[0.0, 0.25, 0.5, 0.7, 1.0]), scale=operand)


# ---- unique elements
def draw_unique(m):
    few_numbers(m)
    m.grad = False
    m.inputs[0]["grad"] = False


def draw_unique_dim(m):
    draw_unique(m)
    m.args["dim"] = m.dim(m.inputs[0]["sizes"])


def draw_consecutive(m):
    draw_unique(m)
    m.args["dim"] = m.dim(m.inputs[0]["sizes"]) if m.chance(0.5) else None


outputs = {"inverse": [False, True], "counts": [False, True]}
define("_unique", lambda x, a: torch._unique(x[0], True, a.inverse), options(draw_unique, inverse=[False, True]))
define("_unique2", lambda x, a: torch._unique2(x[0], True, a.inverse, a.counts), options(draw_unique, **outputs))



def requested(results, a):
    """Along a dimension PyTorch also returns what was not asked for; tandem returns an empty tensor."""
    values, inverse, counts = results
    empty = torch.empty(0, dtype=torch.int64)
    return values, inverse if a.inverse else empty, counts if a.counts else empty


def unique_dim(x, a):
    return requested(torch._VF.unique_dim(x[0], a.dim, True, True, True), a)


def unique_consecutive(x, a):
    return requested(torch._VF.unique_consecutive(x[0], return_inverse=True, return_counts=True, dim=a.dim), a)


define("unique_dim", unique_dim, options(draw_unique_dim, **outputs))
define("unique_consecutive", unique_consecutive, options(draw_consecutive, **outputs))


# ---- search
def draw_searchsorted(m):
    m.grad = False
    m.any_dtype()
    m.dtype = "i64" if m.dtype == "bool" else m.dtype
    batch = m.sizes(m.rng.randint(0, 2), low=1)
    m.tensor(batch + [m.rng.randint(0, 9)], fill="ascending", low=-3, dense=True)
    m.tensor(batch + [m.rng.randint(0, 5)] if batch else m.sizes(), special="all")


def ascending(m):
    m.grad = False
    m.any_dtype()
    m.dtype = "i64" if m.dtype == "bool" else m.dtype
    m.tensor([m.rng.randint(0, 9)], fill="ascending", low=-3, dense=True)


def draw_bucketize(m):
    m.grad = False
    m.any_dtype()
    m.dtype = "i64" if m.dtype == "bool" else m.dtype
    m.tensor(m.sizes(), special="all")
    m.tensor([m.rng.randint(0, 9)], fill="ascending", low=-3, dense=True)


sides = {"int32": [False, True], "right": [False, True]}
number = {"number": [0, 1, -1, 2, 0.5, -2.5]}
define("searchsorted", lambda x, a: torch.searchsorted(x[0], x[1], out_int32=a.int32, right=a.right),
       options(draw_searchsorted, **sides))
define("searchsorted.number", lambda x, a: torch.searchsorted(x[0], a.number, out_int32=a.int32, right=a.right),
       options(ascending, **sides, **number))
define("bucketize", lambda x, a: torch.bucketize(x[0], x[1], out_int32=a.int32, right=a.right),
       options(draw_bucketize, **sides))
define("bucketize.number", lambda x, a: torch.bucketize(a.number, x[0], out_int32=a.int32, right=a.right),
       options(ascending, **sides, **number))


def draw_isin(m):
    m.grad = False
    m.any_dtype()
    m.tensor(m.sizes(), special="all")
    m.other(m.sizes(), special="all")


def draw_vander(m):
    m.any_dtype()
    m.tensor([m.rng.randint(2, 5)])
    m.sum = 64


inverted = {"invert": [False, True]}
define("isin", lambda x, a: torch.isin(x[0], x[1], invert=a.invert), options(draw_isin, **inverted))
define("isin.number", lambda x, a: torch.isin(x[0], a.number, invert=a.invert), options(ascending, **inverted, **number))
define("isin.of_number", lambda x, a: torch.isin(a.number, x[0], invert=a.invert),
       options(ascending, **inverted, **number))
define("vander", lambda x, a: torch.vander(x[0], a.n, a.increasing),
       options(draw_vander, n=[None, 2, 3, 4], increasing=[False, True]), roundings=4,
       scale=lambda x: max(1.0, operand(x)) ** 5)


def draw_histc(m):
    m.grad = False
    m.tensor(m.sizes(), special="none", fill="distinct")
    m.args["min"], m.args["max"] = m.rng.choice([(0, 0), (-2, 6), (-1.5, 2.5), (0, 100)])
    m.args["bins"] = m.rng.choice([1, 4, 8, 16])


def draw_bincount(m):
    m.grad = False
    n = m.rng.randint(1, 12)  # of nothing PyTorch's result is i64 even with weights
    m.tensor([n], dtype=m.rng.choice(["i64", "i32", "u8"]), low=0, high=7)
    if m.chance(0.6):
        m.tensor([n], dtype=m.rng.choice(["f32", "f64", "i64", "f16"]))
    m.args["minlength"] = m.rng.choice([0, 0, 3, 9])
    m.sum = 12


define("histc", lambda x, a: torch.histc(x[0], a.bins, a.min, a.max), draw_histc)
define("bincount", lambda x, a: torch.bincount(*x, minlength=a.minlength), draw_bincount, scale=operand)


def draw_histogram(m):
    """PyTorch has it for f32 and f64 only."""
    m.grad = False
    m.dtype = m.rng.choice(["f32", "f64"])
    sizes = m.sizes()
    m.tensor(sizes, special="all")
    m.args["density"] = m.chance(0.3)
    m.sum = max(1, math.prod(sizes))
    return sizes


def draw_weights(m, sizes):
    """Densities are divided by the sum of the weights, which must not cancel."""
    m.tensor(sizes, **({"fill": "uniform", "low": 0.05, "high": 1.0} if m.args["density"] else {}))


def draw_histogram_edges(m):
    sizes = draw_histogram(m)
    m.tensor([m.rng.randint(2, 9)], fill="ascending", low=-3, dense=True)
    if m.chance(0.5):
        draw_weights(m, sizes)


def draw_histogram_bins(m):
    sizes = draw_histogram(m)
    m.bases[0].update(special=[], fill="distinct", low=-8)
    m.args["bins"] = m.rng.choice([1, 4, 8])
    if m.chance(0.5):
        draw_weights(m, sizes)


def draw_histogramdd(m):
    m.grad = False
    m.dtype = m.rng.choice(["f32", "f64"])
    n, d = m.rng.randint(1, 20), m.rng.randint(1, 3)
    m.tensor([n, d], fill="distinct", low=-8)
    m.args.update(bins=[m.rng.choice([1, 2, 4]) for _ in range(d)], density=m.chance(0.3))
    m.sum = n
    if m.chance(0.5):
        draw_weights(m, [n])


def weight_of(x, i):
    return x[i].contiguous() if i < len(x) else None


def histogramdd(x, a):
    counts, edges = torch.histogramdd(x[0].contiguous(), a.bins, weight=weight_of(x, 1), density=a.density)
    return counts, *edges


define("linalg_vander", lambda x, a: torch.linalg.vander(x[0], N=a.n), options(draw_vander, n=[None, 2, 4]), roundings=4,
       scale=lambda x: max(1.0, operand(x)) ** 5)
define("histogram", lambda x, a: torch.histogram(x[0].contiguous(), x[1], weight=weight_of(x, 2), density=a.density),
       draw_histogram_edges, scale=operand)
define("histogram.bins", lambda x, a: torch.histogram(x[0].contiguous(), a.bins, weight=weight_of(x, 1), density=a.density),
       draw_histogram_bins, scale=operand)
define("histogramdd", histogramdd, draw_histogramdd, scale=operand)
