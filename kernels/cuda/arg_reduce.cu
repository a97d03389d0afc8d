// arg_reduce. Contract: returns the first of equal values. NaN beats every number, for max and min; the first NaN wins.
// Values are exact. The dimension has at least one element.
#include "kernels/compute.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce_plan.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// The best element so far; the index is negative if there is none.
template <class C>
struct Best {
  C value;
  int64_t index;
};

/// The lower index wins among equals, so elements may come in any order.
template <class C>
__device__ Best<C> better(const Best<C>& a, const Best<C>& b, bool largest) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return a_nan ? a : b;
  if (a_nan || a.value == b.value) return a.index < b.index ? a : b;
  return (a.value > b.value) == largest ? a : b;
}

template <class C>
__device__ __forceinline__ Best<C> shuffle_xor(const Best<C>& v, int lanes) {
  return {__shfl_xor_sync(0xffffffffu, v.value, lanes), __shfl_xor_sync(0xffffffffu, v.index, lanes)};
}

struct Outputs {
  void* values;  ///< or null
  DType dtype;
  void* indices;
  DType index_dtype;

  template <class C>
  __device__ void put(const int64_t (&at)[3], const Best<C>& best) const {
    store<int64_t>(indices, index_dtype, at[1], best.index);
    if (values) store<C>(values, dtype, at[2], best.value);
  }
};

/// Searches the terms of each output, or one chunk of them into `partial` [outputs, splits]. Here and below, the second
/// bound, of the blocks on a multiprocessor, keeps the compiler from spilling registers on compute capability 12.
template <class C, bool kColumns>
__global__ void __launch_bounds__(256, 3)
    search_terms(Geometry<3> kept, int64_t n, int64_t stride, const void* x, DType dtype, bool packed, int64_t chunk,
                 bool largest, Best<C>* partial, Outputs outputs) {
  using G = Group<kColumns>;
  const int64_t begin = int64_t{blockIdx.y} * chunk, end = min(n, begin + chunk);
  const int64_t step = int64_t{kPerThread} * G::width();
  for (int64_t first = G::first_row(); first < kept.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const bool is_output = k < kept.numel;
    int64_t at[3] = {0, 0, 0};
    if (is_output) kept.offsets(k, at);
    Best<C> best{C(0), -1};
    for (int64_t i = begin; is_output && i < end; i += step) {
      const Share<kColumns> share{i, end, packed};
      C v[kPerThread];
      share.template load<Dtypes::all>(x, dtype, v, [&](int64_t term) { return at[0] + term * stride; });
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        if (share.has(e)) best = better(best, Best<C>{v[e], share.index(e)}, largest);
      }
    }
    best = G::fold(best, [largest](const Best<C>& a, const Best<C>& b) { return better(a, b, largest); });
    if (!is_output || G::thread() != 0) continue;
    if (partial) {
      partial[k * gridDim.y + blockIdx.y] = best;
    } else {
      outputs.put(at, best);
    }
  }
}

/// Searches partial [outputs, splits], one warp per output.
template <class C>
__global__ void __launch_bounds__(256, 4)
    search_partial(Geometry<3> kept, int64_t splits, const Best<C>* partial, bool largest, Outputs outputs) {
  using G = Group<false>;
  for (int64_t first = G::first_row(); first < kept.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    Best<C> best{C(0), -1};
    for (int64_t s = G::thread(); k < kept.numel && s < splits; s += G::width())
      best = better(best, partial[k * splits + s], largest);
    best = G::fold(best, [largest](const Best<C>& a, const Best<C>& b) { return better(a, b, largest); });
    if (k >= kept.numel || G::thread() != 0) continue;
    int64_t at[3];
    kept.offsets(k, at);
    outputs.put(at, best);
  }
}

}  // namespace

void arg_reduce(const Tensor& values, const Tensor& indices, bool largest, const Tensor& x, int64_t) {
  if (indices.numel() == 0) return;
  const DeviceGuard on(x.device());
  const Tensor& second = values.defined() ? values : indices;
  const ReducePlan<3> plan = make_reduce_plan<3>(x, {&indices, &second});
  // Only one dimension is reduced, so its terms are evenly spaced and in the order of their indices.
  const int64_t n = plan.reduced.numel, count = plan.kept.numel;
  const int64_t stride = plan.reduced.rank == 1 ? plan.reduced.strides[0][0] : 0;  // rank 2: an expanded dimension
  const GroupShape shape = split_rows(make_group_shape(count, n, plan.columns), n);
  const bool packed = !plan.columns && plan.in_runs_of(kPerThread) && is_aligned(x);
  const Outputs outputs{values.defined() ? values.raw_bytes() : nullptr, second.dtype(), indices.raw_bytes(),
                        indices.dtype()};
  kernels::visit_compute(kernels::compute_type(x.dtype()), [&](auto zero) {
    using C = decltype(zero);
    Tensor partial;
    if (shape.splits > 1) {
      const int64_t bytes = count * shape.splits * static_cast<int64_t>(sizeof(Best<C>));
      partial = empty({bytes}, TensorOptions(kByte).device(x.device()));
    }
    auto* const partial_data = partial.defined() ? static_cast<Best<C>*>(partial.raw_bytes()) : nullptr;
    const auto kernel = plan.columns ? search_terms<C, true> : search_terms<C, false>;
    launch(kernel, launch_of(shape), plan.kept, n, stride, x.raw_bytes(), x.dtype(), packed, shape.chunk, largest,
           partial_data, outputs);
    if (!partial_data) return;
    const GroupShape warps = make_group_shape(count, 32 * kPerThread, false);
    launch(search_partial<C>, launch_of(warps), plan.kept, shape.splits, partial_data, largest, outputs);
  });
}

}  // namespace tandem::cuda
