#!/usr/bin/env python3
"""Checks the layers: a file includes only its own row of the table below and rows above it.

    row  folder                                                    never sees
    1    base/                                                     CUDA, oneDNN, tensors
    2    math/                                                     tensors
    3    tensor/, backend.h                                        autograd, amp
    4    cuda/                                                     kernels; only kernels/cuda and kernels/none see cuda/
    5    kernels/                                                  ops, autograd, amp, nn; nothing includes kernels
    6    amp/{policy,autocast,thread_context,custom_*}, autograd/  ops
    7    ops/                                                      vendor headers, #if on CUDA
    8    nn/, optim/                                               each other
    9    the rest of amp/, data/, io/, distributed/, nn/parallel/, optim/zero_redundancy_*

include/tandem/X.h, src/X.cpp and all other files with the relative path X are in the same row. Further rules:
  - fmt is included only by .cpp and -inl.h files, and by base/check.h, which only such files include: nvcc cannot
    compile fmt 9.1;
  - outside kernels/cuda, kernels/none and cuda/ itself, no file names anything of the namespace cuda: the library reaches
    its device through tensor/accelerator.h, and cuda/ is for programs;
  - vendor headers (CUDA, oneDNN, NCCL, MPI) are included only in kernels/ and src/distributed/;
  - X-inl.h is included by .cpp and other -inl.h files, or by ops/bodies.h inside #ifdef TANDEM_HEADER_ONLY_OPS;
  - no file includes the umbrella tandem/tandem.h or uses #if on TANDEM_CUDA;
  - a public header (in include/, not -inl.h) has all its declarations, and no #include of another header, between
    #pragma GCC visibility push(default) and #pragma GCC visibility pop: a shared library exports nothing else. Other
    files have no such pragma.

Usage: check_layers.py [--root FOLDER] [--self-test]
"""
import argparse
import os
import re
import sys
import tempfile

# Files that may include headers of lower rows, with the row they count as and the reason.
EXCEPTIONS = {
    "src/tensor/tensor_methods.cpp": (7, "Tensor's member functions forward to the free functions of ops/"),
    "autograd/gradcheck": (9, "a checking tool built from ops; the engine does not include it"),
}

UMBRELLA = 10
LOW_AMP = {"policy", "policy_overrides", "autocast", "autocast_off", "cast_cache", "gradient_dtype", "thread_context", "custom_op",
           "custom_function"}
FOLDER_ROWS = {"base": 1, "math": 2, "tensor": 3, "cuda": 4, "autograd": 6, "ops": 7, "nn": 8, "optim": 8}
ROW_NAMES = {1: "base", 2: "math", 3: "tensor", 4: "cuda", 5: "kernels", 6: "autograd", 7: "ops", 8: "nn/optim", 9: "row 9",
             10: "the umbrella"}
VENDOR = re.compile(
    r"^(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cub/|thrust/|nv|cooperative_groups|mma\.h|device_launch|"
    r"math_constants\.h|dnnl|oneapi/|nccl|mpi\.h|omp-tools)")
