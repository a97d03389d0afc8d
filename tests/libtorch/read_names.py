#!/usr/bin/env python3
"""Writes names.json: the public names in libtorch's headers, by the place where a program writes them.

Usage: .venv-torch/bin/python tests/libtorch/read_names.py     (scripts/torch_venv.sh installs PyTorch)
Names of implementation details (detail namespaces, leading underscores, backward and out variants) are left out here;
which of the others tandem leaves out, and why, stands in check_names.py.
"""
import json
import os
import re

import torch

INCLUDE = os.path.join(os.path.dirname(torch.__file__), "include")
API = os.path.join(INCLUDE, "torch/csrc/api/include/torch")
HERE = os.path.dirname(os.path.abspath(__file__))


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.M)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


def headers(*folders):
    for folder in folders:
        if os.path.isfile(folder):
            yield folder
            continue
        for parent, _, files in sorted(os.walk(folder)):
            yield from (os.path.join(parent, name) for name in sorted(files) if name.endswith(".h"))


def without_namespaces(text, names):
    """The text without the bodies of these namespaces."""
    for match in reversed(list(re.finditer(r"namespace\s+(\w+(?:::\w+)*)\s*\{", text))):
        if match.group(1).split("::")[-1] not in names:
            continue
        depth, i = 1, match.end()
        while depth and i < len(text):
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            i += 1
        text = text[:match.start()] + text[i:]
    return text


def body_of(text, pattern):
    match = re.search(pattern, text)
    start = text.index("{", match.end() - 1)
    depth, i = 1, start + 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
    return text[start + 1:i - 1]


def declarations(body):
    """The text outside of nested braces: declarations without function bodies."""
    depth, out = 0, []
    for c in body:
        if c == "}":
            out.append("{};" if depth == 1 else "")
            depth = max(0, depth - 1)  # the end of a namespace, whose beginning was removed
        elif c == "{":
            depth += 1
        elif depth == 0:
            out.append(c)
    return "".join(out)


def public_part(body, is_class):
    out, public = [], not is_class
    for line in body.splitlines():
        access = re.match(r"\s*(public|private|protected)\s*:", line)
        if access:
            public = access.group(1) == "public"
        elif public:
            out.append(line)
    return "\n".join(out)


def function_names(text):
    return re.findall(r"[\w>&*\])]\s+[&*]*\s*([A-Za-z]\w*)\s*\(", declarations(text))


def methods(path, pattern, is_class=True):
    return function_names(public_part(body_of(text_of(path), pattern), is_class))


def types(path):
    """The classes and aliases in the header's namespaces, without those inside classes."""
    text = declarations(declarations_in_namespace(path))
    names = re.findall(r"(?:class|struct)\s+(?:C10_API\s+|TORCH_API\s+)?(\w+)\s*(?:final\s*)?(?::[^:{;]*)?\{", text)
    names += re.findall(r"(?:class|struct)\s+(?:C10_API\s+|TORCH_API\s+)?(\w+)\s+(?:final\s*)?:\s*[^:{;]", text)
    return names + re.findall(r"\busing\s+(\w+)\s*=", text)


