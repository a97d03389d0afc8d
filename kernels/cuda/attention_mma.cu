// Attention on tensor cores (sm_80 and up), for f16 and bf16 and rows of at most 128 elements. Contract: products of
// 16-bit operands are summed in f32; softmax in f32; weights and slopes are rounded to the operands' dtype before they
// are multiplied; results are rounded once. Deterministic. Source: Dao, FlashAttention-2, 2023.
//
// Each of a block's four warps computes 16 rows of a result, with the operands of its rows and the sums in registers:
// queries for y and gq, keys for gk and gv. The other operands pass through shared memory in tiles, of which the next
// is loaded during the products of the current one.
#include "kernels/cuda/attention_tiles.h"
#include "tandem/cuda/device.h"
#include "tandem/tensor/device_guard.h"

namespace tandem::cuda {
namespace {

constexpr int kMaxWidth = 128;
constexpr float kLog2E = 0x1.715476p+0f, kLn2 = 0x1.62e430p-1f;
constexpr unsigned kAllLanes = 0xffffffffu;

/// Scores of a warp's tile as powers of two: s log2(e), so that weights are exp2 of them. Rows are queries if kQueries,
/// else keys, and columns are the others.
template <bool kQueries, int kTiles>
__device__ void make_scores(float (&products)[kTiles][4], const AttentionParams<float>& call, int64_t b, int64_t h,
                            int64_t first_row, int64_t first_column) {
  const float scale = call.scale * kLog2E;
  const int64_t last_row = first_row + 15, last_column = first_column + 8 * kTiles - 1;
  const int64_t last_query = kQueries ? last_row : last_column, last_key = kQueries ? last_column : last_row;
  const bool all = !call.has_mask && last_query < call.q.rows && last_key < call.k.rows &&
                   (!call.causal || last_key <= (kQueries ? first_row : first_column));
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      products[n][e] *= scale;
      if (all) continue;
      const int64_t row = first_row + row_of_sum(e), column = first_column + column_of_sum(n, e);
      const float term = kQueries ? mask_term(call, b, h, row, column) : mask_term(call, b, h, column, row);
      // A mask of the least finite number stays finite: a row of such masks has weights.
      const float powers = math::maximum(term * kLog2E, -0x1.fffffep+127f);
      products[n][e] = term == -math::kInf<float> ? term : products[n][e] + powers;
    }
  }
}

/// The largest of the four lanes that share a row.
__device__ __forceinline__ float max_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kBlockThreads, 2) attend(AttentionParams<float> call, bool aligned) {
  constexpr int kKeys = 4096 / kWidth, kTiles = kKeys / 8;
  __shared__ SharedRows<2 * kKeys, kWidth> keys, values;  // the current tile and the next
  const AttentionBlock place(call.q.rows, call.heads, kBlockRows);
  const int64_t b = place.batch, h = place.head, key_head = call.key_head(h);
  const int64_t first = place.first + 16 * warp_of_block();
  const PhiloxState state = position_of(call.state);

  LeftRows<kWidth> queries;
  load_rows<kBlockRows>(keys, 0, call.q, aligned, b, h, place.first);
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  queries.load(keys, 16 * warp_of_block());
  __syncthreads();

  float sums[kWidth / 8][4] = {}, max[2] = {-math::kInf<float>, -math::kInf<float>}, total[2] = {};
  const int64_t end = call.causal ? math::minimum(call.k.rows, place.first + kBlockRows) : call.k.rows;
  load_pair<kKeys>(keys, call.k, values, call.v, aligned, 0, b, key_head, 0);
  int stage = 0;
  for (int64_t key = 0; key < end; key += kKeys, stage = kKeys - stage) {
    load_pair<kKeys>(keys, call.k, values, call.v, aligned, kKeys - stage, b, key_head, key + kKeys, key + kKeys < end);
    wait_for_copies<1>();
    __syncthreads();
    float weights[kTiles][4];
    multiply_rows<T>(weights, queries, keys, stage);
    make_scores<true>(weights, call, b, h, first, key);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float next = max[i];
#pragma unroll
      for (int n = 0; n < kTiles; ++n) next = fmaxf(next, fmaxf(weights[n][2 * i], weights[n][2 * i + 1]));
      next = max_of_row(next);
      const float base = next == -math::kInf<float> ? 0.0f : next, factor = exp2f(max[i] - base);
      max[i] = next;
      total[i] *= factor;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 2 * i; e < 2 * i + 2; ++e) {
          weights[n][e] = exp2f(weights[n][e] - base);
          total[i] += weights[n][e];
        }
      }
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        sums[n][2 * i] *= factor;
        sums[n][2 * i + 1] *= factor;
      }
    }
    if (call.kept_scale != 0) {
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool kept = is_kept(call, state, b, h, first + row_of_sum(e), key + column_of_sum(n, e));
          weights[n][e] = kept ? weights[n][e] * call.kept_scale : 0.0f;
        }
      }
    }
    add_products<T>(sums, weights, values, stage);
    __syncthreads();
  }
  wait_for_copies<0>();

  float inverse[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    total[i] = sum_of_row(total[i]);
    inverse[i] = total[i] == 0 ? 0.0f : 1 / total[i];
    const int64_t query = first + row_of_sum(2 * i);
    if (lane_of_warp() % 4 == 0 && query < call.q.rows) {
      call.max[call.row_of(b, h, query)] = total[i] == 0 ? 0.0f : max[i];  // times log2(e)
      call.log_sum[call.row_of(b, h, query)] = total[i] == 0 ? math::kInf<float> : log2f(total[i]) * kLn2;
    }
  }
  store_rows<T>(call.y, b, h, first, sums, inverse[0], inverse[1]);
}

