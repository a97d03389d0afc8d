"""The torch.compile program for train_bench: the workloads of train/workloads.h with forward, loss and backward compiled,
from the same initial weights and data, on the CPU. Takes the flags of train_bench --workload and prints the same keys.
Run by train_bench."""
import argparse
import itertools
import json
import logging
import math
import os
import pathlib
import statistics
import sys
import time
import warnings

logging.disable(logging.WARNING)  # what torch.compile says of the machine
sys.path += [str(pathlib.Path(__file__).parents[2] / "tests" / "golden")]
import counter  # noqa: E402
import torch  # noqa: E402

import networks  # noqa: E402

COMPARED_STEPS = 2
BATCHES = {"recipe": 512, "tiny_mlp": 32, "big_cnn": 16, "simple_cnn": 64, "resnet18": 32, "unet": 50, "gpt": 8,
           "gpt2_124m": 4, "bert": 64, "vit": 64, "lstm": 32, "tabular": 256}


def initial_values(name, parameter):
    center, bound = 0, 0.02
    if parameter.dim() == 1:
        center = 1 if name.endswith("weight") else 0
    else:
        bound = 1 / math.sqrt(parameter.numel() / parameter.size(0))
    values = center + bound * (2 * counter.unit(counter.fnv1a(name), parameter.numel()) - 1)
    return torch.from_numpy(values).float().view(parameter.shape)


def normal(name, i, *sizes):
    return torch.from_numpy(counter.normal(counter.fnv1a(f"{name}{i}"), math.prod(sizes))).float().view(sizes)


def classes(name, i, count, *sizes):
    return torch.from_numpy(counter.integers(counter.fnv1a(f"{name}{i}"), math.prod(sizes), 0, count)).long().view(sizes)


def batch(workload, i, n, layout):
    """Inputs and targets number i."""
    if workload in ("recipe", "tiny_mlp"):
        width = 4096 if workload == "recipe" else 64
        return normal("x", i, n, width), normal("y", i, n, width)
    if workload == "tabular":
        return torch.cat([classes("c", i, 5, n, 3).float(), normal("x", i, n, 6)], 1), normal("y", i, n)
    if workload in networks.CNNS:
        channels, size = {"resnet18": (3, 32), "unet": (1, 32)}.get(workload, (1, 28))
        x = normal("x", i, n, channels, size, size).to(memory_format=layout)
        if workload == "unet":
            return x, classes("y", i, 2, n, 1, 32, 32).float().to(memory_format=layout)
        return x, classes("y", i, 10, n)
    length, vocabulary = {"gpt": (256, 65), "gpt2_124m": (64, 50257), "bert": (32, 4000), "lstm": (64, 65)}[workload]
    x, y = classes("x", i, vocabulary, n, length), classes("y", i, vocabulary, n, length)
    if workload == "bert":
        y.view(-1)[torch.arange(y.numel()) % 7 != 0] = -100
    return x, y


def optimizer_of(workload, parameters):
    if workload in ("recipe", "tiny_mlp"):
        return torch.optim.SGD(parameters, lr=1e-3)
    if workload in ("big_cnn", "simple_cnn", "resnet18", "unet"):
        return torch.optim.Adam(parameters, lr=1e-3)
    return torch.optim.AdamW(parameters, lr=1e-3)


def busy_seconds():
    """Processor time of the whole machine, all programs together."""
    with open("/proc/stat") as stat:
        fields = [int(f) for f in stat.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # without idle and iowait


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", required=True, choices=BATCHES)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--memory-format", default="channels_last", choices=networks.MEMORY_FORMATS)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--warmup", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--eager", action="store_true", help="do not compile")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    warnings.filterwarnings("ignore")
    layout = networks.MEMORY_FORMATS[args.memory_format]
    model = networks.make(args.workload)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(initial_values(name, p))
    if args.workload in networks.CNNS:
        model.to(memory_format=layout)
    batches = [batch(args.workload, i, BATCHES[args.workload], layout) for i in range(3)]
    optimizer = optimizer_of(args.workload, model.parameters())
    amp = args.precision != "f32"
    dtype = torch.float16 if args.precision == "f16" else torch.bfloat16
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    compute = model.loss if args.eager else torch.compile(model.loss)
    number = itertools.count()

    def step():
        x, y = batches[next(number) % len(batches)]
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=amp):
            loss = compute(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    losses, gradient_norms = [], None
    for _ in range(COMPARED_STEPS):
        losses.append(step().item())
        gradient_norms = gradient_norms or [p.grad.double().norm().item() for p in model.parameters()]
    changes = [(p.detach() - initial_values(n, p)).double().norm().item() for n, p in model.named_parameters()]
    for _ in range(args.warmup - COMPARED_STEPS):
        step()
    times = []
    busy, own, begin = busy_seconds(), time.process_time(), time.perf_counter()
    for _ in range(args.iterations):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e3)
    elapsed = time.perf_counter() - begin
    foreign = (busy_seconds() - busy) - (time.process_time() - own)
    final_loss = step().item()
    print(json.dumps({
        "program": "torch.compile " + torch.__version__, "workload": args.workload, "precision": args.precision,
        "memory_format": args.memory_format, "losses": losses, "gradient_norms": gradient_norms,
        "change_norms": changes, "final_loss": final_loss, "ms": statistics.median(times), "min_ms": min(times),
        "foreign_share": max(0, foreign) / (elapsed * os.cpu_count())}))


if __name__ == "__main__":
    main()
