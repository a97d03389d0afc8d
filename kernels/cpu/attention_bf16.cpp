// Attention in bf16 with the processor's products of bf16 pairs, whose sums are f32. Contract: scores, weights' sums
// and results are f32 until they are rounded once, as in attention.cpp; the weights and their gradients are rounded to
// bf16 before they are multiplied, as in PyTorch's kernel.
#include "kernels/cpu/attention.h"

namespace tandem::cpu {
namespace {

constexpr int64_t words_of(int64_t elements) { return (elements + 1) / 2; }
constexpr int64_t kRowWords = kRow / 2;

/// Rows of bf16, padded to whole words.
class WordRows {
 public:
  WordRows(int64_t rows, int64_t width)
      : width_(width), words_(words_of(width)), data_(rows * words_), is_odd_(width % 2 != 0) {}

  int64_t words() const { return words_; }
  const uint32_t* data() const { return data_.data(); }
  const uint16_t* elements() const { return reinterpret_cast<const uint16_t*>(data_.data()); }
  void read(const HeadRows& x, int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      uint16_t* const row = reinterpret_cast<uint16_t*>(data_.data() + i * words_);
      std::copy_n(x.in_place<uint16_t>(begin + i), width_, row);
      if (is_odd_) row[width_] = 0;
    }
  }

 private:
  int64_t width_, words_;
  Scratch<uint32_t> data_;
  bool is_odd_;
};

const AttentionBf16Table& steps() {
  return simd_has_tiles() ? attention_tables().bf16_on_tiles : attention_tables().bf16;
}

/// The forward pass of one head and queries [first, first + count).
class Bf16Forward {
 public:
  explicit Bf16Forward(const Sizes<float>& sizes)
      : sizes_(sizes),
        table_(sizes.table),
        bf16_(steps()),
        columns_(padded_to_panels(sizes.value_width)),
        rows_(std::min(kForwardQueries, sizes.queries)),
        q_(rows_, sizes.width),
        keys_(kKeys, sizes.width),
        k_(kKeys * keys_.words()),
        v_(words_of(kKeys) * columns_),
        scores_(kQueries * kRow),
        weights_(kQueries * kRow),
        y_(rows_ * columns_),
        max_(rows_),
        total_(rows_) {}

  void run(int64_t batch, int64_t head, int64_t first, int64_t count) {
    const AttentionCall& call = sizes_.call;
    const HeadRows k(call.k, batch, sizes_.key_head(head)), v(call.v, batch, sizes_.key_head(head));
    q_.read(HeadRows(call.q, batch, head), first, count);
    std::fill_n(y_.data(), count * columns_, 0.0f);
    std::fill_n(max_.data(), count, -std::numeric_limits<float>::infinity());
    std::fill_n(total_.data(), count, 0.0);
    for (int64_t key = 0; key < sizes_.keys && !sizes_.is_masked(first, count, key); key += kKeys) {
      const int64_t n = std::min(kKeys, sizes_.keys - key);
      keys_.read(k, key, n);
      bf16_.pack_transposed(k_.data(), keys_.data(), keys_.words(), n, keys_.words());
      bf16_.pack(v_.data(), v.in_place<uint16_t>(key), v.row_elements(2), n, sizes_.value_width);
      for (int64_t i = 0; i < count; i += kQueries) {
        const int64_t rows = std::min(kQueries, count - i);
        if (!sizes_.is_masked(first + i, rows, key)) add_block(batch, head, first, i, rows, key, n);
      }
    }
    write_results(sizes_, table_, y_.data(), columns_, max_.data(), total_.data(), batch, head, first, count);
  }

 private:
  /// Adds the keys [key, key + n) to the results of `rows` queries from first + i on.
  void add_block(int64_t batch, int64_t head, int64_t first, int64_t i, int64_t rows, int64_t key, int64_t n) {
    const AttentionCall& call = sizes_.call;
    float* const s = scores_.data();
    uint16_t* const p = weights_.data();
    const int64_t words = q_.words();
    const float scale = static_cast<float>(call.scale);
    // Saves a pass over memory: the row's exponentials apply the scale, unless another step needs the scaled scores.
    const bool is_scaled = scale <= 0 || call.dropout > 0 || sizes_.masks_some(first + i, key, n);
    bf16_.multiply(s, kRow, q_.data() + i * words, words, 1, k_.data(), rows, padded_to_panels(n), words,
                   is_scaled ? scale : 1, false);
    const float factor_of_scores = is_scaled ? 1 : scale;
    if (is_scaled) mask_scores(sizes_, s, batch, head, first + i, rows, key, n);
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = s + r * kRow;
      uint16_t* const to = p + r * kRow;
      if (n % 2 != 0) to[n] = 0;
      float& max = max_.data()[i + r];
      double& total = total_.data()[i + r];
      const float next = math::maximum(max, factor_of_scores * table_.max(row, n));
      if (next == -std::numeric_limits<float>::infinity()) {
        std::fill_n(to, n, uint16_t{0});
        continue;
      }
      float sum;
      if (call.dropout > 0) {
        sum = table_.exp_and_sum(row, n, next);
        mask_weights(row, dropout_.kept(sizes_, batch, head, first + i + r, key, n), n, 1 / (1 - call.dropout));
        bf16_.narrow(to, row, n);
      } else {
        // Beyond this bound, the rounding error of `next` would be a large exponent.
        const bool folds = factor_of_scores == 1 || std::abs(next) < 0x1p20f;
        if (!folds) table_.scale(row, n, factor_of_scores);
        sum = bf16_.exp_and_sum(to, row, n, folds ? factor_of_scores : 1, next);
      }
      if (next != max) {
        const float factor = std::exp(max - next);
        table_.scale(y_.data() + (i + r) * columns_, columns_, factor);
        total *= static_cast<double>(factor);
        max = next;
      }
      total += static_cast<double>(sum);
    }
    bf16_.multiply(y_.data() + i * columns_, columns_, reinterpret_cast<const uint32_t*>(p), kRowWords, 1, v_.data(),
                   rows, columns_, words_of(n), 1, true);
  }

