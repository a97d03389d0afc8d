#!/usr/bin/env python3
"""Writes names.json: the public names in libtorch's headers, by the place where a program writes them; and
compat/headers.txt: the headers that programs include; and parameters.txt: the parameters of the functions and methods,
a line for each name, as a caller writes them; and compat/torch/tandem_names.h: the names of tandem that libtorch has.

Usage: .venv-torch/bin/python tests/libtorch/read_names.py     (scripts/torch_venv.sh installs PyTorch; needs clang++)
Names of implementation details (detail namespaces, leading underscores, backward and out variants) are left out here;
which of the others tandem leaves out, and why, stands in check_names.py.
"""
import json
import os
import re
import subprocess
import tempfile
import textwrap

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


# How a caller writes arguments of these types: values instead of optional ones, literals, and names of enumerators.
ARGUMENTS = [(r"^const (.*?) ?&$", r"\1"), (r"^(?:::)?std::optional<(.*)>$", r"\1"), (r"^at::Optional(IntArrayRef)$", r"\1"),
             (r"^(at::|c10::|::std::|std::)", ""), (r"^ITensorListRef$", "TensorList"), (r"^string_view$", "text"),
             (r"^initializer_list", "std::initializer_list"), (r"^TensorBase$", "Tensor"), (r"^Tensor ?&$", "Tensor&")]
# Types of overloads that programs do not call: symbolic sizes, names of dimensions, options one by one, internals.
UNCALLED = r"SymInt|Dimname|DispatchKey|List<|Stream|Quantizer|TensorImpl|Layout|Storage|Deleter|Backend|T&&|void|TypeMeta"


def split_parameters(text):
    depth, parts = 0, [""]
    for c in text:
        depth += {"<": 1, "(": 1, "{": 1, ">": -1, ")": -1, "}": -1}.get(c, 0)
        parts[-1] += c
        if c == "," and depth == 0:
            parts[-1] = parts[-1][:-1]
            parts.append("")
    return [p.split("=")[0].strip() for p in parts if p.strip()]


def argument(parameter):
    kind, name = re.match(r"(.*?)\s*(\w*)$", parameter).groups()
    if name == "reduction":
        return "reduction"
    for pattern, text in ARGUMENTS:
        kind = re.sub(pattern, text, kind)
    return kind.replace("at::", "").replace("c10::", "")


def parameters(names):
    """{place and name: lists of arguments}."""
    found = []
    for path in headers(f"{INCLUDE}/ATen/ops", f"{INCLUDE}/torch/csrc/autograd/generated/variable_factories.h"):
        if not re.search(r"_(ops|native|dispatch)\.h$", path):
            found += [("torch", *m) for m in re.findall(
                r"^inline\s+[^;{}()]*?\b(\w+)\s*\(([^{};]*)\)\s*\{", text_of(path), flags=re.M)]
    for header in ("TensorBase", "TensorBody"):
        found += [("Tensor", *m) for m in re.findall(
            r"^  (?:inline )?[\w:&<>,* ]+? &?(\w+)\(([^{};]*)\)\s*const\s*&?\s*(?:;|\{|noexcept)",
            text_of(f"{INCLUDE}/ATen/core/{header}.h"), flags=re.M)]
    lists = {}
    for place, name, text in found:
        if name in names[place] and not re.search(UNCALLED, text) and not re.fullmatch(r"(packed_)?accessor\w*", name):
            lists.setdefault(f"{place}::{name}", set()).add(", ".join(argument(p) for p in split_parameters(text)))
    return lists


# Folders of libtorch's headers that no program for its public interface includes.
INTERNAL = (r"ATen/(native|cpu|hip|mps|miopen|mkl|xpu|nnapi|functorch|templates|test)/|"
            r"ATen/ops/(_(?!cast_)|.*_(backward|ops|native|dispatch|meta)\.h)|c10/(hip|xpu|mobile|test)/|"
            r"torch/csrc/(acc|dynamo|export|functionalization|functorch|fx|inductor|instruction_counter|itt|lazy|monitor|"
            r"mps|mtia|multiprocessing|onnx|python_|shim_|stable|xpu|copy_utils|TH|Py)|"
            r"torch/csrc/jit/(backends|codegen|mobile|operator_upgraders|python|tensorexpr|testing|passes/.*/|"
            r"runtime/static)|torch/csrc/(distributed/(autograd|rpc|c10d/.*)|profiler/.*)/")


