#!/usr/bin/env python3
"""Draws pictures into docs/pictures: those of docs/mixed_precision.md, from formulas, and that of the README, from
committed results. The files are committed; run this again after a change, with the Python of scripts/docs.sh.

Usage: .venv-docs/bin/python scripts/docs_pictures.py
"""
import json
import math
import os

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  pylint: disable=wrong-import-position

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
OUTPUT = os.path.join(ROOT, "docs", "pictures")
RESULTS = os.path.join(ROOT, "benchmarks", "results", "2026-11-26-amd-epyc-family-25-networks.json")
SIGN, EXPONENT, MANTISSA, INK = "#b45309", "#1d6fb8", "#2f8f5b", "#222222"
# name, bits of the exponent, bits of the mantissa, largest finite number, smallest normal, smallest subnormal
FORMATS = [
    ("f32", 8, 23, (2 - 2**-23) * 2.0**127, 2.0**-126, 2.0**-149),
    ("bf16", 8, 7, (2 - 2**-7) * 2.0**127, 2.0**-126, 2.0**-133),
    ("f16", 5, 10, 65504.0, 2.0**-14, 2.0**-24),
    ("float8 e5m2", 5, 2, 57344.0, 2.0**-14, 2.0**-16),
    ("float8 e4m3", 4, 3, 448.0, 2.0**-6, 2.0**-9),
]


def save(figure, name):
    figure.savefig(os.path.join(OUTPUT, name), metadata={"Date": None}, bbox_inches="tight", facecolor="white")
    plt.close(figure)


def formats():
    """The bits of each format."""
    figure, axes = plt.subplots(figsize=(8, 2.6))
    for row, (name, exponent, mantissa, *_) in enumerate(FORMATS):
        for bit in range(1 + exponent + mantissa):
            color = SIGN if bit == 0 else EXPONENT if bit <= exponent else MANTISSA
            axes.add_patch(plt.Rectangle((bit, -row), 0.9, 0.75, color=color))
        axes.text(-0.4, -row + 0.37, name, ha="right", va="center")
    for x, color, text in ((17, SIGN, "sign"), (20, EXPONENT, "exponent: range"), (27.4, MANTISSA, "mantissa: precision")):
        axes.text(x, -3.2, text, color=color, va="center", fontsize=9)
    axes.set_xlim(-6, 34)
    axes.set_ylim(-len(FORMATS) + 0.8, 1)
    axes.axis("off")
    save(figure, "formats.svg")


