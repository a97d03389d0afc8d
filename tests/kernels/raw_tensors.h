#pragma once
// Tensors for tests of single kernels: filled and read element by element, without using other kernels.
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tandem/backend.h"
#include "tandem/base/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// Host access to the memory that a tensor spans: directly, or through a copy, which put() writes back to the device.
class OnHost {
 public:
  explicit OnHost(const Tensor& t) : span_(t), host_(t) {
    if (t.is_cpu()) return;
    span_ = make_view(t, {*extent_of(t.sizes(), t.strides())}, {1}, t.storage_offset());
    host_ = empty(span_.sizes(), TensorOptions(t.dtype()).device(kCPU));
    if (t.numel() > 0) backend(span_).copy(host_, span_);
  }
  template <class T>
  T* data() const {
    return host_.raw<T>();
  }
  char* bytes() const { return static_cast<char*>(host_.raw_bytes()); }
  void put() const {
    if (!span_.is_cpu() && span_.numel() > 0) backend(span_).copy(span_, host_);
  }

 private:
  Tensor span_, host_;
};

/// Calls f(offset in elements) for every element in row-major order of the logical sizes.
template <class F>
void for_each_offset(const Tensor& t, F&& f) {
  const int64_t numel = t.numel();
  for (int64_t i = 0; i < numel; ++i) {
    int64_t rest = i, offset = 0;
    for (int64_t d = t.dim(); d-- > 0;) {
      offset += rest % t.sizes()[static_cast<size_t>(d)] * t.strides()[static_cast<size_t>(d)];
      rest /= t.sizes()[static_cast<size_t>(d)];
    }
    f(offset);
  }
}

/// Writes `values` in row-major order, rounded to the tensor's dtype.
inline void write(const Tensor& t, const std::vector<double>& values) {
  const OnHost memory(t);
  visit_dtype(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    size_t i = 0;
    for_each_offset(t, [&](int64_t offset) { memory.data<T>()[offset] = Scalar(values[i++]).to<T>(); });
  });
  memory.put();
}

/// Returns the elements in row-major order, without conversion.
template <class T>
std::vector<T> elements_of(const Tensor& t) {
  const OnHost memory(t);
  std::vector<T> all;
  for_each_offset(t, [&](int64_t offset) { all.push_back(memory.data<T>()[offset]); });
  return all;
}

inline std::vector<double> read(const Tensor& t) {
  std::vector<double> values;
  visit_dtype(t.dtype(), [&](auto zero) {
    for (const auto value : elements_of<decltype(zero)>(t)) values.push_back(static_cast<double>(value));
  });
  return values;
}

/// Overwrites element `at` in row-major order.
inline void set(const Tensor& t, int64_t at, double value) {
  const OnHost memory(t);
  visit_dtype(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    int64_t i = 0;
    for_each_offset(t, [&](int64_t offset) {
      if (i++ == at) memory.data<T>()[offset] = Scalar(value).to<T>();
    });
  });
  memory.put();
}

inline Tensor tensor_of(const std::vector<double>& values, DType dtype) {
  const Tensor t = empty({static_cast<int64_t>(values.size())}, dtype);
  write(t, values);
  return t;
}

inline Tensor scalar_of(double value, DType dtype = kFloat) {
  const Tensor t = empty({}, dtype);
  write(t, {value});
  return t;
}

inline std::vector<double> random_values(int64_t n, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& v : values) v = distribution(generator);
  return values;
}

/// Returns the bytes of the tensor's elements in row-major order.
inline std::vector<char> bytes_of(const Tensor& t) {
  const OnHost memory(t);
  std::vector<char> bytes;
  const size_t width = t.element_size();
  for_each_offset(t, [&](int64_t offset) {
    const char* p = memory.bytes() + offset * static_cast<int64_t>(width);
    bytes.insert(bytes.end(), p, p + width);
  });
  return bytes;
}

}  // namespace tandem::testing
