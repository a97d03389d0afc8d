#!/usr/bin/env python3
"""Compares docs/libtorch_names.md with the names that tandem has, and checks that no name went missing.

Usage: tests/libtorch/check_names.py [--update] COMPILER [FLAGS...]     --update writes the page
The compiler says which of the names in names.json (read_names.py makes it) compat/torch/torch.h has: a file with one
using-declaration per name is compiled, and the lines with errors are the names that do not exist. The same is done with
a call for each list of parameters in parameters.txt.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/libtorch_names.md")

INCLUDES = ["torch/torch.h"]

# Names that tandem leaves out: a pattern of whole names, and the reason. Patterns for all places.
LEFT_OUT = [
    (r"(fft|stft|istft).*", "Fourier transforms"),
    (r"(linalg_(cholesky|cond|det|eig|householder|inv|ldl|lstsq|lu|matrix_(exp|rank|sqrth|power)|pinv|polar|qr|slogdet|"
     r"solve|svd|tensor(inv|solve)).*|cholesky.*|det|slogdet|logdet|geqrf|orm?gqr|ormqr|inverse|lu_.*|matrix_(exp|power)"
     r"|pinverse|svd|triangular_solve|nuclear_norm)", "matrix decompositions"),
    (r".*(quant(ize|iz)|qparams|q_per_channel|q_scale|q_zero|qscheme|int_repr|fbgemm).*", "quantisation"),
    (r".*(sparse|coalesce|csr|csc|bsr|bsc|crow_|ccol_|row_indices|col_indices).*|hspmm|sspaddmm|smm|indices|values|"
     r"indices_copy|values_copy|dense_dim|kSparse", "sparse tensors"),
    (r".*complex.*|chalf|conj.*|resolve_neg|angle|imag|polar|matrix_H", "complex numbers"),
    (r"(cudnn|miopen|mkldnn|thnn|slow_conv|native)_.*|to_mkldnn|.*_overrideable|conv_depthwise3d|convolution",
     "kernels of one backend; the plain name chooses"),
    (r"is_(hip|hpu|ipu|lazy|maia|meta|metal|mkldnn|mps|mtia|privateuseone|vulkan|ve|xla|xpu|distributed|fake)|hip|meta|"
     r"metal|ve|vulkan|is_vulkan_available|toBackend", "devices other than the CPU and CUDA"),
    (r".*nested.*|.*_copy|lift.*|sym_.*|.*_functional|to_padded_tensor|nonzero_static|slice_inverse|hash_tensor|"
     r"for_blob|noopDelete|unsafe.*|alias", "internals of tracing and compilation"),
    (r"(special_)?(airy_ai|bessel_.*|chebyshev_.*|hermite_.*|laguerre_.*|legendre_.*|modified_bessel_.*|"
     r"scaled_modified_.*|shifted_chebyshev_.*|spherical_bessel_.*|zeta|gammainc|gammaincc|i[01]e?|ndtri?|log_ndtr|"
     r"entr|erfcx|multigammaln|polygamma|xlog1py)|i0_?|igammac?_?|m?vlgamma_?|polygamma_?",
     "special functions beyond the gamma and error functions"),
    (r"getIntrusivePtr|unsafeReleaseIntrusivePtr|wrap_tensor_impl|key_set|C10_DEPRECATED_MESSAGE|"
     r"weak_use_count|is_uniquely_owned|tensor_data|variable_data|numpy_T|.*_or_false|has_storage|quantizer|"
     r"expect_contiguous|.*grad_dtype|is_same_size|share_memory_|(sym_)?constrain.*|is_inference|output_nr|enumtype|"
     r"kname",
     "internals of libtorch's Tensor"),
]


# Names that exist in another form: a pattern of `place::name`, and what to write instead.
DIFFERENT = [
    (r"torch::special_(\w+)", "`special::` and the name"),
    (r"torch::(uniform|cauchy|exponential|geometric|log_normal|random|fill|zero|resize|resize_as|set|as_strided_|copy|"
     r"rrelu_with_noise_?|embedding_renorm)", "the method of `Tensor`, or the function that returns a new tensor"),
    (r"torch::(grid_sampler_[23]d|nll_loss_nd|slow_conv3d|norm_except_dim|linalg__powsum|segment_reduce|"
     r"batch_norm_(elemt|gather_stats\w*|stats|update_stats)|fused_moving_avg_obs_fake_quant|empty_permuted|from_file|"
     r"(un)?flatten_dense_tensors|unique_dim_consecutive|k(GRU|LSTM|Mish|RNN_\w+|SiLU)|set_num_interop_threads)",
     "used by libtorch itself; the modules and functions built on it exist"),
    (r"Tensor::nonzero_numpy", "`unbind(nonzero(x), 1)`"),
    (r"nn::(Any(ModuleHolder|ModulePlaceholder|Value)|\w+PoolOptions|\w+PadOptions)",
     "`AnyModule` needs none; options exist for each number of dimensions"),
    (r"data::WorkerException", "the dataset's own exception, which a worker's thread passes on"),
    (r"data::datasets::Chunk\w+", "`data::datasets::StatefulDataset`, whose `get_batch()` reads the next chunk"),
    (r"nn::Module::is_serializable", "all modules are"),
    (r"autograd::(Edge|edge_list|SavedVariable|profiler)|torch::view_as_real|Tensor::(m|name|generic_packed_accessor|"
     r"as_strided_)", "`packed_accessor`; the rest is deprecated or internal"),
]


def reason_to_leave_out(place, name):
    full = f"{place}::{name}"
    reason = next((reason for pattern, reason in LEFT_OUT if re.fullmatch(pattern, name)), None)
    if reason:
        return "left out", reason
    instead = next((text for pattern, text in DIFFERENT if re.fullmatch(pattern, full)), None)
    return ("different", instead) if instead else ("missing", "")


# Lists of parameters that tandem lacks: a pattern, and what to write instead.
PARAMETERS = [
    (r"(addmm|baddbmm|bmm|mm)\(.*ScalarType.*", "Only CUDA has these in libtorch; `mm_out` and its kin write to an `out` of "
     "another dtype"),
    (r"upsample_\w+\(.*ArrayRef<double>\)", "`nn::functional::interpolate` takes the factors instead of the sizes"),
    (r"embedding_bag\(.*", "`nn::functional::embedding_bag`; tandem's function returns the sums only, without the three "
     "other tensors that libtorch's backward needs"),
    (r"rrelu_\(.*Generator\)", "`manual_seed` or a GeneratorGuard sets the random numbers of activations"),
    (r"gradient\(.*ArrayRef<Scalar>, int64_t, int64_t\)", "Ambiguous in libtorch, too, unless the dimension is an "
     "`std::optional<int64_t>`"),
    (r"Tensor::suggest_memory_format\(bool\)", "Always as with `false`"),
]


# What a call passes for the types of parameters.txt that are not types of tandem.
PRELUDE = """
using namespace torch;
using text = const char*;
constexpr Reduction::Reduction reduction_ = Reduction::Mean;
template <class T> T value();
void calls(Tensor& self) {
"""


def declarations(names):
    """Lines of C++, and for each line the (place, name) that it asks for."""
    lines = [f'#include "{header}"' for header in INCLUDES]
    asked = {}
    for number, (place, list_) in enumerate(names.items()):
        member = place in ("Tensor", "nn::Module")
        lines.append(f"struct In{number} : torch::{place} {{" if member else f"namespace in{number} {{")
        for name in list_:
            if member and name == place.split("::")[-1]:
                continue
            space = "torch" if place == "torch" else f"torch::{place}"
            lines.append(f"using {space}::{name};")
            asked[len(lines)] = (place, name)
        lines.append("};" if member else "}")
    return lines, asked


def unavailable_names():
    """The names that are declared only for a good error. A using-declaration of one compiles."""
    mark = re.compile(r'TANDEM_UNAVAILABLE\((?:"[^"]*"|\w+)\)\s*(?:inline constexpr \w+ |[\w:]+ )?(\w+)')
    found = set()
    for header, place in (("tensor/tensor.h", "Tensor"), ("left_out.h", None)):
        with open(os.path.join(HERE, "../../include/tandem", header), encoding="utf-8") as file:
            text = file.read()
        for match in mark.finditer(text):
            before = text[:match.start()]
            spaces = [a for a in re.findall(r"^namespace ([\w:]+) {", before, re.M)]
            for closed in re.findall(r"^}  // namespace ([\w:]+)", before, re.M):
                spaces.remove(closed)
            alias = re.search(r"using (\w+) $", before)
            space = place or "::".join(spaces).removeprefix("tandem").removeprefix("::") or "torch"
            found.add((space, alias.group(1) if alias else match.group(1)))
    return found


def lines_with_errors(lines, compiler):
    """The numbers of the lines that do not compile."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "names.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        all_errors = ["-ferror-limit=0"] if "clang" in compiler[0] else []
        result = subprocess.run([*compiler, *all_errors, "-fsyntax-only", path], capture_output=True, text=True,
                                env={**os.environ, "CCACHE_DISABLE": "1", "LC_ALL": "C"})
    at = {int(n) for n in re.findall(r"names\.cpp:(\d+):\d+: (?:fatal )?error:", result.stderr)}
    if result.returncode and not at:
        sys.exit(f"unexpected errors:\n{result.stderr[:4000]}")
    return at


def missing_names(names, compiler):
    lines, asked = declarations(names)
    return {asked[n] for n in lines_with_errors(lines, compiler)} | unavailable_names()


def other_parameters(missing, compiler):
    """Lists of parameters of names that tandem has, which it does not accept."""
    lines = [f'#include "{header}"' for header in INCLUDES] + PRELUDE.splitlines()
    asked = {}
    with open(os.path.join(HERE, "parameters.txt"), encoding="utf-8") as file:
        for line in file:
            full, lists = line.rstrip("\n").split(": ", 1)
            place, name = full.split("::")
            for types in lists.split(" | ") if (place, name) not in missing else []:
                values = ", ".join("reduction_" if t == "reduction" else f"value<{t}>()" for t in types.split(", ") if t)
                lines.append(f"(void)({'self.' if place == 'Tensor' else 'torch::'}{name}({values}));")
                asked[len(lines)] = f"{full}({types})".removeprefix("torch::")
    return [asked[n] for n in sorted(lines_with_errors([*lines, "}"], compiler))]


def page_of(data, missing, parameters):
    groups, rows = {}, []
    total = present = 0
    for place, names in data["names"].items():
        counts = {"present": 0, "different": 0, "left out": 0, "missing": 0}
        for name in names:
            kind, reason = reason_to_leave_out(place, name) if (place, name) in missing else ("present", "")
            counts[kind] += 1
            if kind != "present":
                groups.setdefault((kind, reason), []).append(f"{place}::{name}" if place != "torch" else name)
        rows.append(f"| `{place}` | " + " | ".join(str(counts[k]) for k in counts) + " |")
        present += counts["present"]
        total += counts["present"] + counts["different"] + counts["missing"]
    lines = [
        "# Names of libtorch", "",
        "Which of libtorch's public names tandem has, read from the headers of PyTorch "
        f"{data['version'].split('+')[0]}. For programs that are to move, see [libtorch.md](libtorch.md).", "",
        f"Of the names that are not left out, {100 * present // total} % are present: {present} of {total}.", "",
        "Generated: `tests/libtorch/check_names.py --update g++ -std=c++20 -Iinclude -Icompat`.", "",
        "| namespace or class | present | different | left out | missing |", "|---|---|---|---|---|", *rows, ""]
    for kind, title in (("different", "Different"), ("left out", "Left out"), ("missing", "Missing")):
        if any(k == kind for k, _ in groups):
            lines += [f"## {title}", ""]
        for (k, reason), names in sorted(groups.items()):
            if k == kind:
                lines += [(f"{reason[0].upper()}{reason[1:]}: " if reason else "") +
                          ", ".join(f"`{n}`" for n in names), ""]
    lines += ["## Parameters", "",
              "Parameters that functions and methods of these names have in libtorch only. `text` is a literal.", ""]
    for pattern, reason in PARAMETERS:
        lines += [f"{reason}: " + ", ".join(f"`{p}`" for p in parameters if re.fullmatch(pattern, p)), ""]
    unexplained = [p for p in parameters if not any(re.fullmatch(pattern, p) for pattern, _ in PARAMETERS)]
    if unexplained:
        sys.exit("add these parameters to tandem, or to PARAMETERS with what to write instead: " + ", ".join(unexplained))
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    with open(os.path.join(HERE, "names.json"), encoding="utf-8") as file:
        data = json.load(file)
    missing = missing_names(data["names"], args.compiler)
    page = page_of(data, missing, other_parameters(missing, args.compiler))
    if args.update:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        if file.read() == page:
            return 0
    print("docs/libtorch_names.md is not up to date: run tests/libtorch/check_names.py --update", *args.compiler)
    return 1


if __name__ == "__main__":
    sys.exit(main())
