#include "soak/random_calls.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "support/compare.h"
#include "support/counter.h"
#include "support/device.h"
#include "support/paths.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using nlohmann::json;

DType dtype_named(const std::string& text) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  throw std::runtime_error("unknown dtype " + text);
}

/// 0 .. count - 1 in random order.
std::vector<double> ranks_of_bits(uint64_t seed, int64_t count) {
  std::vector<std::pair<uint64_t, size_t>> bits;
  for (size_t k = 0; k < static_cast<size_t>(count); ++k) bits.emplace_back(counter_bits(seed, k), k);
  std::sort(bits.begin(), bits.end());
  std::vector<double> ranks(bits.size());
  for (size_t rank = 0; rank < bits.size(); ++rank) ranks[bits[rank].second] = static_cast<double>(rank);
  return ranks;
}

/// The numbers of a base; the same as numbers() in differential.py.
Tensor make_base(const json& base) {
  const int64_t count = base.at("count");
  const uint64_t seed = base.at("seed");
  const std::string fill = base.at("fill");
  std::vector<double> special;
  for (const json& v : base.at("special")) special.push_back(std::strtod(v.get<std::string>().c_str(), nullptr));
  const Tensor numbers = empty({count}, TensorOptions(kDouble).device(kCPU));
  double* p = numbers.data_ptr<double>();
  const std::vector<double> ranks = fill == "distinct" ? ranks_of_bits(seed, count) : std::vector<double>();
  for (int64_t k = 0; k < count; ++k) {
    const auto index = static_cast<uint64_t>(k);
    if (fill == "distinct" || fill == "ascending") {
      const double rank = fill == "distinct" ? ranks[index] : std::floor(static_cast<double>(k) * 0.75);
      p[k] = (base.at("low").get<double>() + rank) * base.at("scale").get<double>();
    } else if (fill == "integers") {
      p[k] = static_cast<double>(
          counter_integer(seed, index, static_cast<int64_t>(base.at("low")), static_cast<int64_t>(base.at("high"))));
    } else if (fill == "uniform") {
      const double low = base.at("low"), high = base.at("high");
      p[k] = low + (high - low) * counter_unit(seed, index);
    } else {
      p[k] = counter_normal(seed, index) * base.at("scale").get<double>();
    }
    const uint64_t bits = counter_bits(seed + 1, index);
    if (!special.empty() && bits % 3 == 0) p[k] = special[(bits >> 8) % special.size()];
  }
  return to(numbers, get_default_device(), dtype_named(base.at("dtype")));
}

int nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/// Converts row-major bytes in hex to doubles; i64 numbers beyond 2^53 are rounded.
std::vector<double> numbers_of(const std::string& hex, DType dtype) {
  const auto count = static_cast<int64_t>(hex.size() / 2 / element_size(dtype));
  const Tensor x = empty({count}, TensorOptions(dtype).device(kCPU));
  auto* bytes = static_cast<unsigned char*>(x.data_ptr());
  for (size_t i = 0; i < hex.size() / 2; ++i) {
    bytes[i] = static_cast<unsigned char>(nibble(hex[2 * i]) * 16 + nibble(hex[2 * i + 1]));
  }
  return values_of(x);
}

/// Describes how a tensor differs from PyTorch's results, in the call's dtypes and in f64; "" if it does not.
std::string difference(const Tensor& actual, const json& expected) {
  const DType dtype = dtype_named(expected.at("dtype"));
  if (actual.dtype() != dtype) {
    return std::string("dtype is ") + std::string(name(actual.dtype())) + ", expected " + std::string(name(dtype));
  }
  const auto sizes = expected.at("sizes").get<std::vector<int64_t>>();
  if (actual.sizes() != IntArrayRef(sizes)) {
    return "sizes are " + to_string(actual.sizes()) + ", expected " + to_string(IntArrayRef(sizes));
  }
  if (actual.requires_grad() != expected.at("grad").get<bool>()) {
    return actual.requires_grad() ? "requires grad" : "does not require grad";
  }
  const Tolerance t{expected.at("rtol"), expected.at("atol")};
  const std::vector<double> native = numbers_of(expected.at("hex"), dtype);
  const auto in_dtype = near(actual, native, t);
  if (in_dtype || !expected.contains("reference")) return in_dtype.message();
  // Compare each number separately: some may match one result, some the other.
  std::vector<double> either = numbers_of(expected.at("reference"), kDouble);
  const std::vector<double> got = values_of(actual);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool good = got[i] == native[i] || (std::isnan(got[i]) && std::isnan(native[i])) ||
                      std::abs(got[i] - native[i]) <= t.atol + t.rtol * std::abs(native[i]);
    if (good) either[i] = got[i];
  }
  return near(actual, either, t).message();
}

