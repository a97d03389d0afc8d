// cumsum and the other scans. Contract: sums and products of f16, bf16 and f32 are held in f64 and rounded to f32, then
// to y's dtype; f64 in f64, integers modulo 2^64. y may be x. Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.h"
#include "kernels/scan.h"

namespace tandem::cuda {
namespace {

constexpr int kScanThreads = 256;

/// Returns v combined with the values of this thread's group before it, and sets `total` to the combination of all.
/// Every thread of the block must call it.
template <bool kColumns, class Scan, class S>
__device__ __forceinline__ S scan_group(S v, S& total) {
  using G = Group<kColumns>;
  __shared__ S values[kScanThreads];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x, step = kColumns ? blockDim.x : 1;
  const int thread = G::thread();
  for (int lanes = 1; lanes < G::width(); lanes *= 2) {
    __syncthreads();  // the values of the previous step have been read
    values[at] = v;
    __syncthreads();
    if (thread >= lanes) v = Scan::combine(values[at - static_cast<unsigned>(lanes) * step], v);
  }
  __syncthreads();
  values[at] = v;
  __syncthreads();
  total = values[at + static_cast<unsigned>(G::width() - 1 - thread) * step];
  return v;
}

/// Scans the row of this thread's group that begins at `start`, if `is_row`; threads without a row still take part.
/// put(place in the row, state) stores a result.
template <class Scan, class C, bool kColumns, class Put>
__device__ __forceinline__ void scan_row(const RowsOf& x, int64_t start, int64_t n, bool is_row, bool reverse,
                                         Put put) {
  using G = Group<kColumns>;
  using S = typename Scan::State;
  S before = Scan::identity();
  for (int64_t begin = 0; begin < n; begin += G::width()) {
    const int64_t i = begin + G::thread(), place = reverse ? n - 1 - i : i;
    const bool has = is_row && i < n;
    const S v = has ? Scan::of(load<C>(x.data, x.dtype, start + place * x.stride), place) : Scan::identity();
    S total;
    const S state = scan_group<kColumns, Scan>(v, total);
    if (has) put(place, Scan::combine(before, state));
    before = Scan::combine(before, total);
  }
}

// For more than four blocks on a multiprocessor, the compiler would spill registers on compute capability 10 and 12.
template <class C, bool kColumns>
__global__ void __launch_bounds__(kScanThreads, 4)
    scan_rows(Geometry<2> others, int64_t n, RowsOf y, RowsOf x, bool reverse) {
  using G = Group<kColumns>;
  using Scan = kernels::SumScan<C>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    int64_t at[2] = {0, 0};
    if (k < others.numel) others.offsets(k, at);
    scan_row<Scan, C, kColumns>(x, at[1], n, k < others.numel, reverse,
                                [&](int64_t place, const typename Scan::State& state) {
                                  store<C>(y.data, y.dtype, at[0] + place * y.stride, Scan::value(state));
                                });
  }
}

/// The same for any scan; stores indices too unless indices.data is null.
template <class Scan, class C, bool kColumns>
__global__ void __launch_bounds__(kScanThreads, 4)
    scan_rows_of(Geometry<3> others, int64_t n, RowsOf y, RowsOf indices, RowsOf x, bool reverse) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    int64_t at[3] = {0, 0, 0};
    if (k < others.numel) others.offsets(k, at);
    scan_row<Scan, C, kColumns>(
        x, at[1], n, k < others.numel, reverse, [&](int64_t place, const typename Scan::State& state) {
          store<C>(y.data, y.dtype, at[0] + place * y.stride, Scan::value(state));
          if (indices.data) static_cast<int64_t*>(indices.data)[at[2] + place * indices.stride] = Scan::index(state);
        });
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

void scan(const Tensor& y, const Tensor& indices, kernels::Scan op, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const Tensor& places = indices.defined() ? indices : y;
  const RowPlan<3> plan({&y, &x, &places}, dim);
  const GroupShape shape = make_group_shape(plan.others.numel, plan.n, plan.shape.columns, kScanThreads);
  RowsOf found(places, dim);
  if (!indices.defined()) found.data = nullptr;
  kernels::visit_compute(kernels::compute_type(promote_types(y.dtype(), x.dtype())), [&]<class C>(C) {
    kernels::visit_scan<C>(op, [&]<class S>(S) {
      const auto kernel = shape.columns ? scan_rows_of<S, C, true> : scan_rows_of<S, C, false>;
      launch(kernel, launch_of(shape), plan.others, plan.n, RowsOf(y, dim), found, RowsOf(x, dim), reverse);
    });
  });
}

}  // namespace tandem::cuda
