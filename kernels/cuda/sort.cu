// sort, topk, select_ranked. Contract: see kernels/sort_key.h. Each block sorts tiles of entries in shared memory by a
// bitonic network; passes then merge pairs of sorted runs, in which each thread finds its own part (merge path: Green,
// McColl and Bader, GPU Merge Path, ICS 2012). Only as many entries as wanted are kept of each run. Deterministic: the
// order of entries is total.
#include <bit>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/rows.h"
#include "kernels/sort_key.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {

using kernels::last_entry;
using kernels::position_of;
using kernels::SortEntry;

namespace {

constexpr int kTile = 2048;     // entries that a block sorts
constexpr int kMergeShare = 8;  // entries that a thread merges

/// Sorted runs: `runs` per row, each of `length` entries.
struct Runs {
  int64_t rows, runs, length;
};

/// Sorts the elements of each row in segments of `segment` (a power of two), and stores the first entries of each.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sort_segments(Geometry<3> others, int64_t n, const T* x, int64_t step, int segment, bool descending, Runs out,
                  SortEntry<T>* entries) {
  using E = SortEntry<T>;
  __shared__ E tile[kTile];
  const int per_tile = kTile / segment, thread = static_cast<int>(threadIdx.x);
  const int64_t total = out.rows * out.runs;
  for (int64_t first = int64_t{blockIdx.x} * per_tile; first < total; first += int64_t{gridDim.x} * per_tile) {
    for (int s = thread; s < kTile; s += kThreads) {
      const int64_t run = first + s / segment, row = run / out.runs;
      const int64_t i = (run - row * out.runs) * segment + s % segment;
      E entry = last_entry<E>();
      if (run < total && i < n) {
        int64_t at[3];
        others.offsets(row, at);
        entry = kernels::make_entry<T>(x[at[0] + i * step], i, descending);
      }
      tile[s] = entry;
    }
    __syncthreads();
    for (int size = 2; size <= segment; size *= 2) {
      for (int distance = size / 2; distance > 0; distance /= 2) {
        for (int pair = thread; pair < kTile / 2; pair += kThreads) {
          const int i = 2 * pair - (pair & (distance - 1)), j = i + distance;
          const bool ascending = size == segment || (i & size) == 0;
          const E a = tile[i], b = tile[j];
          if ((b < a) == ascending) {
            tile[i] = b;
            tile[j] = a;
          }
        }
        __syncthreads();
      }
    }
    for (int s = thread; s < kTile; s += kThreads) {
      const int64_t run = first + s / segment;
      if (run < total && s % segment < out.length) entries[run * out.length + s % segment] = tile[s];
    }
    __syncthreads();  // the tile has been read
  }
}

/// Merges runs 2 i and 2 i + 1 of each row, and keeps the first entries.
template <class E>
__global__ void __launch_bounds__(kThreads) merge_runs(Runs in, const E* from, Runs out, E* to) {
  const int64_t shares = (out.length + kMergeShare - 1) / kMergeShare, total = out.rows * out.runs * shares;
  for (int64_t t = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += int64_t{gridDim.x} * blockDim.x) {
    const int64_t run = t / shares, row = run / out.runs, pair = run - row * out.runs;
    const int64_t begin = (t - run * shares) * kMergeShare, end = min(out.length, begin + kMergeShare);
    const E* const a = from + (row * in.runs + 2 * pair) * in.length;
    const E* const b = a + in.length;
    const int64_t b_count = 2 * pair + 1 < in.runs ? in.length : 0;
    // The first `begin` entries are i of a and j of b.
    int64_t i = max(int64_t{0}, begin - b_count);
    for (int64_t high = min(begin, in.length); i < high;) {
      const int64_t middle = (i + high) / 2;
      if (a[middle] < b[begin - 1 - middle]) {
        i = middle + 1;
      } else {
        high = middle;
      }
    }
    int64_t j = begin - i;
    for (int64_t at = begin; at < end; ++at) {
      const bool has_a = i < in.length, has_b = j < b_count;
      E next = last_entry<E>();
      if (has_a && !(has_b && b[j] < a[i])) {
        next = a[i++];
      } else if (has_b) {
        next = b[j++];
      }
      to[run * out.length + at] = next;
    }
  }
}

/// Where the results of a row are written, and its elements; Bits: the type of an element's size.
template <class Bits>
struct SortOutputs {
  Bits* values;
  int64_t* indices;
  const Bits* x;
  int64_t value_step, index_step, x_step;

  SortOutputs(const Tensor& values_, const Tensor& indices_, const Tensor& x_, int64_t dim)
      : values(static_cast<Bits*>(values_.raw_bytes())),
        indices(indices_.raw<int64_t>()),
        x(static_cast<const Bits*>(x_.raw_bytes())),
        value_step(values_.strides()[static_cast<size_t>(dim)]),
        index_step(indices_.strides()[static_cast<size_t>(dim)]),
        x_step(x_.strides()[static_cast<size_t>(dim)]) {}

  __device__ void put(const int64_t (&at)[3], int64_t i, int64_t position) const {
    values[at[1] + i * value_step] = x[at[0] + position * x_step];
    indices[at[2] + i * index_step] = position;
  }
};

