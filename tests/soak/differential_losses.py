"""Losses. The other side is random_loss_ops.cpp."""
import math

import torch
import torch.nn.functional as F

from differential_calls import define
from differential_draws import operand, options

REDUCTIONS = ["none", "mean", "sum"]


def loss(name, torch_function, draw, roundings=4, scale=None, **more):
    define(name, torch_function, options(draw, reduction=REDUCTIONS), roundings=roundings,
           scale=scale or (lambda x: (2 + operand(x)) ** 2), **more)


def at(x, i):
    return x[i] if i < len(x) else None


# ---- classes
def draw_classes(m):
    """Draws [n, c], [c] or [n, c, ...] and one class each."""
    n, c = m.rng.randint(1, 5), m.rng.randint(1, 6)
    more = m.rng.choice([[], [], [3], [2, 2]])
    m.tensor([c] if not more and m.chance(0.2) else [n, c] + more)
    sizes = m.inputs[0]["sizes"]
    m.tensor(([n] if len(sizes) > 1 else []) + more, dtype="i64", low=0, high=c)
    if m.chance(0.4):
        m.tensor([c], fill="uniform", low=0.25, high=2.0, grad=False)
    m.args["ignore"] = m.rng.choice([-100, -100, 0])
    m.sum = 64


def draw_images(m):
    n, c, h, w = (m.rng.randint(1, 4) for _ in range(4))
    m.tensor([n, c, h, w])
    m.tensor([n, h, w], dtype="i64", low=0, high=c)
    if m.chance(0.4):
        m.tensor([c], fill="uniform", low=0.25, high=2.0, grad=False)
    m.args["ignore"] = m.rng.choice([-100, -100, 0])
    m.sum = 64


def draw_probabilities(m):
    n, c = m.rng.randint(1, 5), m.rng.randint(1, 6)
    sizes = [n, c] + m.rng.choice([[], [3]])
    m.tensor(sizes)
    m.tensor(sizes, fill="uniform")
    if m.chance(0.4):
        m.tensor([c], fill="uniform", low=0.25, high=2.0, grad=False)
    m.sum = 64


smoothing = {"smoothing": [0.0, 0.0, 0.25]}
loss("cross_entropy",
     lambda x, a: F.cross_entropy(x[0], x[1], at(x, 2), ignore_index=a.ignore, reduction=a.reduction,
                                  label_smoothing=a.smoothing),
     options(draw_classes, **smoothing), roundings=8, scale=lambda x: 8 * (8 + operand(x)))
loss("cross_entropy.probabilities",
     lambda x, a: F.cross_entropy(x[0], x[1], at(x, 2), reduction=a.reduction, label_smoothing=a.smoothing),
     options(draw_probabilities, **smoothing), roundings=8, scale=lambda x: 8 * (8 + operand(x)))
for name, draw in [("nll_loss", draw_classes), ("nll_loss2d", draw_images)]:
    loss(name, lambda x, a: F.nll_loss(x[0], x[1], at(x, 2), ignore_index=a.ignore, reduction=a.reduction), draw)


# ---- a target for each number
def draw_pair(m):
    sizes = m.sizes()
    m.tensor(sizes)
    m.tensor(sizes, fill="uniform")
    m.sum = max(1, math.prod(sizes))
    return sizes


def draw_probability(m):
    sizes = m.sizes()
    m.tensor(sizes, fill="uniform", low=0.01, high=0.99)
    m.tensor(sizes, fill="uniform")
    if m.chance(0.4):
        m.tensor(m.shape_like(sizes), fill="uniform", grad=False)
    m.sum = max(1, math.prod(sizes))


def draw_logits(m):
    sizes = draw_pair(m)
    for _ in range(m.rng.randint(0, 2)):
        m.tensor(m.shape_like(sizes), fill="uniform", grad=False)


def draw_signs(m):
    sizes = m.sizes()
    m.tensor(sizes)
    signs(m, sizes)
    m.sum = max(1, math.prod(sizes))


def signs(m, sizes):
    """Draws targets 1 and -1."""
    m.tensor(sizes, fill="distinct", low=0, dense=True, grad=False)
    m.bases[-1].update(fill="uniform", low=0.0, high=0.0, special=["1", "-1"])


def draw_variance(m):
    sizes = draw_pair(m)
    m.tensor(sizes, fill="uniform", low=0.25, high=2.0)


def draw_multilabel(m):
    n, c = m.rng.randint(1, 4), m.rng.randint(1, 5)
    sizes = m.rng.choice([[n, c], [c]])
    m.tensor(sizes)
    m.tensor(sizes, dtype="i64", low=-1, high=c)
    m.sum = 100


def draw_multilabel_soft(m):
    sizes = [m.rng.randint(1, 4), m.rng.randint(1, 5)]
    m.tensor(sizes)
    m.tensor(sizes, fill="uniform", grad=False)
    if m.chance(0.4):
        m.tensor([sizes[1]], fill="uniform", grad=False)
    m.sum = 20


for name in ["mse_loss", "l1_loss"]:
    loss(name, lambda x, a, f=getattr(F, name): f(x[0], x[1], reduction=a.reduction), draw_pair)
