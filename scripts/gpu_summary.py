#!/usr/bin/env python3
"""Summarises the results of scripts/gpu_check.sh in a folder in summary.json and summary.txt, and prints the latter.

The summary shows the required and the ambitious goal next to each ratio to PyTorch (docs/benchmarks.md) and, on an
H200, the predictions next to the kernels. Exits 1 if there was no GPU, if a step or test failed, or if the tests did
not run on the GPU.
"""
import json
import pathlib
import sys

SKIPPED = 77
ON_DEVICE = "EveryCaseRunsOnTheDevice"  # a test of ops_test: skipped if the CUDA runtime finds no usable device


# ---- goals: upper limits of tandem's time over PyTorch's (speed-ups: lower limits)

def run(workload, precision, variant=None, batch=None, memory_format=None):
    return {"workload": workload, "precision": precision, "variant": variant, "batch": batch,
            "memory_format": memory_format}


# name, tandem's run, the program and run that it is compared with, must, ambitious. Without a memory format, the
# faster one counts.
RATIOS = [
    ("recipe f16 / torch eager", run("recipe", "f16"), ("torch", run("recipe", "f16", "eager")), 0.75, 0.60),
    ("recipe f16 / torch fused, CUDA graph", run("recipe", "f16"), ("torch", run("recipe", "f16", "graph")), 0.80, 0.60),
    ("recipe f16 / torch TF32 without AMP", run("recipe", "f16"), ("torch", run("recipe", "f32", "tf32")), 0.85, 0.65),
    ("big_cnn f16, batch 1000 / torch eager", run("big_cnn", "f16", batch=1000),
     ("torch", run("big_cnn", "f16", "eager", 1000, "contiguous")), 0.75, 0.60),
    ("big_cnn f16, batch 1000 / torch channels-last", run("big_cnn", "f16", batch=1000),
     ("torch", run("big_cnn", "f16", "eager", 1000, "channels_last")), 0.85, 0.68),
    ("simple_cnn f16 / torch eager", run("simple_cnn", "f16"), ("torch", run("simple_cnn", "f16", "eager")), 0.15, 0.05),
    ("simple_cnn f16 / torch fused, CUDA graph", run("simple_cnn", "f16"),
     ("torch", run("simple_cnn", "f16", "graph")), 0.60, 0.35),
]
SPEEDUPS = [("recipe: f32 / f16", run("recipe", "f32"), run("recipe", "f16"), 4.5, 6.0)]

# ---- predictions for an H200, made before any measurement: products at 60 to 70 % of its peak for dense f16 (989 TFLOP/s;
# 67 for f32), passes at 92 % of a copy's rate, launches as reported for CUDA 12.
# (start of group and kernel name, quantity, minimum, maximum)
PREDICTIONS = [
    ("products f16 weight gradient added to f32", "us", 26, 37),
    ("products f16 weight gradient to f32", "us", 26, 37),
    ("products f16 forward to f32", "us", 26, 37),
    ("products f16", "us", 26, 31),
    ("products f32", "us", 290, 340),
    ("products tf32", "us", 45, 60),
    ("passes copy", "of_copy", None, None),
    ("passes", "of_copy", 0.92, None),
    ("convolutions 424 channels nhwc", "flops", 600e12, 700e12),
    ("launches", "us", 3, 5),
]
# Time of PyTorch's recipe step in ms, by precision and variant.
TORCH_PREDICTIONS = {("f32", "eager"): 2.6, ("f32", "tf32"): 0.65, ("f16", "eager"): 0.77, ("f16", "fused"): 0.79,
                     ("f16", "graph"): 0.76}


