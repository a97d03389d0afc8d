"""Runs the command-line tool.

Usage: tool_test.py PATH_OF_THE_TOOL [unittest arguments...]
"""
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
TESTS = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = TESTS / "io" / "torch"  # written by PyTorch and NumPy
FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q"}
FINITE_F16 = [bits for bits in range(1 << 16) if bits >> 10 & 31 != 31]


def write_safetensors(path, tensors):
    """Writes {name: (dtype, values)} as tensors of rank 1, without tandem."""
    header, data = {}, b""
    for name, (dtype, values) in tensors.items():
        part = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": [len(values)], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, *arguments, status=0, **environment):
        result = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                                env={**os.environ, **environment})
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout if status == 0 else result.stderr

    def run_json(self, *arguments, **environment):
        return json.loads(self.run_tool(*arguments, "--json", **environment))

    def inspect(self, path, *arguments):
        return self.run_json("inspect", path, *arguments)["files"][0]

    def fails(self, *arguments, says):
        """Checks the status and that the message says what is wrong and what to do."""
        message = self.run_tool(*arguments, status=1)
        for words in says:
            self.assertIn(words, message)
        self.assertEqual(message.count("\n"), 1, message)

    def convert(self, source, name, *arguments):
        self.run_tool("convert", source, self.folder / name, *arguments)
        return self.folder / name