def ranges():
    """The positive numbers of each format, as powers of two."""
    figure, axes = plt.subplots(figsize=(8, 2.6))
    for row, (name, _, _, largest, normal, subnormal) in enumerate(FORMATS):
        low, mid, high = math.log2(subnormal), math.log2(normal), math.log2(largest)
        axes.barh(-row, high - mid, left=mid, color=EXPONENT, height=0.6)
        axes.barh(-row, mid - low, left=low, color="#9cc4e6", height=0.6)
    axes.set_yticks([-row for row in range(len(FORMATS))], [f[0] for f in FORMATS])
    axes.set_xticks(range(-144, 129, 24), [f"$2^{{{x}}}$" for x in range(-144, 129, 24)])
    axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    axes.set_xlabel("normal numbers; pale: subnormal numbers, which lose precision towards the left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save(figure, "ranges.svg")


def underflow():
    """Gradients whose logarithm is normally distributed around 2^-21, before and after scaling by 2^16."""
    figure, both = plt.subplots(2, 1, figsize=(8, 3.8), sharex=True)
    centre, deviation = -21, 4
    share = 0.5 * (1 + math.erf((-25 - centre) / (deviation * math.sqrt(2))))
    titles = (f"gradients without scaling: {100 * share:.0f} % become 0 in f16", "multiplied by $2^{16}$: almost none")
    for axes, shift, title in zip(both, (0, 16), titles):
        xs = list(range(-40, 21))
        ys = [math.exp(-(((x - shift - centre) / deviation) ** 2) / 2) for x in xs]
        colors = ["#c0392b" if x < -25 else "#9cc4e6" if x < -14 else EXPONENT for x in xs]
        axes.bar(xs, ys, width=0.85, color=colors)
        axes.axvline(16, color=INK, linewidth=1)
        axes.text(16.3, 0.8, "inf", fontsize=9)
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_yticks([])
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    both[1].set_xticks(range(-40, 21, 8), [f"$2^{{{x}}}$" for x in range(-40, 21, 8)])
    both[1].set_xlabel("size of a gradient. Red: 0 in f16. Pale: subnormal in f16. Blue: normal in f16")
    figure.tight_layout()
    save(figure, "underflow.svg")


def scale():
    """The scale of a GradScaler with a growth interval of 20 steps, if gradients overflow from a limit on that falls
    slowly."""
    steps, current, tracker, xs, ys, skipped = 200, 2.0**16, 0, [], [], []
    for step in range(steps):
        limit = 2.0 ** (13 + 3 * math.sin(step / 45))
        xs.append(step)
        ys.append(math.log2(current))
        if current > limit:
            skipped.append(step)
            current, tracker = current / 2, 0
        else:
            tracker += 1
            if tracker == 20:
                current, tracker = current * 2, 0
    figure, axes = plt.subplots(figsize=(8, 2.6))
    axes.step(xs, ys, where="post", color=EXPONENT)
    axes.plot(xs, [13 + 3 * math.sin(x / 45) for x in xs], color=INK, linewidth=0.8, linestyle="--")
    axes.plot(skipped, [ys[x] for x in skipped], "o", color="#c0392b", markersize=4)
    axes.set_xlabel("step. Blue: scale. Dashed: where gradients overflow. Red: skipped steps")
    axes.set_yticks(range(8, 19, 2), [f"$2^{{{y}}}$" for y in range(8, 19, 2)])
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save(figure, "scale.svg")


def networks():
    """The speed and the quality of the networks of docs/networks.md in f32, bf16 and f16. Networks that compute their
    metric from pictures or simulate devices are left out."""
    with open(RESULTS, encoding="utf-8") as file:
        results = [n for n in json.load(file)["networks"] if n["network"] not in ("dcgan", "in_memory")]
    colors = {"f32": "#8a8f98", "bf16": EXPONENT, "f16": MANTISSA}
    mean = lambda values: sum(values) / len(values)  # noqa: E731
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for row, network in enumerate(results):
        runs = {run["precision"]: run for run in network["runs"]}
        lower_is_better = mean(runs["f32"]["metrics"]) < network["baseline"]
        for at, (precision, color) in enumerate(colors.items()):
            speed = mean(runs["f32"]["ms_per_step"]) / mean(runs[precision]["ms_per_step"])
            quality = mean(runs[precision]["metrics"]) / mean(runs["f32"]["metrics"])
            y = -row - 0.27 * (at - 1)
            left.barh(y, speed, color=color, height=0.25, label=precision if row == 0 else None)
            right.plot(1 / quality if lower_is_better else quality, y, "o", color=color, markersize=5)
    left.set_yticks([-row for row in range(len(results))], [n["network"] for n in results])
    left.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    left.set_xlabel("speed of a training step, f32 = 1")
    left.legend(loc="lower right", frameon=False, fontsize=9)
    right.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    right.set_xlim(0.9, 1.1)
    right.set_xticks([0.9, 0.95, 1, 1.05, 1.1])
    right.set_xlabel("result after training, f32 = 1; higher is better")
    for axes in (left, right):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.tight_layout()
    save(figure, "precisions.svg")


def main():
    plt.rcParams.update({"svg.hashsalt": "tandem", "svg.fonttype": "path", "font.size": 10})
    formats()
    ranges()
    underflow()
    scale()
    networks()


if __name__ == "__main__":
    main()
