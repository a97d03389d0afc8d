// Attention in blocks of queries and keys, so that only blocks of the weights exist at a time. Contract: f16 and bf16
// are widened once, computed in f32 and rounded once; f64 in f64. Results do not depend on the number of threads.
// Source: Dao, Fu, Ermon, Rudra, Re, FlashAttention, 2022.
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
namespace {

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
  /// Whether all weights of queries [first, first + count) with keys from `key` on are masked.
  bool is_masked(int64_t first, int64_t count, int64_t key) const { return call.causal && key >= first + count; }
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
    const int64_t row = (batch * sizes.heads + head) * sizes.queries + query;
    const int64_t counter = (row * ((sizes.keys + 3) / 4 * 4) + key) / 4;
    const PhiloxState& state = sizes.call.state;
    random_table().lanes(lanes_, state.seed, state.offset + static_cast<uint64_t>(counter), 0, (n + 3) / 4);
    random_table().keep(kept_, lanes_, n, sizes.threshold);
    return kept_;
  }

 private:
  uint32_t lanes_[kKeys];
  bool kept_[kKeys];
};

/// The forward pass of one head and queries [first, first + count).
template <class T>
class ForwardItem {
 public:
  explicit ForwardItem(const Sizes<T>& sizes)
      : sizes_(sizes),
        table_(sizes.table),
        columns_(padded_to_panels(sizes.value_width)),
        rows_(std::min(kForwardQueries, sizes.queries)),
        q_(rows_ * sizes.width),
        k_(kKeys * sizes.width),
        v_(kKeys * columns_),
        buffer_(std::max(rows_, kKeys) * std::max(sizes.width, sizes.value_width)),
        weights_(kQueries * kRow),
        y_(rows_ * columns_),
        max_(rows_),
        total_(rows_) {}

  void run(int64_t batch, int64_t head, int64_t first, int64_t count) {
    const AttentionCall& call = sizes_.call;
    const HeadRows k(call.k, batch, sizes_.key_head(head)), v(call.v, batch, sizes_.key_head(head));
    read_queries(batch, head, first, count);
    std::fill_n(y_.data(), count * columns_, T(0));
    std::fill_n(max_.data(), count, -std::numeric_limits<T>::infinity());
    std::fill_n(total_.data(), count, 0.0);
    for (int64_t key = 0; key < sizes_.keys && !sizes_.is_masked(first, count, key); key += kKeys) {
      const int64_t n = std::min(kKeys, sizes_.keys - key);
      int64_t row;
      const T* from = k.read(key, n, buffer_.data(), row);
      table_.pack_transposed(k_.data(), from, row, n, sizes_.width);
      from = v.read(key, n, buffer_.data(), row);
      table_.pack(v_.data(), from, row, n, sizes_.value_width);
      for (int64_t i = 0; i < count; i += kQueries) {
        const int64_t rows = std::min(kQueries, count - i);
        if (!sizes_.is_masked(first + i, rows, key)) add_block(batch, head, first, i, rows, key, n);
      }
    }
    write(batch, head, first, count);
  }

 private:
  void read_queries(int64_t batch, int64_t head, int64_t first, int64_t count) {
    int64_t row;
    const T* const from = HeadRows(sizes_.call.q, batch, head).read(first, count, buffer_.data(), row);
    for (int64_t i = 0; i < count; ++i) std::copy_n(from + i * row, sizes_.width, q_.data() + i * sizes_.width);
    table_.scale(q_.data(), count * sizes_.width, static_cast<T>(sizes_.call.scale));
  }

  /// Adds the keys [key, key + n) to the results of `rows` queries from first + i on.
  void add_block(int64_t batch, int64_t head, int64_t first, int64_t i, int64_t rows, int64_t key, int64_t n) {
    T* const s = weights_.data();
    const int64_t width = sizes_.width;
    table_.multiply(s, kRow, q_.data() + i * width, width, 1, k_.data(), rows, padded_to_panels(n), width, false);
    mask_scores(sizes_, s, batch, head, first + i, rows, key, n);
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = s + r * kRow;
      T& max = max_.data()[i + r];
      double& total = total_.data()[i + r];
      const T next = math::maximum(max, table_.max(row, n));
      if (next == -std::numeric_limits<T>::infinity()) {
        std::fill_n(row, n, T(0));
        continue;
      }
      const T sum = table_.exp_and_sum(row, n, next);
      if (next != max) {
        const T factor = std::exp(max - next);
        table_.scale(y_.data() + (i + r) * columns_, columns_, factor);
        total *= static_cast<double>(factor);
        max = next;
      }
      total += static_cast<double>(sum);
      if (sizes_.call.dropout > 0) {
        mask_weights(row, dropout_.kept(sizes_, batch, head, first + i + r, key, n), n, 1 / (1 - sizes_.call.dropout));
      }
    }
    table_.multiply(y_.data() + i * columns_, columns_, s, kRow, 1, v_.data(), rows, columns_, n, true);
  }

  void write(int64_t batch, int64_t head, int64_t first, int64_t count) {
    const HeadRows y(sizes_.call.y, batch, head);
    T* const log_sum = sizes_.call.log_sum.template raw<T>() + (batch * sizes_.heads + head) * sizes_.queries + first;
    for (int64_t i = 0; i < count; ++i) {
      const double total = total_.data()[i];
      T* const row = y_.data() + i * columns_;
      table_.scale(row, columns_, static_cast<T>(total == 0 ? 0 : 1 / total));
      y.write(first + i, row);
      log_sum[i] = total == 0 ? std::numeric_limits<T>::infinity()
                              : static_cast<T>(static_cast<double>(max_.data()[i]) + std::log(total));
    }
  }

  const Sizes<T>& sizes_;
  const AttentionTable<T>& table_;
  int64_t columns_, rows_;
  Scratch<T> q_, k_, v_, buffer_, weights_, y_, max_;
  Scratch<double> total_;
  DropoutRow dropout_;
};

