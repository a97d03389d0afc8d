"""scripts/kernel_instructions.py with disassembly in the format of nvdisasm."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("kernel_instructions", ROOT / "scripts" / "kernel_instructions.py")
kernel_instructions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel_instructions)


def disassembly(*lines):
    """A function of these instructions and labels."""
    text = ["_Z6kernelv:"]
    for i, line in enumerate(lines):
        text.append(line if line.endswith(":") else f"        /*{16 * i:04x}*/                   {line} ;")
    return "\n".join(text) + "\n"


def cheapest(text, loads, stores):
    """(instructions in f64, all instructions)"""
    return kernel_instructions.fewest(*kernel_instructions.functions(text)["_Z6kernelv"], loads, stores)


def fewest(text, loads, stores):
    cost = cheapest(text, loads, stores)
    return cost and cost[1]


# Loads a pack of 16 bytes, or two; a slow path calls a division.
LOOP = disassembly("MOV R0, R1", ".L_x_0:", "ISETP.GE.AND P0, PT, R0, R1, PT", "@P0 BRA `(.L_x_1)",
                   "LDG.E.128 R4, desc[UR4][R2.64]", "BRA `(.L_x_2)", ".L_x_1:", "LDG.E.128 R4, desc[UR4][R2.64]",
                   "LDG.E.128 R8, desc[UR4][R2.64+0x10]", "FADD R4, R4, R8", "FADD R4, R4, R8", ".L_x_2:",
                   "@!P1 BRA `(.L_x_3)", "CALL.REL.NOINC `($division)", ".L_x_3:",
                   "STG.E.128 desc[UR4][R2.64], R4", "@P2 BRA `(.L_x_0)", "EXIT")


class KernelInstructions(unittest.TestCase):
    def test_counts_the_path_with_the_stated_accesses(self):
        # ISETP, BRA, LDG, BRA, BRA, STG, BRA
        self.assertEqual(fewest(LOOP, {16: 1}, {16: 1}), 7)
        # ISETP, BRA, LDG, LDG, FADD, FADD, BRA, STG, BRA
        self.assertEqual(fewest(LOOP, {16: 2}, {16: 1}), 9)

    def test_finds_no_path_with_other_accesses(self):
        self.assertIsNone(fewest(LOOP, {16: 3}, {16: 1}))
        self.assertIsNone(fewest(LOOP, {4: 1}, {16: 1}))
        self.assertIsNone(fewest(LOOP, {16: 1}, {8: 1}))

    def test_counts_inner_loops_as_often_as_they_store(self):
        text = disassembly(".L_x_0:", "LDG.E.U16 R4, desc[UR4][R2.64]", ".L_x_1:", "STG.E.U16 desc[UR4][R2.64], R4",
                           "@P0 BRA `(.L_x_1)", "@P1 BRA `(.L_x_0)", "EXIT")
        # LDG, four times STG and BRA, BRA
        self.assertEqual(fewest(text, {2: 1}, {2: 4}), 10)

    def test_prefers_paths_without_f64_and_counts_it(self):
        text = disassembly(".L_x_0:", "LDG.E R4, desc[UR4][R2.64]", "@P1 BRA `(.L_x_2)", "@P2 BRA `(.L_x_1)",
                           "F2F.F64.F32 R6, R4", "DADD R8, R8, R6", "BRA `(.L_x_3)", ".L_x_1:", "DMUL R6, R6, R6",
                           "BRA `(.L_x_3)", ".L_x_2:", "FADD R8, R8, R6", "FADD R8, R8, R6", "FADD R8, R8, R6",
                           "FADD R8, R8, R6", ".L_x_3:", "@P0 BRA `(.L_x_0)", "EXIT")
        self.assertEqual(cheapest(text, {4: 1}, {}), (0, 7))
        one_way = text.replace("@P1 BRA", "IADD").replace("@P2 BRA", "IADD")
        # LDG, IADD, IADD, F2F, DADD, BRA, BRA
        self.assertEqual(cheapest(one_way, {4: 1}, {}), (2, 7))

    def test_widths(self):
        for opcode, width in (("LDG.E.128", 16), ("LDG.E.64.CONSTANT", 8), ("LDG.E", 4), ("STG.E.U16", 2),
                              ("LDG.E.U8", 1)):
            self.assertEqual(kernel_instructions.width_of(opcode), width, opcode)


if __name__ == "__main__":
    unittest.main()
