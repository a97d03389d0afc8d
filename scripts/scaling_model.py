#!/usr/bin/env python3
"""Predicts the step time of data-parallel training on many GPUs by the alpha-beta model of docs/scaling.md, and prints
the tables of that page. Nothing here was measured on GPUs.

Usage: scripts/scaling_model.py [--parameters P] [--tokens T] [--global-tokens G] [--flops F] [--latency S] [--bandwidth B]
"""
import argparse
import math

RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)
BUCKET = 25 * 2**20  # bytes that are sent together: f32 gradients in a bucket of DistributedDataParallel, or parameters


def all_reduce(args, ranks, data):
    """Seconds for `data` bytes: the latency of a tree down and up, and each byte sent twice, as by a ring."""
    return 2 * math.log2(ranks) * args.latency + 2 * (ranks - 1) / ranks * data / args.bandwidth


def broadcast(args, ranks, data):
    """Seconds until all ranks have `data` bytes, of which each rank sent a part: each byte is received once."""
    return math.log2(ranks) * args.latency + (ranks - 1) / ranks * data / args.bandwidth


def beside(computation, messages, message):
    """Seconds of a computation during which `messages` of the given duration are sent one after another: each becomes
    ready (or is needed) with its share of the computation, and one is sent before or after all of it."""
    return max(computation + message, computation / messages + messages * message)


def step(args, ranks, tokens, bytes_per_gradient, sharded):
    """Seconds of a step. Buckets are reduced beside the backward pass; the last one starts at its end. With ZeRO-1, the
    owners send the parameters that they have updated, in f32, beside the forward pass, which waits for the first ones."""
    compute = 6 * args.parameters * tokens / args.flops
    messages = max(1, math.ceil(4 * args.parameters / BUCKET))
    forward = compute / 3
    if sharded:
        forward = beside(forward, messages, broadcast(args, ranks, 4 * args.parameters / messages))
    reduction = all_reduce(args, ranks, bytes_per_gradient * args.parameters / messages)
    return forward + beside(compute * 2 / 3, messages, reduction)


WAYS = (("DDP", 4, False), ("DDP, bf16 hook", 2, False), ("ZeRO-1", 4, True), ("ZeRO-1, bf16 hook", 2, True))


def table(args, tokens_of):
    print("| GPUs | tokens per GPU | " + " | ".join(f"{name}: ms | efficiency" for name, _, _ in WAYS) + " |")
    print("|---|---|" + "---|---|" * len(WAYS))
    for ranks in RANKS:
        tokens = tokens_of(ranks)
        alone = 6 * args.parameters * tokens / args.flops
        cells = []
        for _, width, sharded in WAYS:
            seconds = step(args, ranks, tokens, width, sharded)
            cells.append(f"{1e3 * seconds:.0f} | {alone / seconds:.2f}")
        print(f"| {ranks} | {tokens:.0f} | " + " | ".join(cells) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=float, default=1.3e9)
    parser.add_argument("--tokens", type=float, default=16384, help="per GPU and step, in the first table")
    parser.add_argument("--global-tokens", type=float, default=2**21, help="of all GPUs, in the second table")
    parser.add_argument("--flops", type=float, default=4e14, help="operations per second that a GPU reaches")
    parser.add_argument("--latency", type=float, default=1e-5, help="seconds of a message")
    parser.add_argument("--bandwidth", type=float, default=4e10, help="bytes per second of a GPU's network")
    args = parser.parse_args()
    print("The batch per GPU stays the same:\n")
    table(args, lambda ranks: args.tokens)
    print("The joint batch stays the same:\n")
    table(args, lambda ranks: args.global_tokens / ranks)


if __name__ == "__main__":
    main()