EXTENSIONS = (".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
CUDA_NAME = re.compile(r"\bcuda::\w*|\bnamespace\s+(?:tandem::)?cuda\b")
DIRECTIVE = re.compile(r"^\s*#\s*(\w+)\s*(.*)$")
INCLUDE = re.compile(r'^([<"])([^>"]+)[>"]')


def stem_of(path):
    """Returns the path without root folder, extension and -inl: src/ops/x.cpp and its headers are ops/x."""
    for root in ("include/tandem/", "src/"):
        if path.startswith(root):
            path = path[len(root):]
            break
    path = os.path.splitext(path)[0]
    return path[: -len("-inl")] if path.endswith("-inl") else path


def row_of(path):
    """Returns the row of a file in the repository."""
    if path.startswith("kernels/"):
        return 5
    stem = stem_of(path)
    for key in (path, stem):
        if key in EXCEPTIONS:
            return EXCEPTIONS[key][0]
    if stem == "tandem":
        return UMBRELLA
    if stem == "backend":
        return 3
    folder, _, name = stem.partition("/")
    if folder == "amp" and name in LOW_AMP:
        return 6
    if stem.startswith(("nn/parallel/", "optim/zero_redundancy_")):
        return 9
    return FOLDER_ROWS.get(folder, 9)


def folder_of(path):
    return stem_of(path).partition("/")[0]


def may_see_cuda(path):
    return path.startswith(("kernels/cuda/", "kernels/none/")) or folder_of(path) == "cuda"


def is_source(path):
    return path.endswith((".cpp", ".cc"))


def resolve(root, path, quote, name):
    """Returns the file in the repository that an include refers to, or None for an external file."""
    if name.startswith("tandem/"):
        return "include/" + name
    candidates = [name]
    if quote == '"':
        candidates.insert(0, os.path.normpath(os.path.join(os.path.dirname(path), name)))
        candidates.append("src/" + name)
        candidates.append("include/tandem/" + name)
    for candidate in candidates:
        if candidate.startswith(("include/", "src/", "kernels/")) and os.path.isfile(os.path.join(root, candidate)):
            return candidate
    if name.startswith(("kernels/", "src/", "include/")):
        return name
    return None


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r"(^|\s)//[^\n]*", r"\1", text)


def check_include(root, path, quote, name, conditions):
    """Yields a message for each rule that an include breaks."""
    in_kernels = path.startswith("kernels/")
    if name.startswith("fmt/") or name == "fmt.h":
        if not (is_source(path) or path.endswith("-inl.h") or path == "include/tandem/base/check.h"):
            yield f"includes <{name}>: fmt stays in .cpp and -inl.h files (and base/check.h)"
        return
    target = resolve(root, path, quote, name)
    if target is None:
        if VENDOR.match(name) and not (in_kernels or path.startswith("src/distributed/")):
            yield f"includes the vendor header <{name}>: those stay in kernels/ and src/distributed/"
        return
    if target.startswith("kernels/"):
        if not in_kernels:
            yield f"includes {target}: nothing outside kernels/ includes kernels"
        elif target.count("/") > 1 and target.split("/")[1] != path.split("/")[1]:
            yield f"includes {target}: the backends do not include each other"
        return
    if target == "include/tandem/base/check.h" and not (is_source(path) or path.endswith("-inl.h")):
        yield "includes base/check.h (and so fmt): only .cpp and -inl.h files may"
    if target.endswith("-inl.h"):
        guarded = any("TANDEM_HEADER_ONLY_OPS" in c for c in conditions)
        listed = guarded and path == "include/tandem/ops/bodies.h"
        if not (is_source(path) or path.endswith("-inl.h") or listed):
            yield (f"includes {target}: -inl.h files are for .cpp and other -inl.h files, "
                   "or for ops/bodies.h inside #ifdef TANDEM_HEADER_ONLY_OPS")
    row, target_row = row_of(path), row_of(target)
    if target_row == UMBRELLA:
        yield "includes the umbrella header: the library includes what it uses"
    elif target_row > row:
        yield f"is in row {row} ({ROW_NAMES[row]}) and includes {target} of row {target_row} ({ROW_NAMES[target_row]})"
    elif folder_of(target) == "cuda" and not may_see_cuda(path):
        yield f"includes {target}: cuda/ is for programs; use tensor/accelerator.h, tensor/stream.h"
    elif {folder_of(path), folder_of(target)} == {"nn", "optim"}:
        yield f"includes {target}: nn and optim do not include each other"


