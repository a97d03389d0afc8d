// `tandem convert`: rewrites a file of tensors in another format or dtype.
#include <fmt/format.h>
#include <tandem/autograd/grad_mode.h>
#include <tandem/base/error.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/statistics.h"
#include "tools/tensor_file.h"
#include "tools/text.h"

namespace tools {
namespace {

using tandem::StateDict;
using tandem::Tensor;

const std::map<std::string, tandem::DType> kTargets = {
    {"f16", tandem::kHalf}, {"bf16", tandem::kBFloat16}, {"f32", tandem::kFloat}, {"f64", tandem::kDouble}};

std::vector<std::string> keys_of(const StateDict& tensors) {
  std::vector<std::string> keys;
  for (const auto& item : tensors) keys.push_back(item.key());
  return keys;
}

StateDict selected(const TensorFile& file, const ConvertOptions& options) {
  if (options.tensors.empty()) return file.tensors;
  StateDict result;
  for (const std::string& key : options.tensors) {
    const Tensor* tensor = file.tensors.find(key);
    if (tensor == nullptr) {
      throw tandem::StateError(fmt::format("{} has no tensor '{}'; it has {} (tandem inspect lists all)", options.in,
                                           key, some_of(keys_of(file.tensors))));
    }
    result.insert(key, *tensor);
  }
  return result;
}

/// Throws unless the format can hold the tensors.
void check_format(const StateDict& tensors, FileFormat format) {
  if (format == FileFormat::npy && tensors.size() != 1) {
    throw tandem::StateError(
        fmt::format("a .npy file holds one tensor, but there are {}: {}; add --tensor NAME, or write a "
                    ".npz file",
                    tensors.size(), some_of(keys_of(tensors))));
  }
  if (format == FileFormat::safetensors || format == FileFormat::pytorch) return;
  for (const auto& item : tensors) {
    const tandem::DType dtype = item.value().dtype();
    if (is_float8(dtype) || dtype == tandem::kBFloat16) {
      throw tandem::DTypeError(
          fmt::format("{} is {}, which NumPy does not have; add --dtype f32, or write a .safetensors file", item.key(),
                      name(dtype)));
    }
  }
}

/// Whether this is the count of steps that PyTorch's optimizers keep in f32 for each parameter.
bool is_step_count(const std::string& key, const Tensor& x) { return x.dim() == 0 && key.ends_with(".step"); }

/// Casts the floating tensors, except numbers: a state must keep its learning rates, scales and counts. Throws
/// DTypeError if finite values become inf, unless that is allowed.
StateDict cast(const StateDict& tensors, tandem::DType dtype, const ConvertOptions& options) {
  StateDict result;
  std::vector<std::string> overflows;
  int64_t casts = 0, underflows = 0;
  for (const auto& item : tensors) {
    const Tensor& x = item.value();
    if (!is_floating_point(x.dtype()) || x.dtype() == dtype || is_number(x) || is_step_count(item.key(), x)) {
      result.insert(item.key(), x);
      continue;
    }
    const Tensor y = x.to(dtype);
    const Statistics before = statistics(x), after = statistics(y);
    if (after.inf > before.inf) {
      overflows.push_back(fmt::format("{} ({}, up to {:.4g})", item.key(), count_text(after.inf - before.inf, "value"),
                                      before.largest));
    }
    underflows += after.zeros - before.zeros;
    ++casts;
    result.insert(item.key(), y);
  }
  fmt::print("cast {} of {} to {}\n", casts, count_text(static_cast<int64_t>(tensors.size()), "tensor"), options.dtype);
  if (underflows > 0) fmt::print("{} became 0\n", count_text(underflows, "nonzero value"));
  if (overflows.empty()) return result;
  const std::string what = fmt::format("values become inf in {}: {}", options.dtype, some_of(overflows));
  if (!options.allow_overflow) {
    throw tandem::DTypeError(what + "; choose a dtype with a larger range, such as --dtype " +
                             (dtype == tandem::kHalf ? "bf16" : "f64") + ", or add --allow-overflow");
  }
  fmt::print("{}\n", what);
  return result;
}

void print_losses(const TensorFile& in, const StateDict& written, FileFormat out, const ConvertOptions& options) {
  if (!in.left_out.empty()) fmt::print("left out, since they are not tensors or numbers: {}\n", some_of(in.left_out));
  if (!in.metadata.empty() && out != FileFormat::safetensors) {
    fmt::print("left out: the {} metadata entries of {}\n", in.metadata.size(), options.in);
  }
  std::vector<std::string> copies;
  for (const std::string& key : in.shared_memory) {
    if (written.contains(key) && (out != FileFormat::pytorch || !options.dtype.empty())) copies.push_back(key);
  }
  if (!copies.empty()) {
    fmt::print("written as separate copies, although they share memory with others: {}\n", some_of(copies));
  }
}

}  // namespace

int run_convert(const ConvertOptions& options) {
  const FileFormat format = format_by_name(options.out);
  if (!options.force && std::filesystem::exists(options.out)) {
    throw tandem::IoError(fmt::format("{} exists; add --force to replace it", options.out));
  }
  const tandem::NoGradGuard no_grad;
  const TensorFile file = read_tensor_file(options.in);
  StateDict tensors = selected(file, options);
  if (!options.dtype.empty()) tensors = cast(tensors, kTargets.at(options.dtype), options);
  check_format(tensors, format);
  tandem::io::Metadata metadata = file.metadata;
  std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with("tandem."); });  // reserved
  write_tensor_file(options.out, tensors, metadata);
  print_losses(file, tensors, format, options);
  fmt::print("{} ({}, {}) -> {} ({}, {}): {}\n", options.in, name(file.format), bytes_text(file.bytes), options.out,
             name(format), bytes_text(static_cast<int64_t>(std::filesystem::file_size(options.out))),
             count_text(static_cast<int64_t>(tensors.size()), "tensor"));
  return 0;
}

}  // namespace tools