/// Slopes, the gradients of scores, can be beyond the range of f16 on both sides, since gradients are scaled. Before
/// they are rounded, a warp scales them by a power of two, which brings the largest so far to 2^14 .. 2^15, and its
/// sums with them.
template <class T>
struct SlopeScale {
  float factor = 1;
  float limit = 0;  ///< smaller slopes fit

  template <int kTiles, int kSums>
  __device__ void apply(float (&slopes)[kTiles][4], float (&sums)[kSums][4]) {
    if constexpr (std::is_same_v<T, Half>) {
      float largest = 0;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) largest = fmaxf(largest, fabsf(slopes[n][e]));
      }
      if (__any_sync(kAllLanes, largest >= limit && largest > 0)) {
        for (int lanes = 1; lanes < 32; lanes *= 2)
          largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, lanes));
        if (largest < math::kInf<float>) {
          const int exponent = math::maximum(static_cast<int>(__builtin_bit_cast(uint32_t, largest) >> 23) - 127, -100);
          const float next = power_of_two(14 - exponent), change = limit == 0 ? 1.0f : next / factor;
#pragma unroll
          for (int n = 0; n < kSums; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) sums[n][e] *= change;
          }
          factor = next;
          limit = power_of_two(14) / next * 2;
        }
      }
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) slopes[n][e] *= factor;
      }
    }
  }

 private:
  static __device__ float power_of_two(int exponent) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(exponent + 127) << 23);
  }
};