def check_file(root, path):
    """Yields the messages for one file, each with its line."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = strip_comments(file.read())
    conditions = []
    for number, line in enumerate(text.splitlines(), 1):
        match = DIRECTIVE.match(line)
        if not match:
            name = CUDA_NAME.search(STRING.sub('""', line))
            if name and not may_see_cuda(path):
                yield number, f"names {name.group()}: use tensor/accelerator.h, tensor/stream.h"
            continue
        word, rest = match.groups()
        if word in ("if", "ifdef", "ifndef"):
            conditions.append(rest if word != "ifndef" else "")
        elif word in ("else", "elif") and conditions:
            conditions[-1] = ""
        elif word == "endif" and conditions:
            conditions.pop()
        if word in ("if", "ifdef", "ifndef", "elif"):
            # __CUDACC__ in base/ and math/ only makes a function compile for host and device. Code must not switch on
            # the backend: CMake selects other files instead.
            switches = r"TANDEM_(HAS_|WITH_|USE_)?CUDA\b"
            if row_of(path) == 7:
                switches += r"|__CUDACC__|__CUDA_ARCH__|__NVCC__"
            if not path.startswith("kernels/") and re.search(switches, rest):
                yield number, f"#{word} {rest.strip()}: no #if on CUDA here"
        elif word == "include":
            include = INCLUDE.match(rest)
            if include:
                for message in check_include(root, path, include.group(1), include.group(2), conditions):
                    yield number, message


VISIBILITY = re.compile(r"\s*#\s*pragma\s+GCC\s+visibility\s+(push|pop)\b")


def check_visibility(root, path):
    """Yields the messages on the visibility of a file's declarations, each with its line."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = strip_comments(file.read())
    public = path.startswith("include/") and path.endswith(".h") and not path.endswith("-inl.h")
    pushes = []
    outside = None
    continues = False
    for number, line in enumerate(text.splitlines(), 1):
        in_macro, continues = continues, line.endswith("\\")
        if in_macro or not line.strip():
            continue
        pragma = VISIBILITY.match(line)
        if pragma and not public:
            yield number, "has a visibility pragma: only public headers (not -inl.h) export"
            return
        if pragma and pragma.group(1) == "push":
            pushes.append(number)
        elif pragma and not pushes:
            yield number, "visibility pop without push"
        elif pragma:
            pushes.pop()
        elif pushes and re.match(r"\s*#\s*include\b(?!.*\.inc\b)", line):
            yield number, "#include after visibility push: it would export what that header declares"
        elif public and not pushes and not line.lstrip().startswith("#"):
            outside = outside or number
    if pushes:
        yield pushes[0], "visibility push without pop"
    if outside:
        yield outside, ("declaration outside of '#pragma GCC visibility push(default)' and 'pop': "
                        "a shared library does not export it")