class Info(ToolTest):
    def test_names_the_processor(self):
        names = [line.partition(": ")[2] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
        text = self.run_tool("info")
        self.assertRegex(text, r"(?m)^processor +" + re.escape(names[0] if names else ""))
        for label in ("tandem", "products", "choose", "library", "memory", "CUDA"):
            self.assertRegex(text, rf"(?m)^{label} +\S")

    def test_json(self):
        info = self.run_json("info", OMP_NUM_THREADS="1")
        self.assertIn(info["cpu"]["threads"], [1])
        self.assertTrue(info["cpu"]["fast_products"]["f32"])
        self.assertGreater(info["memory"]["total"], info["memory"]["available"])
        self.assertEqual(bool(info["cuda"]["devices"]), info["cuda"]["available"])
        header = (TESTS.parent / "include" / "tandem" / "version.h").read_text()
        numbers = [header.split(f"TANDEM_VERSION_{part} ")[1].split()[0] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(info["tandem"], ".".join(numbers))

    def test_obeys_the_environment(self):
        self.assertEqual(self.run_json("info", TANDEM_SIMD="baseline")["cpu"]["simd_level"], "baseline")
        unknown = subprocess.run([TOOL, "info"], capture_output=True, text=True, timeout=100,
                                 env={**os.environ, "TANDEM_SIMD": "foo"})
        self.assertIn("TANDEM_SIMD is 'foo' and is ignored; its values are baseline, avx2, avx512", unknown.stderr)
        limited = self.run_json("info", ONEDNN_MAX_CPU_ISA="AVX2")
        self.assertFalse(limited["cpu"]["fast_products"]["bf16"])
        self.assertIn("f32", limited["cpu"]["advice"])


class Inspect(ToolTest):
    def test_lists_what_pytorch_wrote(self):
        ours, expected = self.inspect(GOLDEN / "module.pt"), self.inspect(GOLDEN / "module.safetensors")
        self.assertEqual(ours["format"], "PyTorch")
        self.assertEqual(expected["format"], "safetensors")
        self.assertEqual(ours["tensors"], expected["tensors"])
        self.assertEqual(ours["totals"]["elements"], sum(math.prod(t["shape"]) for t in ours["tensors"]))
        text = self.run_tool("inspect", GOLDEN / "module.pt")
        self.assertRegex(text, r"(?m)^0\.weight +f32 +\[2, 3\] +6 +24$")

    def test_tells_checkpoints_from_weights(self):
        self.assertFalse(self.inspect(GOLDEN / "module.pt")["checkpoint"])
        checkpoint = self.convert(GOLDEN / "train_adam.pt", "run.safetensors")
        file = self.inspect(checkpoint)
        self.assertTrue(file["checkpoint"])
        self.assertTrue(file["checksums"])
        self.assertRegex(self.run_tool("inspect", checkpoint), r"(?m)^optimizer\.\* +\d+")

    def test_counts_values(self):
        path = self.folder / "x.safetensors"
        values = [0.0, 1.0, -2.0, 70000.0, 1e-9, 2.0**-20, math.nan, -math.inf]
        write_safetensors(path, {"x": ("F32", values), "fine": ("F32", [0.5, -0.25]), "count": ("I64", [3, -4])})
        file = self.inspect(path, "--stats")
        x, fine, count = (t["statistics"] for t in file["tensors"])
        self.assertEqual((x["zeros"], x["nan"], x["inf"]), (1, 1, 1))
        self.assertEqual((x["min"], x["max"], x["largest_magnitude"]), (-2, 70000, 70000))
        self.assertAlmostEqual(x["smallest_nonzero_magnitude"], 1e-9, delta=1e-16)
        self.assertEqual(x["f16"]["overflows"], 1)
        self.assertEqual(x["f16"]["underflows"], 1)
        self.assertEqual(x["f16"]["subnormals"], 1)
        self.assertFalse(x["f16"]["fits"])
        self.assertTrue(fine["f16"]["fits"])
        self.assertEqual((fine["min"], fine["max"], fine["mean"]), (-0.25, 0.5, 0.125))
        self.assertEqual((count["min"], count["max"], count["mean"]), (-4, 3, -0.5))
        self.assertNotIn("f16", count)
        self.assertIn("does not hold 1 of 2", file["verdict"])
        text = self.run_tool("inspect", "--stats", path)
        self.assertIn("1 value becomes inf in f16", text)
        self.assertRegex(text, r"(?m)^fine .* fits f16$")

    def test_numpy(self):
        array = self.inspect(GOLDEN / "array.npy")
        self.assertEqual([t["name"] for t in array["tensors"]], ["array"])
        stored, deflated = self.inspect(GOLDEN / "stored.npz"), self.inspect(GOLDEN / "deflated.npz")
        self.assertEqual(stored["tensors"], deflated["tensors"])

    def test_reads_by_contents_and_says_so(self):
        path = self.folder / "wrong.safetensors"
        path.write_bytes((GOLDEN / "module.pt").read_bytes())
        text = self.run_tool("inspect", path)
        self.assertIn("PyTorch", text)
        self.assertIn("rename the file", text)

    def test_says_what_a_file_is(self):
        for name, contents, says in [("a.h5", b"\x89HDF\r\n\x1a\n", ["HDF5", "h5py"]),
                                     ("a.pt", b"\x80\x02ctorch", ["bare Python pickle", "torch.save"]),
                                     ("a.gguf", b"GGUF\3\0\0\0", ["GGUF", "safetensors"]),
                                     ("a.pth", b"version https://git-lfs.github.com/spec/v1\n", ["git lfs pull"]),
                                     ("a.pth", b"", ["empty", "again"]),
                                     ("a.safetensors", b"\xff" * 20, ["damaged", "another copy"]),
                                     ("a.bin", b"hello, world", ["not a file of tensors", "'hello, world'"])]:
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(contents)
                self.fails("inspect", path, says=[str(path), *says])
        self.fails("inspect", self.folder / "none.pt", says=["No such file", "check the path"])
        self.fails("inspect", self.folder, says=["a folder", "name the index or the file"])
        self.fails("inspect", "/dev/null", says=["a device", "give the path of a regular file"])
        self.fails("inspect", GOLDEN / "refused_module.pt", says=["state_dict()"])

    def test_lists_several_files(self):
        for name in ("a", "b"):
            write_safetensors(self.folder / name, {name: ("F32", [1, 2])})
        index = self.folder / "model.safetensors.index.json"
        index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": {"a": "a", "b": "b"}}))
        for path in (index, self.folder):
            file = self.inspect(path)
            self.assertEqual([t["name"] for t in file["tensors"]], ["a", "b"])
            self.assertEqual(file["bytes"], 16)

    def test_lists_tensors_with_the_same_name(self):
        names = [t["name"] for t in self.inspect(GOLDEN / "same_names.pt")["tensors"]]
        self.assertEqual(names, ["a.b", "a.b (2)"])

    def test_goes_on_after_an_error(self):
        result = subprocess.run([TOOL, "inspect", "--json", self.folder / "none.pt", GOLDEN / "tensor.pt"],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(json.loads(result.stdout)["files"]), 1)


class Convert(ToolTest):
    def test_round_trips(self):
        for name, formats in [("module.pt", ["npz", "pt"]), ("arrays.safetensors", ["npz", "pt", "pth"]),
                              ("tensors.pt", ["pt", "pth"])]:
            with self.subTest(name):
                first = self.convert(GOLDEN / name, f"{name}.safetensors")
                path = first
                for i, extension in enumerate(formats):
                    path = self.convert(path, f"{name}.{i}.{extension}")
                last = self.convert(path, f"{name}.last.safetensors")
                self.assertEqual(first.read_bytes(), last.read_bytes())

    def test_one_tensor(self):
        one = self.convert(GOLDEN / "module.pt", "weight.npy", "--tensor", "0.weight")
        again = self.convert(self.convert(one, "weight.pt"), "again.npy")
        self.assertEqual(one.read_bytes(), again.read_bytes())
        self.assertEqual(self.inspect(one)["tensors"][0]["shape"], [2, 3])
        self.fails("convert", GOLDEN / "module.pt", self.folder / "all.npy", says=["7", "--tensor NAME"])
        self.fails("convert", GOLDEN / "module.pt", self.folder / "x.pt", "--tensor", "x", says=["'x'", "0.weight"])

    def test_casts_exactly_what_fits(self):
        path = self.folder / "f16.safetensors"
        values = [struct.unpack("<e", struct.pack("<H", bits))[0] for bits in FINITE_F16]
        write_safetensors(path, {"x": ("F16", values), "n": ("I64", [1, 2])})
        same = self.convert(path, "same.safetensors")
        wide = self.convert(path, "f32.safetensors", "--dtype", "f32")
        back = self.convert(wide, "back.safetensors", "--dtype", "f16")
        self.assertEqual(same.read_bytes(), back.read_bytes())
        self.assertEqual([t["dtype"] for t in self.inspect(wide)["tensors"]].count("f32"), 1)

    def test_keeps_the_numbers_of_a_checkpoint(self):
        out = self.convert(GOLDEN / "train_adam.pt", "f16.safetensors", "--dtype", "f16")
        dtypes = {t["name"]: t["dtype"] for t in self.inspect(out)["tensors"]}
        self.assertEqual(dtypes["net.0.weight"], "f16")
        self.assertEqual(dtypes["optimizer.param_groups.0.lr"], "f64")
        self.assertEqual(dtypes["optimizer.state.0.step"], "f32")

    def test_says_what_is_lost(self):
        path = self.folder / "x.safetensors"
        write_safetensors(path, {"x": ("F32", [70000.0, 1.0, 1e-9])})
        out = self.folder / "out.safetensors"
        self.fails_without(out, "convert", path, out, "--dtype", "f16", says=["x (1 value, up to 7e+04)", "bf16"])
        text = self.run_tool("convert", path, out, "--dtype", "f16", "--allow-overflow")
        self.assertIn("1 nonzero value became 0", text)
        self.assertIn("become inf", text)
        self.assertEqual(self.inspect(out, "--stats")["tensors"][0]["statistics"]["inf"], 1)
        self.run_tool("convert", path, out, "--dtype", "bf16", "--force")
        self.assertIn("text (String)", self.run_tool("convert", GOLDEN / "values.pt", self.folder / "values.npz"))

    def test_keeps_existing_files(self):
        out = self.folder / "out.pt"
        out.write_bytes(b"mine")
        self.fails("convert", GOLDEN / "module.pt", out, says=["exists", "--force"])
        self.assertEqual(out.read_bytes(), b"mine")
        self.run_tool("convert", GOLDEN / "module.pt", out, "--force")
        self.assertEqual(len(self.inspect(out)["tensors"]), 7)

    def test_errors(self):
        out = self.folder / "out.npz"
        self.fails_without(out, "convert", GOLDEN / "tensors.pt", out, says=["bf16", "--dtype f32"])
        other = self.folder / "out.txt"
        self.fails_without(other, "convert", GOLDEN / "tensors.pt", other, says=["extension", ".safetensors"])
        self.fails_without(out, "convert", GOLDEN / "refused_module.pt", out, says=["state_dict()"])

    def fails_without(self, out, *arguments, says):
        self.fails(*arguments, says=says)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith(out.name)], [])


