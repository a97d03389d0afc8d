#!/usr/bin/env python3
"""Puts what scripts/gpu_check.sh left in a folder into summary.json and summary.txt, and prints the latter.

Exits 1 when there was no GPU, a step failed, or no test passed.
"""
import json
import pathlib
import sys


def last_json(path):
    """The last line of a log that is a JSON object, or None."""
    for line in reversed(path.read_text(errors="replace").splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None


def tests_of(folder):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for path in sorted(folder.glob("*_test.json")):
        for suite in json.loads(path.read_text())["testsuites"]:
            for test in suite["testsuite"]:
                if test.get("failures"):
                    totals["failed"] += 1
                    failures.append(f"{path.stem}: {suite['name']}.{test['name']}")
                elif test.get("result") == "SKIPPED":
                    totals["skipped"] += 1
                else:
                    totals["passed"] += 1
    return totals, failures


def main():
    folder = pathlib.Path(sys.argv[1])
    steps = {p.stem: int(p.read_text()) for p in sorted(folder.glob("*.status"))}
    totals, failures = tests_of(folder)
    runs = [r for p in sorted(folder.glob("t*_*.log")) if steps.get(p.stem) == 0 and (r := last_json(p)) and "ms" in r]
    summary = {"gpu": (folder / "gpu.txt").read_text().strip(), "tests": totals, "failures": failures, "steps": steps,
               "benchmarks": runs}
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")

    lines = [f"GPU: {summary['gpu']}",
             "tests: {passed} passed, {failed} failed, {skipped} skipped".format(**totals)]
    lines += [f"  failed: {f}" for f in failures[:40]]
    lines += [f"step {name}: exit status {status}" for name, status in steps.items() if status != 0]
    def key(r):  # graphs are compared with graphs
        return r["workload"], r["precision"], r.get("variant") == "graph"

    own = {key(r): r["ms"] for r in runs if r["program"] == "tandem"}
    for r in runs:
        label = f"{r['workload']:<11}{r['precision']:<6}{r['program']} {r.get('variant', '')}"
        mine = own.get(key(r))
        ratio = f"  tandem/this {mine / r['ms']:.2f}" if mine and r["program"] != "tandem" else ""
        lines.append(f"{label:<50}{r['ms']:>10.3f} ms{ratio}")
    text = "\n".join(lines) + "\n"
    (folder / "summary.txt").write_text(text)
    print(text, end="")
    no_gpu = summary["gpu"].startswith("no GPU")
    return 1 if no_gpu or any(steps.values()) or totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