/// The backward pass of one head of k and v, and of the heads of q that use it.
template <class T>
class BackwardItem {
 public:
  BackwardItem(const Sizes<T>& sizes, const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gy)
      : sizes_(sizes),
        table_(sizes.table),
        gq_(gq),
        gk_(gk),
        gv_(gv),
        gy_(gy),
        group_(sizes.heads / sizes.key_heads),
        columns_(padded_to_panels(sizes.width)),
        value_columns_(padded_to_panels(sizes.value_width)),
        q_(kQueries * sizes.width),
        q_panels_(kQueries * columns_),
        gy_panels_(kQueries * value_columns_),
        k_(kKeys * columns_),
        k_transposed_(kKeys * sizes.width),
        v_transposed_(kKeys * sizes.value_width),
        buffer_(kKeys * std::max(sizes.width, sizes.value_width)),
        weights_(kQueries * kRow),
        slopes_(kQueries * kRow),
        sum_gk_(kKeys * columns_),
        sum_gv_(kKeys * value_columns_),
        sum_gq_(group_ * sizes.queries * columns_),
        dots_(group_ * sizes.queries) {}

  void run(int64_t batch, int64_t key_head) {
    std::fill_n(sum_gq_.data(), group_ * sizes_.queries * columns_, T(0));
    for (int64_t g = 0; g < group_; ++g) read_dots(batch, key_head * group_ + g, dots_.data() + g * sizes_.queries);
    for (int64_t key = 0; key < sizes_.keys; key += kKeys) {
      const int64_t n = std::min(kKeys, sizes_.keys - key);
      read_keys(batch, key_head, key, n);
      std::fill_n(sum_gk_.data(), n * columns_, T(0));
      std::fill_n(sum_gv_.data(), n * value_columns_, T(0));
      for (int64_t g = 0; g < group_; ++g) {
        for (int64_t i = 0; i < sizes_.queries; i += kQueries) {
          const int64_t rows = std::min(kQueries, sizes_.queries - i);
          if (!sizes_.is_masked(i, rows, key)) add_block(batch, key_head, g, i, rows, key, n);
        }
      }
      const HeadRows gk(gk_, batch, key_head), gv(gv_, batch, key_head);
      for (int64_t j = 0; j < n; ++j) {
        gk.write(key + j, sum_gk_.data() + j * columns_);
        gv.write(key + j, sum_gv_.data() + j * value_columns_);
      }
    }
    for (int64_t g = 0; g < group_; ++g) {
      const HeadRows gq(gq_, batch, key_head * group_ + g);
      T* const rows = sum_gq_.data() + g * sizes_.queries * columns_;
      table_.scale(rows, sizes_.queries * columns_, static_cast<T>(sizes_.call.scale));
      for (int64_t i = 0; i < sizes_.queries; ++i) gq.write(i, rows + i * columns_);
    }
  }

 private:
  /// The sums over a query's weights times their gradients, which equal the products of its rows of gy and y.
  void read_dots(int64_t batch, int64_t head, T* dots) {
    const HeadRows gy(gy_, batch, head), y(sizes_.call.y, batch, head);
    const int64_t n = sizes_.value_width;
    int64_t row;
    for (int64_t i = 0; i < sizes_.queries; ++i) {
      const T* const a = gy.read(i, 1, buffer_.data(), row);
      const T* const b = y.read(i, 1, buffer_.data() + n, row);
      dots[i] = table_.dot(a, b, n);
    }
  }

