#!/usr/bin/env python3
"""Writes autocast_cpu.inc: the dtypes of ops in a bf16 region of PyTorch on the CPU. Run by hand, with PyTorch:

    .venv-torch/bin/python tests/golden/autocast_cpu.py > tests/golden/autocast_cpu.inc

An op gets a letter for each combination of its operands' dtypes: that of the dtype of its first
result, or '-' if the call is refused.
"""
import itertools

import torch
import torch.nn.functional as F

LETTERS = {torch.float16: "h", torch.bfloat16: "b", torch.float32: "f", torch.float64: "d"}
INDEX = torch.tensor([1, 0])

# name, sizes of the operands, the call
OPS = [
    ("gru", [(2, 3, 4), (1, 3, 2), (6, 4)],
     lambda x, h, w: torch.gru(x, h, [w, w[:, :2], w[:, 0], w[:, 0]], True, 1, 0.0, False, False, False)),
    ("gru_two_layers", [(2, 3, 2), (4, 3, 2), (6, 4)],
     lambda x, h, w: torch.gru(x, h, [w[:, :2], w[:, :2]] * 2 + [w, w[:, :2]] * 2, False, 2, 0.0, False, True, False)),
    ("lstm", [(2, 3, 4), (1, 3, 2), (8, 4)],
     lambda x, h, w: torch.lstm(x, (h, h), [w, w[:, :2], w[:, 0], w[:, 0]], True, 1, 0.0, False, False, False)),
    ("rnn_tanh", [(2, 3, 4), (1, 3, 2), (2, 4)],
     lambda x, h, w: torch.rnn_tanh(x, h, [w, w[:, :2], w[:, 0], w[:, 0]], True, 1, 0.0, False, False, False)),
    ("rnn_relu", [(2, 3, 4), (1, 3, 2), (2, 4)],
     lambda x, h, w: torch.rnn_relu(x, h, [w, w[:, :2], w[:, 0], w[:, 0]], True, 1, 0.0, False, False, False)),
    ("gru_cell", [(3, 4), (3, 2), (6, 4)], lambda x, h, w: torch.gru_cell(x, h, w, w[:, :2], w[:, 0], w[:, 0])),
    ("lstm_cell", [(3, 4), (3, 2), (8, 4)], lambda x, h, w: torch.lstm_cell(x, (h, h), w, w[:, :2], w[:, 0], w[:, 0])),
    ("rnn_tanh_cell", [(3, 4), (3, 2), (2, 4)], lambda x, h, w: torch.rnn_tanh_cell(x, h, w, w[:, :2])),
    ("rnn_relu_cell", [(3, 4), (3, 2), (2, 4)], lambda x, h, w: torch.rnn_relu_cell(x, h, w, w[:, :2])),
    ("scaled_dot_product_attention", [(1, 2, 3, 4)] * 3, F.scaled_dot_product_attention),
    ("sdpa_mask", [(1, 2, 3, 4), (3, 3)], lambda x, m: F.scaled_dot_product_attention(x, x, x, m)),
    ("multi_head_attention_forward", [(3, 1, 4), (3, 1, 4), (12, 4)],
     lambda q, k, w: F.multi_head_attention_forward(q, k, k, 4, 2, w, w[:, 0], None, None, False, 0.0, w[:4], w[:4, 0])),
    ("linear", [(2, 3), (4, 3), (4,)], F.linear),
    ("conv1d", [(1, 2, 5), (3, 2, 2), (3,)], F.conv1d),
    ("conv2d", [(1, 2, 5, 5), (3, 2, 2, 2), (3,)], F.conv2d),
    ("conv_transpose2d", [(1, 2, 5, 5), (2, 3, 2, 2), (3,)], F.conv_transpose2d),
    ("bilinear", [(2, 3), (2, 4), (2, 3, 4)], F.bilinear),
    ("einsum", [(2, 3), (3, 4)], lambda a, b: torch.einsum("ij,jk->ik", a, b)),
    ("einsum_elementwise", [(2, 3), (2, 3)], lambda a, b: torch.einsum("ij,ij->ij", a, b)),
    ("einsum_three", [(2, 3), (3, 4), (4, 2)], lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c)),
    ("matmul", [(2, 3), (3, 4)], torch.matmul),
    ("matmul_vectors", [(3,), (3,)], torch.matmul),
    ("mv", [(2, 3), (3,)], torch.mv),
    ("bmm", [(2, 2, 3), (2, 3, 4)], torch.bmm),
    ("addmm", [(2, 4), (2, 3), (3, 4)], torch.addmm),
    ("baddbmm", [(2, 2, 4), (2, 2, 3), (2, 3, 4)], torch.baddbmm),
    ("addbmm", [(2, 4), (2, 2, 3), (2, 3, 4)], torch.addbmm),
    ("addmv", [(2,), (2, 3), (3,)], torch.addmv),
    ("addr", [(2, 3), (2,), (3,)], torch.addr),
    ("dot", [(3,), (3,)], torch.dot),
    ("vdot", [(3,), (3,)], torch.vdot),
    ("outer", [(3,), (2,)], torch.outer),
    ("inner", [(2, 3), (2, 3)], torch.inner),
    ("kron", [(2, 3), (2, 3)], torch.kron),
    ("tensordot", [(2, 3), (3, 2)], lambda a, b: torch.tensordot(a, b, 1)),
    ("linalg_multi_dot", [(2, 3), (3, 2), (2, 2)], lambda a, b, c: torch.linalg.multi_dot([a, b, c])),
    ("linalg_vecdot", [(2, 3), (2, 3)], torch.linalg.vecdot),
    ("matrix_power", [(2, 2)], lambda a: torch.linalg.matrix_power(a, 3)),
    ("cross", [(2, 3), (2, 3)], lambda a, b: torch.cross(a, b, 1)),
    ("cdist", [(2, 3), (4, 3)], torch.cdist),
    ("pairwise_distance", [(2, 3), (2, 3)], F.pairwise_distance),
    ("cosine_similarity", [(2, 3), (2, 3)], F.cosine_similarity),
    ("mse_loss", [(2, 3), (2, 3)], F.mse_loss),
    ("l1_loss", [(2, 3), (2, 3)], F.l1_loss),
    ("smooth_l1_loss", [(2, 3), (2, 3)], F.smooth_l1_loss),
    ("huber_loss", [(2, 3), (2, 3)], F.huber_loss),
    ("binary_cross_entropy", [(2, 3), (2, 3)], F.binary_cross_entropy),
    ("binary_cross_entropy_with_logits", [(2, 3), (2, 3)], F.binary_cross_entropy_with_logits),
    ("kl_div", [(2, 3), (2, 3)], F.kl_div),
    ("nll_loss", [(2, 3), (3,)], lambda x, w: F.nll_loss(x, INDEX, w)),
    ("cross_entropy", [(2, 3), (3,)], lambda x, w: F.cross_entropy(x, INDEX, w)),
    ("cross_entropy_of_probabilities", [(2, 3), (2, 3)], F.cross_entropy),
    ("cosine_embedding_loss", [(2, 3), (2, 3), (2,)], F.cosine_embedding_loss),
    ("hinge_embedding_loss", [(2, 3), (2, 3)], F.hinge_embedding_loss),
    ("margin_ranking_loss", [(2,), (2,), (2,)], F.margin_ranking_loss),
    ("triplet_margin_loss", [(2, 3), (2, 3), (2, 3)], F.triplet_margin_loss),
    ("gaussian_nll_loss", [(2, 3), (2, 3), (2, 3)], F.gaussian_nll_loss),
    ("poisson_nll_loss", [(2, 3), (2, 3)], F.poisson_nll_loss),
    ("soft_margin_loss", [(2, 3), (2, 3)], F.soft_margin_loss),
    ("multi_margin_loss", [(2, 3), (3,)], lambda x, w: F.multi_margin_loss(x, INDEX, weight=w)),
    ("multilabel_soft_margin_loss", [(2, 3), (2, 3), (3,)], F.multilabel_soft_margin_loss),
    ("layer_norm", [(2, 3), (3,), (3,)], lambda x, w, b: F.layer_norm(x, [3], w, b)),
    ("rms_norm", [(2, 3), (3,)], lambda x, w: F.rms_norm(x, [3], w)),
    ("group_norm", [(2, 4, 3), (4,), (4,)], lambda x, w, b: F.group_norm(x, 2, w, b)),
    ("instance_norm", [(2, 3, 4), (3,)], lambda x, w: F.instance_norm(x, weight=w, bias=w)),
    ("local_response_norm", [(2, 3, 4)], lambda x: F.local_response_norm(x, 2)),
    ("normalize", [(2, 3)], F.normalize),
    ("embedding_bag", [(4, 3), (2, 2)],
     lambda w, p: F.embedding_bag(torch.tensor([[0, 1], [2, 3]]), w, mode="sum", per_sample_weights=p)),
    ("prelu", [(2, 3), (3,)], F.prelu),
    ("grid_sample", [(1, 2, 3, 3), (1, 2, 2, 2)], lambda x, g: F.grid_sample(x, g, align_corners=False)),
    ("gumbel_softmax", [(2, 3)], F.gumbel_softmax),
    ("lerp", [(2, 3), (2, 3), (2, 3)], torch.lerp),
    ("addcmul", [(2, 3), (2, 3), (2, 3)], torch.addcmul),
    ("addcdiv", [(2, 3), (2, 3), (2, 3)], torch.addcdiv),
    ("atan2", [(2, 3), (2, 3)], torch.atan2),
    ("cat", [(2, 3), (2, 3)], lambda a, b: torch.cat([a, b])),
    ("stack", [(2, 3), (2, 3)], lambda a, b: torch.stack([a, b])),
    ("index_copy", [(2, 3), (2, 3)], lambda a, b: a.index_copy(0, INDEX, b)),
    ("index_add", [(2, 3), (2, 3)], lambda a, b: a.index_add(0, INDEX, b)),
    ("index_put", [(2, 3), (2, 3)], lambda a, b: a.index_put((INDEX,), b)),
    ("scatter_add", [(2, 3), (2, 3)], lambda a, b: a.scatter_add(0, torch.zeros(2, 3, dtype=torch.int64), b)),
    ("masked_scatter", [(2, 3), (2, 3)], lambda a, b: a.masked_scatter(torch.ones(2, 3, dtype=torch.bool), b)),
]


def letter(call, operands):
    try:
        with torch.autocast("cpu", torch.bfloat16):
            result = call(*operands)
    except (RuntimeError, IndexError, ValueError):
        return "-"
    return LETTERS[(result if isinstance(result, torch.Tensor) else result[0]).dtype]


print(f"// Written by autocast_cpu.py with PyTorch {torch.__version__}: the dtypes of results.")
for name, sizes, call in OPS:
    torch.manual_seed(1)
    inputs = [torch.rand(s, dtype=torch.float64) * 0.5 + 0.25 for s in sizes]
    letters = [letter(call, [x.to(t) for x, t in zip(inputs, dtypes)])
               for dtypes in itertools.product(LETTERS, repeat=len(sizes))]
    print(f'X({name}, "{"".join(letters)}")')
