// Matrix products.
// Contract: f32, f16 and bf16 are multiplied by the library of products.h with f32 sums and rounded once, after the
// bias. A dtype without fast instructions on this processor is widened to f32 first. f64, and calls that the library
// refuses even in f32, are multiplied in f64 by the loops below. With k = 0 the product is 0. relu is a separate pass
// over the rounded result, which gives the same bits; oneDNN's relu would turn NaN into 0. Float8 is widened to bf16,
// which is exact, or to f32.

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/products.h"
#include "kernels/float8_gemm.h"
#include "tandem/math/reduce.h"
#include "tandem/math/unary.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu {
namespace {

using products::Array;
using products::array_of;

enum class MatrixOrder { rows, columns, neither };

// The memory order of the matrices of `x`. Replaces meaningless strides (of size-1 dimensions) by regular ones.
MatrixOrder order_of(Array& x) {
  const size_t r = static_cast<size_t>(x.rank) - 2, c = r + 1;
  int64_t& step_row = x.strides[r];
  int64_t& step_column = x.strides[c];
  const int64_t rows = x.sizes[r], columns = x.sizes[c];
  if (columns == 1) {
    step_column = 1;
    if (rows == 1) step_row = 1;
    return step_row >= 1 ? MatrixOrder::rows : MatrixOrder::neither;
  }
  if (rows == 1) {
    step_row = step_column == 1 ? columns : 1;
    return step_column == 1 ? MatrixOrder::rows : step_column > 1 ? MatrixOrder::columns : MatrixOrder::neither;
  }
  if (step_column == 1 && step_row >= columns) return MatrixOrder::rows;
  if (step_row == 1 && step_column >= rows) return MatrixOrder::columns;
  return MatrixOrder::neither;
}

void transpose(Array& x) {
  std::swap(x.sizes[x.rank - 2], x.sizes[x.rank - 1]);
  std::swap(x.strides[x.rank - 2], x.strides[x.rank - 1]);
}

void drop_batch(Array& x) {
  x.rank = 2;
  x.sizes = {x.sizes[1], x.sizes[2]};
  x.strides = {x.strides[1], x.strides[2]};
}

// Whether the batch of matrices forms one tall matrix with evenly spaced rows.
bool is_stack(const Array& x) { return x.strides[2] == 1 && x.strides[0] == x.sizes[1] * x.strides[1]; }

void stack(Array& x) {
  x.sizes[1] *= x.sizes[0];
  drop_batch(x);
}

// Multiplies the tensors without copying. False if the library refuses; nothing is written then.
bool run_as_is(const GemmCall& call) {
  Array d = array_of(call.d), a = array_of(call.a), b = array_of(call.b), bias = array_of(call.bias);
  if (bias && bias.sizes[0] != 1 && bias.strides[0] != 1) return false;
  const MatrixOrder order_d = order_of(d);
  if (order_d == MatrixOrder::neither || order_of(a) == MatrixOrder::neither || order_of(b) == MatrixOrder::neither)
    return false;
  if (d.rank == 3) {
    for (Array* x : {&a, &b}) {
      if (x->strides[0] == 0) x->sizes[0] = 1;
    }
    if (d.sizes[0] == 1) {
      for (Array* x : {&d, &a, &b}) drop_batch(*x);
    } else if (b.sizes[0] == 1 && a.sizes[0] != 1 && is_stack(a) && is_stack(d)) {
      drop_batch(b);
      for (Array* x : {&d, &a}) stack(*x);
    } else {
      for (Array* x : {&a, &b}) {  // oneDNN needs a valid stride for a batch of 1 too
        if (x->sizes[0] == 1) x->strides[0] = x->sizes[1] * x->sizes[2];
      }
    }
  }
  if (order_d == MatrixOrder::columns) {  // d^T = b^T a^T
    if (bias) return false;
    for (Array* x : {&d, &a, &b}) transpose(*x);
    std::swap(a, b);
  }
  return products::matmul(d, a, b, bias, call.accumulate);
}

Tensor transposed(const Tensor& x) {
  Dims sizes = x.sizes(), strides = x.strides();
  std::swap(sizes[sizes.size() - 2], sizes.back());
  std::swap(strides[strides.size() - 2], strides.back());
  return make_view(x, sizes, strides, x.storage_offset());
}

// `x` in `dtype` with dense matrices: x itself if it is so already, else a copy in the same order.
Tensor dense_matrices(const Tensor& x, DType dtype) {
  if (!x.defined() || (x.dtype() == dtype && x.is_contiguous())) return x;
  Array array = array_of(x);
  if (x.dim() >= 2 && order_of(array) == MatrixOrder::columns) {
    const Tensor swapped = transposed(x);
    if (x.dtype() == dtype && swapped.is_contiguous()) return x;
    const Tensor copied = empty(swapped.sizes(), x.options().dtype(dtype));
    copy(copied, swapped);
    return transposed(copied);
  }
  const Tensor copied = empty(x.sizes(), x.options().dtype(dtype));
  copy(copied, x);
  return copied;
}

bool prefers_other_stride(const GemmCall& call, DType dtype) {
  return call.a.dim() == 2 && call.a.stride(0) == 1 &&
         products::prefers_other_stride(dtype, call.a.stride(1), call.b.size(0), call.b.size(1));
}

// A column-major matrix in `dtype`, with columns one cache line further apart than they are long.
Tensor with_other_stride(const Tensor& x, DType dtype) {
  const int64_t rows = x.size(0), columns = x.size(1), distance = rows + 64 / static_cast<int64_t>(element_size(dtype));
  const Tensor copied = make_view(empty({columns, distance}, x.options().dtype(dtype)), x.sizes(), {1, distance}, 0);
  copy(copied, x);
  return copied;
}

// A row-major tensor for the result in `dtype`: d itself if it fits.
Tensor result_like(const GemmCall& call, DType dtype) {
  if (call.d.dtype() == dtype && call.d.is_contiguous()) return call.d;
  const Tensor result = empty(call.d.sizes(), call.d.options().dtype(dtype));
  if (call.accumulate) copy(result, call.d);
  return result;
}

// Multiplies operands of `dtype` that suit the library.
bool run_on_copies(const GemmCall& call, DType dtype) {
  GemmCall c = call;
  c.a = prefers_other_stride(call, dtype) ? with_other_stride(call.a, dtype) : dense_matrices(call.a, dtype);
  c.b = dense_matrices(call.b, dtype);
  c.bias = dense_matrices(call.bias, kFloat);
  c.d = result_like(call, call.d.dtype() == call.a.dtype() ? dtype : kFloat);
  const bool changed = !c.a.is_same(call.a) || !c.b.is_same(call.b) || !c.d.is_same(call.d) ||
                       (c.bias.defined() && !c.bias.is_same(call.bias));
  if (!changed || !run_as_is(c)) return false;
  if (!c.d.is_same(call.d)) copy(call.d, c.d);
  return true;
}

constexpr int64_t kTileRows = 4, kTileColumns = 64;

// Computes rows [i, i + rows) of d for one pair of row-major matrices, tile by tile.
void multiply_rows(double* d, const double* a, const double* b, const double* bias, int64_t rows, int64_t k, int64_t n,
                   const GemmCall& call) {
  for (int64_t j = 0; j < n; j += kTileColumns) {
    const int64_t columns = std::min(kTileColumns, n - j);
    double sums[kTileRows][kTileColumns] = {};
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < rows; ++i) {
        const double factor = a[i * k + p];
        for (int64_t q = 0; q < columns; ++q) sums[i][q] += factor * b[p * n + j + q];
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t q = 0; q < columns; ++q) {
        double& out = d[i * n + j + q];
        out = call.accumulate ? out + sums[i][q] : sums[i][q] + (bias ? bias[j + q] : 0);
      }
    }
  }
}

