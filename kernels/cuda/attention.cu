// Attention in tiles of 32 queries and 32 keys, so that only tiles of the weights exist. Contract: f16 and bf16 are
// widened and computed in f32, and rounded once; f64 in f64. Deterministic. For f32, f64 and rows of more than 128
// elements; attention_mma.cu is for the others.
//
// Each block computes up to kColumns columns of a result for 32 of its rows: of y and gq for queries, of gk and gv for
// keys. Results with more columns take several blocks, which all compute the weights. So a block's memory does not
// depend on the widths of q and v.
// Source: Dao, Fu, Ermon, Rudra, Re, FlashAttention, 2022.
#include "kernels/compute.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/kernels.h"
#include "tandem/math/approx.h"
#include "tandem/math/reduce.h"
#include "tandem/tensor/device_guard.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr int kTileRows = 32, kThreadsPerRow = 4, kTileThreads = kTileRows * kThreadsPerRow;
constexpr int kSums = 32, kColumns = kSums * kThreadsPerRow;
constexpr int kStep = 32;  // columns of q and k, or of v and gy, that are multiplied at a time

/// Blocks per multiprocessor: as many as leave registers for the sums.
template <class C>
inline constexpr int kBlocks = sizeof(C) == 8 ? 2 : 3;

/// A tile of 32 x 32 numbers in shared memory; rows are padded against bank conflicts.
template <class C>
using Tile = C[kTileRows][kStep + 1];

/// Loads rows [first, first + 32) and columns [column, column + 32) of a head; 0 outside.
template <class C>
__device__ void load_tile(Tile<C>& tile, const HeadRows& x, int64_t b, int64_t h, int64_t first, int64_t column) {
  for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kStep; i += kTileThreads) {
    const int r = i / kStep, c = i % kStep;
    const bool has = first + r < x.rows && column + c < x.n;
    tile[r][c] = has ? load<C>(x.data, x.dtype, x.offset(b, h, first + r) + column + c) : C(0);
  }
}

/// products[r][c] = row first_a + r of a times row first_b + c of b. Uses `left` and `right`. All threads must call it.
template <class C>
__device__ void multiply_rows(Tile<C>& products, const HeadRows& a, int64_t head_a, int64_t first_a, const HeadRows& b,
                              int64_t head_b, int64_t first_b, int64_t batch, Tile<C>& left, Tile<C>& right) {
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  C sums[kTileRows / kThreadsPerRow] = {};
  for (int64_t column = 0; column < a.n; column += kStep) {
    __syncthreads();
    load_tile(left, a, batch, head_a, first_a, column);
    load_tile(right, b, batch, head_b, first_b, column);
    __syncthreads();
    for (int e = 0; e < kStep; ++e) {
      const C factor = left[r][e];
#pragma unroll
      for (int j = 0; j < kTileRows / kThreadsPerRow; ++j) sums[j] += factor * right[part + kThreadsPerRow * j][e];
    }
  }
#pragma unroll
  for (int j = 0; j < kTileRows / kThreadsPerRow; ++j) products[r][part + kThreadsPerRow * j] = sums[j];
  __syncthreads();
}

/// sums[j] += products of row r of the weights, or column r if kTransposed, with column `first_column + part + 4 j` of
/// rows [first, first + 32) of x. All threads must call it.
template <bool kTransposed, class C>
__device__ void add_products(C (&sums)[kSums], const Tile<C>& weights, const HeadRows& x, int64_t batch, int64_t head,
                             int64_t first, int64_t first_column, Tile<C>& rows) {
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  constexpr int kPerStep = kStep / kThreadsPerRow;
#pragma unroll
  for (int s = 0; s < kSums / kPerStep; ++s) {
    const int64_t column = first_column + s * kStep;
    if (column >= x.n) break;
    __syncthreads();
    load_tile(rows, x, batch, head, first, column);
    __syncthreads();
    for (int c = 0; c < kTileRows; ++c) {
      const C factor = kTransposed ? weights[c][r] : weights[r][c];
#pragma unroll
      for (int j = 0; j < kPerStep; ++j) sums[s * kPerStep + j] += factor * rows[c][part + kThreadsPerRow * j];
    }
  }
  __syncthreads();
}

/// The score of a query and a key, -inf if it is masked; `product` is that of their rows.
template <class C>
__device__ C score(const AttentionParams<C>& call, int64_t b, int64_t h, int64_t query, int64_t key, C product) {
  const C term = mask_term(call, b, h, query, key);
  return term == -math::kInf<C> ? term : product * call.scale + term;
}

