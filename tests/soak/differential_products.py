"""Products of matrices and vectors, norms and distances. The other side is random_product_ops.cpp."""
import math

import torch
import torch.nn.functional as F

from differential_calls import define
from differential_draws import operand, options, products, with_dims, with_dtype, writable


# ---- products of two. tandem has none of integers: docs/differences.md.
def draw_pair(*shapes):
    """Returns a draw of operands: `shapes` are functions of the sizes n, k, p and b."""
    def draw(m):
        sizes = [m.rng.randint(1, 6) for _ in range(4)]
        if m.chance(0.05):
            sizes[m.rng.randrange(4)] = 0
        for shape in shapes:
            m.tensor(shape(*sizes))
        m.sum = 40
        return sizes
    return draw


def vector(n, k, p, b):
    return [k]


for name, shapes in {
        "mm": (lambda n, k, p, b: [n, k], lambda n, k, p, b: [k, p]),
        "bmm": (lambda n, k, p, b: [b, n, k], lambda n, k, p, b: [b, k, p]),
        "mv": (lambda n, k, p, b: [n, k], vector),
        "dot": (vector, vector),
        "vdot": (vector, vector),
        "inner": (lambda n, k, p, b: [n, b, k], lambda n, k, p, b: [p, k]),
        "outer": (lambda n, k, p, b: [n], vector),
        "ger": (lambda n, k, p, b: [n], vector)}.items():
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1]), draw_pair(*shapes), scale=products)


def draw_matmul(m):
    n, k, p = (m.rng.randint(1, 5) for _ in range(3))
    batch = [m.rng.choice([1, 2]) for _ in range(m.rng.randint(0, 2))]
    m.tensor(m.rng.choice([[k], [n, k], batch + [n, k]]))
    m.tensor(m.rng.choice([[k], [k, p], [2] + [k, p]]))
    m.sum = 40


def draw_kron(m):
    m.any_dtype()
    m.tensor([m.rng.randint(1, 3) for _ in range(m.rng.randint(0, 3))])
    m.tensor([m.rng.randint(1, 3) for _ in range(m.rng.randint(0, 3))])
    m.sum = 64


define("matmul", lambda x, a: torch.matmul(x[0], x[1]), draw_matmul, scale=products)
define("kron", lambda x, a: torch.kron(x[0], x[1]), draw_kron, scale=products)


# ---- sums with a product
def draw_added(wide, *shapes):
    """Returns a draw of an input that broadcasts to the sizes `wide`, and of the operands of the product."""
    operands = draw_pair(lambda n, k, p, b: [1], *shapes)

    def draw(m):
        m.grad = m.grad and m.dtype in ("f32", "f64")
        sizes = operands(m)
        m.bases.pop(0)
        m.inputs.pop(0)
        for x in m.inputs:
            x["base"] -= 1
        whole = wide(*sizes)
        m.tensor(whole if 0 in whole else m.shape_like(whole))  # beside no rows, PyTorch's addmv returns its input
        m.inputs.insert(0, m.inputs.pop())
        m.args.update(beta=m.rng.choice([1, 0.5, 2, 0]), alpha=m.rng.choice([1, -2, 0.25]))
    return draw


def added(x):
    return 2 * products(x[1:]) + 2 * operand(x[:1])


for name, shapes in {
        "addmm": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [n, k], lambda n, k, p, b: [k, p]),
        "addmv": (lambda n, k, p, b: [n], lambda n, k, p, b: [n, k], vector),
        "addr": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [n], lambda n, k, p, b: [p]),
        "addbmm": (lambda n, k, p, b: [n, p], lambda n, k, p, b: [b, n, k], lambda n, k, p, b: [b, k, p]),
        "baddbmm": (lambda n, k, p, b: [b, n, p], lambda n, k, p, b: [b, n, k], lambda n, k, p, b: [b, k, p])}.items():
    define(name, lambda x, a, f=getattr(torch, name): f(x[0], x[1], x[2], beta=a.beta, alpha=a.alpha),
           draw_added(*shapes), roundings=6, scale=added)


