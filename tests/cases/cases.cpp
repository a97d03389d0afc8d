#include "cases/cases.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "support/counter.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

Input Input::as(DType dtype) const {
  Input copy = *this;
  copy.fixed_dtype = dtype;
  return copy;
}

Input Input::laid_out(MemoryLayout l) const {
  Input copy = *this;
  copy.layout = l;
  return copy;
}

Input Input::constant() const {
  Input copy = *this;
  copy.requires_grad = false;
  return copy;
}

Input Input::parameter() const {
  Input copy = *this;
  copy.f32_beside_low = true;
  return copy;
}

bool Input::is_floating() const { return !fixed_dtype || is_floating_point(*fixed_dtype); }

Input normal(std::vector<int64_t> sizes) { return {.sizes = std::move(sizes)}; }

Input uniform(std::vector<int64_t> sizes, double low, double high) {
  return {.sizes = std::move(sizes), .fill = Fill::uniform, .low = low, .high = high};
}

Input integers(std::vector<int64_t> sizes, int64_t low, int64_t high) {
  return {.sizes = std::move(sizes),
          .fill = Fill::integers,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high),
          .fixed_dtype = kLong};
}

Input boolean(std::vector<int64_t> sizes) {
  return {.sizes = std::move(sizes), .fill = Fill::boolean, .fixed_dtype = kBool};
}

Input values(std::vector<int64_t> sizes, std::vector<double> list) {
  return {.sizes = std::move(sizes), .fill = Fill::values, .list = std::move(list)};
}

namespace {

uint64_t seed_of(const Case& c, size_t input) { return (fnv1a(full_name(c)) >> 16) + input; }

double number(const Input& input, uint64_t seed, uint64_t index) {
  switch (input.fill) {
    case Fill::normal:
      return counter_normal(seed, index);
    case Fill::uniform:
      return input.low + (input.high - input.low) * counter_unit(seed, index);
    case Fill::integers:
      return static_cast<double>(
          counter_integer(seed, index, static_cast<int64_t>(input.low), static_cast<int64_t>(input.high)));
    case Fill::boolean:
      return static_cast<double>(counter_integer(seed, index, 0, 2));
    case Fill::values:
      return input.list.at(index);
  }
  return 0;
}

/// Returns an uninitialised tensor with the input's memory layout.
Tensor allocate(const Input& input, DType dtype) {
  const TensorOptions options(dtype);
  const Dims sizes{IntArrayRef(input.sizes)};
  Dims strides = contiguous_strides(sizes);
  switch (input.layout) {
    case MemoryLayout::contiguous:
      break;
    case MemoryLayout::channels_last:
      strides = channels_last_strides(sizes);
      break;
    case MemoryLayout::transposed: {
      const size_t n = sizes.size();
      Dims swapped = sizes;
      std::swap(swapped[n - 1], swapped[n - 2]);
      strides = contiguous_strides(swapped);
      std::swap(strides[n - 1], strides[n - 2]);
      break;
    }
    case MemoryLayout::gaps:
      for (int64_t& s : strides) s *= 2;
      break;
  }
  return empty_strided(sizes, strides, options);
}

void append_number(std::string& out, double v) {
  if (std::isnan(v)) {
    out += "NaN";
  } else if (std::isinf(v)) {
    out += v > 0 ? "Infinity" : "-Infinity";
  } else {
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof text, v).ptr);
  }
}

void append_string(std::string& out, const std::string& s) {
  out += '"';
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

template <class T, class F>
void append_list(std::string& out, const std::vector<T>& list, F&& append) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ", ";
    append(out, list[i]);
  }
  out += ']';
}

constexpr const char* fill_names[] = {"normal", "uniform", "integers", "boolean", "values"};
constexpr const char* layout_names[] = {"contiguous", "transposed", "channels_last", "gaps"};

}  // namespace

std::string full_name(const Case& c) { return c.op + "/" + c.name; }

