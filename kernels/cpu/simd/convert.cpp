// Conversions between the dtypes and the compute types f32, f64 and i64. Contract: convert.h.
#include "kernels/cpu/simd/convert.h"

#include "kernels/cpu/simd/convert16.h"
#include "tandem/math/arithmetic.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class T>
inline constexpr bool kFloating = static_cast<T>(0.5) != 0;
template <class T>
inline constexpr bool kUnsigned = static_cast<T>(-1) > static_cast<T>(0);

template <class C, class T>
void load(C* dst, const void* src, int64_t n) {
  const T* s = static_cast<const T*>(src);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<C>(s[i]);
}

constexpr int64_t kBlock = 256;  // floats in the buffer between a 16-bit type and another type

template <class C, class Format>
void load16(C* dst, const void* src, int64_t n) {
  const uint16_t* s = static_cast<const uint16_t*>(src);
  if constexpr (sizeof(C) == sizeof(float)) {
    widen_row<Format>(s, dst, n);
  } else {
    float block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = n - i < kBlock ? n - i : kBlock;
      widen_row<Format>(s + i, block, count);
      load<C, float>(dst + i, block, count);
    }
  }
}

template <class C, class Format>
void load8(C* dst, const void* src, int64_t n) {
  const uint8_t* s = static_cast<const uint8_t*>(src);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<C>(Format::widen(s[i]));
}

template <class C, class T>
void store(void* dst, const C* src, int64_t n) {
  T* d = static_cast<T*>(dst);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    // Negative to unsigned wraps around, as in PyTorch.
    if constexpr (kFloating<C> && sizeof(T) < 4) {
      d[i] = static_cast<T>(static_cast<int32_t>(src[i]));
    } else if constexpr (kFloating<C> && kUnsigned<T>) {
      d[i] = src[i] < C(0x1p63) ? static_cast<T>(static_cast<int64_t>(src[i])) : static_cast<T>(src[i]);
    } else {
      d[i] = static_cast<T>(src[i]);
    }
  }
}

template <class C>
void store_bool(void* dst, const C* src, int64_t n) {
  bool* d = static_cast<bool*>(dst);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) d[i] = src[i] != C(0);
}

template <class C, class Format>
void store16(void* dst, const C* src, int64_t n) {
  uint16_t* d = static_cast<uint16_t*>(dst);
  if constexpr (sizeof(C) == sizeof(float)) {
    narrow_row<Format>(src, d, n);
  } else {
    float block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = n - i < kBlock ? n - i : kBlock;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) block[j] = math::round_to_odd(static_cast<double>(src[i + j]));
      narrow_row<Format>(block, d + i, count);
    }
  }
}

template <class C, class Format>
void store8(void* dst, const C* src, int64_t n) {
  uint8_t* d = static_cast<uint8_t*>(dst);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(C) == sizeof(float)) {
      d[i] = Format::round(src[i]);
    } else {
      d[i] = Format::round(math::round_to_odd(static_cast<double>(src[i])));
    }
  }
}

/// In the order of enum DType. A bool is stored as a byte of 0 or 1.
template <class C>
constexpr ConvertTable<C> table() {
  return {{load<C, uint8_t>, load<C, int8_t>, load<C, int16_t>, load<C, int32_t>, load<C, int64_t>, load16<C, F16>,
           load<C, float>, load<C, double>, load<C, uint8_t>, load16<C, BF16>, load8<C, detail::E4m3fn>,
           load8<C, detail::E5m2>, load8<C, detail::E8m0fnu>, load<C, uint16_t>, load<C, uint32_t>, load<C, uint64_t>},
          {store<C, uint8_t>, store<C, int8_t>, store<C, int16_t>, store<C, int32_t>, store<C, int64_t>,
           store16<C, F16>, store<C, float>, store<C, double>, store_bool<C>, store16<C, BF16>,
           store8<C, detail::E4m3fn>, store8<C, detail::E5m2>, store8<C, detail::E8m0fnu>, store<C, uint16_t>,
           store<C, uint32_t>, store<C, uint64_t>}};
}

}  // namespace

const ByCompute<ConvertTable> convert_tables = {table<float>(), table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
