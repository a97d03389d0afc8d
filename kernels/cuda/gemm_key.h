#pragma once
// A matrix product in the form that cuBLASLt takes, from tensors in place: D = op(A) op(B) in column-major order. Host
// code that can be tested without a GPU.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "tandem/base/dtype.h"
#include "tandem/base/shape.h"

namespace tandem::cuda {

/// A matrix (rank 2) or a batch of matrices (rank 3) that a BLAS can read in place.
struct Matrices {
  int64_t batch = 1, rows = 0, columns = 0;
  int64_t ld = 0;            ///< elements between rows (by_columns: columns)
  int64_t batch_stride = 0;  ///< 0 repeats one matrix
  bool by_columns = false;   ///< the elements of a column are contiguous, else those of a row
};

/// Empty if neither rows nor columns are contiguous, or if they overlap.
inline std::optional<Matrices> as_matrices(IntArrayRef sizes, IntArrayRef strides) {
  const size_t r = sizes.size() - 2, c = sizes.size() - 1;
  Matrices x;
  x.rows = sizes[r];
  x.columns = sizes[c];
  if (sizes.size() == 3 && sizes[0] > 1) {
    x.batch = sizes[0];
    x.batch_stride = strides[0];
  }
  // The stride of a size-1 dimension is ignored.
  const int64_t step_row = x.rows == 1 ? std::max<int64_t>(x.columns, 1) : strides[r];
  const int64_t step_column = x.columns == 1 ? (x.rows == 1 ? 1 : step_row * x.rows) : strides[c];
  if (x.columns == 1 && step_row > 1) {  // a column with gaps: rows of one element
    x.ld = step_row;
    return x;
  }
  if (step_column == 1 && step_row >= x.columns) {
    x.ld = step_row;
    return x;
  }
  if (x.rows == 1 && step_column > 1) {  // a row with gaps: columns of one element
    x.by_columns = true;
    x.ld = step_column;
    return x;
  }
  if (step_row == 1 && step_column >= x.rows) {
    x.by_columns = true;
    x.ld = step_column;
    return x;
  }
  return std::nullopt;
}

/// An operation fused with the product. The vector has one element for each of the result's columns (bias) or rows
/// (row_sums), in the result's dtype.
enum class GemmExtra : uint8_t {
  none,
  relu,       ///< d = max(a b, 0)
  bias,       ///< d = a b + vector
  relu_bias,  ///< d = max(a b + vector, 0)
  row_sums    ///< vector = sums of the rows of a
};
constexpr bool has_bias(GemmExtra extra) { return extra == GemmExtra::bias || extra == GemmExtra::relu_bias; }
constexpr bool has_relu(GemmExtra extra) { return extra == GemmExtra::relu || extra == GemmExtra::relu_bias; }

/// The form of the scales of a float8 operand: one for the tensor, or one for each block along the summed dimension.
enum class ScaleForm : uint8_t {
  tensor,
  vec128,    ///< 1 x 128, f32: [blocks, rows], contiguous
  block128,  ///< 128 x 128, f32: [block rows, blocks rounded up to a multiple of 4], contiguous
  vec32      ///< 1 x 32, e8m0fnu: tiles of 128 rows and 4 blocks (float8_scales.cpp)
};

/// Everything that the choice of an algorithm depends on. m, n, k, A, B and D are the BLAS's: column-major.
struct GemmKey {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;  ///< between matrices of a batch
  int32_t batch = 1, device = 0;
  uint16_t align_a = 0, align_b = 0, align_d = 0, align_vector = 0;  ///< bytes
  DType operands = kFloat, operands_b = kFloat, result = kFloat;     ///< A and B differ only in float8
  bool transpose_a = false, transpose_b = false;
  GemmExtra extra = GemmExtra::none;
  bool sums_a = false;  ///< row_sums sums A, else B
  bool accumulate = false;
  bool tf32 = false;
  ScaleForm scales_a = ScaleForm::tensor, scales_b = ScaleForm::tensor;
  uint8_t unused[5] = {};  ///< in place of padding: keys are compared by their bytes

  friend bool operator==(const GemmKey&, const GemmKey&) = default;
};

/// Sizes and layout of the key for d = a b; empty if a bias cannot be added along the result's columns. `swapped`: the
/// BLAS's A is b.
inline std::optional<GemmKey> gemm_key(Matrices d, Matrices a, Matrices b, GemmExtra extra, bool& swapped) {
  // A single column can be treated as rows of one element.
  if (d.by_columns && d.columns == 1 && has_bias(extra)) {
    d.by_columns = false;
    d.ld = 1;
  }
  if (d.by_columns && has_bias(extra)) return std::nullopt;
  // A batch of matrices times one matrix is a single product.
  if (d.batch > 1 && b.batch_stride == 0 && !d.by_columns && !a.by_columns && d.batch_stride == d.rows * d.ld &&
      a.batch_stride == a.rows * a.ld) {
    d.rows *= d.batch;
    d.batch = 1;
  }
  // Row-major memory is the transposed matrix in column-major order, so d^T = b^T a^T is computed.
  swapped = !d.by_columns;
  const Matrices &left = swapped ? b : a, &right = swapped ? a : b;
  GemmKey key;
  key.m = swapped ? d.columns : d.rows;
  key.n = swapped ? d.rows : d.columns;
  key.k = a.columns;
  key.transpose_a = left.by_columns != d.by_columns;
  key.transpose_b = right.by_columns != d.by_columns;
  key.lda = left.ld;
  key.ldb = right.ld;
  key.ldd = d.ld;
  key.batch = static_cast<int32_t>(d.batch);
  if (d.batch > 1) {
    key.stride_a = left.batch_stride;
    key.stride_b = right.batch_stride;
    key.stride_d = d.batch_stride;
  }
  key.extra = extra;
  key.sums_a = extra == GemmExtra::row_sums && !swapped;
  return key;
}

/// The largest power of two, up to 256, that divides an address and the byte distance between matrices of a batch.
inline uint16_t alignment_of(const void* data, int64_t batch_bytes = 0) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(batch_bytes) | 256;
  return static_cast<uint16_t>(address & (~address + 1));
}

/// Elements from the first to one past the last element of D.
inline int64_t span_of_d(const GemmKey& key) { return (key.batch - 1) * key.stride_d + (key.n - 1) * key.ldd + key.m; }

/// "f16 [512, 4096] x [4096, 1024] -> f32 ...": for messages.
std::string to_string(const GemmKey& key);

}  // namespace tandem::cuda
