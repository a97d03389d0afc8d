#!/usr/bin/env python3
"""Writes files with PyTorch and NumPy, and what tandem should read from them, to tests/io/torch.

    .venv-torch/bin/python tests/golden/torch_files.py [--libtorch PROGRAM]

PROGRAM is tests/golden/torch_files_libtorch.cpp, which writes libtorch's archives; without it, those are kept.

NAME.pt is a file; NAME.safetensors, if there is one, has the tensors and numbers in it by tandem's names. Files named
refused_* contain something that tandem does not load.
"""
import argparse
import collections
import copy
import os
import subprocess
import sys
import zipfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "io", "torch")
sys.path.insert(0, os.path.join(HERE, "..", "io"))
sys.path.insert(0, HERE)
import reference  # noqa: E402
import schedulers  # noqa: E402

RESUME_AT = 6

NAMES = {torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64",
         torch.float16: "F16", torch.float32: "F32", torch.float64: "F64", torch.bool: "BOOL", torch.bfloat16: "BF16"}


def path(name):
    return os.path.join(FOLDER, name)


def expect(name, tensors):
    """Writes the expected contents of NAME.pt, or of NAME.npz."""
    entries = {}
    for key, value in tensors.items():
        t = value.detach() if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=None if not isinstance(
            value, float) else torch.float64)
        bits = t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        entries[key] = (NAMES[t.dtype], list(t.shape), bits)
    with open(path(name + ".safetensors"), "wb") as file:
        file.write(reference.encode(entries))


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))


def tensors():
    """Tensors of every dtype and kind of geometry, some of which share storages."""
    base = torch.arange(24.0).reshape(2, 3, 4)
    state = collections.OrderedDict()
    for dtype in NAMES:
        state[f"dtype.{NAMES[dtype]}"] = (torch.arange(-3, 4) if dtype.is_signed else torch.arange(7)).to(dtype)
    state["base"] = base
    state["row"] = base[1, 2]
    state["transposed"] = base.transpose(0, 2)
    state["steps"] = base[:, ::2, 1::2]
    state["expanded"] = torch.tensor([5.0]).expand(3, 2)
    state["scalar"] = torch.tensor(3.5, dtype=torch.float64)
    state["empty"] = torch.zeros(0, 3)
    state["empty view"] = base[2:, 3:]
    state["parameter"] = torch.nn.Parameter(torch.ones(2, 2))
    state["gradient"] = torch.full((2,), 2.0, requires_grad=True)
    state["channels_last"] = torch.arange(16.0).reshape(1, 2, 2, 4).to(memory_format=torch.channels_last)
    return state


VALUES = {
    "none": None, "true": True, "false": False, "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -2**31, 2**31, 2**62,
                                                         -2**63],
    "floats": [0.0, -2.5, 1e300, float("inf")], "text": "\u00fcber \u2603 \U0001f600", "bytes": b"\x00\xff\x80 b",
    "bytearray": bytearray(b"ab"), "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), 7: "seven", 2.5: "float",
    "set": {4}, "size": torch.Size([2, 3]), "dtype": torch.bfloat16, "device": torch.device("cuda", 1),
    "counter": collections.Counter({"a": 2}), "nested": [{"x": [{"y": torch.tensor([1, 2])}]}],
    "long list": [i % 7 for i in range(1001)],
}


def with_attributes():
    """Tensors to which a program has added attributes."""
    state = {"tensor": torch.arange(6.0).reshape(2, 3).t(), "parameter": torch.nn.Parameter(torch.ones(2)),
             "plain": torch.zeros(1)}
    state["tensor"].tag, state["parameter"].sharded = "a tag", True
    torch.save(state, path("attributes.pt"))
    expect("attributes", state)


