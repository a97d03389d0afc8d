#!/usr/bin/env python3
"""Writes promotion.inc: torch.promote_types for every pair of tandem's dtypes. Run by hand, with PyTorch installed:

    python tests/golden/promotion.py > tests/golden/promotion.inc
"""
import torch

NAMES = {torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64",
         torch.float16: "F16", torch.float32: "F32", torch.float64: "F64", torch.bool: "Bool", torch.bfloat16: "BF16",
         torch.float8_e4m3fn: "F8E4M3FN", torch.float8_e5m2: "F8E5M2", torch.float8_e8m0fnu: "F8E8M0FNU",
         torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64"}

print(f"// Written by promotion.py with PyTorch {torch.__version__}. X(a, b, promote_types(a, b)), or REFUSED(a, b).")
for a in NAMES:
    for b in NAMES:
        try:
            print(f"X({NAMES[a]}, {NAMES[b]}, {NAMES[torch.promote_types(a, b)]})")
        except RuntimeError:
            print(f"REFUSED({NAMES[a]}, {NAMES[b]})")
