#!/usr/bin/env python3
"""Prints the results of scripts/bench.sh --json as a Markdown table, and draws them. Of several files, each has the
rows of other workloads.

    scripts/bench_table.py RESULTS.json... [--flops FLOPS.json --peak f32=235 --peak bf16=469] [--picture FILE.svg]

FLOPS.json comes from benchmarks/torch/flops.py, and a peak is in GFLOP/s of all threads together: the column `roof` is
the time that the multiplications take at this rate. The picture has a bar per workload and precision: tandem's time
relative to that of the fastest other program, and the roof as a mark.
"""
import argparse
import json

COLORS = {"f32": "#4c78a8", "bf16": "#f58518", "f16": "#54a24b"}


def milliseconds(value):
    return "-" if value is None else f"{value:.4g}"


def rows_of(results, flops, peaks):
    for r in results["results"]:
        libtorch = [r[key] for key in ("peer_ms_default", "peer_ms_cached_heap") if r.get(key)]
        workload, precision = r["workload"], r["precision"]
        roof = None
        if workload in flops and precision in peaks:
            roof = flops[workload] / peaks[precision] / 1e6
        yield {"workload": workload, "precision": precision, "ms": r["ms"],
               "libtorch": min(libtorch, default=None), "compiled": r.get("peer_ms_compiled"), "roof": roof,
               "ratio": r.get("ratio_best")}


def print_table(rows):
    print("| workload | precision | tandem | libtorch | torch.compile | roof | to the fastest |")
    print("|---|---|---|---|---|---|---|")
    for r in rows:
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}"
        times = " | ".join(milliseconds(r[key]) for key in ("ms", "libtorch", "compiled", "roof"))
        print(f"| {r['workload']} | {r['precision']} | {times} | {ratio} |")


def draw(rows, file):
    rows = [r for r in rows if r["ratio"] is not None]
    left, scale, height, top = 150, 420, 18, 40
    bottom = top + height * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + int(1.2 * scale)}" height="{bottom + 40}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="18">time of a training step relative to the fastest of libtorch and torch.compile '
             '</text>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * scale
        width = 2 if tick == 1 else 0.5
        parts.append(f'<line x1="{x}" y1="{top - 8}" x2="{x}" y2="{bottom}" stroke="#444" stroke-width="{width}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 15}" text-anchor="middle">{tick:g}</text>')
    for i, r in enumerate(rows):
        y = top + i * height
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{r["workload"]} {r["precision"]}</text>')
        parts.append(f'<rect x="{left}" y="{y + 2}" width="{r["ratio"] * scale:.1f}" height="{height - 5}" '
                     f'fill="{COLORS[r["precision"]]}"/>')
        parts.append(f'<text x="{left + r["ratio"] * scale + 4:.1f}" y="{y + 12}">{r["ratio"]:.2f}</text>')
        if r["roof"]:
            x = left + r["ratio"] * scale * r["roof"] / r["ms"]
            parts.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + height - 1}" stroke="black" '
                         'stroke-width="2"/>')
    parts.append(f'<text x="{left}" y="{bottom + 32}">black mark: the multiplications at the peak rate of the '
                 'processor</text>')
    parts.append("</svg>\n")
    with open(file, "w") as out:
        out.write("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--flops")
    parser.add_argument("--peak", action="append", default=[], metavar="PRECISION=GFLOPS")
    parser.add_argument("--picture")
    args = parser.parse_args()
    results = {"results": []}
    for name in args.results:
        with open(name) as file:
            results["results"] += json.load(file)["results"]
    flops = {}
    if args.flops:
        with open(args.flops) as file:
            flops = json.load(file)
    peaks = {name: float(value) for name, value in (peak.split("=") for peak in args.peak)}
    rows = list(rows_of(results, flops, peaks))
    print_table(rows)
    if args.picture:
        draw(rows, args.picture)


if __name__ == "__main__":
    main()
