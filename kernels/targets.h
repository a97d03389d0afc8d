#pragma once
// The targets of cross_entropy, for both backends.
#include <cstddef>
#include <cstdint>

#include "tandem/backend.h"
#include "tandem/base/macros.h"

namespace tandem::kernels {

using detail::class_dim;

/// A row's class and its weight; -1 and 0 if the row is ignored.
template <class C>
struct Target {
  int64_t k;
  C weight;
};

template <class C>
struct Targets {
  const void* data;
  bool is_i32;
  const C* weight;  ///< null: all weights are 1
  int64_t ignore_index, classes;

  Targets(const Tensor& x, const Tensor& target, const Tensor& class_weight, int64_t ignored)
      : data(target.raw_bytes()),
        is_i32(target.dtype() == DType::I32),
        weight(class_weight.defined() ? class_weight.raw<C>() : nullptr),
        ignore_index(ignored),
        classes(x.sizes()[static_cast<size_t>(class_dim(x))]) {}

  /// check(k, classes) must reject classes that are out of range.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
  template <class Check>
  TANDEM_HOST_DEVICE Target<C> get(int64_t row, Check check) const {
    const int64_t k = is_i32 ? static_cast<const int32_t*>(data)[row] : static_cast<const int64_t*>(data)[row];
    if (k == ignore_index) return {-1, C(0)};
    check(k, classes);
    return {k, weight ? weight[k] : C(1)};
  }
};

}  // namespace tandem::kernels