def modules():
    names = []
    for path in headers(f"{API}/nn/modules"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        names += [n for n in re.findall(r"^TORCH_MODULE(?:_IMPL)?\((\w+)", text, flags=re.M)]
    container = f"{API}/nn/modules/container"
    for path in headers(container):
        names += [n for n in types(path) if not n.endswith("Impl")]
    return names + ["Module", "Cloneable", "ModuleHolder"]


def read():
    ops = []
    for path in headers(f"{INCLUDE}/ATen/ops"):
        if not re.search(r"_(ops|native|dispatch|meta)\.h$", path) and "compositee" not in path:
            ops += re.findall(r"^inline\s+[^=;{}()]*?\b(\w+)\s*\(", text_of(path), flags=re.M)
    tensor = methods(f"{INCLUDE}/ATen/core/TensorBody.h", r"class TORCH_API Tensor\s*:\s*public TensorBase\s*\{")
    tensor += methods(f"{INCLUDE}/ATen/core/TensorBase.h", r"class TORCH_API TensorBase\s*\{")
    options, func_options = [], []
    for path in headers(f"{API}/nn/options"):
        text = text_of(path)
        func = re.findall(r"\b(\w+FuncOptions)\b", text)
        func_options += func
        options += [n for n in types(path) if n.endswith("Options") and n not in func]
    functional = []
    for path in headers(f"{API}/nn/functional"):
        functional += function_names(declarations_in_namespace(path))
    optim = [n for p in headers(f"{API}/optim") for n in types(p)]
    data = {}
    for space, folders in {"data": ["data/dataloader", "data/dataloader.h", "data/dataloader_options.h",
                                    "data/example.h", "data/iterator.h", "data/worker_exception.h"],
                           "data::datasets": ["data/datasets"], "data::samplers": ["data/samplers"],
                           "data::transforms": ["data/transforms"]}.items():
        data[space] = [n for f in folders for p in headers(f"{API}/{f}")
                       for n in types(p)]
    data["data"] += ["make_data_loader"]
    init = function_names(declarations_in_namespace(f"{API}/nn/init.h"))
    utils = [n for p in ("clip_grad", "convert_parameters")
             for n in function_names(declarations_in_namespace(f"{API}/nn/utils/{p}.h"))]
    rnn = function_names(declarations_in_namespace(f"{API}/nn/utils/rnn.h")) + ["PackedSequence"]
    module = methods(f"{API}/nn/module.h", r"class TORCH_API Module\s*:[^{]*\{")
    scalar_types = ["kByte", "kChar", "kShort", "kInt", "kLong", "kHalf", "kFloat", "kDouble", "kBool", "kBFloat16",
                    "kUInt8", "kInt8", "kInt16", "kInt32", "kInt64", "kFloat16", "kFloat32", "kFloat64"]
    with open(f"{API}/enum.h", encoding="utf-8") as file:
        enums = re.findall(r"TORCH_ENUM_DECLARE\((\w+)\)", file.read())
    core = scalar_types + [f"k{n}" for n in enums]
    core += ["kCPU", "kCUDA", "kStrided", "kSparse", "Tensor", "TensorOptions", "Device", "DeviceType", "DeviceIndex",
             "Dtype", "ScalarType", "Scalar", "IntArrayRef", "ArrayRef", "TensorList", "MemoryFormat", "Layout",
             "Generator", "NoGradGuard", "AutoGradMode", "InferenceMode", "OrderedDict", "optional", "nullopt",
             "manual_seed", "set_num_threads", "get_num_threads", "set_num_interop_threads", "save", "load",
             "pickle_save", "pickle_load", "dtype", "device", "requires_grad", "layout", "from_blob", "tensor", "str",
             "get_default_dtype", "set_default_dtype", "get_default_dtype_as_scalartype", "promote_types",
             "result_type", "can_cast", "isIntegralType", "isFloatingType", "elementSize", "toString", "Error",
             "IndexError", "Half", "BFloat16", "IValue", "Storage", "TensorAccessor", "PackedTensorAccessor32",
             "PackedTensorAccessor64", "GenericPackedTensorAccessor", "enumtype", "ExpandingArray", "init_num_threads"]
    core += function_names(declarations_in_namespace(f"{INCLUDE}/torch/csrc/autograd/generated/variable_factories.h"))
    places = {
        "Tensor": tensor, "torch": core + ops, "nn": modules() + options, "nn::Module": module,
        "nn::functional": functional + func_options, "nn::init": init, "nn::utils": utils, "nn::utils::rnn": rnn, "optim": optim, **data,
        "autograd": ["Variable", "variable_list", "Function", "AutogradContext", "backward", "grad", "GradMode",
                     "AutoGradMode", "Node", "Edge", "edge_list", "SavedVariable", "profiler"],
        "cuda": ["is_available", "device_count", "cudnn_is_available", "manual_seed", "manual_seed_all",
                 "synchronize"],
        "indexing": ["Slice", "Ellipsis", "None", "TensorIndex"],
        "serialize": ["InputArchive", "OutputArchive"],
        "special": function_names(declarations_in_namespace(f"{API}/special.h")),
    }
    return {place: sorted({n for n in names if not hidden(n)}) for place, names in places.items()}


def declarations_in_namespace(path):
    """Top-level declarations of a header, without namespaces that hold details."""
    text = without_namespaces(text_of(path), {"detail", "impl", "enumtype"})
    text = re.sub(r"(?:inline\s+)?namespace\s+[\w:]*\s*\{", "", text)
    return re.sub(r'extern\s+""\s*\{', "", text)


def hidden(name):
    return (name.startswith("_") or name.endswith(("_backward", "_backward_data", "_backward_input", "_out", "_outf",
            "_symint", "_backward_weight", "_backward_bias", "Impl", "Base", "_double_backward", "_backward_reduce",
            "_backward_elemt", "_jvp", "_factories", "_forward")) or name in KEYWORDS)


KEYWORDS = {"C10_DEPRECATED_MESSAGE", "return", "if", "for", "while", "switch", "sizeof", "decltype", "TORCH_ARG", "static_assert", "noexcept",
            "TORCH_CHECK", "operator", "defined", "explicit", "TORCH_INTERNAL_ASSERT", "FORWARD_HAS_DEFAULT_ARGS",
            "TORCH_OPTIM_FUNCTOR_OPTIONS", "alignas"} - {"defined"}


if __name__ == "__main__":
    names = read()
    with open(os.path.join(HERE, "names.json"), "w", encoding="utf-8") as file:
        json.dump({"version": torch.__version__, "names": names}, file, indent=0)
        file.write("\n")
    for place, found in names.items():
        print(place, len(found))