template <class C>
__global__ void __launch_bounds__(kTileThreads, kBlocks<C>) attend(AttentionParams<C> call) {
  __shared__ Tile<C> weights, left, right;
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const AttentionBlock place(call.q.rows, call.heads, kTileRows);
  const int64_t b = place.batch, h = place.head, key_head = call.key_head(h);
  const int64_t first = place.first, query = first + r, first_column = int64_t{blockIdx.z} * kColumns;
  const PhiloxState state = position_of(call.state);
  C sums[kSums] = {}, max = -math::kInf<C>, total = 0;
  for (int64_t key = 0; key < call.k.rows && !(call.causal && key >= first + kTileRows); key += kTileRows) {
    multiply_rows(weights, call.q, h, first, call.k, key_head, key, b, left, right);
    for (int c = part; c < kTileRows; c += kThreadsPerRow) {
      weights[r][c] = score(call, b, h, query, key + c, weights[r][c]);
    }
    __syncthreads();
    C next = max;
    for (int c = 0; c < kTileRows; ++c) next = math::maximum(next, weights[r][c]);
    const bool all_masked = next == -math::kInf<C>;
    __syncthreads();
    for (int c = part; c < kTileRows; c += kThreadsPerRow) {
      weights[r][c] = all_masked ? C(0) : math::exp(weights[r][c] - next);
    }
    __syncthreads();
    const C factor = all_masked ? C(1) : math::exp(max - next);
    total *= factor;
    for (int c = 0; c < kTileRows; ++c) total += weights[r][c];
#pragma unroll
    for (int j = 0; j < kSums; ++j) sums[j] *= factor;
    max = next;
    __syncthreads();
    if (call.kept_scale != 0) {
      for (int c = part; c < kTileRows; c += kThreadsPerRow) {
        weights[r][c] = is_kept(call, state, b, h, query, key + c) ? weights[r][c] * call.kept_scale : C(0);
      }
    }
    add_products<false>(sums, weights, call.v, b, key_head, key, first_column, left);
  }
  if (query >= call.q.rows) return;
  const C inverse = total == 0 ? C(0) : C(1) / total;
#pragma unroll
  for (int j = 0; j < kSums; ++j) {
    const int64_t column = first_column + part + kThreadsPerRow * j;
    if (column < call.y.n) {
      store<C>(call.y.data, call.y.dtype, call.y.offset(b, h, query) + column, sums[j] * inverse);
    }
  }
  if (part == 0 && first_column == 0) {
    call.max[call.row_of(b, h, query)] = total == 0 ? C(0) : max;
    call.log_sum[call.row_of(b, h, query)] = total == 0 ? math::kInf<C> : math::log(total);
  }
}

/// dots[row] = the product of the row's gy and y: the sum over its weights times their gradients.
template <class C>
__global__ void __launch_bounds__(kTileThreads) multiply_results(AttentionParams<C> call, HeadRows gy, C* dots) {
  const AttentionBlock place(call.q.rows, call.heads, kTileThreads);
  const int64_t b = place.batch, h = place.head, query = place.first + threadIdx.x;
  if (query >= call.q.rows) return;
  C dot = 0;
  for (int64_t c = 0; c < gy.n; ++c) {
    dot += load<C>(gy.data, gy.dtype, gy.offset(b, h, query) + c) *
           load<C>(call.y.data, call.y.dtype, call.y.offset(b, h, query) + c);
  }
  dots[call.row_of(b, h, query)] = dot;
}

/// Computes the weights of 32 queries and 32 keys, after dropout, and the gradients of their scores. All threads must
/// call it.
template <class C>
__device__ void weights_and_slopes(const AttentionParams<C>& call, const HeadRows& gy, const C* dots,
                                   const PhiloxState& state, int64_t b, int64_t h, int64_t first, int64_t key,
                                   Tile<C>& weights, Tile<C>& slopes, Tile<C>& left, Tile<C>& right) {
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const int64_t key_head = call.key_head(h), query = first + r;
  multiply_rows(weights, call.q, h, first, call.k, key_head, key, b, left, right);
  multiply_rows(slopes, gy, h, first, call.v, key_head, key, b, left, right);
  const bool has = query < call.q.rows;
  const C max = has ? call.max[call.row_of(b, h, query)] : C(0);
  const C log_sum = has ? call.log_sum[call.row_of(b, h, query)] : C(0);
  const C dot = has ? dots[call.row_of(b, h, query)] : C(0);
  for (int c = part; c < kTileRows; c += kThreadsPerRow) {
    const C weight = math::exp(score(call, b, h, query, key + c, weights[r][c]) - max - log_sum);
    C factor = 1;
    if (call.kept_scale != 0) factor = is_kept(call, state, b, h, query, key + c) ? call.kept_scale : C(0);
    slopes[r][c] = weight * ((factor == 0 ? C(0) : slopes[r][c] * factor) - dot) * call.scale;
    weights[r][c] = weight * factor;
  }
  __syncthreads();
}