template <class E, class Bits>
__global__ void __launch_bounds__(kThreads)
    store_sorted(Geometry<3> others, int64_t count, const E* entries, SortOutputs<Bits> out) {
  const int64_t total = others.numel * count;
  for (int64_t t = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; t < total; t += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = t / count;
    int64_t at[3];
    others.offsets(row, at);
    out.put(at, t - row * count, position_of(entries[t]));
  }
}

/// Stores entry k of each row's `count` sorted entries, or the one that `rank` names.
template <class E, class Bits>
__global__ void __launch_bounds__(kThreads)
    store_ranked(Geometry<3> others, int64_t count, const E* entries, kernels::Rank rank, int64_t k, bool can_be_nan,
                 uint64_t nan_key, SortOutputs<Bits> out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < others.numel; row += step) {
    const E* const sorted = entries + row * count;
    int64_t chosen = k;
    if (rank != kernels::Rank::kth) {
      int64_t numbers = 0;  // entries before the first NaN
      for (int64_t high = count; numbers < high;) {
        const int64_t middle = (numbers + high) / 2;
        if (can_be_nan && kernels::key_of(sorted[middle]) == nan_key) {
          high = middle;
        } else {
          numbers = middle + 1;
        }
      }
      chosen = numbers > 0 ? (numbers - 1) / 2 : 0;
      if (rank == kernels::Rank::median && numbers < count) chosen = numbers;
    }
    int64_t at[3];
    others.offsets(row, at);
    out.put(at, 0, position_of(sorted[chosen]));
  }
}

/// Calls f(entries, E{}, Bits{}) with the first `count` sorted entries of each row: [rows, count].
template <class F>
void with_sorted_entries(const RowPlan<3>& plan, const Tensor& x, int64_t dim, int64_t count, bool descending, F f) {
  visit_arithmetic_dtype(x.dtype(), [&]<class T>(T) {
    using E = SortEntry<T>;
    const int64_t n = plan.n;
    const int segment =
        static_cast<int>(std::min<uint64_t>(kTile, std::max<uint64_t>(2, std::bit_ceil(static_cast<uint64_t>(n)))));
    Runs runs{plan.others.numel, (n + segment - 1) / segment, std::min<int64_t>(segment, count)};
    const auto allocate = [&](const Runs& r) {
      return empty({r.rows * r.runs * r.length * static_cast<int64_t>(sizeof(E))},
                   TensorOptions(kByte).device(x.device()));
    };
    Tensor entries = allocate(runs);
    const int64_t per_tile = kTile / segment;
    launch(sort_segments<T>, block_stride((runs.rows * runs.runs + per_tile - 1) / per_tile), plan.others, n,
           x.raw<T>(), x.strides()[static_cast<size_t>(dim)], segment, descending, runs,
           static_cast<E*>(entries.raw_bytes()));
    while (runs.runs > 1) {
      const Runs merged{runs.rows, (runs.runs + 1) / 2, std::min(2 * runs.length, count)};
      const Tensor target = allocate(merged);
      const int64_t threads = merged.rows * merged.runs * ((merged.length + kMergeShare - 1) / kMergeShare);
      launch(merge_runs<E>, grid_stride(threads), runs, static_cast<const E*>(entries.raw_bytes()), merged,
             static_cast<E*>(target.raw_bytes()));
      entries = target;
      runs = merged;
    }
    f(static_cast<const E*>(entries.raw_bytes()), E{}, kernels::BitsOf<T>{});
  });
}

/// The first sorted entries of each row, as many as values has.
void store_first(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending) {
  if (values.numel() == 0) return;
  const DeviceGuard on(x.device());
  const RowPlan<3> plan({&x, &values, &indices}, dim);
  const int64_t count = values.sizes()[static_cast<size_t>(dim)];
  with_sorted_entries(plan, x, dim, count, descending, [&]<class E, class Bits>(const E* entries, E, Bits) {
    launch(store_sorted<E, Bits>, grid_stride(plan.others.numel * count), plan.others, count, entries,
           SortOutputs<Bits>(values, indices, x, dim));
  });
}

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool descending) {
  store_first(values, indices, x, dim, descending);
}

void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t dim, bool largest, bool) {
  store_first(values, indices, x, dim, largest);
}

void select_ranked(const Tensor& values, const Tensor& indices, kernels::Rank rank, const Tensor& x, int64_t dim,
                   int64_t k) {
  if (values.numel() == 0) return;
  const DeviceGuard on(x.device());
  const RowPlan<3> plan({&x, &values, &indices}, dim);
  const int64_t count = rank == kernels::Rank::kth ? k + 1 : plan.n;
  const uint64_t nan_key = ~uint64_t{0} >> (64 - 8 * x.element_size());
  with_sorted_entries(plan, x, dim, count, false, [&]<class E, class Bits>(const E* entries, E, Bits) {
    launch(store_ranked<E, Bits>, grid_stride(plan.others.numel), plan.others, count, entries, rank, k,
           x.is_floating_point(), nan_key, SortOutputs<Bits>(values, indices, x, dim));
  });
}

}  // namespace tandem::cuda
