// cumsum. Contract: sums of f16, bf16 and f32 are held in f64 and rounded once per element, f64 in f64, integers modulo
// 2^64. y may be x. Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.h"

namespace tandem::cuda {
namespace {

constexpr int kScanThreads = 256;

/// The type of sums; unsigned, because the overflow of int64_t is undefined.
template <class C>
using SumOf = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>;

/// Returns the sum of v over the threads of this thread's group up to this one, and sets `total` to the sum over all.
/// Every thread of the block must call it.
template <bool kColumns, class S>
__device__ __forceinline__ S scan_group(S v, S& total) {
  using G = Group<kColumns>;
  __shared__ S values[kScanThreads];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x, step = kColumns ? blockDim.x : 1;
  const int thread = G::thread();
  for (int lanes = 1; lanes < G::width(); lanes *= 2) {
    __syncthreads();  // the values of the previous step have been read
    values[at] = v;
    __syncthreads();
    if (thread >= lanes) v += values[at - static_cast<unsigned>(lanes) * step];
  }
  __syncthreads();
  values[at] = v;
  __syncthreads();
  total = values[at + static_cast<unsigned>(G::width() - 1 - thread) * step];
  return v;
}

template <class C, bool kColumns>
__global__ void __launch_bounds__(kScanThreads)
    scan_rows(Geometry<2> others, int64_t n, RowsOf y, RowsOf x, bool reverse) {
  using G = Group<kColumns>;
  using S = SumOf<C>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const bool is_row = k < others.numel;  // threads without a row still take part in the scans
    int64_t at[2] = {0, 0};
    if (is_row) others.offsets(k, at);
    S before = 0;
    for (int64_t begin = 0; begin < n; begin += G::width()) {
      const int64_t i = begin + G::thread(), place = reverse ? n - 1 - i : i;
      const bool has = is_row && i < n;
      const S v = has ? static_cast<S>(load<C>(x.data, x.dtype, at[1] + place * x.stride)) : S(0);
      S total;
      const S sum = scan_group<kColumns>(v, total);
      if (has) store<C>(y.data, y.dtype, at[0] + place * y.stride, static_cast<C>(before + sum));
      before += total;
    }
  }
}

}  // namespace

void cumsum(const Tensor& y, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const RowPlan<2> plan({&y, &x}, dim);
  const GroupShape shape = make_group_shape(plan.others.numel, plan.n, plan.shape.columns, kScanThreads);
  kernels::visit_compute(kernels::compute_type(promote_types(y.dtype(), x.dtype())), [&](auto zero) {
    using C = decltype(zero);
    const auto kernel = shape.columns ? scan_rows<C, true> : scan_rows<C, false>;
    launch(kernel, launch_of(shape), plan.others, plan.n, RowsOf(y, dim), RowsOf(x, dim), reverse);
  });
}

}  // namespace tandem::cuda
