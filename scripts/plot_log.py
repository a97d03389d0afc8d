#!/usr/bin/env python3
"""Plots the logs of training runs (amp::TrainLog, .jsonl or .csv) to a PNG: loss, loss scale with skipped steps marked,
and gradient norm if it was logged.

Files whose names agree up to the last '_' share a column: mlp_f32.jsonl and mlp_f16.jsonl are two runs of mlp.

    plot_log.py run.jsonl                       # writes run.png
    plot_log.py build/demo/*.jsonl -o demo.png

Needs matplotlib (Debian: python3-matplotlib; elsewhere: pip install matplotlib); exits 77 without it.
"""
import argparse
import csv
import json
import math
import os
import shlex
import sys

NO_MATPLOTLIB = 77

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"]
SKIP_COLOUR = "#D00000"
# Curves of runs that differ only in precision overlap: draw wide solid lines below, narrow dashed lines above.
STYLES = [("-", 2.6), ("--", 1.8), (":", 1.8), ("-.", 1.4), ((0, (6, 6)), 1.4), ((0, (1, 5)), 1.6), ((0, (8, 12)), 1.2)]


def read_jsonl(file):
    rows = []
    lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            # A program that was killed may have left an incomplete line.
            print(f"plot_log: {file.name}:{number}: skipped an incomplete line", file=sys.stderr)
    return rows


def read_csv(file):
    rows = []
    for row in csv.DictReader(file):
        if None in row.values():
            print(f"plot_log: {file.name}: skipped an incomplete line after step {len(rows)}", file=sys.stderr)
            continue
        rows.append({key: value for key, value in row.items() if value != ""})
    return rows


def read(path):
    """The steps of a log as a list of dictionaries of floats."""
    with open(path, newline="") as file:
        rows = read_csv(file) if path.endswith(".csv") else read_jsonl(file)
    return [{key: float(value) for key, value in row.items()} for row in rows]


def series(rows, field):
    """The steps at which a field was logged, and its values."""
    pairs = [(row["step"], row[field]) for row in rows if field in row]
    return [p[0] for p in pairs], [p[1] for p in pairs]


def smoothed(values, width):
    """Mean of the finite values among the last `width` values; NaN if there are none."""
    out, total, count = [], 0.0, 0
    for i, value in enumerate(values):
        if math.isfinite(value):
            total, count = total + value, count + 1
        if i >= width and math.isfinite(values[i - width]):
            total, count = total - values[i - width], count - 1
        out.append(total / count if count else math.nan)
    return out


def span(values):
    """Largest finite value divided by the smallest; 0 unless all are positive."""
    finite = [v for v in values if math.isfinite(v)]
    return max(finite) / min(finite) if finite and min(finite) > 0 else 0


def draw_curves(axes, runs, field, label):
    """Draws the moving mean of every run and, behind it, the values in a faint line."""
    everything = []
    for (name, rows), colour, (style, width_of_line) in zip(runs, COLOURS * len(runs), STYLES * len(runs)):
        steps, values = series(rows, field)
        if not values:
            continue
        width = max(1, len(values) // 100)
        mean = smoothed(values, width)
        everything += mean
        if width > 1:
            axes.plot(steps, values, color=colour, alpha=0.15, linewidth=0.6)
        axes.plot(steps, mean, color=colour, linestyle=style, linewidth=width_of_line, label=name)
    if span(everything) > 20:
        axes.set_yscale("log")
    elif everything:
        # The axis fits the means; only noise of single steps is cut off.
        finite = sorted(v for v in everything if math.isfinite(v))
        if finite and finite[0] >= 0:
            axes.set_ylim(0, finite[-1] * 1.05 or 1)
    axes.set_ylabel(label)


def draw_scale(axes, runs):
    import matplotlib.ticker as ticker

    exponents = []
    for (name, rows), colour in zip(runs, COLOURS * len(runs)):
        steps, scales = series(rows, "scale")
        if not scales:
            continue
        exponents += [math.log2(s) for s in scales]
        axes.step(steps, scales, where="post", color=colour, linewidth=1.5, label=name)
        skipped = [(row["step"], row["scale"]) for row in rows if row.get("skipped") and "scale" in row]
        if skipped:
            axes.plot([s[0] for s in skipped], [s[1] for s in skipped], linestyle="none", marker="x", markersize=7,
                      markeredgewidth=1.8, color=SKIP_COLOUR, label=f"{name}: skipped ({len(skipped)})")
    axes.set_yscale("log", base=2)
    low, high = math.floor(min(exponents)) - 1, math.ceil(max(exponents)) + 1
    axes.set_ylim(2.0**low, 2.0**high)
    every = max(1, math.ceil((high - low) / 8))
    axes.yaxis.set_major_locator(ticker.FixedLocator([2.0**e for e in range(low, high + 1, every)]))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_ylabel("loss scale")


def draw(columns, output, title):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plot

    everything = [rows for runs in columns.values() for _, rows in runs]
    logged = [f for f in ("loss", "scale", "grad_norm") if any(f in row for rows in everything for row in rows)]
    heights = {"loss": 3, "scale": 2, "grad_norm": 2}
    figure, grid = plot.subplots(len(logged), len(columns), sharex="col", squeeze=False, layout="constrained",
                                 figsize=(max(7.5, 5.2 * len(columns)), 1.3 * sum(heights[f] for f in logged) + 0.8),
                                 gridspec_kw={"height_ratios": [heights[f] for f in logged]})
    for column, (name, runs) in enumerate(columns.items()):
        for row, field in enumerate(logged):
            axes = grid[row][column]
            if not any(field in r for _, rows in runs for r in rows):
                axes.text(0.5, 0.5, f"no {field} was logged", ha="center", va="center", transform=axes.transAxes)
                axes.set_yticks([])
                continue
            if field == "scale":
                draw_scale(axes, runs)
            else:
                draw_curves(axes, runs, field, {"loss": "loss", "grad_norm": "gradient norm"}[field])
            axes.grid(True, color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.legend(loc="best", fontsize=8, framealpha=0.9)
            axes.spines[["top", "right"]].set_visible(False)
        grid[0][column].set_title(name)
        grid[-1][column].set_xlabel("step")
    if title:
        figure.suptitle(title)
    figure.savefig(output, dpi=150)
    plot.close(figure)


def group(paths):
    """Column name -> [(run name, steps)]"""
    columns = {}
    for path in paths:
        stem = os.path.splitext(os.path.basename(path))[0]
        column, separator, run = stem.rpartition("_")
        if not separator or len(paths) == 1:
            column, run = stem, stem
        rows = read(path)
        if not rows:
            print(f"plot_log: {path}: skipped, no steps", file=sys.stderr)
            continue
        columns.setdefault(column, []).append((run, rows))
    return columns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", help=".jsonl or .csv files of amp::TrainLog")
    parser.add_argument("-o", "--output", help="the PNG to write (default: the first log's name with .png)")
    parser.add_argument("--title")
    args = parser.parse_args()
    output = args.output or os.path.splitext(args.logs[0])[0] + ".png"
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        again = shlex.join(["python3", sys.argv[0], *args.logs, "-o", output])
        print("plot_log: no plot, because this Python has no matplotlib; install it (Debian: apt-get install "
              f"python3-matplotlib; elsewhere: pip install matplotlib), then run\n  {again}", file=sys.stderr)
        sys.exit(NO_MATPLOTLIB)
    try:
        columns = group(args.logs)
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"plot_log: {error}")
    if not columns:
        sys.exit("plot_log: the logs contain no steps")
    draw(columns, output, args.title)
    print(f"plot_log: wrote {output}")


if __name__ == "__main__":
    main()