class Bench(ToolTest):
    def test_mlp(self):
        result = self.run_json("bench", "--quick", "--layers", "16,32,4", "--batch", "8", OMP_NUM_THREADS="2")
        self.assertEqual([step["precision"] for step in result["steps"]], ["f32", "bf16", "f16"])
        self.assertEqual(result["parameters"], 17 * 32 + 33 * 4)
        self.assertEqual(result["steps"][0]["gain"], 1)
        for step in result["steps"]:
            self.assertGreater(step["ms"], 0)
            self.assertGreater(step["predicted_gain"], 0)
        self.assertEqual({p["threads"] for p in result["peaks"]["products"]}, {1, 2})
        self.assertGreater(result["peaks"]["copy_bytes_per_second"], 0)

    def test_cnn(self):
        text = self.run_tool("bench", "--quick", "--conv", "3x8x8:4,6", "--batch", "4", "--threads", "1")
        self.assertIn(f"{(9 * 3 + 1) * 4 + (9 * 4 + 1) * 6 + (2 * 2 * 6 + 1) * 10} parameters", text)
        self.assertRegex(text, r"(?m)^choose (f32|bf16 AMP|f16 AMP):")

    def test_errors(self):
        self.fails("bench", "--layers", "784", says=["784", "--layers 784,1024,10"])
        self.fails("bench", "--layers", "784,0", says=["784,0"])
        self.fails("bench", "--conv", "3x32:4", says=["channels x height x width"])
        self.fails("bench", "--conv", "3x4x4:4,4,4", says=["3 poolings", "larger images"])


