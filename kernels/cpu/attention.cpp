// Attention in blocks of queries and keys, so that only blocks of the weights exist at a time. Contract: f16 and bf16
// are widened once, computed in f32 and rounded once, except bf16 on processors that multiply it (attention_bf16.cpp);
// f64 in f64. Results do not depend on the number of threads.
// Source: Dao, Fu, Ermon, Rudra, Re, FlashAttention, 2022.
#include "kernels/cpu/attention.h"

namespace tandem::cpu {
namespace {

/// The forward pass of one head and queries [first, first + count).
template <class T>
class ForwardItem {
 public:
  explicit ForwardItem(const Sizes<T>& sizes)
      : sizes_(sizes),
        table_(sizes.table),
        product_(product_tables().of<T>()),
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
      product_.pack_transposed(k_.data(), from, row, n, sizes_.width);
      from = v.read(key, n, buffer_.data(), row);
      product_.pack(v_.data(), from, row, n, sizes_.value_width);
      for (int64_t i = 0; i < count; i += kQueries) {
        const int64_t rows = std::min(kQueries, count - i);
        if (!sizes_.is_masked(first + i, rows, key)) add_block(batch, head, first, i, rows, key, n);
      }
    }
    write_results(sizes_, table_, y_.data(), columns_, max_.data(), total_.data(), batch, head, first, count);
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
    product_.multiply(s, kRow, q_.data() + i * width, width, 1, k_.data(), rows, padded_to_panels(n), width, false);
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
    product_.multiply(y_.data() + i * columns_, columns_, s, kRow, 1, v_.data(), rows, columns_, n, true);
  }

  const Sizes<T>& sizes_;
  const AttentionTable<T>& table_;
  const ProductTable<T>& product_;
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
        product_(product_tables().of<T>()),
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
    for (int64_t g = 0; g < group_; ++g) {
      read_dots(sizes_, table_, gy_, batch, key_head * group_ + g, buffer_.data(), dots_.data() + g * sizes_.queries);
    }
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
  void read_keys(int64_t batch, int64_t key_head, int64_t key, int64_t n) {
    int64_t row;
    const T* from = HeadRows(sizes_.call.k, batch, key_head).read(key, n, buffer_.data(), row);
    product_.pack(k_.data(), from, row, n, sizes_.width);
    product_.pack_transposed(k_transposed_.data(), from, row, n, sizes_.width);
    from = HeadRows(sizes_.call.v, batch, key_head).read(key, n, buffer_.data(), row);
    product_.pack_transposed(v_transposed_.data(), from, row, n, sizes_.value_width);
  }

  /// Adds what `rows` queries from `query` on and keys [key, key + n) contribute.
  void add_block(int64_t batch, int64_t key_head, int64_t g, int64_t query, int64_t rows, int64_t key, int64_t n) {
    const int64_t head = key_head * group_ + g, width = sizes_.width, value_width = sizes_.value_width;
    const AttentionCall& call = sizes_.call;
    T* const p = weights_.data();
    T* const ds = slopes_.data();
    const int64_t at = sizes_.row_of(batch, head, query);
    const T *const max = call.max.template raw<T>() + at, *const log_sum = call.log_sum.template raw<T>() + at;
    int64_t row;

    const T* from = HeadRows(call.q, batch, head).read(query, rows, buffer_.data(), row);
    for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * row, width, q_.data() + i * width);
    table_.scale(q_.data(), rows * width, static_cast<T>(call.scale));
    product_.pack(q_panels_.data(), q_.data(), width, rows, width);
    const T* const gy = HeadRows(gy_, batch, head).read(query, rows, buffer_.data(), row);
    product_.pack(gy_panels_.data(), gy, row, rows, value_width);

    product_.multiply(p, kRow, q_.data(), width, 1, k_transposed_.data(), rows, padded_to_panels(n), width, false);
    mask_scores(sizes_, p, batch, head, query, rows, key, n);
    product_.multiply(ds, kRow, gy, row, 1, v_transposed_.data(), rows, padded_to_panels(n), value_width, false);
    for (int64_t i = 0; i < rows; ++i) {
      T* const weights = p + i * kRow;
      T* const slopes = ds + i * kRow;
      const bool* kept = nullptr;
      const double scale = 1 / (1 - call.dropout);
      if (call.dropout > 0) {
        kept = dropout_.kept(sizes_, batch, head, query + i, key, n);
        mask_weights(slopes, kept, n, scale);
      }
      table_.softmax_backward(slopes, weights, n, max[i], log_sum[i], dots_.data()[g * sizes_.queries + query + i]);
      if (kept) mask_weights(weights, kept, n, scale);
    }
    product_.multiply(sum_gv_.data(), value_columns_, p, 1, kRow, gy_panels_.data(), n, value_columns_, rows, true);
    product_.multiply(sum_gk_.data(), columns_, ds, 1, kRow, q_panels_.data(), n, columns_, rows, true);
    T* const sum_gq = sum_gq_.data() + (g * sizes_.queries + query) * columns_;
    product_.multiply(sum_gq, columns_, ds, kRow, 1, k_.data(), rows, columns_, n, true);
  }

  const Sizes<T>& sizes_;
  const AttentionTable<T>& table_;
  const ProductTable<T>& product_;
  const Tensor &gq_, &gk_, &gv_, &gy_;
  int64_t group_, columns_, value_columns_;
  Scratch<T> q_, q_panels_, gy_panels_, k_, k_transposed_, v_transposed_, buffer_, weights_, slopes_;
  Scratch<T> sum_gk_, sum_gv_, sum_gq_, dots_;
  DropoutRow dropout_;
};

bool multiplies_bf16(const AttentionCall& call) {
  return call.q.dtype() == kBFloat16 && attention_tables().bf16.multiply != nullptr && simd_multiplies_bf16();
}

}  // namespace

void attention(const AttentionCall& call) {
  if (call.log_sum.numel() == 0) return;
  if (multiplies_bf16(call)) return attention_bf16(call);
  if (call.q.dtype() == kDouble) {
    for_forward_items<ForwardItem<double>>(Sizes<double>(call));
  } else {
    for_forward_items<ForwardItem<float>>(Sizes<float>(call));
  }
}

void attention_backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                        const Tensor& gy) {
  if (multiplies_bf16(call)) return attention_bf16_backward(call, gq, gk, gv, gy);
  if (call.q.dtype() == kDouble) {
    for_backward_items<BackwardItem<double>>(Sizes<double>(call), gq, gk, gv, gy);
  } else {
    for_backward_items<BackwardItem<float>>(Sizes<float>(call), gq, gk, gv, gy);
  }
}

}  // namespace tandem::cpu
