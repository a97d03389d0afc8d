#pragma once
// What the passes of attention in f32 or f64 (attention.cpp) and in bf16 (attention_bf16.cpp) share.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/attention.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/random.h"
#include "tandem/math/philox.h"

namespace tandem::cpu {

constexpr int64_t kQueries = 96, kKeys = 256;      // of a block of weights: with its operands, it fits a 1 MiB cache
constexpr int64_t kRow = kKeys + kPanel;           // of a block of weights; not a power of two, whose rows would share
                                                   // the same sets of the first-level cache
constexpr int64_t kForwardQueries = 5 * kQueries;  // per work item: packed keys are used for as many queries

template <class T>
const AttentionTable<T>& table_of() {
  if constexpr (std::is_same_v<T, double>) {
    return attention_tables().f64;
  } else {
    return attention_tables().f32;
  }
}

template <class T>
void mask_weights(T* y, const bool* kept, int64_t n, double scale) {
  if constexpr (std::is_same_v<T, double>) {
    random_table().mask_f64(y, y, kept, n, scale);
  } else {
    random_table().mask_f32(y, y, kept, n, static_cast<float>(scale));
  }
}

/// Rows of one head of a [B, H, rows, n] tensor.
class HeadRows {
 public:
  HeadRows(const Tensor& x, int64_t batch, int64_t head)
      : dtype_(x.dtype()),
        n_(x.size(3)),
        row_bytes_(x.stride(2) * static_cast<int64_t>(x.element_size())),
        base_(static_cast<char*>(x.raw_bytes()) +
              (batch * x.stride(0) + head * x.stride(1)) * static_cast<int64_t>(x.element_size())) {}

  int64_t size() const { return n_; }
  /// The distance between rows in elements of the given size.
  int64_t row_elements(int64_t size) const { return row_bytes_ / size; }
  template <class T>
  T* in_place(int64_t i) const {
    return reinterpret_cast<T*>(base_ + i * row_bytes_);
  }
  /// Rows [begin, begin + count) as T: in place, or converted into `buffer`. Sets the distance between rows.
  template <class T>
  const T* read(int64_t begin, int64_t count, T* buffer, int64_t& row) const {
    if (dtype_ == dtype_of<T>) {
      row = row_bytes_ / static_cast<int64_t>(sizeof(T));
      return in_place<T>(begin);
    }
    const auto load = convert_tables().of<T>().load[static_cast<int>(dtype_)];
    for (int64_t i = 0; i < count; ++i) load(buffer + i * n_, base_ + (begin + i) * row_bytes_, n_);
    row = n_;
    return buffer;
  }
  template <class T>
  void write(int64_t i, const T* values) const {
    if (dtype_ == dtype_of<T>) {
      std::copy_n(values, n_, in_place<T>(i));
    } else {
      convert_tables().of<T>().store[static_cast<int>(dtype_)](base_ + i * row_bytes_, values, n_);
    }
  }

 private:
  DType dtype_;
  int64_t n_, row_bytes_;
  char* base_;
};

/// Sizes of a call, and what forward and backward passes share.
template <class T>
struct Sizes {
  const AttentionCall& call;
  const AttentionTable<T>& table = table_of<T>();
  int64_t batches, heads, key_heads, queries, keys, width, value_width;
  uint32_t threshold;

  explicit Sizes(const AttentionCall& c)
      : call(c),
        batches(c.q.size(0)),
        heads(c.q.size(1)),
        key_heads(c.k.size(1)),
        queries(c.q.size(2)),
        keys(c.k.size(2)),
        width(c.q.size(3)),
        value_width(c.v.size(3)),
        threshold(math::bernoulli_threshold(c.dropout)) {}