def header_list():
    """Lines of `folder: names`. Names without an extension end in .h."""
    paths = [os.path.relpath(os.path.join(folder, name), INCLUDE) for root in ("ATen", "c10", "torch")
             for folder, _, names in os.walk(os.path.join(INCLUDE, root)) for name in names
             if name.endswith((".h", ".hpp"))]
    paths += [f"torch/{os.path.relpath(path, API)}" for path in headers(API)]  # both are on the include path
    folders = {}
    for path in sorted(set(paths)):
        if not re.match(INTERNAL, path) and path != "torch/torch.h":
            folders.setdefault(os.path.dirname(path), []).append(re.sub(r"\.h$", "", os.path.basename(path)))
    return [f"{folder}: {line}" for folder, names in folders.items()
            for line in textwrap.wrap(" ".join(names), 118 - len(folder), break_on_hyphens=False)]


# Namespaces of tandem that have namespaces which programs extend; compat/torch/torch.h names those.
LISTED = {"names": "", "data_names": "data::", "nn_names": "nn::", "utils_names": "nn::utils::"}


def compile_lines(lines, *flags):
    """What the compiler prints about a file of these lines, and what it prints about its faults."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        run = subprocess.run(["clang++", "-std=c++20", "-fsyntax-only", "-ferror-limit=0", *flags, path],
                             capture_output=True, text=True)
    return run.stdout, run.stderr


def shared_names():
    """{name in LISTED: the names in that namespace of tandem that libtorch has, too, without those of namespaces}."""
    out, _ = compile_lines([f'#include "tandem/{h}.h"' for h in (
        "amp/tools", "autograd/function", "base/assert", "data/data", "io/io", "ops/in_place", "ops/special",
        "optim/optim", "tandem")], "-I", os.path.join(HERE, "../../include"), "-Xclang", "-ast-list")
    own = set(out.split("\n"))
    spaces = {name.rsplit("::", 1)[0] for name in own}
    asked = [(list_, name.group(1)) for list_, space in LISTED.items() for line in sorted(own - spaces)
             for name in [re.fullmatch(f"tandem::{space}([A-Za-z_]\\w*)", line)] if name]
    # A class is a "namespace" above, too: its members are named after it.
    asked += [(list_, name.group(1)) for list_, space in LISTED.items() for line in sorted(own & spaces)
              for name in [re.fullmatch(f"tandem::{space}([A-Z]\\w*)", line)] if name]
    lines, places = ["#include <torch/torch.h>"], {}
    for list_, name in asked:
        for space in ("torch", "at", "c10") if list_ == "names" else (f"torch::{LISTED[list_][:-2]}",):
            lines.append(f"namespace in{len(lines)} {{ using {space}::{name}; }}")
            places[len(lines)] = (list_, name)
    _, faults = compile_lines(lines, "-isystem", INCLUDE, "-isystem", os.path.dirname(API))
    absent = {int(n) for n in re.findall(r"lines\.cpp:(\d+):\d+: error:", faults)}
    found = {list_: set() for list_ in LISTED}
    for line, (list_, name) in places.items():
        if line not in absent:
            found[list_].add(name)
    return found


def names_header():
    lines = ["#pragma once", "// The names of tandem that libtorch has, without namespaces. Written by "
             "tests/libtorch/read_names.py.", "namespace tandem::libtorch {"]
    for list_, names in shared_names().items():
        using = ", ".join(f"tandem::{LISTED[list_]}{name}" for name in sorted(names))
        lines += [f"namespace {list_} {{", *textwrap.wrap(f"using {using};", 120, subsequent_indent="    "), "}"]
    return lines + ["}  // namespace tandem::libtorch"]


if __name__ == "__main__":
    names, header = read(), names_header()
    with open(os.path.join(HERE, "../../compat/torch/tandem_names.h"), "w", encoding="utf-8") as file:
        file.write("\n".join(header) + "\n")
    with open(os.path.join(HERE, "names.json"), "w", encoding="utf-8") as file:
        json.dump({"version": torch.__version__, "names": names}, file, indent=0)
        file.write("\n")
    with open(os.path.join(HERE, "../../compat/headers.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(header_list()) + "\n")
    with open(os.path.join(HERE, "parameters.txt"), "w", encoding="utf-8") as file:
        for name, lists in sorted(parameters(names).items()):
            file.write(f"{name}: {' | '.join(sorted(lists))}\n")
    for place, found in names.items():
        print(place, len(found))