# ---- products of several
def draw_linear(m):
    k, p = m.rng.randint(1, 9), m.rng.randint(1, 5)
    rows = m.sizes(m.rng.randint(0, 2))
    m.tensor(rows + [k])
    m.tensor([p, k])
    if m.chance(0.6):
        m.tensor([p])
    m.sum = max(k + 1, math.prod(rows), p)


def draw_bilinear(m):
    n, p, q, o = (m.rng.randint(1, 4) for _ in range(4))
    m.tensor([n, p])
    m.tensor([n, q])
    m.tensor([o, p, q])
    if m.chance(0.5):
        m.tensor([o])
    m.sum = 64


EQUATIONS = ["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ii", "i,j->ij", "bij,bij->b", "...ij,...jk->...ik", "ijk,k",
             "ij,kj,kl->il", "ij->", "bqhd,bkhd->bhqk", "ij,ij->ij", "i,i", "aab,b->a", "ijk->kij", "bi,oij,bj->bo"]


def draw_einsum(m):
    m.args["equation"] = equation = m.rng.choice(EQUATIONS)
    letters = {letter: m.rng.randint(1, 4) for letter in equation if letter.isalpha()}
    for term in equation.split("->")[0].split(","):
        m.tensor(([2] if "..." in term else []) + [letters[c] for c in term if c.isalpha()])
    m.sum = 100


def draw_tensordot(m):
    m.args["dims"] = n = m.rng.randint(0, 2)
    a, b, inner = m.sizes(m.rng.randint(0, 2)), m.sizes(m.rng.randint(0, 2)), [m.rng.randint(1, 4) for _ in range(n)]
    m.tensor(a + inner)
    m.tensor(inner + b)
    m.sum = 300


def draw_tensordot_dims(m):
    sizes = [m.rng.randint(1, 4) for _ in range(m.rng.randint(1, 3))]
    n = m.rng.randint(0, len(sizes))
    m.args["dims_a"] = dims = m.rng.sample(range(len(sizes)), n)
    m.tensor(sizes)
    other = [sizes[d] for d in dims] + [m.rng.randint(1, 4) for _ in range(m.rng.randint(0, 1))]
    place = list(range(len(other)))
    m.rng.shuffle(place)
    m.tensor([other[p] for p in place])
    m.args["dims_b"] = [place.index(i) for i in range(n)]
    m.sum = 64


def draw_chain(m):
    sizes = [m.rng.randint(1, 4) for _ in range(m.rng.randint(3, 5))]
    for n, k in zip(sizes, sizes[1:]):
        m.tensor([n, k])
    m.sum = 300


def chained(x):
    return math.prod(max(1, 2 * operand([t])) for t in x)


def draw_power(m):
    m.args["n"] = m.rng.randint(1, 4)  # of power 0 PyTorch's result has a history
    n = m.rng.randint(1, 4)
    m.tensor(m.rng.choice([[], [2]]) + [n, n], fill="uniform", low=-1.0, high=1.0)
    m.sum = 300


def draw_vecdot(m):
    sizes = nonempty(m.sizes(m.rng.randint(1, 3)))
    m.tensor(sizes)
    m.tensor(sizes)
    m.args["dim"] = m.dim(sizes)
    m.sum = 20


def nonempty(sizes):
    return [max(1, s) for s in sizes]


def draw_cross(m):
    m.any_dtype()
    sizes = nonempty(m.sizes(m.rng.randint(1, 3)))
    m.args["dim"] = dim = m.rng.randrange(-len(sizes), len(sizes))
    sizes[dim] = 3
    m.tensor(sizes)
    m.tensor(sizes)
    m.sum = 8


define("linear", lambda x, a: F.linear(*x), draw_linear, roundings=2, scale=products)
define("linear_relu", lambda x, a: F.linear(*x).relu(), draw_linear, roundings=2, scale=products)
define("bilinear", lambda x, a: F.bilinear(*x), draw_bilinear, roundings=4, scale=lambda x: 4 * chained(x))
define("einsum", lambda x, a: torch.einsum(a.equation, *x), draw_einsum, roundings=6, scale=lambda x: 4 * chained(x))
define("tensordot", lambda x, a: torch.tensordot(x[0], x[1], (a.dims_a, a.dims_b)), draw_tensordot_dims, roundings=2,
       scale=products)
