#pragma once
// Matrix products and convolutions by an external library: oneDNN (onednn/), or OpenBLAS (openblas/) without it. The
// rest of the CPU backend includes only this file.
//
// Each function returns false, without writing anything, if the library has no fast implementation of the call on this
// processor. The caller then tries another layout, a wider dtype or its own loops. Sums are f32 and results are rounded
// once. oneDNN's primitives are cached per thread by dtypes, sizes and strides, so repeated calls add little overhead;
// refusals are cached too.
#include <array>
#include <cstdint>
#include <memory>

#include "tandem/backend.h"
#include "tandem/tensor/cpu_capability.h"

namespace tandem::cpu::products {

/// A strided array of f32, f16 or bf16; for reorder, of f32, u8 or i32. Rank 0: no array.
struct Array {
  void* data = nullptr;
  DType dtype = kFloat;
  int rank = 0;
  std::array<int64_t, 5> sizes{}, strides{};

  explicit operator bool() const { return rank > 0; }
};

/// The elements of `x` in place; an undefined tensor gives no array. Meaningless strides (of size-1 dimensions) are
/// replaced by those that fit the following dimension.
Array array_of(const Tensor& x);

/// The library's name, version and instruction set.
CpuProductLibrary describe();
/// Whether the library has fast arithmetic for the dtype on this processor. If not, f16 and bf16 are widened.
bool computes_in(DType dtype);
/// The rate of products of the dtype relative to those of f32: 1 if they are widened.
int relative_rate(DType dtype);

/// d = a b + bias, or d += a b. Rank 2 or 3 (batched; sizes of 1 in a or b repeat). bias: [n].
bool matmul(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate);
/// Whether a product in `dtype` of a column-major a with b [k, n] is so slow for the distance between the columns of a,
/// in elements, that a copy of a with another distance pays.
bool prefers_other_stride(DType dtype, int64_t distance, int64_t k, int64_t n);
/// The right factor of many products, in the layout that the library prefers for them.
struct PackedMatrix {
  Tensor bytes;                        ///< undefined until the first product
  std::shared_ptr<const void> layout;  ///< of `bytes`
};
/// The same product, rank 2, with a matrix b that does not change between the calls with one `packed`: it is repacked
/// only if the library prefers another layout for this call than for the last.
bool matmul_packed(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate,
                   PackedMatrix& packed);
/// gweight [out, in] = gy^T x and gbias [out] = column sums of gy (optional), for gy [n, out] and x [n, in]. Also
/// refused if a matmul is faster.
bool linear_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x);

/// Convolutions of [N, C, H, W] arrays with weights [O, C / groups, KH, KW], or with a depth before the height. Layouts
/// other than N, H, W, C in memory are slow and therefore refused.
bool convolution(const Array& y, const Array& x, const Array& weight, const Array& bias, const ConvParams& p);
bool convolution_backward_data(const Array& gx, const Array& gy, const Array& weight, const ConvParams& p);
bool convolution_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x,
                                 const ConvParams& p);

/// dst = src bit by bit, equal sizes and dtypes, other strides.
bool reorder(const Array& dst, const Array& src);

}  // namespace tandem::cpu::products
