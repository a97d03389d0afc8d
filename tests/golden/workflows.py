#!/usr/bin/env python3
"""Trains the MLP of training.py with PyTorch on the CPU in each AMP workflow (gradient clipping, accumulation, penalty,
several models, custom functions, an f32 island), in f32, bf16 and f16 with a GradScaler, and writes losses, scales and
skipped steps to workflows.json in its folder. tests/amp/workflows_test.cpp does the same with tandem and compares.

    .venv-torch/bin/python tests/golden/workflows.py

In the iterations OVERFLOWS the f16 runs are made to overflow, and the other runs skip their optimizer steps. Otherwise
the scale stays far below the point of overflow, so that the traces do not depend on single roundings.
"""
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from training import Mlp, batch, set_weights

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, SEED, SECOND_SEED = 100, 100, 200
INIT_SCALE, GROWTH_INTERVAL = 2.0**8, 15
OVERFLOWS = (7, 31, 32, 60)
MAX_NORM, CLIP_VALUE, PARTS = 0.5, 0.05, 4
F32 = torch.float32


class MyMM(torch.autograd.Function):
    """A matrix product whose backward runs in the precision of forward."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad.mm(b.t()), a.t().mm(grad)


class Swish(torch.autograd.Function):
    """x * sigmoid(x), in f32 only."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x):
        assert x.dtype == torch.float32
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class CustomMlp(Mlp):
    def forward(self, x):
        h = Swish.apply(self.fc1(x))
        return self.fc3(torch.relu(MyMM.apply(h, self.fc2.weight.t()) + self.fc2.bias))


class IslandMlp(Mlp):
    def forward(self, x):
        h = torch.relu(self.fc1(x))
        with torch.autocast("cpu", enabled=False):
            h = torch.relu(self.fc2(h.float()))
        return self.fc3(h)


class Run:
    """Common to all workflows: a model, its optimizer, a scaler, and the trace."""

    def __init__(self, dtype, perturbation, make_model=Mlp):
        self.dtype, self.perturbation = dtype, perturbation
        self.model = self.add_model(make_model, SEED)
        self.optimizer = self.model.optimizer()
        self.scaler = torch.amp.GradScaler("cpu", init_scale=INIT_SCALE, growth_interval=GROWTH_INTERVAL,
                                           enabled=dtype == torch.float16)
        self.trace = {"losses": [], "scales": [], "skipped": []}

    def add_model(self, make_model, seed):
        model = make_model()
        set_weights(model, seed, self.perturbation)
        return model

    def autocast(self):
        return torch.autocast("cpu", dtype=torch.bfloat16 if self.dtype == F32 else self.dtype,
                              enabled=self.dtype != F32)

    def overflowing(self, step, loss):
        """Returns the loss for backward."""
        return loss * float("inf") if step in OVERFLOWS and self.scaler.is_enabled() else loss

    def step(self, step, optimizer):
        """Steps the optimizer. Runs without a scaler skip the iterations in which the f16 run overflows."""
        if self.scaler.is_enabled() or step not in OVERFLOWS:
            self.scaler.step(optimizer)

    def finish(self, loss):
        before = self.scaler.get_scale()
        if self.scaler.is_enabled():
            self.scaler.update()
        self.trace["losses"].append(float(f"{loss.item():.9g}"))
        self.trace["scales"].append(self.scaler.get_scale())
        self.trace["skipped"].append(int(self.scaler.get_scale() < before))


def clipping(clip):
    def workflow(dtype, perturbation):
        run = Run(dtype, perturbation)
        for step in range(STEPS):
            x, target = batch(Mlp.inputs, SEED, step)
            run.optimizer.zero_grad()
            with run.autocast():
                loss = F.cross_entropy(run.model(x), target)
            run.scaler.scale(run.overflowing(step, loss)).backward()
            run.scaler.unscale_(run.optimizer)
            clip(run.model.parameters())
            run.step(step, run.optimizer)
            run.finish(loss)
        return run

    return workflow


def accumulation(dtype, perturbation):
    run = Run(dtype, perturbation)
    for step in range(STEPS):
        x, target = batch(Mlp.inputs, SEED, step)
        run.optimizer.zero_grad()
        total = 0
        for part, (xs, targets) in enumerate(zip(x.chunk(PARTS), target.chunk(PARTS))):
            with run.autocast():
                loss = F.cross_entropy(run.model(xs), targets) / PARTS
            run.scaler.scale(run.overflowing(step, loss) if part == 1 else loss).backward()
            total = total + loss.detach()
        run.step(step, run.optimizer)
        run.finish(total)
    return run


