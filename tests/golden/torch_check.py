#!/usr/bin/env python3
"""Checks that PyTorch and NumPy read what tandem writes.

    .venv-torch/bin/python tests/golden/torch_check.py FOLDER

FOLDER has copies of files of tests/io/torch that tandem has loaded and saved again, as the test TorchFile.Rewritten
leaves them with TANDEM_REWRITTEN=FOLDER. Every value must be the one that PyTorch reads from the original.
"""
import argparse
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_files  # noqa: E402

ORIGINALS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "io", "torch")


def same(a, b):
    """True if the values are equal; sets and tuples become lists, OrderedDict and Counter dict, bytearray bytes."""
    if isinstance(a, torch.Tensor):
        bits = lambda t: t.detach().contiguous().reshape(-1).view(torch.uint8).tolist() if t.numel() else []
        return (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad) and bits(
            a) == bits(b)
    if isinstance(a, np.ndarray):
        return a.dtype.newbyteorder("=") == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple, set)):
        a, b = list(a), list(b)
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def check_optimizer(name, folder):
    """optimizer_KIND.pt is the optimizer of train_KIND.pt, which tandem has loaded by its own names."""
    original = torch.load(os.path.join(ORIGINALS, name.replace("optimizer_", "train_")), weights_only=True)["optimizer"]
    rewritten = torch.load(os.path.join(folder, name), weights_only=True)
    parameters = [torch.zeros_like(s.get("exp_avg", s.get("momentum_buffer"))) for s in original["state"].values()]
    groups = [{"params": [parameters[i] for i in g["params"]]} for g in original["param_groups"]]
    optimizer = getattr(torch.optim, {"adamw": "AdamW", "sgd": "SGD"}[name[10:-3]])(groups, lr=1)
    optimizer.load_state_dict(rewritten)
    loaded = optimizer.state_dict()
    options = all(g[k] == h[k] for g, h in zip(original["param_groups"], loaded["param_groups"]) for k in g
                  if k != "fused")  # PyTorch sets it
    return options and all(same(v, loaded["state"][i][k]) for i, s in original["state"].items() for k, v in s.items())


def check_lbfgs(name, folder):
    """lbfgs_RUN.pt is the optimizer of a run in lbfgs.pt: the next step must be the same."""
    saved = torch.load(os.path.join(ORIGINALS, "lbfgs.pt"), weights_only=True)[name[6:-3]]
    results = []
    for state in saved["optimizer"], torch.load(os.path.join(folder, name), weights_only=True):
        run = torch_files.lbfgs_run({}, (saved["x"].tolist(), saved["y"].tolist()))
        run["optimizer"].load_state_dict(state)
        torch_files.lbfgs_step(run)
        results.append(torch.cat([run["x"].detach(), run["y"].detach()]))
    return torch.equal(*results)


def check(name, folder):
    if name.startswith("lbfgs_"):
        return check_lbfgs(name, folder)
    if name.startswith("optimizer_"):
        return check_optimizer(name, folder)
    if name.endswith(".pt"):
        load = lambda path: torch.load(path, weights_only=True)
    else:
        load = lambda path: (lambda f: dict(f) if hasattr(f, "files") else f)(np.load(path))
    original, rewritten = (load(os.path.join(f, name)) for f in (ORIGINALS, folder))
    if name == "tensors.pt":  # shared storages stay shared
        if rewritten["row"].untyped_storage().data_ptr() != rewritten["base"].untyped_storage().data_ptr():
            return False
    return same(original, rewritten)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    names = sorted(os.listdir(folder))
    wrong = [name for name in names if not check(name, folder)]
    print(f"{len(names) - len(wrong)} of {len(names)} files are the same", *wrong)
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
