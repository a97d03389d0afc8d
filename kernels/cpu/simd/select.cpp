// The passes of topk over a contiguous row, as loops that the compiler vectorises.
#include "kernels/cpu/simd/select.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

using kernels::BitsOf;

template <class T>
TANDEM_MATH BitsOf<T> key_at(const T* x, int64_t i, BitsOf<T> flip) {
  return static_cast<BitsOf<T>>(kernels::sort_key(x[i]) ^ flip);
}

template <class T>
void lower(BitsOf<T>* __restrict least, int64_t groups, const T* __restrict x, int64_t n, BitsOf<T> flip) {
  for (int64_t first = 0; first < n; first += groups) {
    const int64_t count = n - first < groups ? n - first : groups;
    for (int64_t i = 0; i < count; ++i) {
      const BitsOf<T> key = key_at(x, first + i, flip);
      least[i] = key < least[i] ? key : least[i];
    }
  }
}

template <class T>
TANDEM_MATH int64_t find_each(int32_t* positions, int64_t found, const T* x, int64_t begin, int64_t end, BitsOf<T> flip,
                              BitsOf<T> bound) {
  for (int64_t i = begin; i < end; ++i) {
    positions[found] = static_cast<int32_t>(i);
    found += key_at(x, i, flip) <= bound;
  }
  return found;
}

template <class T>
int64_t find(int32_t* __restrict positions, const T* __restrict x, int64_t n, BitsOf<T> flip, BitsOf<T> bound) {
  constexpr int64_t kBlock = 32;  // most blocks have no such key
  int64_t found = 0, i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    BitsOf<T> any = 0;
    for (int64_t j = 0; j < kBlock; ++j) {
      const bool passes = key_at(x, i + j, flip) <= bound;
      any = static_cast<BitsOf<T>>(any | static_cast<BitsOf<T>>(passes));
    }
    if (any) found = find_each(positions, found, x, i, i + kBlock, flip, bound);
  }
  return find_each(positions, found, x, i, n, flip, bound);
}

}  // namespace

#define TANDEM_SELECT(T) \
  { lower<T>, find<T> }
const SelectTables select_tables = {TANDEM_SELECT(uint8_t),  TANDEM_SELECT(int8_t),  TANDEM_SELECT(int16_t),
                                    TANDEM_SELECT(int32_t),  TANDEM_SELECT(int64_t), TANDEM_SELECT(Half),
                                    TANDEM_SELECT(BFloat16), TANDEM_SELECT(float),   TANDEM_SELECT(double),
                                    TANDEM_SELECT(bool)};
#undef TANDEM_SELECT

}  // namespace tandem::cpu::TANDEM_SIMD
