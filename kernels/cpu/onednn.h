#pragma once
// The door to oneDNN: the rest of the CPU backend sees only this file; dnnl.hpp stays in kernels/cpu/onednn/.
//
// Every function returns false, having written nothing, when oneDNN has no fast implementation of that call on this
// processor: the caller then tries another layout, a wider dtype, or its own loops. Sums are held in f32 and results
// rounded once. Primitives are kept per thread by dtypes, sizes and strides, so a repeated call costs little more than
// its execution; a refusal is remembered too.
#include <array>
#include <cstdint>

#include "tandem/backend.h"

namespace tandem::cpu::onednn {

/// A strided array of f32, f16 or bf16; for reorder, of f32, u8 or i32. Rank 0 stands for 'no array'.
struct Array {
  void* data = nullptr;
  DType dtype = kFloat;
  int rank = 0;
  std::array<int64_t, 4> sizes{}, strides{};

  explicit operator bool() const { return rank > 0; }
};

/// The elements of `x` as they lie; undefined gives no array. Strides of size-1 dimensions, which carry no meaning, are
/// those that fit the dimension after them.
Array array_of(const Tensor& x);

/// True when oneDNN has fast arithmetic for the dtype on this processor; f16 and bf16 are widened elsewhere.
bool computes_in(DType dtype);

/// d = a b + bias, or d += a b. Rank 2 or 3 (batched; sizes of 1 in a or b repeat). bias: [n].
bool matmul(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate);
/// gweight [out, in] = gy^T x and gbias [out] = column sums of gy (no array: left out), for gy [n, out] and x [n, in].
/// Refused also where a matmul is the faster way.
bool linear_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x);

/// Convolutions of [N, C, H, W] arrays by weights [O, C / groups, KH, KW]; slow (so refused) unless N, H, W, C in
/// memory.
bool convolution(const Array& y, const Array& x, const Array& weight, const Array& bias, const Conv2dParams& p);
bool convolution_backward_data(const Array& gx, const Array& gy, const Array& weight, const Conv2dParams& p);
bool convolution_backward_weight(const Array& gweight, const Array& gbias, const Array& gy, const Array& x,
                                 const Conv2dParams& p);

/// dst = src bit by bit, equal sizes and dtypes, other strides.
bool reorder(const Array& dst, const Array& src);

}  // namespace tandem::cpu::onednn
