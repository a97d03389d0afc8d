#!/usr/bin/env python3
"""Writes results and gradients of PyTorch's MultiheadAttention, transformer modules (without dropout) and
AdaptiveLogSoftmaxWithLoss to modules.json in its folder, for the tests in tests/nn, which build the same cases.

    .venv-torch/bin/python tests/golden/modules.py

Weights and inputs follow from their names (counter.py). Values are computed in f64. Of the gradient g of each parameter
two numbers are stored: the sum of g times the numbers counter.normal(7), and the sum of |g|.
"""
import json
import os
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import counter

HERE = os.path.dirname(os.path.abspath(__file__))
E, HEADS, N, L, S = 8, 2, 2, 3, 4
INF = float("inf")


def numbers(name, *sizes):
    count = int(np.prod(sizes))
    return torch.from_numpy(counter.normal(counter.fnv1a(name), count)).reshape(sizes)


def leaf(name, *sizes):
    return numbers(name, *sizes).requires_grad_()


def prepare(module):
    module = module.double()
    with torch.no_grad():
        for name, p in module.named_parameters():
            p.copy_(numbers(name, *p.shape) * 0.25 + (1 if "norm" in name and name.endswith("weight") else 0))
    return module


def padding(length):
    """The last two keys of the second sequence are hidden."""
    mask = torch.zeros(N, length, dtype=torch.bool)
    mask[1, length - 2:] = True
    return mask


def some_pairs(rows, columns):
    """Hides key j from query i if 3 divides i + 2 j + 1."""
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    return (i + 2 * j + 1) % 3 == 0


def causal(n):
    return nn.Transformer.generate_square_subsequent_mask(n, dtype=torch.float64)


def attention(inputs, run, **options):
    module = prepare(nn.MultiheadAttention(E, HEADS, **options))
    return module, inputs, list(run(module, *inputs))


def layer(kind, inputs, run, *args, **options):
    module = prepare(kind(*args, dropout=0.0, **options))
    return module, inputs, [run(module, *inputs)]


