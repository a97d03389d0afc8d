// gemm_key: the column-major product that it describes, computed as the BLAS documentation says, equals the product of
// the tensors.
#include "kernels/cuda/gemm_key.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/plan_cache.h"

namespace tandem::testing {
namespace {

using cuda::GemmExtra;
using cuda::GemmKey;

/// A tensor of rank 2 or 3 in host memory.
struct Array {
  Dims sizes, strides;
  std::vector<double> memory;

  double& at(int64_t q, int64_t i, int64_t j) {
    const size_t r = sizes.size() - 2;
    return memory[static_cast<size_t>((r == 1 ? q * strides[0] : 0) + i * strides[r] + j * strides[r + 1])];
  }
  int64_t rows() const { return sizes[sizes.size() - 2]; }
  int64_t columns() const { return sizes.back(); }
  int64_t batch() const { return sizes.size() == 3 ? sizes[0] : 1; }
};

Array make(const Dims& sizes, const Dims& strides) {
  int64_t extent = 1;
  for (size_t d = 0; d < sizes.size(); ++d) extent += (sizes[d] - 1) * strides[d];
  Array x{sizes, strides, std::vector<double>(static_cast<size_t>(extent))};
  for (size_t i = 0; i < x.memory.size(); ++i) x.memory[i] = static_cast<double>((i * 7 + x.memory.size()) % 11) - 5;
  return x;
}

// D = op(A) op(B) + vector, and the vector of row sums, as cuBLASLt defines them.
void run_blas(const GemmKey& key, double* d, const double* a, const double* b, double* vector) {
  const auto load = [](const double* x, int64_t ld, bool transpose, int64_t i, int64_t j) {
    return transpose ? x[i * ld + j] : x[j * ld + i];
  };
  for (int64_t q = 0; q < key.batch; ++q) {
    for (int64_t i = 0; i < key.m; ++i) {
      for (int64_t j = 0; j < key.n; ++j) {
        double sum = cuda::has_bias(key.extra) ? vector[i] : 0;
        for (int64_t p = 0; p < key.k; ++p) {
          sum += load(a + q * key.stride_a, key.lda, key.transpose_a, i, p) *
                 load(b + q * key.stride_b, key.ldb, key.transpose_b, p, j);
        }
        d[q * key.stride_d + j * key.ldd + i] = sum;
      }
    }
  }
  if (key.extra != GemmExtra::row_sums) return;
  for (int64_t i = 0; i < (key.sums_a ? key.m : key.n); ++i) {
    vector[i] = 0;
    for (int64_t p = 0; p < key.k; ++p) {
      vector[i] += key.sums_a ? load(a, key.lda, key.transpose_a, i, p) : load(b, key.ldb, key.transpose_b, p, i);
    }
  }
}

// Returns false if the layouts are rejected.
bool check(Array d, Array a, Array b, GemmExtra extra, const std::string& what) {
  const auto md = cuda::as_matrices(d.sizes, d.strides), ma = cuda::as_matrices(a.sizes, a.strides),
             mb = cuda::as_matrices(b.sizes, b.strides);
  if (!md || !ma || !mb) return false;
  bool swapped = false;
  const std::optional<GemmKey> key = cuda::gemm_key(*md, *ma, *mb, extra, swapped);
  if (!key) return false;
  // The columns of a column-major matrix must not overlap.
  EXPECT_GE(key->lda, key->transpose_a ? key->k : key->m) << what;
  EXPECT_GE(key->ldb, key->transpose_b ? key->n : key->k) << what;
  EXPECT_GE(key->ldd, key->m) << what;
  std::vector<double> vector(static_cast<size_t>(extra == GemmExtra::row_sums ? a.rows() : d.columns()));
  for (size_t i = 0; i < vector.size(); ++i) vector[i] = 0.5 * static_cast<double>(i);
  const std::vector<double> bias = vector;
  run_blas(*key, d.memory.data(), (swapped ? b : a).memory.data(), (swapped ? a : b).memory.data(), vector.data());
  for (int64_t q = 0; q < d.batch(); ++q) {
    for (int64_t i = 0; i < d.rows(); ++i) {
      double row_sum = 0;
      for (int64_t p = 0; p < a.columns(); ++p) row_sum += a.at(q, i, p);
      if (extra == GemmExtra::row_sums) {
        EXPECT_EQ(vector[static_cast<size_t>(i)], row_sum) << what;
      }
      for (int64_t j = 0; j < d.columns(); ++j) {
        double sum = cuda::has_bias(extra) ? bias[static_cast<size_t>(j)] : 0;
        for (int64_t p = 0; p < a.columns(); ++p) sum += a.at(q, i, p) * b.at(q, p, j);
        EXPECT_EQ(d.at(q, i, j), sum) << what << " at " << q << " " << i << " " << j;
      }
    }
  }
  return true;
}

Dims strides_of(const Dims& sizes, bool by_columns, int64_t gap) {
  const size_t r = sizes.size() - 2;
  Dims strides(sizes.size(), 0);
  strides[by_columns ? r : r + 1] = 1;
  strides[by_columns ? r + 1 : r] = (by_columns ? sizes[r] : sizes[r + 1]) + gap;
  if (r == 1) strides[0] = strides[by_columns ? 2 : 1] * sizes[by_columns ? 2 : 1] + gap;
  return strides;
}

TEST(GemmKey, DescribesTheProduct) {
  for (int64_t m : {1, 2, 5}) {
    for (int64_t n : {1, 3, 4}) {
      for (int64_t k : {1, 2, 6}) {
        for (int orders = 0; orders < 8; ++orders) {
          for (int64_t gap : {0, 3}) {
            for (int64_t batch : {0, 1, 3}) {
              for (GemmExtra extra : {GemmExtra::none, GemmExtra::bias, GemmExtra::row_sums}) {
                if (extra == GemmExtra::row_sums && batch > 0) continue;
                const auto with_batch = [&](int64_t rows, int64_t columns) {
                  return batch ? Dims{batch, rows, columns} : Dims{rows, columns};
                };
                const Dims d = with_batch(m, n), a = with_batch(m, k), b = with_batch(k, n);
                const std::string what = to_string(a) + " " + to_string(b) + " orders " + std::to_string(orders) +
                                         " gap " + std::to_string(gap) + " extra " +
                                         std::to_string(static_cast<int>(extra));
                const bool done =
                    check(make(d, strides_of(d, orders & 1, gap)), make(a, strides_of(a, orders & 2, gap)),
                          make(b, strides_of(b, orders & 4, gap)), extra, what);
                // A bias applies along rows only.
                EXPECT_TRUE(done || ((orders & 1) && extra == GemmExtra::bias)) << what;
              }
            }
          }
        }
      }
    }
  }
}

TEST(GemmKey, RepeatsAMatrix) {
  for (int64_t m : {1, 4}) {
    for (bool by_columns : {false, true}) {
      Dims d = {3, m, 5}, a = {3, m, 2}, b = {3, 2, 5};
      Dims once_a = strides_of(a, by_columns, 0), once_b = strides_of(b, by_columns, 0);
      once_a[0] = once_b[0] = 0;
      const Dims stride_d = strides_of(d, false, 0), stride_a = strides_of(a, false, 0);
      EXPECT_TRUE(check(make(d, stride_d), make(a, once_a), make(b, strides_of(b, by_columns, 1)), {}, "a once"));
      EXPECT_TRUE(check(make(d, stride_d), make(a, stride_a), make(b, once_b), GemmExtra::bias, "b once"));
      EXPECT_TRUE(check(make(d, stride_d), make(a, once_a), make(b, once_b), {}, "both once"));
      bool swapped = false;
      const auto key = cuda::gemm_key(*cuda::as_matrices(d, stride_d), *cuda::as_matrices(a, stride_a),
                                      *cuda::as_matrices(b, once_b), {}, swapped);
      EXPECT_EQ(key->batch, 1);  // a stack is a single product
      EXPECT_EQ(key->n, 3 * m);
    }
  }
}

TEST(GemmKey, RefusesUnsupportedStrides) {
  EXPECT_FALSE(cuda::as_matrices({4, 3}, {6, 2}));  // gaps in both directions
  EXPECT_FALSE(cuda::as_matrices({4, 3}, {0, 1}));  // one repeated row
  EXPECT_FALSE(cuda::as_matrices({4, 3}, {2, 1}));  // overlapping rows
  EXPECT_FALSE(cuda::as_matrices({4, 1}, {0, 1}));
  EXPECT_FALSE(cuda::as_matrices({1, 4}, {1, 0}));
  EXPECT_TRUE(cuda::as_matrices({1, 1}, {0, 0}));
}

TEST(GemmKey, EveryFieldDistinguishesKeys) {
  const GemmKey key;
  GemmKey other = key;
  other.tf32 = true;
  EXPECT_FALSE(key == other);
  EXPECT_NE(cuda::KeyHash<GemmKey>()(key), cuda::KeyHash<GemmKey>()(other));
  other = key;
  other.align_vector = 16;
  EXPECT_NE(cuda::KeyHash<GemmKey>()(key), cuda::KeyHash<GemmKey>()(other));
}

TEST(GemmKey, Alignment) {
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(512)), 256);
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(512 + 16)), 16);
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(2)), 2);
}

}  // namespace
}  // namespace tandem::testing