def sources(root):
    for top in ("include", "src", "kernels"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(EXTENSIONS):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def check(root):
    """Returns (number of files, messages)."""
    messages = []
    count = 0
    for path in sources(root):
        count += 1
        if path == "include/tandem/tandem.h":
            continue
        for line, message in (*check_file(root, path), *check_visibility(root, path)):
            messages.append(f"{path}:{line}: {message}")
    return count, messages


PUSH, POP = "#pragma GCC visibility push(default)\n", "#pragma GCC visibility pop\n"
# Breaks each rule once: the file, its text, and a part of the message, or None if there must be no message.
SELF_TEST = [
    ("include/tandem/base/a1.h", "#include <tandem/tensor/tensor.h>\n", "row 1 (base)"),
    ("include/tandem/base/a2.h", "#include <tandem/base/dtype.h>\n", None),
    ("include/tandem/base/a3.h", "#include <fmt/format.h>\n", "fmt stays"),
    ("include/tandem/base/check.h", "#include <fmt/format.h>\n", None),
    ("src/base/a4.cpp", "#include <fmt/format.h>\n#include <tandem/base/check.h>\n", None),
    ("include/tandem/math/b1.h", '#include "tandem/ops/softmax.h"\n', "row 2 (math)"),
    ("include/tandem/math/b2.h", '#include "../ops/softmax.h"\n', "row 2 (math)"),
    ("include/tandem/ops/bodies.h", "#ifdef TANDEM_HEADER_ONLY_OPS\n#include <tandem/ops/softmax-inl.h>\n#endif\n", None),
    ("include/tandem/ops/softmax.h", "#ifdef TANDEM_HEADER_ONLY_OPS\n#include <tandem/ops/softmax-inl.h>\n#endif\n",
     "-inl.h files are for"),
    ("include/tandem/ops/softmax-inl.h", "#include <fmt/core.h>\n#include <tandem/autograd/apply.h>\n", None),
    ("include/tandem/ops/c1.h", "#include <tandem/ops/softmax-inl.h>\n", "-inl.h files are for"),
    ("include/tandem/ops/c2.h", "#ifdef TANDEM_HEADER_ONLY_OPS\n#else\n#include <tandem/ops/c2-inl.h>\n#endif\n",
     "-inl.h files are for"),
    ("include/tandem/ops/c3.h", "#if defined(__CUDACC__)\n#endif\n", "no #if on CUDA"),
    ("include/tandem/base/c4.h", "#if defined(__CUDACC__)\n#endif\n", None),
    ("include/tandem/tensor/c5.h", "#ifdef TANDEM_CUDA\n#endif\n", "no #if on CUDA"),
    ("src/ops/c6.cpp", "#include <cuda_runtime.h>\n", "vendor header"),
    ("src/ops/softmax.cpp", "#include <tandem/ops/softmax-inl.h>\n", None),
    ("include/tandem/tensor/d1.h", "#include <tandem/base/check.h>\n", "base/check.h"),
    ("include/tandem/tensor/d2.h", "#include <tandem/amp/autocast.h>\n", "row 3 (tensor)"),
    ("src/tensor/tensor_methods.cpp", "#include <tandem/ops/softmax.h>\n", None),
    ("src/tensor/d3.cpp", "#include <tandem/ops/softmax.h>\n", "row 3 (tensor)"),
    ("include/tandem/cuda/stream.h", "#include <tandem/tensor/tensor.h>\n" + PUSH + "namespace tandem::cuda {}\n" + POP, None),
    ("include/tandem/cuda/d4.h", "#include <tandem/ops/softmax.h>\n", "row 4 (cuda)"),
    ("src/tensor/d5.cpp", "#include <tandem/cuda/stream.h>\n", "row 3 (tensor)"),
    ("include/tandem/amp/d6.h", "#include <tandem/cuda/stream.h>\n", "cuda/ is for programs"),
    ("kernels/cpu/d7.cpp", "#include <tandem/cuda/stream.h>\n", "cuda/ is for programs"),
    ("kernels/cuda/d8.cpp", "#include <tandem/cuda/stream.h>\nnamespace tandem::cuda {}\n", None),
    ("kernels/none/d9.cpp", "#include <tandem/cuda/stream.h>\nnamespace tandem::cuda {}\n", None),
    ("src/optim/d10.cpp", "void f() { cuda::synchronize(); }\n", "names cuda::synchronize"),
    ("include/tandem/data/d11.h", PUSH + "namespace cuda {\nclass Event;\n}\n" + POP, "names namespace cuda"),
    ("src/optim/d12.cpp", 'x.cuda();  // cuda::f\nconst char* hint = "call cuda::synchronize()";\n', None),
    ("kernels/cpu/e1.cpp", "#include <dnnl.hpp>\n#include <tandem/backend.h>\n#include <tandem/base/check.h>\n", None),
    ("kernels/cpu/e2.cpp", "#include <tandem/ops/softmax.h>\n", "row 5 (kernels)"),
    ("kernels/cpu/e3.h", "// helpers\n", None),
    ("kernels/e9.h", "// what both backends share\n", None),
    ("kernels/cuda/e9.cu", '#include "kernels/e9.h"\n', None),
    ("kernels/cuda/e4.cu", '#include <tandem/base/check.h>\n', "base/check.h"),
    ("kernels/cuda/e5.cu", '#include "kernels/cpu/e3.h"\n', "do not include each other"),
    ("src/tensor/e6.cpp", '#include "kernels/cpu/e3.h"\n', "nothing outside kernels/"),
    ("include/tandem/autograd/f1.h", "#include <tandem/ops/softmax.h>\n", "row 6 (autograd)"),
    ("include/tandem/autograd/f2.h", "#include <tandem/amp/policy.h>\n", None),
    ("include/tandem/autograd/f3.h", "#include <tandem/amp/grad_scaler.h>\n", "row 6 (autograd)"),
    ("src/autograd/gradcheck.cpp", "#include <tandem/ops/softmax.h>\n", None),
    ("include/tandem/nn/g1.h", "#include <tandem/ops/softmax.h>\n#include <tandem/optim/sgd.h>\n", "nn and optim"),
    ("include/tandem/optim/g2.h", "#include <tandem/amp/grad_scaler.h>\n", "row 8 (nn/optim)"),
    ("include/tandem/distributed/g3.h", "#include <tandem/tensor/tensor.h>\n", None),
    ("src/optim/g4.cpp", "#include <tandem/distributed/g3.h>\n", "row 8 (nn/optim)"),
    ("src/nn/parallel/g5.cpp", "#include <tandem/distributed/g3.h>\n", None),
    ("src/optim/zero_redundancy_g6.cpp", "#include <tandem/distributed/g3.h>\n#include <tandem/optim/g2.h>\n", None),
    ("src/optim/zero_redundancy_g7.cpp", "#include <tandem/nn/g1.h>\n", "nn and optim"),
    ("include/tandem/amp/grad_scaler.h", "#include <tandem/optim/optimizer.h>\n", None),
    ("include/tandem/data/h1.h", "#include <tandem/tandem.h>\n", "the umbrella"),
    ("include/tandem/tandem.h", "#include <tandem/cuda/stream.h>\n#include <tandem/nn/g1.h>\n", None),
    ("src/data/h2.cpp", "/* #include <cuda.h> */\n// #include <cuda.h>\n#include <zlib.h>\n", None),
    ("src/distributed/h3.cpp", "#include <nccl.h>\n", None),
    ("include/tandem/io/i1.h", f"#include <string>\n#define F(x) \\\n  f(x)\n{PUSH}namespace tandem {{}}\n{POP}", None),
    ("include/tandem/io/i2.h", "#include <string>\nnamespace tandem {}\n", "declaration outside of"),
    ("include/tandem/io/i3.h", f"{PUSH}namespace tandem {{}}\n{POP}struct S;\n", "declaration outside of"),
    ("include/tandem/io/i4.h", f'{PUSH}#include "list.inc"\n#include <string>\n{POP}',
     "#include after visibility push"),
    ("include/tandem/io/i5.h", f"{PUSH}namespace tandem {{}}\n", "push without pop"),
    ("include/tandem/io/i6.h", POP, "pop without push"),
    ("include/tandem/io/i7.h", f"{PUSH}namespace tandem {{\n{PUSH}void f();\n{POP}}}\n{POP}", None),
    ("include/tandem/io/i8-inl.h", "namespace tandem {}\n", None),
    ("src/io/i9.h", f"{PUSH}namespace tandem {{}}\n{POP}", "only public headers"),
]


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in SELF_TEST:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        _, messages = check(root)
    for path, _, expected in SELF_TEST:
        mine = [m for m in messages if m.startswith(path + ":")]
        if expected is None and mine:
            failures.append(f"{path}: expected nothing, got {mine}")
        if expected is not None and not (len(mine) == 1 and expected in mine[0]):
            failures.append(f"{path}: expected one message with '{expected}', got {mine}")
    for failure in failures:
        print(failure)
    print(f"layers self-test: {len(SELF_TEST)} cases, {len(failures)} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    count, messages = check(args.root)
    for message in messages:
        print(message)
    print(f"layers: {count} files, {len(messages)} violations")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