def objects(path):
    """The lines of a log that are JSON objects."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def tests_of(folder):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    on_device = False
    for path in sorted(folder.glob("*_test*.json")):
        try:
            suites = json.loads(path.read_text())["testsuites"]
        except (ValueError, KeyError):  # the step that wrote the file has failed and is reported as failed
            continue
        for suite in suites:
            for test in suite["testsuite"]:
                if test.get("failures"):
                    totals["failed"] += 1
                    failures.append(f"{path.stem}: {suite['name']}.{test['name']}")
                elif test.get("result") == "SKIPPED":
                    totals["skipped"] += 1
                elif test.get("status") == "RUN":
                    totals["passed"] += 1
                    on_device |= test["name"] == ON_DEVICE
    return totals, failures, on_device


def is_program(entry, program):
    return entry.get("program", "").split(" ")[0] == program


def fastest(runs, program, wanted):
    """The fastest of a program's runs that match `wanted`, in which None as variant or memory format matches any."""
    fitting = [r for r in runs if is_program(r, program) and "ms" in r and
               all(r.get(key) == wanted[key] for key in ("workload", "precision")) and
               all(wanted[key] is None or r.get(key) == wanted[key] for key in ("variant", "memory_format")) and
               (wanted["batch"] or 0) == r.get("asked_batch", 0)]
    return min(fitting, key=lambda r: r["ms"], default=None)


def verdict(value, must, ambitious, lower_is_better):
    def reached(goal):
        return value <= goal if lower_is_better else value >= goal
    return "ambitious" if reached(ambitious) else "must" if reached(must) else "missed"


def goals_of(runs):
    rows = []
    for name, ours, (program, theirs), must, ambitious in RATIOS:
        mine, peer = fastest(runs, "tandem", ours), fastest(runs, program, theirs)
        row = {"goal": name, "must": must, "ambitious": ambitious, "measured": None, "reached": None}
        if mine and peer:
            ratio = mine["ms"] / peer["ms"]
            row |= {"measured": round(ratio, 4), "reached": verdict(ratio, must, ambitious, True),
                    "tandem_ms": mine["ms"], "tandem_variant": mine.get("variant", "eager"), "torch_ms": peer["ms"],
                    "tandem_memory_format": mine.get("memory_format"), "torch_memory_format": peer.get("memory_format")}
        rows.append(row)
    for name, slow, fast, must, ambitious in SPEEDUPS:
        slower, faster = fastest(runs, "tandem", slow), fastest(runs, "tandem", fast)
        row = {"goal": name, "must": must, "ambitious": ambitious, "measured": None, "reached": None}
        if slower and faster:
            speedup = slower["ms"] / faster["ms"]
            row |= {"measured": round(speedup, 4), "reached": verdict(speedup, must, ambitious, False)}
        rows.append(row)
    mine = [r["system_allocations_per_step"] for r in runs if "system_allocations_per_step" in r]
    rows.append({"goal": "driver memory requests per step", "must": 0, "ambitious": 0,
                 "measured": max(mine, default=None), "reached": None if not mine else
                 verdict(max(mine), 0, 0, True)})
    return rows


def with_prediction(kernel):
    name = f"{kernel['group']} {kernel['kernel']}"
    for start, quantity, low, high in PREDICTIONS:
        if name.startswith(start) and quantity in kernel:
            value = kernel[quantity]
            if low is None and high is None:
                return kernel
            holds = (low is None or value >= low) and (high is None or value <= high)
            return kernel | {"predicted": [low, high], "predicted_of": quantity, "as_predicted": holds}
    return kernel


def collect(folder):
    """The summary of a folder, in the form of summary.json."""
    steps = {p.stem: int(p.read_text()) for p in sorted(folder.glob("*.status"))}
    gpu = (folder / "gpu.txt").read_text().strip()
    predicted_gpu = "H200" in gpu
    totals, failures, on_device = tests_of(folder)
    runs, largest, kernels = [], [], []
    for path in sorted(folder.glob("*.log")):
        if steps.get(path.stem) != 0:
            continue
        for entry in objects(path):
            if "largest_batch" in entry:
                largest.append(entry)
            elif "kernel" in entry:
                kernels.append(with_prediction(entry) if "group" in entry and predicted_gpu else entry)
            elif "ms" in entry:
                if "_batch" in path.stem:
                    entry["asked_batch"] = entry["batch"]
                predicted = TORCH_PREDICTIONS.get((entry["precision"], entry.get("variant")))
                if predicted and predicted_gpu and is_program(entry, "torch") and entry["workload"] == "recipe":
                    entry["predicted_ms"] = predicted
                runs.append(entry)
    return {"gpu": gpu, "tests": totals, "on_device": on_device, "failures": failures, "steps": steps,
            "goals": goals_of(runs), "benchmarks": runs, "largest_batches": largest, "kernels": kernels}


