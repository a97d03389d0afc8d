"""scripts/kernel_resources.py with reports in the format of ptxas."""
import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("kernel_resources", ROOT / "scripts" / "kernel_resources.py")
kernel_resources = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel_resources)


def entry(name, registers=32, stack=0, stores=0, loads=0, shared=0, arch=90):
    smem = f", {shared} bytes smem" if shared else ""
    return (f"ptxas info    : Compiling entry function '{name}' for 'sm_{arch}'\n"
            f"ptxas info    : Function properties for {name}\n"
            f"    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
            f"ptxas info    : Used {registers} registers, used 1 barriers{smem}\n"
            "ptxas info    : Compile time = 5.1 ms\n")


class KernelResources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def report(self, file, *entries):
        (self.build / f"{file}.o.resources").write_text("ptxas info    : 0 bytes gmem\n" + "".join(entries))

    def run_script(self, *arguments):
        argv, sys.argv = sys.argv, ["kernel_resources.py", *arguments]
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                return kernel_resources.main(), out.getvalue()
        finally:
            sys.argv = argv

    def check(self):
        return self.run_script("--check", str(self.build))

    def test_a_table_of_the_most_that_any_instance_takes(self):
        self.report("copy.cu", entry("_Z4kindIfEvT_", 40, shared=256), entry("_Z4kindIdEvT_", 64, stack=8, loads=4))
        status, text = self.run_script(str(self.build))
        self.assertEqual(status, 0)
        self.assertIn("| copy.cu | `kind` | 2 | 64 | 256 | 8 | 4 |", text)

    def test_architectures_are_columns(self):
        self.report("copy.cu", *(entry("_Z4kindIfEvT_", registers, stack=stack, loads=stack, arch=arch)
                                 for arch, registers, stack in ((75, 40, 8), (90, 48, 0), (100, 56, 4))))
        self.report("sort.cu", entry("_Z4sortIfEvT_", 24, arch=100))
        _, text = self.run_script(str(self.build))
        self.assertIn("| file | kernel | instances | sm_75 | sm_90 | sm_100 | shared memory | stack | spills |", text)
        self.assertIn("| copy.cu | `kind` | 1 | 40 | 48 | 56 | 0 | 8 on sm_75, 4 on sm_100 | 8 on sm_75, 4 on sm_100 |", text)
        self.assertIn("| sort.cu | `sort` | 1 | - | - | 24 | 0 | 0 | 0 |", text)

    def test_a_spill_on_one_of_several_architectures_fails(self):
        self.report("copy.cu", entry("_Z4kindIfEvT_"), entry("_Z4kindIfEvT_", stack=8, stores=4, loads=4, arch=120))
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("copy.cu: sm_120: void kind<float>(float): 8 bytes", text)
        self.assertNotIn("sm_90: void", text)
        self.assertIn("2 kernels for sm_90, sm_120, 1 with faults", text)

    def test_clean_kernels_pass(self):
        self.report("copy.cu", entry("_Z4kindIfEvT_"))
        self.assertEqual(self.check(), (0, "kernel_resources: 1 kernels for sm_90, 0 with faults\n"))

    def test_a_spill_is_named_and_fails(self):
        self.report("copy.cu", entry("_Z4kindIfEvT_", stack=8, stores=4, loads=12))
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("copy.cu: sm_90: void kind<float>(float): 16 bytes of registers spilled", text)

    def test_a_stack_frame_fails_unless_excused(self):
        self.report("unary.cu", entry("_Z4kindIfEvT_", stack=32))
        self.assertEqual(self.check()[0], 1)
        self.report("unary.cu", entry("_Z4kindIN5unary3sinEfEvT_T0_", stack=32))
        self.assertEqual(self.check()[0], 0)

    def test_without_reports_it_fails(self):
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("TANDEM_KERNEL_REPORT", text)

    def test_the_table_in_a_page_is_replaced(self):
        self.report("copy.cu", entry("_Z4kindIfEvT_"))
        page = self.build / "page.md"
        page.write_text("before\n<!-- table -->\nold\n<!-- end -->\nafter\n")
        self.run_script("--markdown", str(page), str(self.build))
        text = page.read_text()
        self.assertTrue(text.startswith("before\n<!-- table -->\n| file |") and text.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", text)

    def test_as_a_launcher_it_keeps_the_report_and_passes_the_rest_on(self):
        compiler = self.build / "compiler"
        compiler.write_text("#!/bin/sh\ncat >&2 <<'TEXT'\nx.cu(3): warning: unused\n" + entry("_Z4kindIfEvT_") + "TEXT\n"
                            "for last; do :; done; test \"$last\" = -Xptxas=-v || exit 3\nexit 0\n")
        compiler.chmod(0o755)
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            status = kernel_resources.launch([str(compiler), "-c", "x.cu", "-o", str(self.build / "x.cu.o")])
        self.assertEqual((status, err.getvalue()), (0, "x.cu(3): warning: unused\n"))
        self.assertEqual([k.file for k in kernel_resources.read(self.build)], ["x.cu"])


if __name__ == "__main__":
    unittest.main()
