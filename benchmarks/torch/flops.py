#!/usr/bin/env python3
"""Prints the floating-point operations of one training step of each workload as JSON: products, convolutions and
attention, forward and backward, two per multiply-add. Divided by a processor's peak, they give the step's lower bound
for methods without fewer multiplications (the `roof` of docs/benchmarks.md)."""
import json

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import networks
import train_compile

def main():
    torch.backends.mkldnn.enabled = False  # its LSTM is one op, which the counter does not know
    counts = {}
    for workload, size in train_compile.BATCHES.items():
        model = networks.make(workload)
        x, y = train_compile.batch(workload, 0, size, torch.contiguous_format)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            model.loss(x, y).backward()
        counts[workload] = counter.get_total_flops()
    print(json.dumps(counts, indent=2))


if __name__ == "__main__":
    main()