def label_of(r):
    batch = f" batch {r['asked_batch']}" if "asked_batch" in r else ""
    names = [r["program"], *(r[key] for key in ("variant", "memory_format") if key in r)]
    return f"{r['workload']:<11}{r['precision']:<6}{' '.join(names)}{batch}"


def gib(count):
    return f"{count / (1 << 30):.2f} GiB"


def text_of(summary):
    steps = summary["steps"]
    lines = [f"GPU: {summary['gpu']}",
             "tests: {passed} passed, {failed} failed, {skipped} skipped".format(**summary["tests"])]
    if not summary["on_device"]:
        lines.append("  NOT ON THE GPU: the CUDA runtime found no usable device, or ops_test has not run")
    lines += [f"  failed: {f}" for f in summary["failures"][:40]]
    lines += [f"step {name}: exit status {status}" for name, status in steps.items() if status not in (0, SKIPPED)]
    skipped = [name for name, status in steps.items() if status == SKIPPED]
    if skipped:
        lines.append("steps skipped because of something that this machine lacks: " + ", ".join(skipped))

    lines += ["", f"{'goal':<50}{'measured':>10}{'must':>8}{'ambitious':>11}  reached"]
    for g in summary["goals"]:
        measured = "-" if g["measured"] is None else f"{g['measured']:.3g}"
        lines.append(f"{g['goal']:<50}{measured:>10}{g['must']:>8}{g['ambitious']:>11}  {g['reached'] or '-'}")

    lines.append("")
    for r in summary["benchmarks"]:
        mine = None if is_program(r, "tandem") else fastest(summary["benchmarks"], "tandem", run(
            r["workload"], r["precision"], batch=r.get("asked_batch")))
        ratio = f"  tandem/this {mine['ms'] / r['ms']:.2f}" if mine else ""
        predicted = f"  predicted {r['predicted_ms']}" if "predicted_ms" in r else ""
        peak = f"  peak {gib(r['peak_bytes'])}" if "asked_batch" in r else ""
        lines.append(f"{label_of(r):<60}{r['ms']:>10.3f} ms{ratio}{predicted}{peak}")
    for r in summary["largest_batches"]:
        lines.append(f"{label_of(r):<60}{r['largest_batch']:>10} is the largest batch, peak {gib(r['peak_bytes'])}"
                     if r["largest_batch"] else f"{label_of(r):<60} no batch fits: {r.get('stopped_by', '')}")

    lines.append("")
    for k in summary["kernels"]:
        if "group" not in k:
            lines.append(f"torch copy: {k['bytes_per_second'] / 1e12:.2f} TB/s")
            continue
        rate = (f"{k['flops'] / 1e12:.0f} TFLOP/s" if "flops" in k else
                f"{k['bytes_per_second'] / 1e12:.2f} TB/s, {k['of_copy']:.2f} of a copy" if "of_copy" in k else "")
        predicted = ""
        if "predicted" in k:
            low, high = (f"{x:g}" if x is not None else "" for x in k["predicted"])
            predicted = f"  predicted {low} to {high} {k['predicted_of']}: {'yes' if k['as_predicted'] else 'NO'}"
        lines.append(f"{k['group'] + ' ' + k['kernel']:<64}{k['us']:>10.2f} us  {rate}{predicted}")
    return "\n".join(lines).rstrip() + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    summary = collect(folder)
    text = text_of(summary)
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    (folder / "summary.txt").write_text(text)
    print(text, end="")
    failed = any(status not in (0, SKIPPED) for status in summary["steps"].values())
    no_gpu = summary["gpu"].startswith("no GPU") or not summary["on_device"]
    return 1 if no_gpu or failed or summary["tests"]["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