template <class T, int kWidth>
__global__ void __launch_bounds__(kBlockThreads, 2)
    gradient_of_queries(AttentionParams<float> call, HeadRows gq, HeadRows gy, const float* dots, bool aligned) {
  constexpr int kKeys = 4096 / kWidth, kTiles = kKeys / 8;
  __shared__ SharedRows<2 * kKeys, kWidth> keys, values;  // the current tile and the next
  const AttentionBlock place(call.q.rows, call.heads, kBlockRows);
  const int64_t b = place.batch, h = place.head, key_head = call.key_head(h);
  const int64_t first = place.first + 16 * warp_of_block();
  const PhiloxState state = position_of(call.state);

  LeftRows<kWidth> queries, gradients;
  load_pair<kBlockRows>(keys, call.q, values, gy, aligned, 0, b, h, place.first);
  wait_for_copies<0>();
  __syncthreads();
  queries.load(keys, 16 * warp_of_block());
  gradients.load(values, 16 * warp_of_block());
  __syncthreads();

  float max[2], log_sum[2], dot[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int64_t query = first + row_of_sum(2 * i);
    const bool has = query < call.q.rows;
    max[i] = has ? call.max[call.row_of(b, h, query)] : 0.0f;
    log_sum[i] = has ? call.log_sum[call.row_of(b, h, query)] * kLog2E : math::kInf<float>;
    dot[i] = has ? dots[call.row_of(b, h, query)] : 0.0f;
  }

  float sums[kWidth / 8][4] = {};
  SlopeScale<T> scale;
  const int64_t end = call.causal ? math::minimum(call.k.rows, place.first + kBlockRows) : call.k.rows;
  load_pair<kKeys>(keys, call.k, values, call.v, aligned, 0, b, key_head, 0);
  int stage = 0;
  for (int64_t key = 0; key < end; key += kKeys, stage = kKeys - stage) {
    load_pair<kKeys>(keys, call.k, values, call.v, aligned, kKeys - stage, b, key_head, key + kKeys, key + kKeys < end);
    wait_for_copies<1>();
    __syncthreads();
    float slopes[kTiles][4], of_weights[kTiles][4];
    multiply_rows<T>(slopes, queries, keys, stage);
    multiply_rows<T>(of_weights, gradients, values, stage);
    make_scores<true>(slopes, call, b, h, first, key);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float g = of_weights[n][e];
        if (call.kept_scale != 0) {
          const bool kept = is_kept(call, state, b, h, first + row_of_sum(e), key + column_of_sum(n, e));
          g = kept ? g * call.kept_scale : 0.0f;
        }
        slopes[n][e] = exp2f(slopes[n][e] - max[e / 2] - log_sum[e / 2]) * (g - dot[e / 2]) * call.scale;
      }
    }
    scale.apply(slopes, sums);
    add_products<T>(sums, slopes, keys, stage);
    __syncthreads();
  }
  wait_for_copies<0>();
  store_rows<T>(gq, b, h, first, sums, 1 / scale.factor, 1 / scale.factor);
}

/// gk and gv: rows are keys, and the tiles' columns queries.
template <class T, int kWidth>
__global__ void __launch_bounds__(kBlockThreads, 2)
    gradient_of_keys(AttentionParams<float> call, HeadRows gk, HeadRows gv, HeadRows gy, const float* dots,
                     bool aligned) {
  constexpr int kQueries = 2048 / kWidth, kTiles = kQueries / 8;
  constexpr float kWeightScale = 256;  // weights can be small for f16
  __shared__ SharedRows<kBlockRows, kWidth> keys, values;
  __shared__ SharedRows<2 * kQueries, kWidth> queries, gradients;  // the current tile and the next
  const AttentionBlock place(call.k.rows, call.key_heads, kBlockRows);
  const int64_t b = place.batch, key_head = place.head;
  const int64_t first = place.first + 16 * warp_of_block();
  const PhiloxState state = position_of(call.state);

  load_rows<kBlockRows>(keys, 0, call.k, aligned, b, key_head, place.first);
  load_rows<kBlockRows>(values, 0, call.v, aligned, b, key_head, place.first);
  SharedLeftRows<kBlockRows, kWidth> key_rows{keys, 16 * warp_of_block(), {}};
  SharedLeftRows<kBlockRows, kWidth> value_rows{values, 16 * warp_of_block(), {}};

  float sums_of_keys[kWidth / 8][4] = {}, sums_of_values[kWidth / 8][4] = {};
  SlopeScale<T> scale;
  const int64_t begin = call.causal ? place.first / kQueries * kQueries : 0;  // kQueries is a power of 2
  int64_t h = key_head * call.group, query = begin;
  const int64_t end_head = query < call.q.rows ? h + call.group : h;
  load_pair<kQueries>(queries, call.q, gradients, gy, aligned, 0, b, h, query, h < end_head);
  for (int stage = 0; h < end_head; stage = kQueries - stage) {
    const bool is_last = query + kQueries >= call.q.rows;
    const int64_t next_head = is_last ? h + 1 : h, next_query = is_last ? begin : query + kQueries;
    load_pair<kQueries>(queries, call.q, gradients, gy, aligned, kQueries - stage, b, next_head, next_query,
                        next_head < end_head);
    wait_for_copies<1>();
    __syncthreads();
    float weights[kTiles][4], slopes[kTiles][4];
    multiply_rows<T>(weights, key_rows, queries, stage);
    multiply_rows<T>(slopes, value_rows, gradients, stage);
    make_scores<false>(weights, call, b, h, first, query);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      float max[2], log_sum[2], dot[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int64_t q = query + column_of_sum(n, i);
        const bool has = q < call.q.rows;
        max[i] = has ? call.max[call.row_of(b, h, q)] : 0.0f;
        log_sum[i] = has ? call.log_sum[call.row_of(b, h, q)] * kLog2E : math::kInf<float>;
        dot[i] = has ? dots[call.row_of(b, h, q)] : 0.0f;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float weight = exp2f(weights[n][e] - max[e % 2] - log_sum[e % 2]) * kWeightScale;
        float g = slopes[n][e];
        bool kept = true;
        if (call.kept_scale != 0) {
          kept = is_kept(call, state, b, h, query + column_of_sum(n, e), first + row_of_sum(e));
          g = kept ? g * call.kept_scale : 0.0f;
        }
        slopes[n][e] = weight * (g - dot[e % 2]) * (call.scale / kWeightScale);
        weights[n][e] = kept ? weight : 0.0f;
      }
    }
    add_products<T>(sums_of_values, weights, gradients, stage);
    scale.apply(slopes, sums_of_keys);
    add_products<T>(sums_of_keys, slopes, queries, stage);
    __syncthreads();
    h = next_head;
    query = next_query;
  }
  wait_for_copies<0>();
  // kept_scale is inf if nothing is kept; then all sums are 0.
  const float of_values = (call.kept_scale != 0 ? fminf(call.kept_scale, 0x1.fffffep+127f) : 1.0f) / kWeightScale;
  store_rows<T>(gk, b, key_head, first, sums_of_keys, 1 / scale.factor, 1 / scale.factor);
  store_rows<T>(gv, b, key_head, first, sums_of_values, of_values, of_values);
}

