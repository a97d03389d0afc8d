#pragma once
// The passes of topk over a contiguous row. Keys are those of kernels/sort_key.h, xor `flip`: 0 for ascending order,
// all ones for descending order.
#include "kernels/cpu/simd/dispatch.h"
#include "kernels/sort_key.h"

namespace tandem::cpu {

template <class T>
struct SelectTable {
  using Key = kernels::BitsOf<T>;
  /// least[i % groups] = min(least[i % groups], key of x[i]).
  void (*lower)(Key* least, int64_t groups, const T* x, int64_t n, Key flip);
  /// Writes the positions of keys of at most `bound` in ascending order and returns their number. `positions` holds n.
  int64_t (*find)(int32_t* positions, const T* x, int64_t n, Key flip, Key bound);
};

struct SelectTables : SelectTable<uint8_t>,
                      SelectTable<int8_t>,
                      SelectTable<int16_t>,
                      SelectTable<int32_t>,
                      SelectTable<int64_t>,
                      SelectTable<Half>,
                      SelectTable<BFloat16>,
                      SelectTable<float>,
                      SelectTable<double>,
                      SelectTable<bool> {
  template <class T>
  const SelectTable<T>& of() const {
    return *this;
  }
};
TANDEM_SIMD_TABLE(SelectTables, select_tables)

}  // namespace tandem::cpu
