#!/usr/bin/env python3
"""Safetensors files in Python: an independent reader and writer (struct and json), and the safetensors package if it is
installed.

    reference.py check FILE      checks that FILE is as tests/io/safetensors_test.cpp writes it; otherwise exits 1
    reference.py make FILE       writes the file that the test expects; with the package if installed
    reference.py corpus FOLDER   writes the fuzzer's corpus: valid_* files, which load, and bad_* files, which do not

Byte i of a tensor is (7 i + length of its name) modulo 251, of a bool tensor i modulo 2.
"""
import ctypes
import json
import os
import struct
import sys

try:
    import safetensors
except ImportError:
    safetensors = None

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8, "F64": 8,
         "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U16": 2, "U32": 4, "U64": 8}
SHAPES = [[], [3], [2, 3], [4, 0, 2], [1, 2, 3, 4]]
METADATA = {"format": "pt", "text": "quote \" newline \n snowman \u2603"}


def expected():
    """Returns a dictionary: name -> (dtype, shape, bytes)."""
    tensors = {}
    for dtype in SIZES:
        for shape in SHAPES:
            name = f"{dtype}.rank{len(shape)}"
            count = 1
            for size in shape:
                count *= size
            data = bytes(i % 2 if dtype == "BOOL" else (7 * i + len(name)) % 251 for i in range(count * SIZES[dtype]))
            tensors[name] = (dtype, shape, data)
    return tensors


def write(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def encode(tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    return write(header, data)


def decode(content):
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    assert (8 + length) % 8 == 0, "the data are not aligned"
    metadata = header.pop("__metadata__", {})
    tensors, covered = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name} begins at {begin}, not at {covered}"
        assert begin % SIZES[entry["dtype"]] == 0, f"{name} is not aligned"
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
        covered = end
    assert covered == len(data)
    return tensors, metadata


def check(path):
    with open(path, "rb") as file:
        content = file.read()
    tensors, metadata = decode(content)
    assert tensors == expected(), "the tensors differ"
    assert {k: v for k, v in metadata.items() if not k.startswith("tandem.")} == METADATA, metadata
    if safetensors:
        theirs = {name: (entry["dtype"], entry["shape"], bytes(entry["data"]))
                  for name, entry in safetensors.deserialize(content)}
        assert theirs == expected(), "the package reads other tensors"
        with safetensors.safe_open(path, framework="numpy") as file:
            assert file.metadata()["text"] == METADATA["text"]
    print("read with struct and json" + (f" and safetensors {safetensors.__version__}" if safetensors else ""))


def make(path):
    if safetensors:
        names = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64", "BOOL": "bool", "U8": "uint8",
                 "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F8_E4M3": "float8_e4m3fn",
                 "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "U16": "uint16", "U32": "uint32",
                 "U64": "uint64"}
        buffers = []  # the package takes addresses, so keep the buffers alive

        def spec(dtype, shape, data):
            if not hasattr(safetensors, "TensorSpec"):  # versions before 0.8
                return {"dtype": names[dtype], "shape": shape, "data": data}
            buffers.append(ctypes.create_string_buffer(data, len(data) + 1))
            return safetensors.TensorSpec(dtype=names[dtype], shape=shape, data_ptr=ctypes.addressof(buffers[-1]),
                                          data_len=len(data))

        content = safetensors.serialize({name: spec(*tensor) for name, tensor in expected().items()}, METADATA)
    else:
        content = encode(expected(), METADATA)
    with open(path, "wb") as file:
        file.write(content)


def entry(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


def corpus(folder):
    eight = bytes(range(8))
    few = {"w": ("F32", [2, 2], bytes(16)), "b": ("I64", [], bytes(8)), "m": ("BOOL", [3], bytes([0, 1, 1]))}
    files = {
        "valid_empty": write({}),
        "valid_few": encode(few, {"format": "pt"}),
        "valid_no_elements": encode({"a": ("F16", [0], b""), "b": ("U8", [3, 0], b"")}),
        "valid_padded": write(json.dumps({"a": entry()}).encode() + b"   ", eight),
        "valid_two_names": write({"a": entry(offsets=(8, 16)), "": entry()}, eight * 2),
        "bad_no_bytes": b"",
        "bad_seven_bytes": b"\x01" * 7,
        "bad_length": write({"a": entry()}, eight, length=2**63 + 5),
        "bad_length_short": write({"a": entry()}, eight, length=20),
        "bad_cut": encode(few)[:-1],
        "bad_longer": encode(few) + b"\0",
        "bad_json": write(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}', eight),
        "bad_bom": write(b"\xef\xbb\xbf{}"),
        "bad_list": write([]),
        "bad_utf8": write(b'{"\xff":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight),
        "bad_twice": write(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                           b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        "bad_field_twice": write(b'{"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}}'),
        "bad_deep": write(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"),
        "bad_overlap": write({"a": entry(), "b": entry(offsets=(4, 12))}, eight + b"1234"),
        "bad_hole": write({"a": entry(), "b": entry(offsets=(12, 20))}, bytes(20)),
        "bad_unused_start": write({"a": entry(offsets=(4, 12))}, bytes(12)),
        "bad_outside": write({"a": entry(offsets=(8, 16))}, eight),
        "bad_backwards": write({"a": entry(offsets=(8, 0))}, eight),
        "bad_dtype": write({"a": entry(dtype="F5", shape=(8,))}, eight),
        "bad_shape": write({"a": entry(shape=(3,))}, eight),
        "bad_negative": write({"a": entry(shape=(-2,))}, eight),
        "bad_fraction": write({"a": entry(shape=(2.0,))}, eight),
        "bad_product": write({"a": entry(dtype="U8", shape=(2**32, 2**32, 8))}, eight),
        "bad_product_zero": write({"a": entry(dtype="U8", shape=(0, 2**62, 2**62), offsets=(0, 0))}),
        "bad_size": write({"a": entry(dtype="U8", shape=(2**63,))}, eight),
        "bad_huge_number": write({"a": entry(offsets=(0, 2**64))}, eight),
        "bad_rank": write({"a": entry(dtype="U8", shape=(1,) * 13, offsets=(0, 1))}, b"\0"),
        "bad_three_offsets": write({"a": entry(offsets=(0, 8, 8))}, eight),
        "bad_missing_field": write({"a": {"dtype": "F32", "shape": [2]}}, eight),
        "bad_extra_field": write({"a": entry(more=1)}, eight),
        "bad_null": write({"a": None}, eight),
        "bad_metadata": write({"__metadata__": {"a": 1}}),
        "bad_bool": encode({"a": ("BOOL", [3], b"\0\x07\1")}),
    }
    compact = b'{"__metadata__":{"tandem.crc32":"%s"}}'
    files["bad_header_checksum"] = write(compact % b"12345678-00000000")
    files["bad_short_checksum"] = write(compact % b"1234")
    for name, content in files.items():
        with open(os.path.join(folder, name + ".safetensors"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    {"check": check, "make": make, "corpus": corpus}[sys.argv[1]](sys.argv[2])
