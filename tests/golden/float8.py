#!/usr/bin/env python3
"""Writes float8.inc: the values of all float8 codes, and checksums of PyTorch's casts to float8.

    scripts/torch_venv.sh                       # once: .venv-torch with PyTorch for the CPU
    .venv-torch/bin/python tests/golden/float8.py

The inputs are all f16 and bf16 numbers, and 10 million f32 numbers: element i has the bits 2654435761 i modulo 2^32,
and if i is odd an exponent of 90 to 153 instead, around the range of the formats. The checksum is the CRC-32 of the
codes.
"""
import os
import zlib

import torch

COUNT = 10_000_000
DTYPES = {
    "F8E4M3FN": torch.float8_e4m3fn,
    "F8E5M2": torch.float8_e5m2,
    "F8E8M0FNU": torch.float8_e8m0fnu,
}


def f32_inputs():
    i = torch.arange(COUNT, dtype=torch.int64)
    bits = (i * 2654435761) & 0xFFFFFFFF
    near = (bits & 0x807FFFFF) | ((((bits >> 23) & 63) + 90) << 23)
    bits = torch.where(i % 2 == 1, near, bits)
    return torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).view(torch.float32)


def all_of(dtype):
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)


def main():
    inputs = {"F32": f32_inputs(), "F16": all_of(torch.float16), "BF16": all_of(torch.bfloat16)}
    lines = [f"// Written by tests/golden/float8.py with PyTorch {torch.__version__}."]
    for name, dtype in DTYPES.items():
        values = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32)
        values = torch.where(values.isnan(), torch.tensor(float("nan")), values)
        bits = values.view(torch.int32).tolist()
        lines.append(f"CODES({name}")
        for first in range(0, 256, 8):
            lines.append("      " + "".join(f", 0x{b & 0xFFFFFFFF:08x}u" for b in bits[first : first + 8]))
        lines.append("      )")
        for source, x in inputs.items():
            codes = x.to(dtype).view(torch.uint8).numpy().tobytes()
            lines.append(f"CASTS({name}, {source}, 0x{zlib.crc32(codes):08x}u)")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "float8.inc"), "w") as file:
        file.write("\n".join(lines) + "\n")


main()
