#!/usr/bin/env python3
"""Asks the search of the documentation site what people ask, and checks that the answer comes first. Runs the site's own
scripts and index in V8.

Usage: docs_search.py SITE [QUERY...]      with queries, prints the first results of each
"""
import json
import os
import sys

from py_mini_racer import MiniRacer

# What people type, and the section of how_do_i.html that must come first, without "how-do-i-".
QUERIES = {
    "checkpoint": "save-a-checkpoint-and-resume-the-run",
    "resume training": "save-a-checkpoint-and-resume-the-run",
    "save model": "save-and-load-the-weights-only",
    "load pretrained weights": "load-pretrained-weights-from-pytorch",
    "fine-tuning": "load-only-a-part-of-the-weights",
    "convert from Python": "convert-a-program-from-python",
    "ONNX": "use-torchscript-or-onnx-files",
    "torchscript": "use-torchscript-or-onnx-files",
    "numpy": "exchange-tensors-with-numpy",
    "mixed precision": "train-in-mixed-precision",
    "nan loss": "find-out-why-the-loss-is-nan",
    "loss is NaN": "find-out-why-the-loss-is-nan",
    "gradient clipping": "clip-gradients",
    "gradient accumulation": "train-with-larger-batches-than-fit-into-memory",
    "EMA": "keep-an-exponential-moving-average-ema-of-the-weights",
    "freeze layers": "freeze-layers",
    "how do I freeze layers": "freeze-layers",
    "different learning rates": "use-different-learning-rates-or-weight-decays",
    "learning rate": "change-the-learning-rate-during-training",
    "warmup": "change-the-learning-rate-during-training",
    "two optimizers": "train-with-two-optimizers-or-a-gan",
    "custom loss": "write-a-loss-or-a-gradient-of-my-own",
    "validation": "evaluate-on-other-data-while-training",
    "early stopping": "keep-the-best-weights-and-stop-early",
    "tensorboard": "log-to-tensorboard-or-a-file",
    "inference": "use-a-trained-network-inference",
    "only inference": "use-a-trained-network-inference",
    "custom dataset": "load-my-own-data",
    "profiler": "find-out-where-the-time-goes",
    "out of memory": "use-less-memory",
    "threads": "set-the-number-of-threads",
    "reproducibility": "get-the-same-results-in-each-run",
    "model summary": "print-a-network-and-count-its-parameters",
    "gpu": "use-a-gpu",
    "multi-GPU": "train-on-several-gpus-or-machines",
    "cmake": "add-tandem-to-my-cmake-project",
    "is not a member of": "find-the-header-of-a-name",
    "proxy": "install-it-without-a-network-or-behind-a-proxy",
    "offline install": "install-it-without-a-network-or-behind-a-proxy",
    "libtorch": "build-a-program-that-was-written-for-libtorch",
}

# What the scripts need of a browser, and a query whose results come back best first.
BROWSER = """
var window = globalThis, SPHINX_HIGHLIGHT_ENABLED = false, _ready = () => {}, _ = (text) => text;
var document = {getElementById: () => null};
"""
ASK = """
var ask = (query) => JSON.stringify(Search._performSearch(...Search._parseQuery(query)).reverse().slice(0, 5));
"""


class Search:
    def __init__(self, site):
        self.v8 = MiniRacer()
        self.v8.eval(BROWSER)
        for name in ("_static/language_data.js", "_static/searchtools.js", "searchindex.js"):
            with open(os.path.join(site, name), encoding="utf-8") as file:
                self.v8.eval(file.read())
        self.v8.eval(ASK)

    def ask(self, query):
        """Returns page#anchor and the title of the first results."""
        return [(page + anchor, title) for page, title, anchor, *_ in json.loads(self.v8.call("ask", query))]


def main():
    search = Search(sys.argv[1])
    if len(sys.argv) > 2:
        for query in sys.argv[2:]:
            print(query, *(f"  {place}  {title}" for place, title in search.ask(query)), sep="\n")
        return 0
    wrong = 0
    for query, section in QUERIES.items():
        found = search.ask(query)
        if not found or found[0][0] != "how_do_i#how-do-i-" + section:
            wrong += 1
            print(f"search: '{query}' gives {found[0][0] if found else 'nothing'}, not how-do-i-{section}")
    print(f"search: {len(QUERIES)} queries, {wrong} with another answer first")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