template <class C>
__device__ void store_sums(const HeadRows& g, int64_t b, int64_t h, int64_t row, int64_t first_column, int part,
                           const C (&sums)[kSums]) {
  if (row >= g.rows) return;
#pragma unroll
  for (int j = 0; j < kSums; ++j) {
    const int64_t column = first_column + part + kThreadsPerRow * j;
    if (column < g.n) store<C>(g.data, g.dtype, g.offset(b, h, row) + column, sums[j]);
  }
}

template <class C>
__global__ void __launch_bounds__(kTileThreads, kBlocks<C>)
    gradient_of_queries(AttentionParams<C> call, HeadRows gq, HeadRows gy, const C* dots) {
  __shared__ Tile<C> weights, slopes, left, right;
  const AttentionBlock place(call.q.rows, call.heads, kTileRows);
  const int64_t b = place.batch, h = place.head, key_head = call.key_head(h);
  const int64_t first = place.first, first_column = int64_t{blockIdx.z} * kColumns;
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const PhiloxState state = position_of(call.state);
  C sums[kSums] = {};
  for (int64_t key = 0; key < call.k.rows && !(call.causal && key >= first + kTileRows); key += kTileRows) {
    weights_and_slopes(call, gy, dots, state, b, h, first, key, weights, slopes, left, right);
    add_products<false>(sums, slopes, call.k, b, key_head, key, first_column, left);
  }
  store_sums(gq, b, h, first + r, first_column, part, sums);
}

/// Columns of gk, or of gv if kValues.
template <class C, bool kValues>
__global__ void __launch_bounds__(kTileThreads, kBlocks<C>)
    gradient_of_keys(AttentionParams<C> call, HeadRows g, HeadRows gy, const C* dots) {
  __shared__ Tile<C> weights, slopes, left, right;
  const AttentionBlock place(call.k.rows, call.key_heads, kTileRows);
  const int64_t b = place.batch, key_head = place.head, key = place.first,
                first_column = int64_t{blockIdx.z} * kColumns;
  const int r = static_cast<int>(threadIdx.x) / kThreadsPerRow, part = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const PhiloxState state = position_of(call.state);
  C sums[kSums] = {};
  for (int64_t h = key_head * call.group; h < (key_head + 1) * call.group; ++h) {
    for (int64_t first = call.causal ? key : 0; first < call.q.rows; first += kTileRows) {
      weights_and_slopes(call, gy, dots, state, b, h, first, key, weights, slopes, left, right);
      if constexpr (kValues) {
        add_products<true>(sums, weights, gy, b, h, first, first_column, left);
      } else {
        add_products<true>(sums, slopes, call.q, b, h, first, first_column, left);
      }
    }
  }
  store_sums(g, b, key_head, key + r, first_column, part, sums);
}

/// One block per 32 rows of a head and kColumns columns of `result`.
Launch tiles_of(const Tensor& result) {
  return attention_blocks(result, kTileRows, kTileThreads, (result.size(3) + kColumns - 1) / kColumns);
}

}  // namespace

void attention(const AttentionCall& call) {
  if (call.y.numel() == 0) return;
  const DeviceGuard on(call.y.device());
  if (fits_tensor_cores(call)) return attention_on_tensor_cores(call);
  kernels::visit_floating_compute(call.q.dtype(), [&](auto zero) {
    using C = decltype(zero);
    launch(attend<C>, tiles_of(call.y), AttentionParams<C>(call));
  });
}

void attention_backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                        const Tensor& gy) {
  const DeviceGuard on(gy.device());
  kernels::visit_floating_compute(call.q.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const AttentionParams<C> c(call);
    const HeadRows g(gy);
    const Tensor dots = empty(call.log_sum.sizes(), call.log_sum.options());
    if (gy.numel() > 0) {
      launch(multiply_results<C>, attention_blocks(gy, kTileThreads, kTileThreads), c, g, dots.raw<C>());
    }
    if (fits_tensor_cores(call)) return attention_backward_on_tensor_cores(call, gq, gk, gv, gy, dots);
    if (gq.numel() > 0) launch(gradient_of_queries<C>, tiles_of(gq), c, HeadRows(gq), g, dots.raw<C>());
    if (gk.numel() > 0) launch(gradient_of_keys<C, false>, tiles_of(gk), c, HeadRows(gk), g, dots.raw<C>());
    if (gv.numel() > 0) launch(gradient_of_keys<C, true>, tiles_of(gv), c, HeadRows(gv), g, dots.raw<C>());
  });
}

}  // namespace tandem::cuda
