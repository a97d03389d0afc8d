#!/usr/bin/env python3
"""Writes the learning rates of PyTorch's schedulers to schedulers.json, for tests/optim/lr_scheduler_test.cpp.

    .venv-torch/bin/python tests/golden/schedulers.py

Two groups, lr 0.1 and 0.02; rates, and momenta or first betas, before the first step and after each of 30.
LinearWarmupLR is Colossal-AI's formula in a LambdaLR.
"""
import json
import os
import warnings

import torch
from torch.optim import lr_scheduler as lr
from torch.optim.swa_utils import SWALR

STEPS = 30


def linear_warmup(total, warmup):
    return lambda epoch: ((epoch + 1) / (warmup + 1) if epoch < warmup else max(total - epoch, 0) / (total - warmup))


SCHEDULERS = {
    "step": lambda o: lr.StepLR(o, 7, 0.3),
    "step_each": lambda o: lr.StepLR(o, 1),
    "cosine": lambda o: lr.CosineAnnealingLR(o, 30),
    "cosine_periods": lambda o: lr.CosineAnnealingLR(o, 8, 0.005),
    "linear": lambda o: lr.LinearLR(o),
    "linear_down": lambda o: lr.LinearLR(o, 1.0, 0.1, 20),
    "warmup": lambda o: lr.LambdaLR(o, linear_warmup(25, 5)),
    "no_warmup": lambda o: lr.LambdaLR(o, linear_warmup(30, 0)),
    "sequence": lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1), lr.CosineAnnealingLR(o, 15, 0.001), lr.StepLR(o, 2)],
                                          [5, 20]),
    "sequence_of_restarts": lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1, 4),
                                                          lr.CosineAnnealingWarmRestarts(o, 5)], [4]),
    "sequence_of_lambda": lambda o: lr.SequentialLR(o, [lr.LinearLR(o, 0.1, 1, 4), lr.LambdaLR(o, lambda e: 0.9**e)],
                                                    [4]),
    "multi_step": lambda o: lr.MultiStepLR(o, [20, 3, 11, 11], 0.5),
    "exponential": lambda o: lr.ExponentialLR(o, 0.9),
    "constant": lambda o: lr.ConstantLR(o),
    "constant_long": lambda o: lr.ConstantLR(o, 0.25, 12),
    "polynomial": lambda o: lr.PolynomialLR(o),
    "polynomial_square": lambda o: lr.PolynomialLR(o, 25, 2.0),
    "restarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 7),
    "restarts_longer": lambda o: lr.CosineAnnealingWarmRestarts(o, 4, 2, 0.003),
    "lambda": lambda o: lr.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda o: lr.MultiplicativeLR(o, lambda e: 1 - 1 / (e + 1)),
    "chained": lambda o: lr.ChainedScheduler([lr.ConstantLR(o, 0.1, 3), lr.ExponentialLR(o, 0.9)]),
    "chained_cosine": lambda o: lr.ChainedScheduler([lr.LinearLR(o, 0.1), lr.CosineAnnealingLR(o, 40),
                                                     lr.MultiStepLR(o, [8])]),
    "one_cycle": lambda o: lr.OneCycleLR(o, 0.5, 30),
    "one_cycle_groups": lambda o: lr.OneCycleLR(o, [0.5, 0.2], epochs=5, steps_per_epoch=7, pct_start=0.25,
                                                anneal_strategy="linear", base_momentum=0.7, max_momentum=0.9,
                                                div_factor=10, final_div_factor=100, three_phase=True),
    "cyclic": lambda o: lr.CyclicLR(o, 0.001, 0.1, step_size_up=4),
    "cyclic_groups": lambda o: lr.CyclicLR(o, [0.001, 0.01], [0.1, 0.5], 5, 3, "triangular2", base_momentum=0.5),
    "cyclic_exp": lambda o: lr.CyclicLR(o, 0.001, 0.1, 3, 6, "exp_range", 0.95, cycle_momentum=False),
    "cyclic_fn": lambda o: lr.CyclicLR(o, 0.001, 0.1, 3, scale_fn=lambda x: 1 / (5 ** (x * 0.001)),
                                       scale_mode="iterations"),
    "swa": lambda o: SWALR(o, 0.05),
    "swa_linear": lambda o: SWALR(o, [0.05, 0.5], 4, "linear"),
    "swa_at_once": lambda o: SWALR(o, 0.05, 0),
}

# Metrics, and arguments of ReduceLROnPlateau.
METRICS = [5, 4, 4.1, 4.2, 4.05, 4.3, 4.4, 3.9999, 3.9998, 3.9, 3.95, 3.96, 3.97, 3.98, 3.99, 3, 3, 3, 3, 3, 3, 3, 3, 3]
PLATEAUS = {
    "defaults": {},
    "patient": dict(factor=0.5, patience=2, cooldown=2),
    "max": dict(mode="max", factor=0.3, patience=1, threshold=0.1, threshold_mode="abs", min_lr=[0.02, 0.001]),
    "abs": dict(factor=0.2, patience=0, threshold=0.05, threshold_mode="abs", eps=1e-3),
}


