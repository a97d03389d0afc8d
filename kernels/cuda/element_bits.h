#pragma once
// Numbers as the bits of an element, for kernels that treat all dtypes of a size alike.
#include "tandem/base/dtype.h"
#include "tandem/base/half.h"
#include "tandem/base/scalar.h"
#include "tandem/math/arithmetic.h"

namespace tandem::cuda {

/// Calls f(bits) with `value` as an element of this dtype, in an unsigned integer of its size.
template <class F>
void with_bits(DType dtype, Scalar value, F f) {
  visit_dtype(dtype, [&]<class T>(T) {
    T element;
    if constexpr (is_reduced_floating_point(dtype_of<T>) || is_float8(dtype_of<T>)) {
      element = T(math::round_to_odd(value.to_double()));
    } else if constexpr (std::is_same_v<T, float>) {
      element = value.is_floating_point() ? value.to<float>() : static_cast<float>(value.to_int64());
    } else {
      element = value.to<T>();
    }
    using Bits = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    f(math::bits_as<Bits>(element));
  });
}

}  // namespace tandem::cuda
