#pragma once
// What the kernels of attention share: a call's parameters on the device, dropout and masks.
#include "kernels/cuda/element.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/philox_position.h"
#include "tandem/math/philox.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {

/// A [B, H, rows, n] tensor whose rows are contiguous.
struct HeadRows {
  void* data;
  DType dtype;
  int64_t batch, head, row, rows, n;  ///< strides; sizes

  HeadRows() = default;
  explicit HeadRows(const Tensor& x)
      : data(x.raw_bytes()),
        dtype(x.dtype()),
        batch(x.stride(0)),
        head(x.stride(1)),
        row(x.stride(2)),
        rows(x.size(2)),
        n(x.size(3)) {}
  __device__ int64_t offset(int64_t b, int64_t h, int64_t i) const { return b * batch + h * head + i * row; }
};

/// C: the compute type.
template <class C>
struct AttentionParams {
  HeadRows q, k, v, y, mask;
  C *max, *log_sum;
  int64_t heads, key_heads;
  unsigned group;  ///< heads of q per head of k
  C scale;
  bool causal, has_mask;
  uint32_t threshold;
  C kept_scale;  ///< 0 without dropout
  PhiloxState state;

  explicit AttentionParams(const AttentionCall& from)
      : q(from.q),
        k(from.k),
        v(from.v),
        y(from.y),
        mask(from.mask.defined() ? HeadRows(from.mask) : HeadRows()),
        max(from.max.raw<C>()),
        log_sum(from.log_sum.raw<C>()),
        heads(from.q.size(1)),
        key_heads(from.k.size(1)),
        group(static_cast<unsigned>(heads / key_heads)),
        scale(static_cast<C>(from.scale)),
        causal(from.causal),
        has_mask(from.mask.defined()),
        threshold(math::bernoulli_threshold(from.dropout)),
        kept_scale(from.dropout > 0 ? static_cast<C>(1 / (1 - from.dropout)) : C(0)),
        state(from.state) {}

  __device__ int64_t key_head(int64_t head) const { return static_cast<unsigned>(head) / group; }
  __device__ int64_t row_of(int64_t b, int64_t h, int64_t query) const { return (b * heads + h) * q.rows + query; }
};

/// A block's head, and the first of its rows of a result. Divides in 32 bits: a division in 64 bits is a function call.
struct AttentionBlock {
  int64_t batch, head, first;

  __device__ AttentionBlock(int64_t rows, int64_t heads, int64_t rows_per_block) {
    const unsigned tiles = static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
    const unsigned of_all = blockIdx.x / tiles, n = static_cast<unsigned>(heads);
    batch = of_all / n;
    head = of_all % n;
    first = blockIdx.x % tiles * rows_per_block;
  }
};

/// One block of `threads` per `rows_per_block` rows of a head of `result`, and for each of its `column_parts`.
inline Launch attention_blocks(const Tensor& result, int64_t rows_per_block, int threads, int64_t column_parts = 1) {
  const int64_t tiles = result.size(0) * result.size(1) * ((result.size(2) + rows_per_block - 1) / rows_per_block);
  return {dim3(static_cast<unsigned>(tiles), 1, static_cast<unsigned>(column_parts)),
          dim3(static_cast<unsigned>(threads)), 0};
}

/// Whether dropout keeps the weight of a query and a key.
template <class C>
__device__ bool is_kept(const AttentionParams<C>& call, const PhiloxState& state, int64_t b, int64_t h, int64_t query,
                        int64_t key) {
  const int64_t i = call.row_of(b, h, query) * ((call.k.rows + 3) / 4 * 4) + key;
  const uint64_t position = state.offset + static_cast<uint64_t>(i / 4);
  const math::PhiloxBlock block = math::philox(state.seed, position, 0);
  const int64_t lane = i % 4;  // selected without an array, which would be in memory
  const uint32_t bits = lane < 2    ? (lane == 0 ? block.lane[0] : block.lane[1])
                        : lane == 2 ? block.lane[2]
                                    : block.lane[3];
  return (bits >> 8) >= call.threshold;
}

/// What the mask adds to the score of a query and a key: -inf if it masks it.
template <class C>
__device__ C mask_term(const AttentionParams<C>& call, int64_t b, int64_t h, int64_t query, int64_t key) {
  if (query >= call.q.rows || key >= call.k.rows || (call.causal && key > query)) return -math::kInf<C>;
  if (!call.has_mask) return 0;
  const C mask = load<C>(call.mask.data, call.mask.dtype, call.mask.offset(b, h, query) + key);
  return call.mask.dtype != DType::Bool ? mask : mask != 0 ? C(0) : -math::kInf<C>;
}

// ---- on tensor cores (attention_mma.cu)

/// Whether the kernels on tensor cores can compute this call: f16 or bf16, rows of at most 128 elements, sm_80 or
/// newer.
bool fits_tensor_cores(const AttentionCall& call);
void attention_on_tensor_cores(const AttentionCall& call);
/// dots[row] = the product of the row's gy and y.
void attention_backward_on_tensor_cores(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                                        const Tensor& gy, const Tensor& dots);

}  // namespace tandem::cuda