define("tensordot.number", lambda x, a: torch.tensordot(x[0], x[1], a.dims), draw_tensordot, roundings=2, scale=products)
define("chain_matmul", lambda x, a: torch.chain_matmul(*x), draw_chain, roundings=20, scale=lambda x: 20 * chained(x))
define("linalg_multi_dot", lambda x, a: torch.linalg.multi_dot(x), draw_chain, roundings=20, scale=lambda x: 20 * chained(x))
define("matrix_power", lambda x, a: torch.matrix_power(x[0], a.n), draw_power, roundings=20, scale=lambda x: 64.0)
define("linalg_matrix_power", lambda x, a: torch.linalg.matrix_power(x[0], a.n), draw_power, roundings=20,
       scale=lambda x: 64.0)
define("linalg_vecdot", lambda x, a: torch.linalg.vecdot(x[0], x[1], dim=a.dim), draw_vecdot, roundings=2, scale=products)
define("cross", lambda x, a: torch.cross(x[0], x[1], a.dim), draw_cross, roundings=3, scale=products)
define("linalg_cross", lambda x, a: torch.linalg.cross(x[0], x[1], dim=a.dim), draw_cross, roundings=3, scale=products)


def draw_trace(m):
    m.any_dtype()
    m.tensor([m.rng.randint(0, 5), m.rng.randint(0, 5)])
    m.sum = 5


define("trace", lambda x, a: torch.trace(x[0]), draw_trace, scale=operand)


# ---- norms
def floats(m):
    sizes = m.sizes()
    m.sum = max(1, math.prod(sizes))
    m.tensor(sizes)
    if m.dtype == "f16":
        m.bases[-1]["scale"] = 1.0  # the norm, which the gradient is computed from, is not subnormal
    return sizes


def draw_matrix(m):
    sizes = nonempty(m.sizes(m.rng.randint(2, 4)))
    m.sum = max(1, math.prod(sizes))
    writable(m, sizes, fill="distinct")  # columns of equal norm share the gradient
    m.bases[-1]["scale"] = 0.25
    m.args.update(dims=m.rng.sample(range(len(sizes)), 2), keepdim=m.chance(0.5))
    return sizes


def sums(x):
    return 8 * max(1, operand(x))


ORDERS = [1, 2, 2.0, "inf", 3, 2.5, 0, "-inf", -1, 0.5]
define("norm", lambda x, a: torch.linalg.vector_norm(x[0], a.p, a.dims, a.keepdim), options(with_dims(floats), p=ORDERS[:6]),
       roundings=2, scale=lambda x: 8 * operand(x))
define("norm.all", lambda x, a: torch.norm(x[0], a.p), options(floats, p=ORDERS[:6]), roundings=2,
       scale=lambda x: 8 * operand(x))
def draw_vector_norm(m):
    sizes = with_dtype(with_dims(floats))(m)
    m.args["p"] = m.rng.choice(ORDERS)
    if m.args["p"] == 0:  # PyTorch's gradient is undefined, tandem's is 0
        m.inputs[0]["grad"] = False
    return sizes


define("linalg_vector_norm", lambda x, a: torch.linalg.vector_norm(x[0], a.p, a.dims, a.keepdim, dtype=a.dtype),
       draw_vector_norm, roundings=2, scale=lambda x: 8 * operand(x))
define("linalg_matrix_norm", lambda x, a: torch.linalg.matrix_norm(x[0], a.p, a.dims, a.keepdim, dtype=a.dtype),
       options(with_dtype(draw_matrix), p=[1, -1, "inf", "-inf"]), roundings=2, scale=sums)
define("linalg_matrix_norm.fro", lambda x, a: torch.linalg.matrix_norm(x[0], "fro", a.dims, a.keepdim, dtype=a.dtype),
       with_dtype(draw_matrix), roundings=2, scale=sums)