std::string to_json(const Case& c) {
  std::string out = "{\"case\": ";
  append_string(out, full_name(c));
  out += ", \"family\": ";
  append_string(out, c.family);
  out += ", \"torch\": ";
  append_string(out, c.no_golden.empty() ? c.torch : "");
  out += ", \"inputs\": [";
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Input& input = c.inputs[i];
    if (i) out += ", ";
    out += "{\"sizes\": ";
    append_list(out, input.sizes, [](std::string& o, int64_t v) { o += std::to_string(v); });
    out += std::string(", \"fill\": \"") + fill_names[static_cast<int>(input.fill)] + "\"";
    if (input.fill == Fill::uniform || input.fill == Fill::integers) {
      out += ", \"low\": ";
      append_number(out, input.low);
      out += ", \"high\": ";
      append_number(out, input.high);
    }
    if (input.fill == Fill::values) {
      out += ", \"list\": ";
      append_list(out, input.list, append_number);
    } else {
      out += ", \"seed\": " + std::to_string(seed_of(c, i));
    }
    if (input.fixed_dtype) out += ", \"dtype\": \"" + std::string(name(*input.fixed_dtype)) + "\"";
    out += std::string(", \"layout\": \"") + layout_names[static_cast<int>(input.layout)] + "\"";
    out += std::string(", \"grad\": ") + (input.wants_grad() ? "true" : "false") + "}";
  }
  return out + "]}";
}

std::vector<Tensor> make_inputs(const Case& c, DType dtype) {
  NoGradGuard no_grad;
  std::vector<Tensor> result;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Input& input = c.inputs[i];
    const int64_t count = numel_of(input.sizes);
    if (input.fill == Fill::values && input.list.size() != static_cast<size_t>(count)) {
      throw std::invalid_argument(full_name(c) + ": input " + std::to_string(i) + " lists the wrong number of values");
    }
    Tensor numbers = empty(input.sizes, TensorOptions(kDouble).device(kCPU));
    double* p = numbers.data_ptr<double>();
    for (int64_t k = 0; k < count; ++k) {
      // Rounded to f32: golden values were computed from f32 inputs.
      p[k] = static_cast<float>(number(input, seed_of(c, i), static_cast<uint64_t>(k)));
    }
    const bool widened = input.f32_beside_low && is_reduced_floating_point(dtype);
    Tensor x = allocate(input, input.fixed_dtype.value_or(widened ? kFloat : dtype));
    backend(x).copy(x, numbers);
    if (input.wants_grad()) x.requires_grad_();
    result.push_back(std::move(x));
  }
  return result;
}

Tensor make_output_gradient(const Tensor& output, size_t index) {
  Tensor numbers = empty(output.sizes(), TensorOptions(kDouble).device(kCPU));
  double* p = numbers.data_ptr<double>();
  for (int64_t k = 0; k < numbers.numel(); ++k) p[k] = counter_normal(1000 + index, static_cast<uint64_t>(k));
  Tensor gradient = empty(output.sizes(), output.options());
  backend(gradient).copy(gradient, numbers);
  return gradient;
}

amp::Cast policy_of(const Case& c) {
  if (c.bypasses_autocast) return amp::Cast::keep;
  const std::string& op = c.autocast_as.empty() ? c.op : c.autocast_as;
  const int row = amp::policy_row(op);
  if (row < 0) throw std::invalid_argument(full_name(c) + ": no row '" + op + "' in amp/policy.h");
  return amp::policy_table[static_cast<size_t>(row)].cast;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    struct Family {
      const char* name;
      Cases (*cases)();
    };
    constexpr Family families[] = {{"elementwise", elementwise_cases},
                                   {"functions", functions_cases},
                                   {"arithmetic", arithmetic_cases},
                                   {"statistics", statistics_cases},
                                   {"comparison", comparison_cases},
                                   {"in_place", in_place_cases},
                                   {"shape", shape_cases},
                                   {"rearrange", rearrange_cases},
                                   {"pad", pad_cases},
                                   {"matmul", matmul_cases},
                                   {"reduce", reduce_cases},
                                   {"softmax", softmax_cases},
                                   {"attention", attention_cases},
                                   {"norm", norm_cases},
                                   {"conv", conv_cases},
                                   {"pool", pool_cases},
                                   {"loss", loss_cases},
                                   {"pointwise_loss", pointwise_loss_cases},
                                   {"margin_loss", margin_loss_cases},
                                   {"pool_nd", pool_nd_cases},
                                   {"interpolate", interpolate_cases},
                                   {"sampling", sampling_cases},
                                   {"index", index_cases},
                                   {"advanced_index", advanced_index_cases},
                                   {"scatter", scatter_cases},
                                   {"dropout", dropout_cases},
                                   {"sort", sort_cases},
                                   {"search", search_cases},
                                   {"products", products_cases},
                                   {"distance", distance_cases},
                                   {"group_norm", group_norm_cases},
                                   {"rnn", rnn_cases}};
    std::vector<Case> all;
    for (const Family& family : families) {
      Cases some = family.cases();
      for (Case& c : some) {
        c.family = family.name;
        all.push_back(std::move(c));
      }
    }
    return all;
  }();
  return cases;
}

}  // namespace tandem::testing