  const Sizes<float>& sizes_;
  const AttentionTable<float>& table_;
  const AttentionBf16Table& bf16_;
  int64_t columns_, rows_;
  WordRows q_, keys_;
  Scratch<uint32_t> k_, v_;
  Scratch<float> scores_;
  Scratch<uint16_t> weights_;
  Scratch<float> y_, max_;
  Scratch<double> total_;
  DropoutRow dropout_;
};

/// The backward pass of one head of k and v, and of the heads of q that use it.
class Bf16Backward {
 public:
  Bf16Backward(const Sizes<float>& sizes, const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& gy)
      : sizes_(sizes),
        table_(sizes.table),
        bf16_(steps()),
        gq_(gq),
        gk_(gk),
        gv_(gv),
        gy_(gy),
        group_(sizes.heads / sizes.key_heads),
        columns_(padded_to_panels(sizes.width)),
        value_columns_(padded_to_panels(sizes.value_width)),
        q_(kQueries, sizes.width),
        gy_rows_(kQueries, sizes.value_width),
        keys_(kKeys, sizes.width),
        values_(kKeys, sizes.value_width),
        q_panels_(words_of(kQueries) * columns_),
        gy_panels_(words_of(kQueries) * value_columns_),
        k_(words_of(kKeys) * columns_),
        k_transposed_(kKeys * keys_.words()),
        v_transposed_(kKeys * values_.words()),
        scores_(kQueries * kRow),
        slopes_(kQueries * kRow),
        weight_pairs_(words_of(kQueries) * kRow),
        slope_pairs_(words_of(kQueries) * kRow),
        slope_rows_(kQueries * kRow),
        sum_gk_(kKeys * columns_),
        sum_gv_(kKeys * value_columns_),
        sum_gq_(group_ * sizes.queries * columns_),
        dots_(group_ * sizes.queries),
        buffer_(2 * sizes.value_width),
        zeros_(kRow) {
    std::fill_n(zeros_.data(), kRow, 0.0f);
  }

  void run(int64_t batch, int64_t key_head) {
    const AttentionCall& call = sizes_.call;
    std::fill_n(sum_gq_.data(), group_ * sizes_.queries * columns_, 0.0f);
    for (int64_t g = 0; g < group_; ++g) {
      read_dots(sizes_, table_, gy_, batch, key_head * group_ + g, buffer_.data(), dots_.data() + g * sizes_.queries);
    }
    for (int64_t key = 0; key < sizes_.keys; key += kKeys) {
      const int64_t n = std::min(kKeys, sizes_.keys - key);
      keys_.read(HeadRows(call.k, batch, key_head), key, n);
      values_.read(HeadRows(call.v, batch, key_head), key, n);
      bf16_.pack(k_.data(), keys_.elements(), 2 * keys_.words(), n, sizes_.width);
      bf16_.pack_transposed(k_transposed_.data(), keys_.data(), keys_.words(), n, keys_.words());
      bf16_.pack_transposed(v_transposed_.data(), values_.data(), values_.words(), n, values_.words());
      std::fill_n(sum_gk_.data(), n * columns_, 0.0f);
      std::fill_n(sum_gv_.data(), n * value_columns_, 0.0f);
      for (int64_t g = 0; g < group_; ++g) {
        for (int64_t i = 0; i < sizes_.queries; i += kQueries) {
          const int64_t rows = std::min(kQueries, sizes_.queries - i);
          if (!sizes_.is_masked(i, rows, key)) add_block(batch, key_head, g, i, rows, key, n);
        }
      }
      const HeadRows gk(gk_, batch, key_head), gv(gv_, batch, key_head);
      table_.scale(sum_gk_.data(), n * columns_, static_cast<float>(call.scale));
      for (int64_t j = 0; j < n; ++j) {
        gk.write(key + j, sum_gk_.data() + j * columns_);
        gv.write(key + j, sum_gv_.data() + j * value_columns_);
      }
    }
    for (int64_t g = 0; g < group_; ++g) {
      const HeadRows gq(gq_, batch, key_head * group_ + g);
      float* const rows = sum_gq_.data() + g * sizes_.queries * columns_;
      table_.scale(rows, sizes_.queries * columns_, static_cast<float>(call.scale));
      for (int64_t i = 0; i < sizes_.queries; ++i) gq.write(i, rows + i * columns_);
    }
  }

