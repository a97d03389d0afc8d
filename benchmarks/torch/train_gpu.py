"""The peer of `train_bench --device cuda`: the same networks and sizes in PyTorch on the GPU.

Measures f32 (strict and TF32), AMP as the recipe has it, AMP with channels-last, AMP with fused optimizers, and that in
a CUDA graph. Prints one JSON object per line: {"program", "variant", "workload", "precision", "ms", ...}; ms is the
median over samples of 10 steps. Run by scripts/gpu_check.sh.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS_PER_SAMPLE = 10


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (nn.Linear(width, width) for _ in range(3))

    def loss(self, x, y):
        return F.mse_loss(self.fc3(F.relu(self.fc2(F.relu(self.fc1(x))))), y)


class BigCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 420, 3, padding=1), nn.Conv2d(420, 1000, 3, padding=1)
        self.fc = nn.Linear(49000, 10)

    def loss(self, x, y):
        h = F.max_pool2d(F.relu(self.conv1(x)), 2)
        h = F.max_pool2d(F.relu(self.conv2(h)), 2)
        return F.cross_entropy(self.fc(h.flatten(1)).float(), y)


class SimpleCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 5), nn.Conv2d(32, 64, 5)
        self.fc1, self.fc2 = nn.Linear(1024, 128), nn.Linear(128, 10)

    def loss(self, x, y):
        h = F.relu(F.max_pool2d(self.conv1(x), 2))
        h = F.relu(F.max_pool2d(self.conv2(h), 2))
        h = F.relu(self.fc1(h.reshape(-1, 1024)))
        return F.nll_loss(F.log_softmax(self.fc2(h).float(), 1), y)


def make(workload, batch):
    if workload in ("recipe", "tiny_mlp"):
        width = 4096 if workload == "recipe" else 64
        n = batch or (512 if workload == "recipe" else 32)
        return Mlp(width).cuda(), torch.randn(n, width, device="cuda"), torch.randn(n, width, device="cuda"), "sgd"
    n = batch or (16 if workload == "big_cnn" else 64)
    model = (BigCnn() if workload == "big_cnn" else SimpleCnn()).cuda()
    return model, torch.randn(n, 1, 28, 28, device="cuda"), torch.randint(0, 10, (n,), device="cuda"), "adam"


def measure(workload, precision, variant, batch, samples):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = variant == "tf32"
    torch.backends.cudnn.allow_tf32 = variant == "tf32"
    model, x, y, kind = make(workload, batch)
    if variant == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    fused = variant in ("fused", "graph")
    parameters = model.parameters()
    if kind == "sgd":
        optimizer = torch.optim.SGD(parameters, lr=1e-3, fused=fused)
    else:
        optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=fused, capturable=variant == "graph")
    amp = precision != "f32"
    dtype = torch.float16 if precision == "f16" else torch.bfloat16
    scaler = torch.amp.GradScaler("cuda", enabled=amp)

    def step():
        optimizer.zero_grad(set_to_none=variant != "graph")
        with torch.autocast("cuda", dtype, enabled=amp, cache_enabled=variant != "graph"):
            loss = model.loss(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    if variant == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        run = graph.replay
    else:
        run = step
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(STEPS_PER_SAMPLE):
            run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3 / STEPS_PER_SAMPLE)
    quartiles = statistics.quantiles(times, n=4)
    return {"program": "torch " + torch.__version__, "variant": variant, "workload": workload, "precision": precision,
            "batch": x.shape[0], "ms": statistics.median(times), "lower_quartile_ms": quartiles[0],
            "upper_quartile_ms": quartiles[2], "peak_bytes": torch.cuda.max_memory_allocated()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", required=True, choices=["recipe", "big_cnn", "simple_cnn", "tiny_mlp"])
    parser.add_argument("--precision", required=True, choices=["f32", "f16", "bf16"])
    parser.add_argument("--variant", default="eager",
                        choices=["eager", "tf32", "channels_last", "fused", "graph"])
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--samples", type=int, default=15)
    args = parser.parse_args()
    print(json.dumps(measure(args.workload, args.precision, args.variant, args.batch, args.samples)))


if __name__ == "__main__":
    main()