def make_optimizer(make=lambda groups: torch.optim.SGD(groups, lr=1.0, momentum=0.9)):
    return make([{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in (0.1, 0.02)])


def values(optimizer):
    return ([g["lr"] for g in optimizer.param_groups],
            [g["momentum"] if "momentum" in g else g["betas"][0] for g in optimizer.param_groups])


def trace(make, make_optimizer=make_optimizer):
    """Returns the rates and the momenta, by epoch."""
    optimizer = make_optimizer()
    scheduler = make(optimizer)
    seen = [values(optimizer)]
    for _ in range(STEPS):
        optimizer.step()
        scheduler.step()
        seen.append(values(optimizer))
    return [rates for rates, _ in seen], [momenta for _, momenta in seen]


def fractional():
    """CosineAnnealingWarmRestarts.step(epoch)."""
    optimizer = make_optimizer()
    scheduler = lr.CosineAnnealingWarmRestarts(optimizer, 3, 2)
    optimizer.step()
    seen = []
    for epoch in (0.25, 1.5, 2.75, 3.0, 7.5, 9.125, 20.5, 4.5):
        scheduler.step(epoch)
        seen.append([epoch, values(optimizer)[0]])
    return seen


def swa_after_another():
    """Five epochs of ExponentialLR, then SWALR, which was created before them."""
    optimizer = make_optimizer()
    first, swa = lr.ExponentialLR(optimizer, 0.8), SWALR(optimizer, 0.05, 4)
    optimizer.step()
    seen = []
    for epoch in range(12):
        (first if epoch < 5 else swa).step()
        seen.append(values(optimizer)[0])
    return seen


# Several schedules of one optimizer, stepped one after the other.
TOGETHER = {
    "two": lambda o: [lr.ExponentialLR(o, 0.9), lr.MultiStepLR(o, [3, 11], 0.1)],
    "warm_up": lambda o: [lr.LinearLR(o, 0.1, total_iters=6), lr.StepLR(o, 5, 0.5)],
    "cosine": lambda o: [lr.ConstantLR(o, 0.2, 4), lr.CosineAnnealingLR(o, 35, 0.001)],
    "polynomial": lambda o: [lr.PolynomialLR(o, 40, 2.0), lr.MultiplicativeLR(o, lambda e: 1 - 1 / (e + 1))],
}


def together(make):
    optimizer = make_optimizer()
    schedulers = make(optimizer)
    optimizer.step()
    seen = [values(optimizer)[0]]
    for _ in range(STEPS):
        for scheduler in schedulers:
            scheduler.step()
        seen.append(values(optimizer)[0])
    return seen


def beside_plateau():
    """ReduceLROnPlateau beside a warm-up, and a rate that the program sets after ten steps."""
    optimizer = make_optimizer()
    warm_up = lr.LinearLR(optimizer, 0.1, total_iters=8)
    reduce = lr.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    optimizer.step()
    seen = []
    for step in range(20):
        if step == 10:
            optimizer.param_groups[0]["lr"] = 0.7
        warm_up.step()
        reduce.step(1.0)
        seen.append(values(optimizer)[0])
    return seen


def after_zero():
    """A rate that the program sets after the schedule has reached 0."""
    optimizer = make_optimizer()
    scheduler = lr.PolynomialLR(optimizer, 3)
    optimizer.step()
    seen = []
    for step in range(7):
        if step == 4:
            optimizer.param_groups[0]["lr"] = 0.5
        scheduler.step()
        seen.append(values(optimizer)[0])
    return seen


# Schedules whose optimizer gets another group after five steps.
GROWING = ["step", "multi_step", "exponential", "linear", "constant_long", "polynomial_square", "cosine"]


def added_group(make):
    optimizer = make_optimizer()
    scheduler = make(optimizer)
    optimizer.step()
    seen = []
    for step in range(20):
        if step == 5:
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.5})
        scheduler.step()
        seen.append(values(optimizer)[0])
    return seen


def plateau(arguments):
    optimizer = make_optimizer()
    scheduler = lr.ReduceLROnPlateau(optimizer, **arguments)
    seen = []
    for metric in METRICS:
        scheduler.step(metric)
        seen.append(values(optimizer)[0])
    return seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # SequentialLR passes an epoch to step()
    traces = {name: trace(make) for name, make in SCHEDULERS.items()}
    cycled = [name for name in SCHEDULERS if name.startswith(("one_cycle", "cyclic"))]
    adam = trace(SCHEDULERS["one_cycle"], make_optimizer=lambda: make_optimizer(torch.optim.Adam))
    golden = {
        "torch": torch.__version__,
        "rates": {name: rates for name, (rates, _) in traces.items()},
        "momenta": {**{name: traces[name][1] for name in cycled}, "adam": adam[1]},
        "fractional": fractional(),
        "swa_after_another": swa_after_another(),
        "together": {name: together(make) for name, make in TOGETHER.items()},
        "beside_plateau": beside_plateau(),
        "after_zero": after_zero(),
        "added_group": {name: added_group(SCHEDULERS[name]) for name in GROWING},
        "metrics": METRICS,
        "plateaus": {name: plateau(arguments) for name, arguments in PLATEAUS.items()},
    }
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedulers.json"), "w") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
