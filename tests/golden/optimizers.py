#!/usr/bin/env python3
"""Writes the parameters and states of PyTorch's optimizers to optimizers.json, for tests/optim/golden_test.cpp.

    .venv-torch/bin/python tests/golden/optimizers.py

Four parameters in f64 over 10 steps: the first with the first options, the second and third with the second options,
and a fourth in a group that is added, with the first options, after step 5. The third has gradients from the fourth
step on. Start values and gradients come from counter.py. PyTorch has neither Lion nor LAMB: those are written here from
the papers' algorithms.
"""
import json
import os

import torch

import counter

STEPS, COUNT, ADDED = 10, 5, 5


class Lion(torch.optim.Optimizer):
    """Chen et al. (2023), program 1."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = -p.grad if group["maximize"] else p.grad
                state = self.state[p]
                m = state.setdefault("exp_avg", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * g)
                p -= group["lr"] * (update + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * g)


class LAMB(torch.optim.Optimizer):
    """You et al. (2020), algorithm 2."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = -p.grad if group["maximize"] else p.grad
                state = self.state[p]
                if not state:
                    state.update(step=torch.tensor(0.0), exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                state["step"] += 1
                t = state["step"].item()
                m, v = state["exp_avg"], state["exp_avg_sq"]
                m.copy_(beta1 * m + (1 - beta1) * g)
                v.copy_(beta2 * v + (1 - beta2) * g * g)
                r = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])
                update = r + group["weight_decay"] * p
                p_norm, update_norm = p.norm(), update.norm()
                ratio = p_norm / update_norm if p_norm > 0 and update_norm > 0 else 1.0
                p -= group["lr"] * ratio * update


O = torch.optim
# name: (class, first options, second options)
CASES = {
    "rmsprop": (O.RMSprop, {}, dict(lr=0.02, alpha=0.9, eps=1e-3, weight_decay=0.1)),
    "rmsprop_momentum": (O.RMSprop, dict(momentum=0.9), dict(lr=0.02, momentum=0.5, maximize=True)),
    "rmsprop_centered": (O.RMSprop, dict(centered=True), dict(lr=0.02, momentum=0.5, centered=True, weight_decay=0.1)),
    "adagrad": (O.Adagrad, {}, dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, eps=1e-3)),
    # PyTorch uses the constructor's initial value for all groups.
    "adagrad_maximize": (O.Adagrad, dict(initial_accumulator_value=0.3),
                         dict(lr=0.1, initial_accumulator_value=0.3, maximize=True)),
    "adadelta": (O.Adadelta, {}, dict(lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True)),
    "adamax": (O.Adamax, {}, dict(lr=0.05, betas=(0.5, 0.8), eps=1e-3, weight_decay=0.1, maximize=True)),
    "nadam": (O.NAdam, {}, dict(lr=0.05, betas=(0.5, 0.8), eps=1e-3, weight_decay=0.1, momentum_decay=0.1)),
    "nadam_decoupled": (O.NAdam, dict(lr=0.1), dict(weight_decay=0.5, decoupled_weight_decay=True, maximize=True)),
    "radam": (O.RAdam, {}, dict(lr=0.05, betas=(0.5, 0.8), eps=1e-3, weight_decay=0.1)),
    "radam_decoupled": (O.RAdam, dict(lr=0.1, betas=(0.9, 0.95)),
                        dict(weight_decay=0.5, decoupled_weight_decay=True, maximize=True)),
    "lion": (Lion, {}, dict(lr=0.05, betas=(0.5, 0.8), weight_decay=0.5, maximize=True)),
    "lamb": (LAMB, {}, dict(lr=0.05, betas=(0.5, 0.8), eps=1e-3, weight_decay=0.5, maximize=True)),
    "lamb_no_decay": (LAMB, dict(weight_decay=0.0), dict(lr=0.05, weight_decay=0.0)),
}


def values(seed):
    return torch.from_numpy(counter.normal(seed, COUNT))


def run(make, first, second):
    params = [torch.nn.Parameter(values(7 + k)) for k in range(4)]
    defaults = make(params[:1]).defaults  # of the class, not of this optimizer: options in C++ start from those
    optimizer = make([{"params": params[:1]}, {"params": params[1:3], **defaults, **second}], **first)
    trace = []
    for step in range(STEPS):
        if step == ADDED:
            optimizer.add_param_group({"params": params[3:]})
        for k, p in enumerate(params):
            p.grad = None if k == 2 and step < 3 else values(100 + 20 * k + step)
        optimizer.step()
        if step in (0, 2, 5, STEPS - 1):
            trace.append([p.tolist() for p in params])
    state = {str(k): {name: torch.as_tensor(t).double().reshape(-1).tolist() for name, t in s.items() if t is not None}
             for k, s in optimizer.state_dict()["state"].items()}
    return {"params": trace, "state": state}


LBFGS_CASES = {
    "fixed": dict(lr=0.1, max_iter=4),
    "wolfe": dict(max_iter=6, line_search_fn="strong_wolfe"),
    "wolfe_small_start": dict(lr=1e-3, max_iter=4, line_search_fn="strong_wolfe"),
    "wolfe_large_start": dict(lr=50, max_iter=4, line_search_fn="strong_wolfe"),
    "short_history": dict(max_iter=8, history_size=2, line_search_fn="strong_wolfe"),
    "few_evaluations": dict(max_iter=8, max_eval=5, line_search_fn="strong_wolfe"),
    "tolerances": dict(max_iter=30, tolerance_grad=0.5, tolerance_change=0.01, line_search_fn="strong_wolfe"),
    "maximize": dict(max_iter=5, line_search_fn="strong_wolfe", maximize=True),
}


def lbfgs(arguments):
    a, b = (torch.nn.Parameter(values(seed)) for seed in (1, 2))
    sign = -1 if arguments.get("maximize") else 1
    optimizer = torch.optim.LBFGS([a, b], **arguments)

    def closure():
        optimizer.zero_grad()
        curved = ((a[1:] - a[:-1] * a[:-1]) ** 2).sum() * 10 + ((1 - a) ** 2).sum()
        loss = sign * (curved + ((b * b - a) ** 2).sum())
        loss.backward()
        return loss

    seen = []
    for _ in range(5):
        loss = optimizer.step(closure).item()
        state = optimizer.state_dict()["state"][0]
        seen.append({"loss": loss, "a": a.tolist(), "b": b.tolist(), "func_evals": state["func_evals"],
                     "n_iter": state["n_iter"]})
    return seen


if __name__ == "__main__":
    golden = {"torch": torch.__version__, "cases": {name: run(*case) for name, case in CASES.items()},
              "lbfgs": {name: lbfgs(arguments) for name, arguments in LBFGS_CASES.items()}}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizers.json"), "w") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
