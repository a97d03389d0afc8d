#pragma once
// Tables of the element-wise formulas over contiguous runs of a compute type. Operands must be the same memory or not
// overlap. A function returns false if the formula is not defined over T.
#include "kernels/compute.h"
#include "kernels/cpu/simd/by_compute.h"
#include "tandem/backend.h"

namespace tandem::cpu {

using kernels::Binary;
using kernels::Ternary;
using kernels::Unary;

template <class T>
struct UnaryTable {
  bool (*value)(Unary op, T* y, const T* x, int64_t n, T a, T b);
  bool (*predicate)(Unary op, bool* y, const T* x, int64_t n, T a, T b);
};
TANDEM_SIMD_TABLE(ByCompute<UnaryTable>, unary_tables)

template <class T>
struct BinaryTable {
  bool (*value)(Binary op, T* y, const T* a, const T* b, int64_t n, T alpha);
  bool (*predicate)(Binary op, bool* y, const T* a, const T* b, int64_t n, T alpha);
  bool (*ternary)(Ternary op, T* y, const T* a, const T* b, const T* c, int64_t n, T alpha);
  void (*where)(T* y, const bool* condition, const T* a, const T* b, int64_t n);
};
TANDEM_SIMD_TABLE(ByCompute<BinaryTable>, binary_tables)

/// The formulas from bf16 to bf16, given as their bits. A function returns false if it does not have the formula, which
/// the tables above may have.
struct Bf16Table {
  bool (*unary)(Unary op, uint16_t* y, const uint16_t* x, int64_t n, float a, float b);
  bool (*binary)(Binary op, uint16_t* y, const uint16_t* a, const uint16_t* b, int64_t n, float alpha);
};
TANDEM_SIMD_TABLE(Bf16Table, bf16_table)

}  // namespace tandem::cpu