def penalty(dtype, perturbation):
    run = Run(dtype, perturbation)
    parameters = list(run.model.parameters())
    for step in range(STEPS):
        x, target = batch(Mlp.inputs, SEED, step)
        run.optimizer.zero_grad()
        with run.autocast():
            loss = F.cross_entropy(run.model(x), target)
        scaled = torch.autograd.grad(run.scaler.scale(loss), parameters, create_graph=True)
        inverse = 1.0 / run.scaler.get_scale()
        with run.autocast():
            norm = 0
            for g in scaled:
                norm = norm + (g * inverse).pow(2).sum()
            loss = loss + norm.sqrt()
        run.scaler.scale(run.overflowing(step, loss)).backward()
        run.step(step, run.optimizer)
        run.finish(loss)
    return run


def multiple(dtype, perturbation):
    run = Run(dtype, perturbation)
    other = run.add_model(Mlp, SECOND_SEED)
    run.optimizer = torch.optim.SGD(run.model.parameters(), lr=0.002)
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=0.001)
    for step in range(STEPS):
        x, target = batch(Mlp.inputs, SEED, step)
        run.optimizer.zero_grad()
        other_optimizer.zero_grad()
        with run.autocast():
            first, second = run.model(x), other(x)
            loss0 = F.cross_entropy(2 * first + 3 * second, target)
            loss1 = F.cross_entropy(3 * first - 5 * second, target)
        run.scaler.scale(loss0).backward(retain_graph=True)
        run.scaler.scale(loss1).backward()
        if step in OVERFLOWS and run.scaler.is_enabled():
            other.fc1.weight.grad.fill_(float("inf"))
        run.scaler.unscale_(run.optimizer)
        run.scaler.step(run.optimizer)
        run.step(step, other_optimizer)
        run.finish(loss0 + loss1)
    return run


def plain(make_model):
    def workflow(dtype, perturbation):
        run = Run(dtype, perturbation, make_model)
        for step in range(STEPS):
            x, target = batch(Mlp.inputs, SEED, step)
            run.optimizer.zero_grad()
            with run.autocast():
                loss = F.cross_entropy(run.model(x), target)
            run.scaler.scale(run.overflowing(step, loss)).backward()
            run.step(step, run.optimizer)
            run.finish(loss)
        return run

    return workflow


WORKFLOWS = {
    "clip_norm": clipping(lambda p: nn.utils.clip_grad_norm_(p, MAX_NORM)),
    "clip_value": clipping(lambda p: nn.utils.clip_grad_value_(p, CLIP_VALUE)),
    "accumulation": accumulation,
    "penalty": penalty,
    "multiple": multiple,
    "custom_function": plain(CustomMlp),
    "island": plain(IslandMlp),
}


def main():
    torch.set_num_threads(1)
    result = {"torch": torch.__version__, "steps": STEPS, "seed": SEED, "second_seed": SECOND_SEED,
              "init_scale": INIT_SCALE, "growth_interval": GROWTH_INTERVAL, "overflows": OVERFLOWS,
              "max_norm": MAX_NORM, "max_value": CLIP_VALUE, "parts": PARTS}
    for name, workflow in WORKFLOWS.items():
        runs = {}
        for precision, dtype in (("f32", F32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
            trace = workflow(dtype, 0).trace
            others = [workflow(dtype, p).trace for p in range(1, 4)]
            spread = max(abs(a - b) for o in others for a, b in zip(o["losses"], trace["losses"]))
            print(f"{name} {precision}: loss {trace['losses'][0]:.4f} -> {np.mean(trace['losses'][-20:]):.4f}, "
                  f"{sum(trace['skipped'])} skips; losses move by {spread:.2g} when perturbed")
            if dtype == torch.float16:
                if any(o["scales"] != trace["scales"] for o in others) or sum(trace["skipped"]) != len(OVERFLOWS):
                    sys.exit(f"{name}: the scale trace depends on rounding; choose another INIT_SCALE")
            else:
                del trace["scales"], trace["skipped"]
            runs[precision] = {**trace, "spread": float(f"{spread:.2g}")}
        # Inference: the logits of a batch that was not used in training.
        if name == "clip_norm":
            model = workflow(F32, 0).model.eval()
            x, _ = batch(Mlp.inputs, SEED, STEPS)
            logits = {}
            for precision, dtype in (("f32", F32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
                with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16 if dtype == F32 else dtype,
                                                     enabled=dtype != F32):
                    logits[precision] = [float(f"{v:.7g}") for v in model(x).float().flatten().tolist()]
            result["inference"] = logits
        result[name] = runs
    with open(os.path.join(HERE, "workflows.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
