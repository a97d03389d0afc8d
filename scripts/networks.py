#!/usr/bin/env python3
"""Runs the examples of larger networks (docs/networks.md), gathers their results, and prints them as Markdown.

    scripts/networks.py run FILE.json NAME... [-- ARGUMENTS of the programs]
    scripts/networks.py time FILE.json NAME...
    scripts/networks.py results FILE.json
    scripts/networks.py small FILE.json

`run` runs build/release/examples/NAME with --json, one after another, and replaces their entries in FILE.json. `time`
replaces the times of these entries by medians of three short runs per precision, in turn: on a machine with other work,
times of single runs are not comparable. There, use priority too: `chrt -f 1 scripts/networks.py ...` (as root).
`results` prints the table of quality, time and memory, and `small` compares the precisions of several seeds.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = ("tabular", "big_cnn", "resnet18", "unet", "vit", "gpt", "lstm", "bert", "dcgan", "in_memory")


def result_of(name, arguments):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "result.json"
        program = ROOT / "build" / "release" / "examples" / name
        subprocess.run([program, *arguments, "--json", file], check=True, stdout=sys.stderr)
        result = json.loads(file.read_text())
    command = " ".join([name, *arguments])
    return {"network": name, "date": f"{datetime.date.today()}", "command": command} | result


def run(file, names, arguments):
    networks = {}
    if file.exists():
        networks = {entry["network"]: entry for entry in json.loads(file.read_text())["networks"]}
    for name in names:
        networks[name] = result_of(name, arguments)
        ordered = [networks[n] for n in NAMES if n in networks]
        file.write_text(json.dumps({"networks": ordered}, indent=1) + "\n")


def retime(file, names, rounds=3):
    document = json.loads(file.read_text())
    for network in document["networks"]:
        if network["network"] not in names:
            continue
        steps = str(max(20, network["steps"] // 15))
        times = {run["precision"]: [] for run in network["runs"]}
        for _ in range(rounds):
            for precision, of_rounds in times.items():
                result = result_of(network["network"], ["--precision", precision, "--steps", steps])
                of_rounds += result["runs"][0]["ms_per_step"]
        for run in network["runs"]:
            ms = statistics.median(times[run["precision"]])
            run["seconds_per_epoch"] *= ms / statistics.fmean(run["ms_per_step"])
            run |= {"ms_per_step": [ms], "ms_of_rounds": times[run["precision"]]}
        file.write_text(json.dumps(document, indent=1) + "\n")


def metric(network, value):
    return f"{value:.2f} %" if "percent" in network["metric"] else f"{value:.3f}"


def number(value):
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def results_table(networks):
    yield ("| example | steps | precision | metric | constant | ms/step | s/epoch | peak MiB | skipped | scale | speed "
           "| memory |")
    yield "|---|" + "---|" * 11
    for network in networks:
        usual = network["runs"][0]
        for run in network["runs"]:
            first = run is usual
            ms, usual_ms = (statistics.fmean(r["ms_per_step"]) for r in (run, usual))
            cells = [f"`{network['network']}`" if first else "", network["steps"] if first else "", run["precision"],
                     metric(network, statistics.fmean(run["metrics"])),
                     metric(network, network["baseline"]) if first else "", number(ms),
                     number(run["seconds_per_epoch"]), f"{run['peak_bytes'] / 2**20:.1f}", run["skipped_steps"],
                     f"{run['final_scale']:.0f}", f"{usual_ms / ms:.2f}", f"{run['peak_bytes'] / usual['peak_bytes']:.2f}"]
            yield "| " + " | ".join(map(str, cells)) + " |"


def spread(values):
    return max(values) - min(values)


def small_table(networks):
    yield "| example | steps | constant | f32 | bf16 | f16 | precisions | seeds |"
    yield "|---|" + "---|" * 7
    for network in networks:
        runs = {run["precision"]: run["metrics"] for run in network["runs"]}
        means = {precision: statistics.fmean(values) for precision, values in runs.items()}
        cells = [f"`{network['network']}`", network["steps"], metric(network, network["baseline"])]
        cells += [f"{metric(network, means[p])} ± {spread(runs[p]) / 2:.3f}" for p in ("f32", "bf16", "f16")]
        cells += [f"{spread(means.values()):.3f}", f"{max(map(spread, runs.values())):.3f}"]
        yield "| " + " | ".join(map(str, cells)) + " |"


def main():
    own, arguments = sys.argv[1:], []
    if "--" in own:
        cut = own.index("--")
        own, arguments = own[:cut], own[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "time", "results", "small"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="by default all: " + ", ".join(NAMES))
    args = parser.parse_args(own)
    if unknown := set(args.names) - set(NAMES):
        parser.error("no such networks: " + ", ".join(sorted(unknown)))
    if args.action == "run":
        run(args.file, args.names or NAMES, arguments)
        return
    if args.action == "time":
        retime(args.file, args.names or NAMES)
        return
    networks = json.loads(args.file.read_text())["networks"]
    if args.names:
        networks = [n for n in networks if n["network"] in args.names]
    print("\n".join((results_table if args.action == "results" else small_table)(networks)))


if __name__ == "__main__":
    main()