loss("soft_margin_loss", lambda x, a: F.soft_margin_loss(x[0], x[1], reduction=a.reduction), draw_signs)
loss("multilabel_margin_loss", lambda x, a: F.multilabel_margin_loss(x[0], x[1], reduction=a.reduction), draw_multilabel)
loss("smooth_l1_loss", lambda x, a: F.smooth_l1_loss(x[0], x[1], reduction=a.reduction, beta=a.beta),
     options(draw_pair, beta=[1.0, 0.5, 0.0]))
loss("huber_loss", lambda x, a: F.huber_loss(x[0], x[1], reduction=a.reduction, delta=a.delta),
     options(draw_pair, delta=[1.0, 0.5, 2.0]))
loss("kl_div", lambda x, a: F.kl_div(x[0], x[1], reduction=a.reduction, log_target=a.log_target),
     options(draw_pair, log_target=[False, True]))
loss("poisson_nll_loss",
     lambda x, a: F.poisson_nll_loss(x[0], x[1], a.log_input, a.full, eps=a.eps, reduction=a.reduction),
     options(draw_probability, log_input=[False, True], full=[False, True], eps=[1e-8, 0.25]), roundings=8)
loss("gaussian_nll_loss", lambda x, a: F.gaussian_nll_loss(x[0], x[1], x[2], a.full, a.eps, a.reduction),
     options(draw_variance, full=[False, True], eps=[1e-6, 0.5]), roundings=8)
loss("hinge_embedding_loss", lambda x, a: F.hinge_embedding_loss(x[0], x[1], a.margin, reduction=a.reduction),
     options(draw_signs, margin=[1.0, 0.5]))
loss("multilabel_soft_margin_loss",
     lambda x, a: F.multilabel_soft_margin_loss(x[0], x[1], at(x, 2), reduction=a.reduction), draw_multilabel_soft,
     roundings=8)
loss("binary_cross_entropy", lambda x, a: F.binary_cross_entropy(x[0], x[1], at(x, 2), reduction=a.reduction),
     draw_probability, roundings=6)
loss("binary_cross_entropy_with_logits",
     lambda x, a: F.binary_cross_entropy_with_logits(x[0], x[1], at(x, 2), pos_weight=at(x, 3), reduction=a.reduction),
     draw_logits, roundings=8)


# ---- pairs and triples
def draw_ranking(m):
    sizes = m.sizes()
    m.tensor(sizes)
    m.tensor(sizes)
    signs(m, sizes)
    m.sum = max(1, math.prod(sizes))


def draw_embeddings(m):
    """Without parallel embeddings, whose gradient is what rounding leaves of a difference."""
    n, d = m.rng.randint(1, 4), m.rng.randint(2, 5)
    one = m.chance(0.2)
    m.tensor([d] if one else [n, d], dense=True)
    m.tensor([d] if one else [n, d], dense=True)
    signs(m, [] if one else [n])
    m.sum = 40


def draw_multi_margin(m):
    n, c = m.rng.randint(1, 4), m.rng.randint(1, 5)
    one = m.chance(0.2)
    m.tensor([c] if one else [n, c])
    m.tensor([] if one else [n], dtype="i64", low=0, high=c)
    if m.chance(0.4):
        m.tensor([c], fill="uniform", grad=False)
    m.sum = 40


def draw_triplet(m):
    sizes = m.sizes(m.rng.randint(1, 3))
    for _ in range(3):
        m.tensor(sizes)
    m.sum = 40


margins = {"margin": [0.0, 0.5, 1.0]}
loss("margin_ranking_loss", lambda x, a: F.margin_ranking_loss(x[0], x[1], x[2], a.margin, reduction=a.reduction),
     options(draw_ranking, **margins))
loss("cosine_embedding_loss", lambda x, a: F.cosine_embedding_loss(x[0], x[1], x[2], a.margin, reduction=a.reduction),
     options(draw_embeddings, **margins), roundings=8, f64=1e-8)  # PyTorch's epsilon is 1e-12 in f32
loss("multi_margin_loss", lambda x, a: F.multi_margin_loss(x[0], x[1], a.p, a.margin, at(x, 2), reduction=a.reduction),
     options(draw_multi_margin, p=[1, 2], margin=[1, 0.5]))
loss("triplet_margin_loss",
     lambda x, a: F.triplet_margin_loss(x[0], x[1], x[2], a.margin, a.p, a.eps, a["swap"], reduction=a.reduction),
     options(draw_triplet, p=[1, 2, 3], eps=[1e-2], swap=[False, True], margin=[0.5, 1.0]), roundings=8)


def draw_ctc(m):
    m.dtype = m.rng.choice(["f32", "f64"])
    t, n, c, s = m.rng.randint(2, 6), m.rng.randint(1, 3), m.rng.randint(2, 4), m.rng.randint(1, 3)
    m.tensor([t, n, c])
    blank = m.rng.choice([0, c - 1])
    m.tensor([n, s], dtype="i64", low=1 if blank == 0 else 0, high=c if blank == 0 else c - 1)
    m.args.update(blank=blank, zero_infinity=m.chance(0.5), input_lengths=[m.rng.randint(1, t) for _ in range(n)],
                  target_lengths=[m.rng.randint(0, s) for _ in range(n)])
    m.sum = 100


def ctc(x, a):
    return F.ctc_loss(x[0].log_softmax(2), x[1], a.input_lengths, a.target_lengths, a.blank, a.reduction, a.zero_infinity)


loss("ctc_loss", ctc, draw_ctc, scale=lambda x: 16 * (1 + operand(x)))
