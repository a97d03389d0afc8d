#pragma once
// Vectors in registers, for files under simd/ whose loops the compiler does not vectorise by itself: GCC does not keep
// arrays of numbers in registers.
#include "tandem/base/macros.h"

namespace tandem::cpu::TANDEM_SIMD {

#if defined(TANDEM_SIMD_avx512)
inline constexpr int kVectorBytes = 64;
#elif defined(TANDEM_SIMD_avx2)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

namespace detail {
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
}  // namespace detail

template <class T>
using Vector = typename detail::VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
TANDEM_MATH Vector<T> load(const T* p) {
  Vector<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
TANDEM_MATH void store(T* p, Vector<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace tandem::cpu::TANDEM_SIMD
