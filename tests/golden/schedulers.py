#!/usr/bin/env python3
"""Writes the learning rates of PyTorch's schedulers to schedulers.json, for tests/optim/lr_scheduler_test.cpp.

    .venv-torch/bin/python tests/golden/schedulers.py

Two groups, lr 0.1 and 0.02; rates before the first step and after each of 30. LinearWarmupLR is Colossal-AI's formula
in a LambdaLR.
"""
import json
import os
import warnings

import torch
from torch.optim import lr_scheduler as lr

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
}


def rates(make):
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in (0.1, 0.02)]
    optimizer = torch.optim.SGD(groups, lr=1.0)
    scheduler = make(optimizer)
    seen = [[g["lr"] for g in optimizer.param_groups]]
    for _ in range(STEPS):
        optimizer.step()
        scheduler.step()
        seen.append([g["lr"] for g in optimizer.param_groups])
    return seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # SequentialLR passes an epoch to step()
    golden = {"torch": torch.__version__, "rates": {name: rates(make) for name, make in SCHEDULERS.items()}}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedulers.json"), "w") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
