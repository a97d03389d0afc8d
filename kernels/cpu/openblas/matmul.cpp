// Matrix products of f32 by OpenBLAS, which multiplies no 16-bit numbers: those are widened. Without OpenBLAS every
// call is refused, and the loops of gemm.cpp run instead.
#include <algorithm>
#include <sstream>

#include "kernels/cpu/library_call.h"
#include "kernels/cpu/openblas/sgemm.h"
#include "kernels/cpu/products.h"

namespace tandem::cpu::products {

CpuProductLibrary describe() {
#if defined(TANDEM_OPENBLAS)
  std::istringstream config(openblas_get_config());  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  CpuProductLibrary library{"", "", openblas_get_corename()};
  config >> library.name >> library.version;
  return library;
#else
  return {"none", "", ""};
#endif
}

bool computes_in(DType dtype) { return dtype == kFloat; }
int relative_rate(DType) { return 1; }
bool reorder(const Array&, const Array&) { return false; }  // copy() is as fast

namespace {

/// A matrix of the array's last two dimensions, with contiguous rows or columns. False: neither.
bool as_matrix(const Array& x, int64_t batch, openblas::Matrix& matrix) {
  const auto r = static_cast<size_t>(x.rank) - 2, c = r + 1;
  matrix.data = static_cast<float*>(x.data) + (x.rank == 3 && x.sizes[0] != 1 ? batch * x.strides[0] : 0);
  matrix.transposed = x.strides[c] != 1;
  if (matrix.transposed && x.strides[r] != 1) return false;
  const int64_t row = matrix.transposed ? x.sizes[r] : x.sizes[c], rows = matrix.transposed ? x.sizes[c] : x.sizes[r];
  const int64_t step = matrix.transposed ? x.strides[c] : x.strides[r];
  if (rows > 1 && step < row) return false;  // rows overlap
  matrix.step = std::max({step, row, int64_t{1}});
  return true;
}

}  // namespace

bool matmul(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate) {
  if (d.dtype != kFloat || a.dtype != kFloat || b.dtype != kFloat || (bias && bias.dtype != kFloat)) return false;
  const LibraryCall call;
  if (!call) return false;
  const auto r = static_cast<size_t>(d.rank) - 2;
  const int64_t batches = d.rank == 3 ? d.sizes[0] : 1, m = d.sizes[r], n = d.sizes[r + 1], k = a.sizes[r + 1];
  if (!openblas::takes({m, n, k})) return false;
  openblas::Matrix to, left, right;
  for (int64_t i = 0; i < batches; ++i) {
    if (!as_matrix(d, i, to) || to.transposed || !as_matrix(a, i, left) || !as_matrix(b, i, right)) return false;
    if (!openblas::takes({to.step, left.step, right.step})) return false;
    if (bias) {
      const auto* offset = static_cast<const float*>(bias.data);
      const int64_t step = bias.sizes[0] == 1 ? 0 : bias.strides[0];
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t j = 0; j < n; ++j) to.data[row * to.step + j] = offset[j * step];
      }
    }
    openblas::multiply(to, left, right, m, n, k, accumulate || bias);
  }
  return true;
}

bool matmul_packed(const Array& d, const Array& a, const Array& b, const Array& bias, bool accumulate, PackedMatrix&) {
  return matmul(d, a, b, bias, accumulate);
}

bool prefers_other_stride(DType, int64_t, int64_t, int64_t) { return false; }
bool linear_backward_weight(const Array&, const Array&, const Array&, const Array&) { return false; }

}  // namespace tandem::cpu::products
