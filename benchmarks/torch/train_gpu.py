"""The PyTorch program for `train_bench --device cuda`: the same networks and sizes on the GPU.

Measures f32 (matrix products in strict f32 and in TF32), AMP as in PyTorch's recipe, AMP with fused optimizers, and the
latter in a CUDA graph; the CNNs in either memory format. Prints one JSON object: {"program", "variant", "workload",
"precision", "memory_format" (of a CNN), "ms", ...}; ms is the median over samples of 10 steps. With --largest-batch it
finds the largest batch that fits into memory, with --copy-rate it measures the device's copy rate. Run by
scripts/gpu_check.sh.
"""
import argparse
import gc
import json
import statistics
import sys
import time

try:
    import torch

    import networks
except ImportError as error:
    print(f"{sys.executable} cannot import PyTorch: {error}")
    sys.exit(77)  # counts as skipped in scripts/gpu_check.sh

STEPS_PER_SAMPLE = 10


def make(workload, batch, memory_format):
    """The model, the inputs, the targets and the name of the optimizer."""
    if workload not in networks.CNNS:
        width = 4096 if workload == "recipe" else 64
        n = batch or (512 if workload == "recipe" else 32)
        return networks.make(workload).cuda(), torch.randn(n, width, device="cuda"), torch.randn(n, width, device="cuda"), "sgd"
    n = batch or (16 if workload == "big_cnn" else 64)
    layout = networks.MEMORY_FORMATS[memory_format]
    model = networks.make(workload).cuda().to(memory_format=layout)
    x = torch.randn(n, 1, 28, 28, device="cuda").to(memory_format=layout)
    return model, x, torch.randint(0, 10, (n,), device="cuda"), "adam"


def describe(workload, precision, variant, memory_format):
    """The keys that say what a result is of."""
    result = {"program": "torch " + torch.__version__, "variant": variant, "workload": workload, "precision": precision}
    return result | ({"memory_format": memory_format} if workload in networks.CNNS else {})


def measure(workload, precision, variant, memory_format, batch, samples):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = variant == "tf32"
    torch.backends.cudnn.allow_tf32 = True  # as by default, and in tandem: convolutions in strict f32 would not be
                                            # comparable
    model, x, y, kind = make(workload, batch, memory_format)
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
    return describe(workload, precision, variant, memory_format) | {
        "batch": x.shape[0], "ms": statistics.median(times), "lower_quartile_ms": quartiles[0],
        "upper_quartile_ms": quartiles[2], "peak_bytes": torch.cuda.max_memory_allocated()}


def largest_batch(fits, limit=1 << 20):
    """Returns (largest batch known to fit, smallest known not to fit): doubles, then halves the gap down to a
    hundredth, as in benchmarks/train/largest_batch.h."""
    good, bad, batch = 0, 0, 1
    while batch <= limit:
        if not fits(batch):
            bad = batch
            break
        good, batch = batch, 2 * batch
    while bad - good > max(1, good // 100):
        middle = good + (bad - good) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good, bad


def search(workload, precision, variant, memory_format):
    result = describe(workload, precision, variant, memory_format)

    def fits(batch):
        gc.collect()
        torch.cuda.empty_cache()
        try:
            result["peak_bytes"] = measure(workload, precision, variant, memory_format, batch,
                                           samples=2)["peak_bytes"]
            return True
        except RuntimeError as error:  # torch.cuda.OutOfMemoryError, or a library that rejects such sizes
            result["stopped_by"] = str(error).splitlines()[0]
            return False

    result["largest_batch"], result["smallest_too_large"] = largest_batch(fits)
    return result


def copy_rate(megabytes=1024):
    """Returns the bytes per second, read and written, of a copy much larger than the caches: the best of 20."""
    source = torch.zeros(megabytes << 20, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    best = float("inf")
    for _ in range(20):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end))
    return {"program": "torch " + torch.__version__, "kernel": "copy", "bytes_per_second":
            2 * source.numel() / (best * 1e-3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", choices=["recipe", "big_cnn", "simple_cnn", "tiny_mlp"])
    parser.add_argument("--precision", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--variant", default="eager", choices=["eager", "tf32", "fused", "graph"])
    parser.add_argument("--memory-format", default="contiguous", choices=networks.MEMORY_FORMATS)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--largest-batch", action="store_true")
    parser.add_argument("--copy-rate", action="store_true")
    args = parser.parse_args()
    if not args.copy_rate and not args.workload:
        parser.error("give --workload or --copy-rate")
    if args.copy_rate:
        result = copy_rate()
    elif args.largest_batch:
        result = search(args.workload, args.precision, args.variant, args.memory_format)
    else:
        result = measure(args.workload, args.precision, args.variant, args.memory_format, args.batch, args.samples)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
