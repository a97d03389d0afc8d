"""Recurrent layers and cells. The other side is random_recurrence_ops.cpp. In f32 and f64 only: the roundings of 16 bits
add up over the steps."""
import torch

from differential_calls import define
from differential_draws import operand

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def small(m, sizes):
    m.tensor(sizes, fill="uniform", low=-1.0, high=1.0)


def draw_layers(kind, packed):
    def draw(m):
        m.dtype = m.rng.choice(["f32", "f64"])
        steps, batch, width, hidden, layers = (m.rng.randint(1, n) for n in [4, 3, 3, 3, 2])
        ways = m.rng.choice([1, 2])
        projected = m.rng.randint(1, hidden - 1) if kind == "lstm" and hidden > 1 and m.chance(0.3) else 0
        state = projected or hidden
        m.args.update(biases=m.chance(0.7), layers=layers, both_ways=ways == 2)
        if packed:
            sizes = sorted([batch] + [m.rng.randint(1, batch) for _ in range(steps - 1)], reverse=True)
            m.args["batches"] = sizes
            small(m, [sum(sizes), width])
        else:
            m.args["batch_first"] = m.chance(0.5)
            small(m, [batch, steps, width] if m.args["batch_first"] else [steps, batch, width])
        small(m, [layers * ways, batch, state])
        if kind == "lstm":
            small(m, [layers * ways, batch, hidden])
        for layer in range(layers):
            for _ in range(ways):
                small(m, [GATES[kind] * hidden, width if layer == 0 else ways * state])
                small(m, [GATES[kind] * hidden, state])
                if m.args["biases"]:
                    small(m, [GATES[kind] * hidden])
                    small(m, [GATES[kind] * hidden])
                if projected:
                    small(m, [projected, hidden])
        m.sum = 512
    return draw


def run_layers(kind, packed):
    states = 2 if kind == "lstm" else 1

    def run(x, a):
        hx = tuple(x[1:1 + states]) if kind == "lstm" else x[1]
        params = x[1 + states:]
        f = getattr(torch, kind)
        if packed:
            return f(x[0], torch.tensor(a.batches), hx, params, a.biases, a.layers, 0.0, True, a.both_ways)
        return f(x[0], hx, params, a.biases, a.layers, 0.0, True, a.both_ways, a.batch_first)
    return run


def draw_cell(gates):
    def draw(m):
        m.dtype = m.rng.choice(["f32", "f64"])
        batch, width, hidden = (m.rng.randint(1, 4) for _ in range(3))
        small(m, [batch, width])
        small(m, [batch, hidden])
        if gates == 4:
            small(m, [batch, hidden])
        small(m, [gates * hidden, width])
        small(m, [gates * hidden, hidden])
        if m.chance(0.7):
            small(m, [gates * hidden])
            small(m, [gates * hidden])
        m.sum = 64
    return draw


def size(x):
    return 16 * (1 + operand(x)) ** 2


for kind, gates in GATES.items():
    for packed in [False, True]:
        define(kind + (".packed" if packed else ""), run_layers(kind, packed), draw_layers(kind, packed), scale=size)
    cell = getattr(torch, kind + "_cell")
    if kind == "lstm":
        define("lstm_cell", lambda x, a, f=cell: f(x[0], (x[1], x[2]), *x[3:]), draw_cell(gates), scale=size)
    else:
        define(kind + "_cell", lambda x, a, f=cell: f(x[0], x[1], *x[2:]), draw_cell(gates), scale=size)
