// Tensors from numbers and vectors.
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

// libtorch's rule: int becomes i64, float and double become the default dtype; other types keep their dtype.
DType desired_dtype(DType given) {
  if (given == kInt) return kLong;
  return given == kFloat || given == kDouble ? get_default_dtype() : given;
}

// `host` converted to the requested dtype, device and gradient flag.
Tensor finished(const Tensor& host, const TensorOptions& options) {
  const TensorOptions o = options.has_dtype() ? options : options.dtype(desired_dtype(host.dtype()));
  Tensor y = empty(host.sizes(), o);
  if (y.numel() > 0) backend(y).copy(y, host);
  return y;
}

}  // namespace

TensorData::TensorData(std::initializer_list<TensorData> entries) {
  const OpScope op("tensor");
  const int64_t count = static_cast<int64_t>(entries.size());
  if (count == 0) {
    sizes_ = {0};
    return;
  }
  const TensorData& first = *entries.begin();
  dtype_ = first.dtype_;
  for (const TensorData& e : entries) {
    TANDEM_CHECK(e.sizes_ == first.sizes_, ShapeError,
                 "entries of one brace level have shapes {} and {}; all must be equal", to_string(first.sizes_),
                 to_string(e.sizes_));
    TANDEM_CHECK(e.dtype_ == first.dtype_, DTypeError,
                 "entries of one brace level are {} and {}; give them the same type", name(first.dtype_),
                 name(e.dtype_));
    values_.insert(values_.end(), e.values_.begin(), e.values_.end());
  }
  sizes_ = first.sizes_;
  sizes_.insert(0, count);
}

Tensor tensor(const TensorData& data, const TensorOptions& options) {
  const OpScope op("tensor");
  if (options.has_dtype()) {
    for (Scalar value : data.values_) check_fits(value, options.dtype());
  }
  const Tensor host = empty(data.sizes_, TensorOptions(data.dtype_).device(kCPU));
  visit_dtype(data.dtype_, [&](auto zero) {
    using T = decltype(zero);
    T* p = host.raw<T>();
    for (size_t i = 0; i < data.values_.size(); ++i) p[i] = data.values_[i].template to<T>();
  });
  return finished(host, options);
}

Tensor tensor_from(const void* data, DType dtype, int64_t count, const TensorOptions& options) {
  const OpScope op("tensor");
  const Tensor host = from_blob(const_cast<void*>(data), {count}, dtype);  // only read, below
  return finished(host, options);
}

Tensor tensor_from(const std::vector<bool>& values, const TensorOptions& options) {
  const OpScope op("tensor");
  const Tensor host = empty({static_cast<int64_t>(values.size())}, TensorOptions(kBool).device(kCPU));
  for (size_t i = 0; i < values.size(); ++i) host.raw<bool>()[i] = values[i];
  return finished(host, options);
}

}  // namespace tandem
