"""The PyTorch program for scripts/bench_ddp.py: the steps of ddp_bench.cpp with PyTorch's DistributedDataParallel over
gloo, on the processes that mpirun has started. Prints one line of JSON."""
import argparse
import datetime
import json
import os
import statistics
import time

import torch
import torch.distributed
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import networks
from train_compile import classes, initial_values, normal


class Loss(nn.Module):
    """A module whose forward computes the loss, as DistributedDataParallel calls it."""

    def __init__(self, workload):
        super().__init__()
        self.network = networks.Mlp(2048) if workload == "recipe" else networks.BigCnn()
        self.workload = workload

    def forward(self, x, y):
        if self.workload == "recipe":
            return self.network.loss(x, y)
        return F.cross_entropy(self.network(x).float(), y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", choices=("recipe", "big_cnn"), default="recipe")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="bf16")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    # Open MPI; MPICH and others that speak PMI.
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", 0)))
    ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("PMI_SIZE", 1)))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks, timeout=datetime.timedelta(minutes=5))
    model = Loss(args.workload)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(initial_values(name.removeprefix("network."), parameter))
    if args.workload == "recipe":
        x, y = normal("x", rank, 512, 2048), normal("y", rank, 512, 2048)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3, fused=True)
    else:
        model = model.to(memory_format=torch.channels_last)
        x = normal("x", rank, 16, 1, 28, 28).to(memory_format=torch.channels_last)
        y = classes("y", rank, 10, 16)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    # With one process the model is wrapped, too: it is a program for any number of processes.
    wrapped = DistributedDataParallel(model, gradient_as_bucket_view=True)
    milliseconds = []
    for step in range(args.warmup + args.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss = wrapped(x, y)
        loss.backward()
        optimizer.step()
        if step >= args.warmup:
            milliseconds.append(1e3 * (time.perf_counter() - start))
    if rank == 0:
        print(json.dumps({"ranks": ranks, "examples": len(x), "ms": statistics.median(milliseconds),
                          "loss": loss.item()}))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