Tensor row_major_f64(const Tensor& x) {
  if (x.dtype() == kDouble && x.is_contiguous()) return x;
  const Tensor copied = empty(x.sizes(), x.options().dtype(kDouble));
  copy(copied, x);
  return copied;
}

void run_loops(const GemmCall& call) {
  const Tensor a = row_major_f64(call.a), b = row_major_f64(call.b), d = result_like(call, kDouble);
  const Tensor bias = call.bias.defined() ? row_major_f64(call.bias) : Tensor();
  const int64_t m = d.size(-2), n = d.size(-1), k = a.size(-1), batch = d.numel() / (m * n);
  const int64_t tiles = (m + kTileRows - 1) / kTileRows;
  const double* offset = bias.defined() ? bias.raw<double>() : nullptr;
  parallel_for(batch * tiles, grain_of(kTileRows * n * (k + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t which = tile / tiles, i = tile % tiles * kTileRows;
      multiply_rows(d.raw<double>() + (which * m + i) * n, a.raw<double>() + (which * m + i) * k,
                    b.raw<double>() + which * k * n, offset, std::min(kTileRows, m - i), k, n, call);
    }
  });
  if (!d.is_same(call.d)) copy(call.d, d);
}

}  // namespace

void gemm(const GemmCall& call) {
  if (call.d.numel() == 0) return;
  if (is_float8(call.a.dtype())) {
    return kernels::multiply_float8(call, products::computes_in(kBFloat16) ? kBFloat16 : kFloat);
  }
  if (call.activation == Activation::relu && !call.accumulate) {
    GemmCall sum = call;
    sum.activation = Activation::none;
    gemm(sum);
    return unary(call.d, Unary::relu, call.d, 0, 0);
  }
  if (call.a.dtype() != kDouble && call.a.numel() > 0) {
    const DType dtype = call.a.dtype();
    if (products::computes_in(dtype)) {
      if (!prefers_other_stride(call, dtype) && run_as_is(call)) return;
      if (run_on_copies(call, dtype)) return;
    }
    if (dtype != kFloat && run_on_copies(call, kFloat)) return;
  }
  run_loops(call);
}

void linear_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x) {
  if (gweight.defined() && gy.dtype() != kDouble && gy.numel() > 0 && x.numel() > 0 &&
      products::linear_backward_weight(array_of(gweight), array_of(gbias), array_of(gy), array_of(x))) {
    return;
  }
  if (gweight.defined()) gemm({.d = gweight, .a = transposed(gy), .b = x, .bias = {}});
  if (gbias.defined()) {
    const Tensor row = make_view(gbias, {1, gbias.size(0)}, {0, gbias.stride(0)}, gbias.storage_offset());
    reduce(row, Reduction::sum, gy);
  }
}

}  // namespace tandem::cpu