def optimizers():
    kinds = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
             "adam": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
             "adamw": lambda p: torch.optim.AdamW([{"params": p[:2], "lr": 0.02}, {"params": p[2:]}], lr=0.01)}
    for name, make in kinds.items():
        net = model()
        optimizer = make(list(net.parameters()))

        def step(seed):
            for i, p in enumerate(net.parameters()):
                p.grad = torch.cos(torch.arange(p.numel()) + i + seed).reshape(p.shape)
            optimizer.step()

        step(0), step(1)
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path(f"train_{name}.pt"))
        step(2)
        expect(f"train_{name}.next", dict(net.state_dict()))
    # Parameters are numbered by their places, whatever their names are: FSDP's are texts, PyTorch 1.5's are addresses.
    run = torch.load(path("train_adamw.pt"))
    optimizer, names = run["optimizer"], ["0.weight", "0.bias", 140234, 140111]
    optimizer["state"] = {names[i]: own for i, own in optimizer["state"].items()}
    for group in optimizer["param_groups"]:
        group.update(params=[names[i] for i in group["params"]], betas=list(group["betas"]))
        del group["maximize"]
    for own in optimizer["state"].values():
        own["step"] = int(own["step"])
    torch.save(run, path("train_named.pt"))


OTHERS = {"RMSprop": {"momentum": 0.5, "centered": True}, "Adagrad": {"lr_decay": 0.1}, "Adadelta": {"rho": 0.8},
          "Adamax": {}, "NAdam": {"decoupled_weight_decay": True, "weight_decay": 0.1}, "RAdam": {}}


def other_optimizers():
    """Runs of other optimizers, and where their next steps lead. One parameter each."""
    saved, after = {}, {}
    for name, options in OTHERS.items():
        p = torch.nn.Parameter(torch.arange(3.0))
        optimizer = getattr(torch.optim, name)([p], lr=0.05, **options)

        def step(seed):
            p.grad = torch.cos(torch.arange(3.0) + seed)
            optimizer.step()

        step(0), step(1)
        saved[name] = {"p": p.detach().clone(), "optimizer": copy.deepcopy(optimizer.state_dict())}
        step(2)
        after[name] = p.detach().clone()
    torch.save(saved, path("optimizers.pt"))
    expect("optimizers.next", after)


def lbfgs_step(run):
    """A step of Rosenbrock's function."""
    x, y, optimizer = run["x"], run["y"], run["optimizer"]

    def loss():
        optimizer.zero_grad()
        value = 10 * (y - x * x).square().sum() + (1 - x).square().sum()
        value.backward()
        return value

    optimizer.step(loss)


def lbfgs_run(options, start):
    x, y = (torch.nn.Parameter(torch.tensor(v, dtype=torch.float64)) for v in start)
    return {"x": x, "y": y, "optimizer": torch.optim.LBFGS([x, y], **options)}


FAR = ([-1.2, 0.3, 2.0], [1.0, -0.5, 0.1])
LBFGS = {"plain": ({"lr": 0.05, "max_iter": 4, "history_size": 3}, FAR, 2),
         "wolfe": ({"max_iter": 3, "line_search_fn": "strong_wolfe"}, FAR, 2),
         "one_iteration": ({"lr": 0.05, "max_iter": 1}, FAR, 1), "new": ({}, FAR, 0),
         "converged": ({}, ([1.0, 1.0], [1.0, 1.0]), 1)}


def lbfgs():
    """Runs of LBFGS of two parameters, and the parameters after the next step of each."""
    saved, after = {}, {}
    for name, (options, start, steps) in LBFGS.items():
        run = lbfgs_run(options, start)
        for _ in range(steps):
            lbfgs_step(run)
        saved[name] = {k: copy.deepcopy(v.state_dict()) if k == "optimizer" else v.detach().clone()
                       for k, v in run.items()}
        lbfgs_step(run)
        after.update({f"{name}.{k}": run[k] for k in ("x", "y")})
    torch.save(saved, path("lbfgs.pt"))
    expect("lbfgs.next", after)


