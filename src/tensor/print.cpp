// Printing. Follows libtorch 2.x exactly, including odd line starts, since programs compare such text.
#include "tandem/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <new>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using Text = fmt::memory_buffer;

template <class... Args>
void put(Text& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// All elements in row-major order, as doubles.
std::vector<double> values_of(const Tensor& x) {
  Tensor host = x;
  if (!x.is_cpu()) {
    host = empty(x.sizes(), x.options().device(kCPU));
    backend(x).copy(host, x);
  }
  const IntArrayRef sizes = host.sizes(), strides = host.strides();
  std::vector<double> out(static_cast<size_t>(host.numel()));
  visit_dtype(host.dtype(), [&](auto zero) {
    const auto* p = host.raw<decltype(zero)>();
    Dims index(sizes.size(), 0);
    for (double& v : out) {
      int64_t at = 0;
      for (size_t d = 0; d < sizes.size(); ++d) at += index[d] * strides[d];
      v = static_cast<double>(p[at]);
      for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
  });
  return out;
}

// The number format of one vector or matrix.
struct NumberFormat {
  enum class Style { general, fixed, scientific } style = Style::general;
  double scale = 1;
  int width = 0;

  void write(Text& out, double v) const {
    switch (style) {
      case Style::general:
        return put(out, "{:>{}g}", v, width);
      case Style::fixed:
        return put(out, "{:>{}.4f}", v / scale, width);
      case Style::scientific:
        return put(out, "{:>{}.4e}", v / scale, width);
    }
  }
};

// The number of digits before the decimal point; at most 0 if v is below 1. Zero counts as one digit.
int digits(double v) { return v == 0 ? 1 : static_cast<int>(std::floor(std::log10(v))) + 1; }

NumberFormat choose_format(const double* values, size_t count) {
  using Style = NumberFormat::Style;
  bool integers = true, any = false;
  double low = 0, high = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    const double v = std::fabs(values[i]);
    integers = integers && v == std::ceil(v);
    low = any ? std::min(low, v) : v;
    high = any ? std::max(high, v) : v;
    any = true;
  }
  const int least = any ? digits(low) : 1, most = any ? digits(high) : 1;
  if (integers) return most > 9 ? NumberFormat{Style::scientific, 1, 11} : NumberFormat{Style::general, 1, most + 1};
  if (most - least > 4) return {Style::scientific, 1, std::abs(most) > 99 || std::abs(least) > 99 ? 12 : 11};
  if (most > 5 || most < 0) return {Style::fixed, std::pow(10.0, most - 1), 7};
  return {Style::fixed, 1, most == 0 ? 7 : most + 6};
}

void put_scale(Text& out, double scale) {
  if (scale != 1) put(out, "{} *\n", scale);
}

void put_vector(Text& out, const std::vector<double>& values) {
  const NumberFormat format = choose_format(values.data(), values.size());
  put_scale(out, format.scale);
  for (double v : values) {
    format.write(out, v);
    put(out, "\n");
  }
}

void put_matrix(Text& out, const double* values, int64_t rows, int64_t columns, int64_t line_size, int indent) {
  const NumberFormat format = choose_format(values, static_cast<size_t>(rows * columns));
  const int64_t per_line = std::max<int64_t>(1, (line_size - indent) / (format.width + 1));
  for (int64_t first = 0; first < columns; first += per_line) {
    const int64_t end = std::min(first + per_line, columns);
    if (per_line < columns) put(out, "{}Columns {} to {}{:{}}", first > 0 ? "\n" : "", first + 1, end, "", indent);
    put_scale(out, format.scale);
    if (format.scale != 1) put(out, "{:{}}", "", indent);
    for (int64_t r = 0; r < rows; ++r) {
      // With a scale factor, all rows but the first are indented by one more character.
      if (r > 0) put(out, "{:{}}", "", indent + (format.scale != 1 ? 1 : 0));
      for (int64_t c = first; c < end; ++c) {
        format.write(out, values[r * columns + c]);
        put(out, "{}", c + 1 < end ? " " : "\n");
      }
    }
  }
}

// Prints the matrices of the last two dimensions; the first index varies fastest.
void put_matrices(Text& out, const std::vector<double>& values, IntArrayRef sizes, int64_t line_size) {
  const size_t outer = sizes.size() - 2;
  const int64_t rows = sizes[outer], columns = sizes[outer + 1];
  const int64_t count = numel_of(sizes.slice(0, outer));
  Dims index(outer, 0);
  for (int64_t i = 0; i < count; ++i) {
    put(out, "{}(", i > 0 ? "\n" : "");
    int64_t at = 0;
    for (size_t d = 0; d < outer; ++d) {
      put(out, "{},", index[d] + 1);
      at = at * sizes[d] + index[d];
    }
    put(out, ".,.) = \n");
    put_matrix(out, values.data() + at * rows * columns, rows, columns, line_size, 1);
    for (size_t d = 0; d < outer && ++index[d] == sizes[d]; ++d) index[d] = 0;
  }
}

std::string text_of(const Tensor& x, int64_t line_size) {
  Text out;
  const IntArrayRef sizes = x.sizes();
  const std::vector<double> values = values_of(x);
  if (sizes.empty() && !x.is_floating_point()) {
    put(out, "{}\n", is_unsigned(x.dtype()) ? x.item().str() : std::to_string(x.item<int64_t>()));
  } else if (sizes.empty()) {
    put(out, "{}\n", values[0]);
  } else if (!values.empty() && sizes.size() == 1) {
    put_vector(out, values);
  } else if (!values.empty() && sizes.size() == 2) {
    put_matrix(out, values.data(), sizes[0], sizes[1], line_size, 0);
  } else if (!values.empty()) {
    put_matrices(out, values, sizes, line_size);
  }
  put(out, "[ {}{{{}}} ]", x.toString(), fmt::join(sizes, ","));
  return fmt::to_string(out);
}

}  // namespace