define("linalg_norm", lambda x, a: torch.linalg.norm(x[0], a.p, a.dims, a.keepdim, dtype=a.dtype),
       options(with_dtype(draw_matrix), p=[None, 1, "inf", "-inf"]), roundings=2, scale=sums)
define("frobenius_norm", lambda x, a: torch.frobenius_norm(x[0], a.dims, a.keepdim), draw_matrix, roundings=2, scale=sums)


def draw_normalize(m):
    sizes = floats(m)
    m.args.update(dim=m.dim(sizes), p=m.rng.choice([1, 2, 3, "inf"]), eps=m.rng.choice([1e-2, 1]))


def draw_renorm(m):
    sizes = m.sizes(m.rng.randint(2, 4))
    writable(m, sizes)
    m.args.update(p=m.rng.choice([1, 2, 3.0]), dim=m.dim(sizes), maxnorm=m.rng.choice([0.5, 2, 20]))
    m.sum = 40


define("normalize", lambda x, a: F.normalize(x[0], a.p, a.dim, a.eps), draw_normalize, roundings=4, scale=sums)
define("renorm", lambda x, a: torch.renorm(x[0], a.p, a.dim, a.maxnorm), draw_renorm, roundings=2, scale=sums)


# ---- distances
def points(m, sizes):
    """Draws points whose distances are not nearly zero, where the gradient has a pole."""
    m.sum = 40
    writable(m, sizes, fill="distinct")
    m.bases[-1]["scale"] = 0.125


def draw_dist(m):
    sizes = m.sizes()
    m.tensor(sizes)
    m.tensor(m.shape_like(sizes))
    m.sum = max(1, math.prod(sizes))


def draw_cdist(m):
    m.dtype = m.rng.choice(["f32", "f64"])
    n, k, d = (m.rng.randint(1, 5) for _ in range(3))
    batch = m.rng.choice([[], [], [2]])
    points(m, batch + [n, d])
    points(m, batch + [k, d])
    m.bases[-1]["low"] += 0.5  # no two points are equal
    m.args["mode"] = m.rng.choice([None, 0, 2])


MODES = {None: "use_mm_for_euclid_dist_if_necessary", 0: "use_mm_for_euclid_dist_if_necessary",
         2: "donot_use_mm_for_euclid_dist"}


def draw_pdist(m):
    m.dtype = m.rng.choice(["f32", "f64"])
    points(m, [m.rng.randint(1, 5), m.rng.randint(1, 4)])  # PyTorch's backward of no points crashes


def draw_pairwise(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    m.tensor(sizes)
    m.tensor(m.shape_like(sizes))
    m.args["eps"] = m.rng.choice([1e-2, 0.25])
    m.args["keepdim"] = m.chance(0.5)
    m.sum = 40


def draw_similarity(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    m.tensor(sizes)
    m.tensor(m.shape_like(sizes))
    m.args.update(dim=m.dim(sizes), eps=m.rng.choice([1e-2, 1]))
    m.sum = 40


define("dist", lambda x, a: torch.dist(x[0], x[1], a.p), options(draw_dist, p=[1, 2, 3, "inf", 0]), roundings=3, scale=sums)
define("cdist", lambda x, a: torch.cdist(x[0], x[1], a.p, MODES[a.mode]), options(draw_cdist, p=[1, 2, 3, "inf", 0, 0.5]),
       scale=sums)
define("pdist", lambda x, a: F.pdist(x[0], a.p), options(draw_pdist, p=[1, 2, 3, "inf", 0, 0.5]), scale=sums)
define("pairwise_distance", lambda x, a: F.pairwise_distance(x[0], x[1], a.p, a.eps, a.keepdim),
       options(draw_pairwise, p=[1, 2, 3, "inf"]), roundings=4, scale=sums)
define("cosine_similarity", lambda x, a: F.cosine_similarity(x[0], x[1], a.dim, a.eps), draw_similarity, roundings=6,
       scale=lambda x: 8 * max(1, operand(x)) ** 2)
