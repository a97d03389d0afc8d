#!/usr/bin/env python3
"""Draws the logs of training runs (amp::TrainLog, .jsonl or .csv) as one HTML page: charts of loss, accuracy, speed,
loss scale with skipped steps marked, and gradient norm, as far as they were logged, and a table of the results.

Files whose names agree up to the last '_' share their charts: mlp_f32.jsonl and mlp_f16.jsonl are two runs of mlp.

    plot_log.py run.jsonl                        # writes run.html
    plot_log.py build/demo/*.jsonl -o demo.html

The page needs no other file, and the script no package.
"""
import argparse
import csv
import html
import json
import math
import os
import statistics
import sys

REFERENCE = "f32"  # the run with which the others of its group are compared
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 230, 52, 62, 12, 34  # of a chart, and its margins
MOST_POINTS = 400
ELLIPSIS = "\u2026"
# Curves of runs that differ only in precision overlap: wide solid lines lie below, narrow dashed lines above.
STYLES = [(3.2, ""), (2.2, "7 4"), (2.2, "2 3"), (1.8, "9 3 2 3"), (1.8, "4 6"), (1.8, "1 6"), (1.8, "12 6")]

STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2127; --quiet: #5b6570; --grid: #e3e6ea; --skip: #b3261e;
  --c0: #3b4450; --c1: #0072b2; --c2: #c85200; --c3: #00805e; --c4: #a3478a; --c5: #8a6d00; --c6: #2f8fc4; }