 private:
  /// Adds what `rows` queries from `query` on and keys [key, key + n) contribute.
  void add_block(int64_t batch, int64_t key_head, int64_t g, int64_t query, int64_t rows, int64_t key, int64_t n) {
    const AttentionCall& call = sizes_.call;
    const int64_t head = key_head * group_ + g, padded = padded_to_panels(n);
    float* const s = scores_.data();
    float* const ds = slopes_.data();
    uint16_t* const slope_rows = slope_rows_.data();
    const int64_t at = sizes_.row_of(batch, head, query);
    const float *const max = call.max.raw<float>() + at, *const log_sum = call.log_sum.raw<float>() + at;
    q_.read(HeadRows(call.q, batch, head), query, rows);
    gy_rows_.read(HeadRows(gy_, batch, head), query, rows);
    bf16_.pack(q_panels_.data(), q_.elements(), 2 * q_.words(), rows, sizes_.width);
    bf16_.pack(gy_panels_.data(), gy_rows_.elements(), 2 * gy_rows_.words(), rows, sizes_.value_width);

    bf16_.multiply(s, kRow, q_.data(), q_.words(), 1, k_transposed_.data(), rows, padded, q_.words(),
                   static_cast<float>(call.scale), false);
    mask_scores(sizes_, s, batch, head, query, rows, key, n);
    bf16_.multiply(ds, kRow, gy_rows_.data(), gy_rows_.words(), 1, v_transposed_.data(), rows, padded, gy_rows_.words(),
                   1, false);
    for (int64_t i = 0; i < rows; ++i) {
      const bool* kept = nullptr;
      const double scale = 1 / (1 - call.dropout);
      if (call.dropout > 0) {
        kept = dropout_.kept(sizes_, batch, head, query + i, key, n);
        mask_weights(ds + i * kRow, kept, n, scale);
      }
      table_.softmax_backward(ds + i * kRow, s + i * kRow, n, max[i], log_sum[i],
                              dots_.data()[g * sizes_.queries + query + i]);
      if (kept) mask_weights(s + i * kRow, kept, n, scale);
      bf16_.narrow(slope_rows + i * kRow, ds + i * kRow, n);
      if (n % 2 != 0) slope_rows[i * kRow + n] = 0;
      if (i % 2 == 0 && i + 1 < rows) continue;
      // The rows i - 1 and i, or a last one and zeros.
      const int64_t first = i - i % 2;
      const bool single = i % 2 == 0;
      bf16_.narrow_pairs(weight_pairs_.data() + first / 2 * kRow, s + first * kRow,
                         single ? zeros_.data() : s + i * kRow, n);
      bf16_.narrow_pairs(slope_pairs_.data() + first / 2 * kRow, ds + first * kRow,
                         single ? zeros_.data() : ds + i * kRow, n);
    }
    bf16_.multiply(sum_gv_.data(), value_columns_, weight_pairs_.data(), 1, kRow, gy_panels_.data(), n, value_columns_,
                   words_of(rows), 1, true);
    bf16_.multiply(sum_gk_.data(), columns_, slope_pairs_.data(), 1, kRow, q_panels_.data(), n, columns_,
                   words_of(rows), 1, true);
    float* const sum_gq = sum_gq_.data() + (g * sizes_.queries + query) * columns_;
    bf16_.multiply(sum_gq, columns_, reinterpret_cast<const uint32_t*>(slope_rows), kRowWords, 1, k_.data(), rows,
                   columns_, words_of(n), 1, true);
  }

  const Sizes<float>& sizes_;
  const AttentionTable<float>& table_;
  const AttentionBf16Table& bf16_;
  const Tensor &gq_, &gk_, &gv_, &gy_;
  int64_t group_, columns_, value_columns_;
  WordRows q_, gy_rows_, keys_, values_;
  Scratch<uint32_t> q_panels_, gy_panels_, k_, k_transposed_, v_transposed_;
  Scratch<float> scores_, slopes_;
  Scratch<uint32_t> weight_pairs_, slope_pairs_;
  Scratch<uint16_t> slope_rows_;
  Scratch<float> sum_gk_, sum_gv_, sum_gq_, dots_, buffer_, zeros_;
  DropoutRow dropout_;
};

}  // namespace

void attention_bf16(const AttentionCall& call) { for_forward_items<Bf16Forward>(Sizes<float>(call)); }

void attention_bf16_backward(const AttentionCall& call, const Tensor& gq, const Tensor& gk, const Tensor& gv,
                             const Tensor& gy) {
  for_backward_items<Bf16Backward>(Sizes<float>(call), gq, gk, gv, gy);
}

}  // namespace tandem::cpu