  void read_keys(int64_t batch, int64_t key_head, int64_t key, int64_t n) {
    int64_t row;
    const T* from = HeadRows(sizes_.call.k, batch, key_head).read(key, n, buffer_.data(), row);
    table_.pack(k_.data(), from, row, n, sizes_.width);
    table_.pack_transposed(k_transposed_.data(), from, row, n, sizes_.width);
    from = HeadRows(sizes_.call.v, batch, key_head).read(key, n, buffer_.data(), row);
    table_.pack_transposed(v_transposed_.data(), from, row, n, sizes_.value_width);
  }

  /// Adds what `rows` queries from `query` on and keys [key, key + n) contribute.
  void add_block(int64_t batch, int64_t key_head, int64_t g, int64_t query, int64_t rows, int64_t key, int64_t n) {
    const int64_t head = key_head * group_ + g, width = sizes_.width, value_width = sizes_.value_width;
    const AttentionCall& call = sizes_.call;
    T* const p = weights_.data();
    T* const ds = slopes_.data();
    const T* const log_sum = call.log_sum.template raw<T>() + (batch * sizes_.heads + head) * sizes_.queries + query;
    int64_t row;

    const T* from = HeadRows(call.q, batch, head).read(query, rows, buffer_.data(), row);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * row, width, q_.data() + i * width);
    table_.scale(q_.data(), rows * width, static_cast<T>(call.scale));
    table_.pack(q_panels_.data(), q_.data(), width, rows, width);
    const T* const gy = HeadRows(gy_, batch, head).read(query, rows, buffer_.data(), row);
    table_.pack(gy_panels_.data(), gy, row, rows, value_width);

    table_.multiply(p, kRow, q_.data(), width, 1, k_transposed_.data(), rows, padded_to_panels(n), width, false);
    mask_scores(sizes_, p, batch, head, query, rows, key, n);
    table_.multiply(ds, kRow, gy, row, 1, v_transposed_.data(), rows, padded_to_panels(n), value_width, false);
    for (int64_t i = 0; i < rows; ++i) {
      T* const weights = p + i * kRow;
      T* const slopes = ds + i * kRow;
      table_.exp_and_sum(weights, n, log_sum[i]);
      const bool* kept = nullptr;
      const double scale = 1 / (1 - call.dropout);
      if (call.dropout > 0) {
        kept = dropout_.kept(sizes_, batch, head, query + i, key, n);
        mask_weights(slopes, kept, n, scale);
      }
      table_.softmax_backward(slopes, weights, n, dots_.data()[g * sizes_.queries + query + i]);
      if (kept) mask_weights(weights, kept, n, scale);
    }
    table_.multiply(sum_gv_.data(), value_columns_, p, 1, kRow, gy_panels_.data(), n, value_columns_, rows, true);
    table_.multiply(sum_gk_.data(), columns_, ds, 1, kRow, q_panels_.data(), n, columns_, rows, true);
    T* const sum_gq = sum_gq_.data() + (g * sizes_.queries + query) * columns_;
    table_.multiply(sum_gq, columns_, ds, kRow, 1, k_.data(), rows, columns_, n, true);
  }

  const Sizes<T>& sizes_;
  const AttentionTable<T>& table_;
  const Tensor &gq_, &gk_, &gv_, &gy_;
  int64_t group_, columns_, value_columns_;
  Scratch<T> q_, q_panels_, gy_panels_, k_, k_transposed_, v_transposed_, buffer_, weights_, slopes_;
  Scratch<T> sum_gk_, sum_gv_, sum_gq_, dots_;
  DropoutRow dropout_;
};

template <class T>
void forward(const AttentionCall& call) {
  const Sizes<T> sizes(call);
  const int64_t parts = (sizes.queries + kForwardQueries - 1) / kForwardQueries;
  parallel_for(sizes.batches * sizes.heads * parts, 1, [&](int64_t begin, int64_t end) {
    ForwardItem<T> item(sizes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * kForwardQueries, head = i / parts;
      item.run(head / sizes.heads, head % sizes.heads, first, std::min(kForwardQueries, sizes.queries - first));
    }
  });
}

template <class T>
void backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gy) {
  const Sizes<T> sizes(call);
  parallel_for(sizes.batches * sizes.key_heads, 1, [&](int64_t begin, int64_t end) {
    BackwardItem<T> item(sizes, gq, gk, gv, gy);
    for (int64_t i = begin; i < end; ++i) item.run(i / sizes.key_heads, i % sizes.key_heads);
  });
}

}  // namespace

void attention(const AttentionCall& call) {
  if (call.log_sum.numel() == 0) return;
  call.q.dtype() == kDouble ? forward<double>(call) : forward<float>(call);
}

void attention_backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                        const Tensor& gy) {
  call.q.dtype() == kDouble ? backward<double>(call, gq, gk, gv, gy) : backward<float>(call, gq, gk, gv, gy);
}

}  // namespace tandem::cpu