std::string to_string(const Tensor& x, int64_t line_size) {
  const OpScope op("print");
  if (!x.defined()) return "[ Tensor (undefined) ]";
  try {
    return text_of(x, line_size);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // larger than a container allows
  }
  TANDEM_THROW(OutOfMemoryError, "the text of {} {} does not fit into memory; print a part, such as x.slice(0, 0, 10)",
               to_string(x.sizes()), name(x.dtype()));
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
std::ostream& print(std::ostream& out, const Tensor& x, int64_t line_size) { return out << to_string(x, line_size); }
void print(const Tensor& x, int64_t line_size) { print(std::cout, x, line_size); }
std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type) { return out << type.toString(); }

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  return fmt::format("{}{}Type", is_cpu() ? "CPU" : "CUDA", tandem::toString(dtype()));
}
void Tensor::print() const {
  if (!defined()) {
    std::cerr << "[UndefinedTensor]\n";
  } else {
    std::cerr << "[" << toString() << " " << sizes() << "]\n";
  }
}

std::ostream& operator<<(std::ostream& out, IntArrayRef values) { return out << to_string(values); }
std::ostream& operator<<(std::ostream& out, DType dtype) {
  constexpr const char* names[] = {"unsigned char",
                                   "signed char",
                                   "short int",
                                   "int",
                                   "long int",
                                   "c10::Half",
                                   "float",
                                   "double",
                                   "bool",
                                   "c10::BFloat16",
                                   "c10::Float8_e4m3fn",
                                   "c10::Float8_e5m2",
                                   "c10::Float8_e8m0fnu",
                                   "short unsigned int",
                                   "unsigned int",
                                   "long unsigned int",
                                   "nullptr (uninitialized)"};
  return out << names[static_cast<int>(dtype)];
}
const char* toString(DType dtype) {
  constexpr const char* names[] = {"Byte",           "Char",   "Short",  "Int",      "Long",          "Half",
                                   "Float",          "Double", "Bool",   "BFloat16", "Float8_e4m3fn", "Float8_e5m2",
                                   "Float8_e8m0fnu", "UInt16", "UInt32", "UInt64",   "Undefined"};
  return names[static_cast<int>(dtype)];
}
std::ostream& operator<<(std::ostream& out, Layout /*layout*/) { return out << "Strided"; }
std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << name(type); }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
std::ostream& detail::print_number(std::ostream& out, Scalar value) {
  if (value.is_boolean()) return out << (value.to<bool>() ? "true" : "false");
  return value.is_integral() ? out << value.str() : out << value.to_double();
}

}  // namespace tandem