/// Whether all rows consist of chunks of 16 bytes, which are aligned.
bool in_chunks(const Tensor& x) {
  const auto fits = [](int64_t n) { return n % 8 == 0; };
  return reinterpret_cast<uintptr_t>(x.raw_bytes()) % 16 == 0 && fits(x.size(3)) &&
         (x.size(0) < 2 || fits(x.stride(0))) && (x.size(1) < 2 || fits(x.stride(1))) &&
         (x.size(2) < 2 || fits(x.stride(2)));
}

/// Calls f(T(), width) with the type of the operands, and the width, as a type, of the kernel's rows.
template <class F>
void visit_operands(const AttentionCall& call, F f) {
  const auto visit_width = [&](auto type) {
    if (call.q.size(3) <= 64 && call.v.size(3) <= 64) return f(type, std::integral_constant<int, 64>());
    f(type, std::integral_constant<int, kMaxWidth>());
  };
  call.q.dtype() == kHalf ? visit_width(Half()) : visit_width(BFloat16());
}

}  // namespace

bool fits_tensor_cores(const AttentionCall& call) {
  const bool is_narrow = call.q.dtype() == kHalf || call.q.dtype() == kBFloat16;
  return is_narrow && call.q.size(3) <= kMaxWidth && call.v.size(3) <= kMaxWidth &&
         get_device_properties(call.q.device().index()).major >= 8;
}

void attention_on_tensor_cores(const AttentionCall& call) {
  const bool aligned = in_chunks(call.q) && in_chunks(call.k) && in_chunks(call.v);
  visit_operands(call, [&](auto type, auto width) {
    launch(attend<decltype(type), width()>, attention_blocks(call.y, kBlockRows, kBlockThreads),
           AttentionParams<float>(call), aligned);
  });
}

void attention_backward_on_tensor_cores(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                                        const Tensor& gy, const Tensor& dots) {
  const bool aligned = in_chunks(call.q) && in_chunks(call.k) && in_chunks(call.v) && in_chunks(gy);
  const AttentionParams<float> params(call);
  visit_operands(call, [&](auto type, auto width) {
    if (gq.numel() > 0) {
      launch(gradient_of_queries<decltype(type), width()>, attention_blocks(gq, kBlockRows, kBlockThreads), params,
             HeadRows(gq), HeadRows(gy), dots.raw<float>(), aligned);
    }
    if (gk.numel() + gv.numel() > 0) {
      launch(gradient_of_keys<decltype(type), width()>, attention_blocks(gk, kBlockRows, kBlockThreads), params,
             HeadRows(gk), HeadRows(gv), HeadRows(gy), dots.raw<float>(), aligned);
    }
  });
}

}  // namespace tandem::cuda