/// Describes how a result differs from that of the same call on another device; "" if it does not. `expected` is
/// PyTorch's, with the tolerance.
std::string difference(const Tensor& actual, const Tensor& other, const json& expected) {
  if (!actual.defined() && !other.defined()) return "";
  if (!actual.defined() || !other.defined()) return actual.defined() ? "there is one" : "there is none";
  if (actual.dtype() != other.dtype() || actual.requires_grad() != other.requires_grad()) {
    return "dtype or requires_grad differ";
  }
  const Tolerance t{2 * expected.at("rtol").get<double>(), 2 * expected.at("atol").get<double>()};
  if (t.rtol > 0 || t.atol > 0) return near(actual, other, t).message();
  const auto same = same_bits(actual, other);
  if (same && actual.dtype() == kLong && !equal(actual.to(kCPU), other)) return "numbers beyond 2^53 differ";
  return same.message();
}

std::vector<Tensor> make_inputs(const json& call, std::vector<Tensor>& bases) {
  for (const json& base : call.at("bases")) bases.push_back(make_base(base));
  std::vector<Tensor> inputs;
  for (const json& spec : call.at("inputs")) {
    const Tensor x = as_strided(bases.at(spec.at("base")), spec.at("sizes").get<std::vector<int64_t>>(),
                                spec.at("strides").get<std::vector<int64_t>>(), spec.at("offset"));
    inputs.push_back(spec.at("grad").get<bool>() ? x.detach().requires_grad_() : x);
  }
  return inputs;
}

}  // namespace

std::vector<std::string> recorded_calls() {
  const char* chosen = std::getenv("TANDEM_SOAK_CALLS");
  const std::string path = chosen && *chosen ? chosen : source_path("soak/calls.jsonl.gz");
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string text;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

std::string described(json call) {
  call.erase("outputs");
  call.erase("gradients");
  call.erase("sum");
  return call.dump();
}

CallResults run_call(const json& call) {
  std::vector<Tensor> bases;
  const std::vector<Tensor> inputs = make_inputs(call, bases);
  CallResults results;
  try {
    results.outputs = run_op(call.at("op"), inputs, call.at("args"));
  } catch (const Error& e) {
    results.refusal = std::string("refused: ") + e.what();
    return results;
  }
  if (call.at("direct").get<bool>()) results.outputs = bases;  // also shows writes outside the output
  std::vector<Tensor> roots, weights, wanted;
  for (size_t i = 0; i < results.outputs.size(); ++i) {
    const Tensor& y = results.outputs[i];
    if (!y.requires_grad()) continue;
    const Tensor weight = empty({y.numel()}, TensorOptions(kDouble).device(kCPU));
    for (int64_t k = 0; k < weight.numel(); ++k) {
      weight.data_ptr<double>()[k] = counter_normal(1000 + i, static_cast<uint64_t>(k));
    }
    roots.push_back(y);
    weights.push_back(to(weight, y.device(), y.dtype()).view(y.sizes()));
  }
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) wanted.push_back(x);
  }
  if (roots.empty() || wanted.empty()) return results;
  try {
    results.gradients = autograd::grad(roots, wanted, weights, std::nullopt, false, /*allow_unused=*/true);
  } catch (const Error& e) {
    results.refusal = std::string("backward refused: ") + e.what();
  }
  return results;
}

std::string check_call(const json& call) {
  const auto [outputs, gradients, refusal] = run_call(call);
  if (outputs.empty() && !refusal.empty()) return refusal;
  const json& expected = call.at("outputs");
  if (outputs.size() != expected.size()) {
    return std::to_string(outputs.size()) + " outputs, expected " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string text = difference(outputs[i], expected[i]);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  if (!refusal.empty()) return refusal;
  const json& expected_gradients = call.at("gradients");
  for (size_t i = 0; i < gradients.size(); ++i) {
    const json& e = expected_gradients.at(i);
    if (e.is_null() != !gradients[i].defined()) {
      return "gradient " + std::to_string(i) + (e.is_null() ? ": there is one" : ": there is none");
    }
    const std::string text = e.is_null() ? "" : difference(gradients[i], e);
    if (!text.empty()) return "gradient " + std::to_string(i) + ": " + text;
  }
  return "";
}

std::string difference_of_devices(const json& call, const CallResults& other) {
  const CallResults own = run_call(call);
  if (own.refusal != other.refusal) return "'" + own.refusal + "', expected '" + other.refusal + "'";
  const auto compare = [&](const char* name, const std::vector<Tensor>& results, const std::vector<Tensor>& others) {
    if (results.size() != others.size()) return std::string("another number of ") + name;
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string text = difference(results[i], others[i], call.at(name).at(i));
      if (!text.empty()) return name + (" " + std::to_string(i)) + ": " + text;
    }
    return std::string();
  };
  const std::string text = compare("outputs", own.outputs, other.outputs);
  return text.empty() ? compare("gradients", own.gradients, other.gradients) : text;
}

}  // namespace tandem::testing