  int64_t key_head(int64_t head) const { return head / (heads / key_heads); }
  int64_t row_of(int64_t batch, int64_t head, int64_t query) const { return (batch * heads + head) * queries + query; }
  /// Whether all weights of queries [first, first + count) with keys from `key` on are masked.
  bool is_masked(int64_t first, int64_t count, int64_t key) const { return call.causal && key >= first + count; }
  /// Whether mask_scores() may change a score of queries from `first` on with keys [key, key + n).
  bool masks_some(int64_t first, int64_t key, int64_t n) const {
    return call.mask.defined() || (call.causal && key + n > first + 1);
  }
};

/// Adds the masks to the scores of queries [query, query + count) with keys [key, key + n).
template <class T>
void mask_scores(const Sizes<T>& sizes, T* s, int64_t batch, int64_t head, int64_t query, int64_t count, int64_t key,
                 int64_t n) {
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  const Tensor& mask = sizes.call.mask;
  for (int64_t i = 0; i < count; ++i) {
    T* const row = s + i * kRow;
    if (mask.defined()) {
      const HeadRows rows(mask, batch, head);
      if (mask.dtype() == kBool) {
        sizes.table.select(row, rows.in_place<bool>(query + i) + key, n, kMasked);
      } else {
        sizes.table.add(row, rows.in_place<T>(query + i) + key, n);
      }
    }
    if (sizes.call.causal) {
      const int64_t visible = std::clamp(query + i + 1 - key, int64_t{0}, n);
      std::fill(row + visible, row + n, kMasked);
    }
  }
}

/// Dropout's mask for one query and keys [key, key + n); `key` is a multiple of 4.
class DropoutRow {
 public:
  template <class T>
  const bool* kept(const Sizes<T>& sizes, int64_t batch, int64_t head, int64_t query, int64_t key, int64_t n) {
    const int64_t counter = (sizes.row_of(batch, head, query) * ((sizes.keys + 3) / 4 * 4) + key) / 4;
    const PhiloxState& state = sizes.call.state;
    random_table().lanes(lanes_, state.seed, state.offset + static_cast<uint64_t>(counter), 0, (n + 3) / 4);
    random_table().keep(kept_, lanes_, n, sizes.threshold);
    return kept_;
  }

 private:
  uint32_t lanes_[kKeys];
  bool kept_[kKeys];
};

/// Divides y's rows, sums of weighted values, by the sums of weights, and stores the results, the maxima and the
/// logarithms.
template <class T>
void write_results(const Sizes<T>& sizes, const AttentionTable<T>& table, T* y, int64_t columns, const T* max,
                   const double* totals, int64_t batch, int64_t head, int64_t first, int64_t count) {
  const HeadRows out(sizes.call.y, batch, head);
  const int64_t at = sizes.row_of(batch, head, first);
  T *const largest = sizes.call.max.template raw<T>() + at, *const log_sum = sizes.call.log_sum.template raw<T>() + at;
  for (int64_t i = 0; i < count; ++i) {
    const double total = totals[i];
    T* const row = y + i * columns;
    table.scale(row, columns, static_cast<T>(total == 0 ? 0 : 1 / total));
    out.write(first + i, row);
    largest[i] = total == 0 ? T(0) : max[i];
    log_sum[i] = total == 0 ? std::numeric_limits<T>::infinity() : static_cast<T>(std::log(total));
  }
}

/// The sums over a query's weights times their gradients, which equal the products of its rows of gy and y. `buffer`
/// has room for two rows.
template <class T>
void read_dots(const Sizes<T>& sizes, const AttentionTable<T>& table, const Tensor& gy, int64_t batch, int64_t head,
               T* buffer, T* dots) {
  const HeadRows g(gy, batch, head), y(sizes.call.y, batch, head);
  const int64_t n = sizes.value_width;
  int64_t row;
  for (int64_t i = 0; i < sizes.queries; ++i) {
    const T* const a = g.read(i, 1, buffer, row);
    const T* const b = y.read(i, 1, buffer + n, row);
    dots[i] = table.dot(a, b, n);
  }
}

/// Runs Items, one per head and run of queries, in parallel.
template <class Item, class T>
void for_forward_items(const Sizes<T>& sizes) {
  const int64_t parts = (sizes.queries + kForwardQueries - 1) / kForwardQueries;
  const auto run = [&](int64_t begin, int64_t end, Item& item) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * kForwardQueries, head = i / parts;
      item.run(head / sizes.heads, head % sizes.heads, first, std::min(kForwardQueries, sizes.queries - first));
    }
  };
  parallel_for_with<Item>(sizes.batches * sizes.heads * parts, 1, run, sizes);
}

/// Runs Items, one per head of keys, in parallel.
template <class Item, class T>
void for_backward_items(const Sizes<T>& sizes, const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gy) {
  const auto run = [&](int64_t begin, int64_t end, Item& item) {
    for (int64_t i = begin; i < end; ++i) item.run(i / sizes.key_heads, i % sizes.key_heads);
  };
  parallel_for_with<Item>(sizes.batches * sizes.key_heads, 1, run, sizes, gq, gk, gv, gy);
}

/// The passes on bf16 without widening; only if attention_tables().bf16.multiply is not null.
void attention_bf16(const AttentionCall& call);
void attention_bf16_backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                             const Tensor& gy);

}  // namespace tandem::cpu