class Scripted(torch.nn.Module):
    """Has lists, and a tensor that is neither a parameter nor a buffer, beside its state."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, (1, 2), padding=(0, 1))
        self.net = model()
        self.plain, self.list = torch.ones(2), [torch.ones(1)]
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x):
        return self.conv(x) + self.plain.sum() + self.list[0] + self.count


def resumed_runs():
    """Writes the states of all schedules of schedulers.py after RESUME_AT steps, with those of their optimizers, to which
    a user has added options and state. tests/golden/schedulers.json has what follows."""
    runs = {}
    for name, make in schedulers.SCHEDULERS.items():
        optimizer = schedulers.make_optimizer()
        schedule = make(optimizer)
        for _ in range(RESUME_AT):
            optimizer.step()
            schedule.step()
        optimizer.param_groups[0].update(lr_scale=0.5, layer="head", depths=[1, 2], shares=[0.5, 1.0], note=None,
                                         nested={"a": (1, "b")})
        state = optimizer.state_dict()
        state.update(format=3, run="first", tags={"a": [1, None]}, scale=torch.ones(2))
        state["state"][0] = {"momentum_buffer": torch.ones(1), "max_exp_avg_sq": torch.full((1,), 3.0), "calls": 7}
        runs[name] = {"optimizer": state, "schedule": {**schedule.state_dict(), "note": "mine"}}
    for name, options in schedulers.PLATEAUS.items():
        optimizer = schedulers.make_optimizer()
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        for metric in schedulers.METRICS[:RESUME_AT]:
            schedule.step(metric)
        runs["plateau_" + name] = {"optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
    torch.save(runs, path("schedules.pt"))


def untyped():
    """Tensors of dtypes whose storages have no type in PyTorch."""
    u16 = torch.tensor([[0, 1, 65535], [2, 3, 4]], dtype=torch.uint16)
    return {"u16": u16, "part": u16[:, 1:], "u32": torch.tensor([1, 2**32 - 1], dtype=torch.uint32),
            "u64": torch.tensor([2**64 - 1, 5], dtype=torch.uint64),
            "f8e5m2": torch.tensor([0.5, -2.0]).to(torch.float8_e5m2)}


def left_out():
    """A file of which tandem loads a part."""
    kept = {"kept": torch.arange(3.0), "float8": torch.tensor([0.5, -2.0]).to(torch.float8_e4m3fn)}
    torch.save({**kept, "uint16": torch.zeros(2, dtype=torch.uint16), "complex": torch.zeros(2, dtype=torch.complex64),
                "sparse": torch.eye(2).to_sparse(), "class": Custom(), "numpy": np.float64(1), "large": 2**70,
                "type": torch.Tensor, "storage": torch.ones(2).storage(), "types": (1, collections.OrderedDict),
                (1, 2): torch.ones(1), "list": [torch.ones(2), 2**70], "pair": (1, 2**70)}, path("left_out.pt"))
    expect("left_out", {**{k: v.view(torch.uint8) if k == "float8" else v for k, v in kept.items()},
                        "list.0": torch.ones(2)})


def legacy_left_out():
    kept = {"first": torch.arange(3.0), "last": torch.ones(2)}
    quantized = torch.quantize_per_tensor(torch.arange(5.0), 0.5, 1, torch.quint8)
    torch.save({"first": kept["first"], "complex": torch.zeros(3, dtype=torch.complex64), "quantized": quantized,
                "complex double": torch.zeros(2, dtype=torch.complex128), "last": kept["last"]},
               path("legacy_left_out.pt"), _use_new_zipfile_serialization=False)
    expect("legacy_left_out", kept)


def libtorch(program):
    subprocess.run([program, FOLDER], check=True)


def expect_libtorch():
    net = torch.jit.load(path("libtorch_module.pt"))
    expect("libtorch_module", dict(net.state_dict()))
    state = torch.jit.load(path("libtorch_next.pt")).state_dict()
    expect("libtorch_next", dict(state))
    os.remove(path("libtorch_next.pt"))


def numpy_files():
    arrays = {"f4": np.arange(6, dtype="<f4").reshape(2, 3), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
              "big": np.arange(6, dtype=">i4").reshape(3, 2), "f2": np.arange(3, dtype="f2"), "bool": np.array([True, False]),
              "scalar": np.array(7, dtype="i8"), "empty": np.zeros((0, 4)), "u1": np.arange(3, dtype="u1"),
              "i1": np.arange(-2, 2, dtype="i1"), "i2": np.arange(-2, 2, dtype=">i2"), "rank 1": np.arange(2.0)[::-1],
              "fortran cube": np.asfortranarray(np.arange(24, dtype=">f8").reshape(2, 3, 4))}
    native = {k: torch.from_numpy(np.ascontiguousarray(v.astype(v.dtype.newbyteorder("="))).reshape(v.shape))
              for k, v in arrays.items()}
    np.savez(path("stored.npz"), **arrays)
    np.savez_compressed(path("deflated.npz"), **arrays)
    expect("arrays", native)
    np.save(path("array.npy"), arrays["fortran cube"])
    for version in ((2, 0), (3, 0)):
        with open(path(f"version{version[0]}.npy"), "wb") as file:
            np.lib.format.write_array(file, arrays["fortran cube"], version=version)
    np.save(path("refused_complex.npy"), np.zeros(2, dtype="c8"))
    np.save(path("refused_object.npy"), np.array([{}], dtype=object))
    np.save(path("refused_record.npy"), np.zeros(2, dtype=[("a", "f4")]))


class Custom:
    pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--libtorch")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)

    torch.save(model().state_dict(), path("module.pt"))
    expect("module", dict(model().state_dict()))
    torch.save(tensors(), path("tensors.pt"))
    expect("tensors", tensors())
    torch.save(tensors()["transposed"], path("tensor.pt"))
    torch.save(VALUES, path("values.pt"))
    torch.save(VALUES, path("protocol4.pt"), pickle_protocol=4)
    torch.serialization.set_crc32_options(False)
    torch.save(tensors()["transposed"], path("no_crc.pt"))
    torch.serialization.set_crc32_options(True)
    with zipfile.ZipFile(path("module.pt")) as stored, zipfile.ZipFile(path("deflated.pt"), "w",
                                                                       zipfile.ZIP_DEFLATED) as deflated:
        for name in stored.namelist():
            deflated.writestr(zipfile.ZipInfo(name), stored.read(name), zipfile.ZIP_DEFLATED)
    torch.jit.script(torch.nn.Linear(3, 2)).save(path("script.pt"))
    torch.manual_seed(2)
    torch.jit.script(Scripted()).save(path("scripted.pt"))
    expect("scripted", dict(torch.jit.load(path("scripted.pt")).state_dict()))
    optimizers()
    other_optimizers()
    lbfgs()
    with_attributes()

    torch.save(torch.nn.ReLU(), path("refused_module.pt"))
    torch.save(torch.zeros(2, dtype=torch.complex64), path("refused_complex.pt"))
    torch.save(torch.eye(2).to_sparse(), path("refused_sparse.pt"))
    torch.jit.freeze(torch.jit.script(torch.nn.Linear(3, 2).eval())).save(path("refused_frozen.pt"))
    loop = []
    loop.append(loop)
    torch.save(loop, path("refused_loop.pt"))
    torch.save(2**64, path("refused_integer.pt"))
    torch.save({"a.b": torch.ones(1), "a": {"b": torch.ones(2)}}, path("same_names.pt"))
    left_out()

    torch.save(tensors(), path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(untyped(), path("untyped.pt"))
    torch.save(untyped(), path("legacy_untyped.pt"), _use_new_zipfile_serialization=False)
    torch.save(VALUES, path("legacy_values.pt"), _use_new_zipfile_serialization=False, pickle_protocol=4)
    legacy_left_out()
    resumed_runs()

    numpy_files()
    if options.libtorch:
        libtorch(options.libtorch)
        expect_libtorch()
    print(sum(os.path.getsize(path(f)) for f in os.listdir(FOLDER)), "bytes, torch", torch.__version__)


if __name__ == "__main__":
    main()
