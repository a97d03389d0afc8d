#!/usr/bin/env python3
"""Checks that TensorBoard reads the event files that tandem writes. Needs the Python packages tensorboard and Pillow.

    TANDEM_EVENT_FILES=FOLDER build/release/tests/io_test --gtest_filter=SummaryWriter.FilesForTensorBoard
    python3 tests/golden/tensorboard_check.py FOLDER

FOLDER, empty before, then has the run `run` and, in values.npz, the tensors that were added. Scalars must be equal as
f32. Histograms must have the counts and limits that numpy.histogram and the code of
torch.utils.tensorboard.summary.make_histogram give.
"""
import argparse
import io
import os
import sys

import numpy as np
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator


def default_bins():
    """The default of torch.utils.tensorboard.SummaryWriter."""
    value, positive = 1e-12, []
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    return [-v for v in reversed(positive)] + [0] + positive


def histogram(values, bins):
    """What make_histogram puts into a HistogramProto: limits and counts."""
    counts, limits = np.histogram(values.reshape(-1), bins=bins)
    sums = np.cumsum(np.greater(counts, 0))
    start, end = np.searchsorted(sums, [0, sums[-1] - 1], side="right")
    end += 1
    counts = counts[start - 1:end] if start > 0 else np.concatenate([[0], counts[:end]])
    return limits[start:end + 1], counts


class Check:
    def __init__(self):
        self.checks = self.failures = 0

    def __call__(self, ok, what):
        self.checks += 1
        if not ok:
            self.failures += 1
            print(f"differs: {what}")


def load(folder):
    reader = event_accumulator.EventAccumulator(
        folder, size_guidance={name: 0 for name in event_accumulator.DEFAULT_SIZE_GUIDANCE})
    reader.Reload()
    return reader


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    args = parser.parse_args()
    run = os.path.join(args.folder, "run")
    values = np.load(os.path.join(args.folder, "values.npz"))
    check = Check()
    reader = load(run)

    scalars = reader.Scalars("scalars")
    check([e.step for e in scalars] == list(range(50)), "the steps of the scalars")
    check(np.array_equal([e.value for e in scalars], values["scalars"]), "the scalars")

    for tag, count, edges in (("histograms", 20, default_bins()), ("bins", 1, values["bins.edges"])):
        histograms = reader.Histograms(tag)
        check([e.step for e in histograms] == list(range(count)), f"the steps of {tag}")
        for event in histograms:
            x, h, what = values[f"{tag}.{event.step}"], event.histogram_value, f"{tag} at step {event.step}"
            limits, counts = histogram(x, edges)
            check(np.array_equal(h.bucket_limit, limits), f"the limits of {what}")
            check(np.array_equal(h.bucket, counts), f"the counts of {what}")
            check((h.num, h.min, h.max) == (x.size, x.min(), x.max()), f"num, min or max of {what}")
            x = x.astype(np.float64)
            check(np.allclose([h.sum, h.sum_squares], [x.sum(), (x * x).sum()], rtol=1e-12), f"the sums of {what}")
    check(reader.Histograms("nan")[0].histogram_value.num == 0, "a histogram without finite elements")

    text = reader.Tensors("text/text_summary")[0]
    check((text.step, text.tensor_proto.string_val[0]) == (3, b"a *text*"), "the text")
    check(reader.SummaryMetadata("text/text_summary").plugin_data.plugin_name == "text", "the plug-in of the text")
    if "image" in values:
        image = reader.Images("image")[0]
        expected = (values["image"] * np.float32(255)).clip(0, 255).astype(np.uint8).transpose(1, 2, 0)
        check((image.width, image.height) == (24, 16), "the size of the image")
        check(np.array_equal(np.asarray(Image.open(io.BytesIO(image.encoded_image_string))), expected), "the image")
    nodes = {node.name: node for node in reader.Graph().node}
    check(list(nodes["linear"].input) == ["weight", "bias"], "the inputs of an op in the graph")
    check([d.size for d in nodes["linear"].attr["_output_shapes"].list.shape[0].dim] == [2, 4], "a shape in the graph")
    for name, number in (("train", 1), ("val", 2)):
        both = load(os.path.join(run, f"both_{name}")).Scalars("both")
        check([e.value for e in both] == [number], f"add_scalars: {name}")

    print(f"tensorboard_check: {check.checks} checks, {check.failures} failed")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