@media (prefers-color-scheme: dark) { :root { --page: #14181d; --ink: #e8ebee; --quiet: #a3adb8; --grid: #2c333b;
  --skip: #ff8a80; --c0: #b9c2cc; --c1: #56b4e9; --c2: #f29b4b; --c3: #3ecf9f; --c4: #e49bc8; --c5: #e5c94f;
  --c6: #9ad0f0; } }
body { background: var(--page); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; margin: 0 auto;
  max-width: 76rem; padding: 1rem; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.05rem; font-weight: 400; color: var(--quiet); margin: 0 0 1rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 1.5rem 0 .5rem; }
.charts { display: grid; gap: 1rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
figure { margin: 0; max-width: 38rem; }
figcaption { font-weight: 600; }
figcaption span, .legend, .note { color: var(--quiet); font-size: .85rem; font-weight: 400; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .75rem; padding: 0; list-style: none; }
.legend svg { width: 2.2rem; height: .7rem; margin-right: .4rem; vertical-align: middle; }
figure svg { display: block; width: 100%; height: auto; }
text { fill: var(--quiet); font-size: 12px; }
@media (min-width: 40rem) { text { font-size: 10px; } }
.label { font-weight: 600; }
.grid { stroke: var(--grid); stroke-width: 1; }
.curve { fill: none; stroke-linejoin: round; }
.skip { stroke: var(--skip); stroke-width: 1.8; fill: none; }
.scroll { overflow-x: auto; margin-top: .75rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { color: var(--quiet); font-weight: 400; }
th:first-child, td:first-child { text-align: left; font-weight: 600; color: var(--ink); }
"""


def read_jsonl(file):
    """Pairs of a line's number and its value."""
    rows = []
    lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            rows.append((number, json.loads(line)))
        except json.JSONDecodeError:
            # A program that was killed may have left an incomplete line.
            print(f"plot_log: {file.name}:{number}: skipped an incomplete line", file=sys.stderr)
    return rows


def read_csv(file):
    rows, reader = [], csv.DictReader(file)
    for row in reader:
        if None in row.values():
            print(f"plot_log: {file.name}: skipped an incomplete line after step {len(rows)}", file=sys.stderr)
            continue
        rows.append((reader.line_num, {key: value for key, value in row.items() if value != ""}))
    return rows


def read(path):
    """The steps of a log as a list of dictionaries of floats. ValueError, with file and line, for what is no step."""
    with open(path, newline="") as file:
        rows = read_csv(file) if path.endswith(".csv") else read_jsonl(file)
    steps = []
    for line, row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{path}:{line}: not a JSON object, as amp::TrainLog writes them")
        values = {}
        for key, value in row.items():
            try:
                values[key] = float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{path}:{line}: '{key}' is not a number: {value!r}") from None
        if not math.isfinite(values.get("step", math.nan)):
            raise ValueError(f"{path}:{line}: the line has no number for 'step'")
        steps.append(values)
    return steps


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


def finite(values):
    return [v for v in values if math.isfinite(v)]


def last(rows, field):
    """The last value that was logged; None if there is none."""
    return next((row[field] for row in reversed(rows) if field in row), None)


def speed(rows):
    """Samples per second of a whole run with batches of one size; None if it was not logged."""
    values = [v for v in finite(series(rows, "samples_per_second")[1]) if v > 0]
    return statistics.harmonic_mean(values) if values else None


def accuracy_field(runs):
    """The first logged field whose name contains "accuracy"; None if there is none."""
    return next((field for _, rows in runs for row in rows for field in row if "accuracy" in field), None)


def number(value, digits=3):
    """A number as text: a few digits, and thousands separated by thin spaces."""
    if value is None:
        return "\u2013"
    plain = math.isfinite(value) and abs(value) < 1e6 and (abs(value) >= 1000 or value == int(value))
    return printed(f"{value:,.0f}" if plain else f"{value:.{digits}g}")


def fixed(value, places, sign=""):
    """A number with so many decimal places; very large ones have an exponent, and very small ones without a sign."""
    extreme = abs(value) >= 1e6 or not sign and 0 < abs(value) < 1e-3
    return printed(f"{value:{sign}.3g}" if extreme else f"{value:{sign}.{places}f}")


def printed(text):
    """The text of a number with a minus sign and thin spaces."""
    return text.replace("-", "\u2212").replace(",", "\u202f")


def power(exponent):
    """A power of two as text, with raised digits."""
    raised = "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
    return "2" + str(exponent).translate(str.maketrans("-0123456789", raised))


class Axis:
    """Maps values to coordinates, and has ticks: pairs of a round value and its text."""

    def __init__(self, values, begin, end, base=None, from_zero=False, whole=False):
        self.begin, self.end, self.base, self.whole = begin, end, base, whole
        values = [self.of(v) for v in finite(values) if not base or v > 0] or [0.0]
        low, high = min(values), max(values)
        if from_zero and not base:
            low, high = min(low, 0.0), max(high, 0.0)
        if base == 2:
            low, high = math.floor(low) - 1, math.ceil(high) + 1
        elif base:
            low, high = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        elif high - low <= 1e-9 * max(abs(low), abs(high)):
            margin = abs(high) / 10 or 1.0
            low, high = (0.0 if from_zero else low - margin), high + margin
        step = self.step(high - low)
        if not base:
            low, high = math.floor(low / step) * step, math.ceil(high / step - 1e-9) * step
        self.low, self.high = low, high
        places, largest = max(0, -math.floor(math.log10(step))), max(abs(low), abs(high))
        form = f",.{places}f"
        if not base and (largest >= 1e6 or largest < 1e-3):
            form = f".{max(3, 1 + math.ceil(math.log10(largest / step)))}g"
        self.ticks = []
        for i in range(round((high - low) / step) + 1):
            tick = low + i * step if base else (round(low / step) + i) * step  # exactly 0 where it is 0
            if tick > high + 1e-9 * step:
                break
            text = power(round(tick)) if base == 2 else number(10.0**tick) if base else printed(f"{tick:{form}}")
            self.ticks.append((base**tick if base else tick, text))

    def of(self, value):
        return math.log(value, self.base) if self.base else value

    def step(self, length):
        """The least of 1, 2 and 5 times a power of ten that makes at most five steps; whole for powers and `whole`."""
        if self.base:
            return max(1, math.ceil(length / 6))
        size = 10.0 ** math.floor(math.log10(length / 5))
        if self.whole:
            size = max(size, 1)
        return next(size * factor for factor in (1, 2, 5, 10) if length <= 5 * size * factor * (1 + 1e-9))

    def at(self, value):
        return self.begin + (self.of(value) - self.low) / (self.high - self.low) * (self.end - self.begin)


def thinned(points):
    every = math.ceil(len(points) / MOST_POINTS)
    return points[:-1:every] + points[-1:] if every > 1 else points


def curve(points, x, y, style, steps=False):
    """A path through the points, interrupted where a value is not finite; a circle if it is a single point."""
    width, dashes = STYLES[style % len(STYLES)]
    colour = f"var(--c{style % 7})"
    parts, pen = [], False
    for step, value in points:
        if not math.isfinite(value) or y.base and value <= 0:
            pen = False
            continue
        px, py = f"{x.at(step):.2f}", f"{y.at(value):.2f}"
        parts.append(f"H{px} V{py}" if steps and pen else f"{'L' if pen else 'M'}{px} {py}")
        pen = True
    if len(parts) < 8 and not steps:
        dots = "".join(f'<circle cx="{x.at(s):.2f}" cy="{y.at(v):.2f}" r="3" fill="{colour}" />'
                       for s, v in points if math.isfinite(v) and not (y.base and v <= 0))
    else:
        dots = ""
    return (f'<path class="curve" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes or "none"}" '
            f'd="{" ".join(parts)}" />' + dots) if parts else ""


def labels(ends, x):
    """The names of the runs at the ends of their curves, moved apart where they would overlap."""
    out, below = "", -math.inf
    ends = sorted(ends)
    room = HEIGHT - BOTTOM + 4
    for i, (y, name, style) in enumerate(ends):
        below = min(max(y + 4, below + 13), room - 13 * (len(ends) - 1 - i))
        out += (f'<text class="label" x="{x + 6}" y="{below:.2f}" style="fill: var(--c{style % 7})">'
                f"{html.escape(name if len(name) <= 8 else name[:7] + ELLIPSIS)}</text>")
    return out


def chart(runs, field, caption, values_of, **options):
    """A figure with a curve per run of a group; empty if no run has the field."""
    drawn = [(name, style, values_of(rows, field), rows) for style, (name, rows) in enumerate(runs)]

    def visible(points):
        return [v for v in finite(value for _, value in points) if v > 0 or not options.get("base")]

    drawn = [run for run in drawn if visible(run[2])]
    if not drawn:
        return ""
    steps = [row["step"] for _, _, _, rows in drawn for row in rows]
    values = [value for _, _, points, _ in drawn for _, value in points]
    if "base" not in options and min(finite(values)) > 0 and max(finite(values)) > 20 * min(finite(values)):
        options["base"] = 10
    x = Axis(steps, LEFT, WIDTH - RIGHT, whole=True)
    x.low, x.high = min(steps), max(max(steps), min(steps) + 1)
    y = Axis(values, HEIGHT - BOTTOM, TOP, **options)
    body, ends = "", []
    for value, text in y.ticks:
        at = f"{y.at(value):.2f}"
        body += f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}" />'
        body += f'<text text-anchor="end" x="{LEFT - 6}" y="{y.at(value) + 4:.2f}">{text}</text>'
    for value, text in x.ticks:
        if x.low <= value <= x.high:
            body += f'<text text-anchor="middle" x="{x.at(value):.2f}" y="{HEIGHT - BOTTOM + 18}">{text}</text>'
    body += f'<text text-anchor="end" x="{WIDTH - 2}" y="{HEIGHT - BOTTOM + 18}">step</text>'
    marks = 0
    for name, style, points, rows in drawn:
        body += curve(thinned(points) if field != "scale" else points, x, y, style, steps=field == "scale")
        if len(runs) > 1:
            ends.append((y.at(visible(points)[-1]), name, style))
        for row in rows:
            if field == "scale" and row.get("skipped") and row.get("scale", 0) > 0 and math.isfinite(row["scale"]):
                px, py, marks = x.at(row["step"]), y.at(row["scale"]), marks + 1
                body += f'<path class="skip" d="M{px - 4:.2f} {py - 4:.2f} l8 8 m0 -8 l-8 8" />'
    title, unit = caption
    if marks:
        unit += f"; \u00d7 marks the {marks} skipped steps" if marks > 1 else "; \u00d7 marks the skipped step"
    told = ", ".join(f"{name} ends at {number(finite(v for _, v in points)[-1])}" for name, _, points, _ in drawn)
    return (f'<figure data-field="{html.escape(field)}">'
            f"<figcaption>{html.escape(title)} <span>{unit}</span></figcaption>"
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title + ": " + told)}">'
            f"{body}{labels(ends, WIDTH - RIGHT)}</svg></figure>")


def points_of(rows, field):
    return list(zip(*series(rows, field)))


def mean_points(rows, field):
    """Moving means over a hundredth of the run, so that the noise of single steps does not hide the trend."""
    steps, values = series(rows, field)
    return list(zip(steps, smoothed(values, max(1, len(values) // 100))))


def speed_points(rows, field):
    """Samples per second over a twentieth of the run: of the times of the steps, not of their speeds."""
    steps, values = series(rows, field)
    times = smoothed([1 / v if v > 0 else math.nan for v in values], max(1, len(values) // 20))
    return [(step, 1 / time) for step, time in zip(steps, times) if math.isfinite(time)]


def scale_points(rows, field):
    """The scales at the first step, at changes and at the last step."""
    points = points_of(rows, field)
    return [p for i, p in enumerate(points) if i in (0, len(points) - 1) or p[1] != points[i - 1][1]]


def end_loss(rows):
    """The mean loss of the last twentieth of a run, without inf and NaN; None if that leaves nothing."""
    values = series(rows, "loss")[1]
    end = finite(values[-max(1, len(values) // 20):])
    return statistics.fmean(end) if end else None


def finding(group, runs):
    """The title of a group: how its runs compare with the one in f32, or how the loss of a single run developed."""
    field, results = accuracy_field(runs), []
    reference = dict(runs).get(REFERENCE)
    accuracies = finite(v for _, rows in runs for v in series(rows, field)[1])
    percent = 100 if max(accuracies, default=0) <= 1 else 1

    def fault(rows):
        value = last(rows, "loss")
        return [] if value is None or math.isfinite(value) else [f"last loss {number(value)}"]

    for name, rows in runs:
        if reference is None or rows is reference:
            continue
        parts = fault(rows)
        if field and last(rows, field) is not None and last(reference, field) is not None:
            parts.append(f"accuracy {fixed(percent * (last(rows, field) - last(reference, field)), 2, '+')} points")
        elif not parts and end_loss(rows) is not None and end_loss(reference):
            parts.append(f"loss {fixed(100 * (end_loss(rows) / end_loss(reference) - 1), 1, '+')} %")
        if speed(rows) and speed(reference):
            parts.append(f"{fixed(speed(rows) / speed(reference), 2)}\u00d7 the speed")
        if parts:
            results.append(f"{name} {', '.join(parts)}")
    if results:
        against = " ".join([REFERENCE, *(f"({text})" for text in fault(reference))])
        return f"{group}: against {against}, {'; '.join(results)}"
    told = []
    for name, rows in runs:
        losses = series(rows, "loss")[1]
        if losses:
            text = f"loss {number(finite(losses)[0])} to {number(losses[-1])}" if finite(losses) else "no finite loss"
            told.append((name + ": " if name != group else "") + text)
    return f"{group}: {'; '.join(told) or 'no loss was logged'}"


def table(runs):
    field, reference = accuracy_field(runs), dict(runs).get(REFERENCE)

    def bad_losses(rows):
        return sum(not math.isfinite(v) for v in series(rows, "loss")[1])

    columns = [("run", lambda name, rows: html.escape(name)),
               ("steps", lambda name, rows: number(len(series(rows, "loss")[0]) or len(rows))),
               ("last loss", lambda name, rows: number(last(rows, "loss"), 5)),
               ("mean loss of the last 5 %", lambda name, rows: number(end_loss(rows), 5)),
               ("inf or NaN losses", lambda name, rows: number(bad_losses(rows)))]
    if field:
        columns.append((html.escape(field.replace("_", " ")), lambda name, rows: number(last(rows, field), 4)))
    if any(speed(rows) for _, rows in runs):
        columns.append(("samples/s", lambda name, rows: number(speed(rows))))
        if reference and speed(reference):
            columns.append((f"speed / {REFERENCE}",
                            lambda name, rows: fixed((speed(rows) or math.nan) / speed(reference), 2)))
    if any("scale" in row for _, rows in runs for row in rows):
        columns += [("last loss scale", lambda name, rows: number(last(rows, "scale"), 6)),
                    ("skipped steps", lambda name, rows: number(sum(bool(row.get("skipped")) for row in rows)))]
    head = "".join(f"<th>{title}</th>" for title, _ in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(name, rows)}</td>" for _, cell in columns) + "</tr>"
                   for name, rows in runs)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def legend(runs):
    def sample(style):
        width, dashes = STYLES[style % len(STYLES)]
        return (f'<svg viewBox="0 0 36 10" aria-hidden="true"><line x1="0" x2="36" y1="5" y2="5" '
                f'stroke="var(--c{style % 7})" stroke-width="{width}" stroke-dasharray="{dashes or "none"}" /></svg>')
    return ('<ul class="legend">' +
            "".join(f"<li>{sample(i)}{html.escape(name)}</li>" for i, (name, _) in enumerate(runs)) + "</ul>")


def section(group, runs):
    runs = sorted(runs, key=lambda run: run[0] != REFERENCE)  # the wide line lies below
    accuracy = accuracy_field(runs)
    charts = [chart(runs, "loss", ("Loss", "moving mean"), mean_points, from_zero=True)]
    if accuracy:
        charts.append(chart(runs, accuracy, (accuracy.replace("_", " ").capitalize(), ""), points_of,
                            base=None))
    charts += [chart(runs, "samples_per_second", ("Speed", "samples per second"), speed_points, base=None,
                     from_zero=True),
               chart(runs, "scale", ("Loss scale", "powers of two"), scale_points, base=2),
               chart(runs, "grad_norm", ("Gradient norm", "moving mean"), mean_points, from_zero=True)]
    return (f"<section><h2>{html.escape(finding(group, runs))}</h2>{legend(runs)}"
            f'<div class="charts">{"".join(charts)}</div>{table(runs)}</section>')


def page(groups, title):
    heading = html.escape(title or "Training runs: " + ", ".join(groups))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8" />'
            '<meta name="viewport" content="width=device-width, initial-scale=1" />'
            f"<title>{heading}</title><style>{STYLE}</style></head>\n<body><h1>{heading}</h1>\n"
            + "\n".join(section(group, runs) for group, runs in groups.items())
            + '\n<p class="note">Drawn by scripts/plot_log.py from the logs of amp::TrainLog. Speed is that of the '
              "whole run: samples over time. The means leave inf and NaN out.</p></body></html>\n")


def group(paths):
    """Group name -> [(run name, steps)]"""
    groups = {}
    for path in paths:
        stem = os.path.splitext(os.path.basename(path))[0]
        name, separator, run = stem.rpartition("_")
        if not separator or len(paths) == 1:
            name, run = stem, stem
        rows = read(path)
        if not rows:
            print(f"plot_log: {path}: skipped, no steps", file=sys.stderr)
            continue
        groups.setdefault(name, []).append((run, rows))
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", help=".jsonl or .csv files of amp::TrainLog")
    parser.add_argument("-o", "--output", help="the page to write (default: the first log's name with .html)")
    parser.add_argument("--title")
    args = parser.parse_args()
    output = args.output or os.path.splitext(args.logs[0])[0] + ".html"
    try:
        groups = group(args.logs)
        if not groups:
            sys.exit("plot_log: the logs contain no steps")
        text = page(groups, args.title)  # before the old page is replaced
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError, TypeError, KeyError) as error:
        sys.exit(f"plot_log: {error}")
    print(f"plot_log: wrote {output}")


if __name__ == "__main__":
    main()