def cases():
    q, k, v = (lambda: leaf("q", L, N, E)), (lambda: leaf("k", S, N, E)), (lambda: leaf("v", S, N, E))
    pairs = numbers("pairs", L, S)
    yield "self_weights", attention([leaf("x", L, N, E)], lambda m, x: m(x, x, x))
    yield "key_is_value", attention([q(), k()], lambda m, q, k: m(q, k, k, need_weights=False))
    yield "separate", attention([q(), leaf("k6", S, N, 6), leaf("v5", S, N, 5)],
                                lambda m, q, k, v: m(q, k, v, average_attn_weights=False), kdim=6, vdim=5)
    yield "no_bias", attention([q(), k(), v()], lambda m, q, k, v: m(q, k, v, need_weights=False), bias=False)
    for weights in (True, False):
        name = "_weights" if weights else ""
        yield "bool_masks" + name, attention(
            [q(), k(), v()], lambda m, q, k, v: m(q, k, v, key_padding_mask=padding(S), need_weights=weights,
                                                  attn_mask=some_pairs(L, S)))
        yield "float_masks" + name, attention(
            [q(), k(), v()], lambda m, q, k, v: m(q, k, v, key_padding_mask=numbers("keys", N, S),
                                                  need_weights=weights, attn_mask=pairs))
        yield "mixed_masks" + name, attention(
            [q(), k(), v()], lambda m, q, k, v: m(q, k, v, key_padding_mask=padding(S), need_weights=weights,
                                                  attn_mask=pairs))
        yield "added_rows" + name, attention(
            [q(), k(), v()], lambda m, q, k, v: m(q, k, v, key_padding_mask=padding(S), need_weights=weights,
                                                  attn_mask=some_pairs(L, S)), add_bias_kv=True, add_zero_attn=True)
        yield "causal_padded" + name, attention(
            [leaf("y", N, S, E)], lambda m, y: m(y, y, y, key_padding_mask=padding(S), need_weights=weights,
                                                 attn_mask=causal(S), is_causal=True), batch_first=True)
    yield "unbatched", attention([leaf("a", L, E), leaf("b", S, E)],
                                 lambda m, a, b: m(a, b, b, attn_mask=numbers("heads", HEADS, L, S)))
    yield "unbatched_flash", attention([leaf("a", L, E)], lambda m, a: m(a, a, a, need_weights=False,
                                                                         attn_mask=causal(L), is_causal=True))

    encoder, decoder = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    x, memory = (lambda: leaf("x", L, N, E)), (lambda: leaf("memory", S, N, E))
    yield "encoder_layer", layer(encoder, [x()], lambda m, x: m(x), E, HEADS, 12)
    yield "encoder_layer_first", layer(
        encoder, [leaf("y", N, S, E)], lambda m, y: m(y, causal(S), padding(S), is_causal=True), E, HEADS, 12,
        activation="gelu", norm_first=True, batch_first=True, layer_norm_eps=1e-3)
    yield "encoder_layer_function", layer(encoder, [x()], lambda m, x: m(x), E, HEADS, 12, activation=torch.tanh)
    yield "decoder_layer", layer(
        decoder, [x(), memory()],
        lambda m, x, memory: m(x, memory, causal(L), some_pairs(L, S), memory_key_padding_mask=padding(S)), E, HEADS, 12)
    yield "decoder_layer_first", layer(decoder, [x(), memory()],
                                       lambda m, x, memory: m(x, memory, tgt_key_padding_mask=padding(L)), E, HEADS, 12,
                                       norm_first=True)
    source = lambda: leaf("source", S, N, E)
    yield "transformer", layer(
        nn.Transformer, [source(), x()],
        lambda m, s, x: m(s, x, src_key_padding_mask=padding(S), tgt_mask=causal(L),
                          memory_key_padding_mask=padding(S)), E, HEADS, 1, 2, 12)
    yield "transformer_first", layer(
        nn.Transformer, [leaf("s", N, S, E), leaf("t", N, L, E)],
        lambda m, s, t: m(s, t, src_mask=some_pairs(S, S), tgt_mask=causal(L), memory_mask=some_pairs(L, S),
                          tgt_key_padding_mask=padding(L), tgt_is_causal=True), E, HEADS, 2, 1, 12,
        activation="gelu", norm_first=True, batch_first=True)


    targets = torch.tensor([0, 11, 3, 5, 2, 8, 4])
    for name, options in (("adaptive", {}), ("adaptive_bias", {"div_value": 2.0, "head_bias": True})):
        module = prepare(nn.AdaptiveLogSoftmaxWithLoss(16, 12, [3, 5, 9] if options else [4, 8], **options))
        x, t = leaf("features", 7, 16), targets
        output, loss = module(x, t)
        yield name, (module, [x], [output, loss.reshape(1), module.log_prob(x), module.predict(x).double()])
    module = prepare(nn.AdaptiveLogSoftmaxWithLoss(16, 12, [4, 8]))
    x = leaf("one", 16)
    output, loss = module(x, torch.tensor(9))
    yield "adaptive_unbatched", (module, [x], [output, loss, module.log_prob(x[None])])


    torch.manual_seed(0)
    old = nn.utils
    for name, module, sizes in (("weight_norm", old.weight_norm(nn.Linear(4, 3)), (2, 4)),
                                ("weight_norm_all", old.weight_norm(nn.Linear(4, 3), dim=None), (2, 4)),
                                ("weight_norm_conv", old.weight_norm(nn.Conv2d(2, 3, 3), dim=1), (1, 2, 5, 4))):
        x = leaf("in", *sizes)
        yield name, (prepare(module), [x], [module(x)])
    for name, module, sizes in (("spectral_norm", old.spectral_norm(nn.Linear(4, 3), n_power_iterations=2), (2, 4)),
                                ("spectral_norm_conv", old.spectral_norm(nn.ConvTranspose2d(2, 3, 3)), (1, 2, 5, 4))):
        module = prepare(module)
        for key in ("weight_u", "weight_v"):
            vector = numbers(key, getattr(module, key).numel())
            getattr(module, key).copy_(vector / vector.norm())
        x = leaf("in", *sizes)
        outputs = [module(x), module(x)]
        module.eval()
        yield name, (module, [x], [*outputs, module(x), module.weight_u, module.weight_v])


def flat(x):
    return [float(f"{value:.9g}") for value in x.detach().reshape(-1).tolist()]


def main():
    warnings.simplefilter("ignore")
    results = {}
    for name, (module, inputs, outputs) in cases():
        outputs = [y for y in outputs if y is not None]
        loss = sum((y * torch.from_numpy(counter.normal(1000 + i, y.numel())).reshape(y.shape)).sum()
                   for i, y in enumerate(outputs))
        loss.backward()
        gradients = {
            key: [(p.grad.reshape(-1) * torch.from_numpy(counter.normal(7, p.numel()))).sum(), p.grad.abs().sum()]
            for key, p in module.named_parameters()}
        results[name] = {"sizes": [list(y.shape) for y in outputs], "outputs": [flat(y) for y in outputs],
                         "inputs": [flat(x.grad) for x in inputs],
                         "parameters": {key: flat(torch.stack(pair)) for key, pair in gradients.items()}}
    with open(os.path.join(HERE, "modules.json"), "w", encoding="utf-8") as file:
        cases_text = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in results.items())
        file.write('{"torch": %s, "cases": {\n%s\n}}\n' % (json.dumps(torch.__version__), cases_text))
    print(f"{len(results)} cases, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