class Page(ToolTest):
    def test_shows_what_inspect_prints(self):
        page = (TESTS.parent / "docs" / "tool.md").read_text()
        blocks = re.findall(r"```\n\$ tandem (inspect .*)\n([^`]*)```", page)
        self.assertEqual(len(blocks), 2)
        for command, output in blocks:
            result = subprocess.run([TOOL, *command.split()], cwd=TESTS.parent, capture_output=True, text=True)
            self.assertEqual(result.stdout, output)


class Cuda(ToolTest):
    """Skipped without a device. tests/on_cuda.cmake runs this class with an emulated one."""

    def setUp(self):
        super().setUp()
        if not self.run_json("info")["cuda"]["available"]:
            self.skipTest("no CUDA device")

    def test_info(self):
        cuda = self.run_json("info")["cuda"]
        self.assertTrue(cuda["compiled"])
        for device in cuda["devices"]:
            self.assertIn("f16", device["multiplies"])
            self.assertEqual("bf16" in device["multiplies"], float(device["capability"]) >= 8)
        self.assertRegex(self.run_tool("info"), r"(?m)^GPU 0 +\S.*, compute capability \d+\.\d+")

    def test_bench(self):
        for network in (["--layers", "16,32,4"], ["--conv", "3x8x8:4,6"]):
            result = self.run_json("bench", "--device", "cuda", "--quick", "--batch", "8", *network)
            bf16 = "bf16" in self.run_json("info")["cuda"]["devices"][0]["multiplies"]
            self.assertEqual([step["precision"] for step in result["steps"]], ["f32", *["bf16"] * bf16, "f16"])
            self.assertNotIn("threads", result["peaks"]["products"][0])


class Program(ToolTest):
    def test_usage(self):
        self.assertRegex(self.run_tool("--version"), r"^tandem \d+\.\d+\.\d+$")
        for command in ("info", "inspect", "convert", "bench"):
            self.assertIn(command, self.run_tool("--help"))
            self.assertIn("Usage", self.run_tool(command, "--help"))
        self.assertIn("--help", self.run_tool(status=1))
        self.assertIn("--help", self.run_tool("explain", status=1))
        self.assertIn("f16,bf16,f32,f64", self.run_tool("convert", "a.pt", "b.pt", "--dtype", "int8", status=1))


if __name__ == "__main__":
    if not TOOL:
        sys.exit(__doc__)
    unittest.main()
