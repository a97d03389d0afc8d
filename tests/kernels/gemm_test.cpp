// gemm and linear_backward_weight against plain sums in f64.
#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

double activate(double x, Activation activation) {
  if (activation == Activation::relu) return std::max(x, 0.0);
  return x;
}

// Computes the product of the operands' rounded values, for rank 2 and 3.
std::vector<double> reference(const GemmCall& call) {
  const int64_t m = call.d.size(-2), n = call.d.size(-1), k = call.a.size(-1);
  const int64_t batch = call.d.dim() == 3 ? call.d.size(0) : 1;
  const std::vector<double> a = read(call.a), b = read(call.b),
                            bias = call.bias.defined() ? read(call.bias) : std::vector<double>{};
  std::vector<double> d = read(call.d);
  for (int64_t q = 0; q < batch; ++q) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias.empty() ? 0 : bias[j];
        for (int64_t p = 0; p < k; ++p) sum += a[(q * m + i) * k + p] * b[(q * k + p) * n + j];
        double& out = d[(q * m + i) * n + j];
        out = call.accumulate ? out + sum : activate(sum, call.activation);
      }
    }
  }
  return d;
}

void check(const GemmCall& call, const std::string& what) {
  const std::vector<double> expected = reference(call);
  under_test().gemm(call);
  expect_near(call.d, expected, call.a.size(-1), what);
}

std::string label(DType dtype, int64_t m, int64_t n, int64_t k) {
  return std::string(name(dtype)) + " " + to_string({m, n, k});
}

TEST(Gemm, Sizes) {
  for (DType dtype : kFloatingTypes) {
    for (int64_t m : {1, 3, 17}) {
      for (int64_t n : {1, 3, 64, 513}) {
        for (int64_t k : {1, 17, 513}) {
          const Tensor a = noise({m, k}, dtype, 1), b = noise({k, n}, dtype, 2);
          check({.d = unwritten({m, n}, dtype), .a = a, .b = b, .bias = {}}, label(dtype, m, n, k));
        }
      }
    }
  }
}

TEST(Gemm, Layouts) {
  constexpr MemoryLayout layouts[] = {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced,
                                      MemoryLayout::spread};
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout la : layouts) {
      for (MemoryLayout lb : layouts) {
        for (MemoryLayout ld : layouts) {
          const std::string what = label(dtype, 17, 33, 40) + name(la) + " " + name(lb) + " into " + name(ld);
          GemmCall call{.d = unwritten({17, 33}, dtype, ld),
                        .a = noise({17, 40}, dtype, 1, la),
                        .b = noise({40, 33}, dtype, 2, lb),
                        .bias = {}};
          check(call, what);
          call.bias = noise({33}, kFloat, 3);
          check(call, what + " with bias");
        }
      }
    }
  }
}

TEST(Gemm, VectorsMayHaveAnyStrides) {
  for (DType dtype : kFloatingTypes) {
    const Tensor wide = noise({9, 9}, dtype, 1);
    const Tensor column = make_view(wide, {9, 1}, {9, 1}, 0), row = make_view(wide, {1, 9}, {1, 9}, 0);
    const Tensor same = make_view(wide, {9, 9}, {0, 1}, 0), one = make_view(wide, {9, 9}, {0, 0}, 5);
    check({.d = unwritten({9, 9}, dtype), .a = column, .b = row, .bias = {}}, "outer");
    check({.d = unwritten({1, 1}, dtype), .a = row, .b = column, .bias = {}}, "inner");
    check({.d = unwritten({9, 1}, dtype), .a = wide, .b = column, .bias = {}}, "matrix by column");
    check({.d = unwritten({1, 9}, dtype), .a = row, .b = wide, .bias = {}}, "row by matrix");
    check({.d = unwritten({9, 9}, dtype), .a = same, .b = one, .bias = {}}, "expanded");
  }
}

TEST(Gemm, BiasAndActivation) {
  for (DType dtype : kFloatingTypes) {
    for (DType bias_dtype : {dtype, wide(dtype)}) {
      for (Activation activation : {Activation::none, Activation::relu}) {
        for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::spread}) {
          check({.d = unwritten({17, 40}, dtype),
                 .a = noise({17, 24}, dtype, 1),
                 .b = noise({24, 40}, dtype, 2),
                 .bias = noise({40}, bias_dtype, 3, layout),
                 .activation = activation},
                label(dtype, 17, 40, 24) + " bias " + std::string(name(bias_dtype)) + " activation " +
                    std::to_string(static_cast<int>(activation)));
        }
      }
    }
  }
}

// If relu turned NaN or inf into 0, the loss scaler would miss the overflow.
TEST(Gemm, ReluKeepsNaNAndInf) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      for (const Tensor& bias : {Tensor(), noise({40}, dtype, 3)}) {
        const Tensor a = noise({17, 24}, dtype, 1), b = noise({24, 40}, dtype, 2),
                     d = unwritten({17, 40}, dtype, layout);
        const double inf = std::numeric_limits<double>::infinity();
        const auto row = [](const Tensor& x, int64_t i) {
          return make_view(x, {x.size(1)}, {x.stride(1)}, x.storage_offset() + i * x.stride(0));
        };
        under_test().fill(row(a, 3), std::nan(""));
        under_test().fill(row(a, 5), inf);  // times factors of both signs: inf - inf
        under_test().fill(make_view(b, {24}, {b.stride(0)}, b.storage_offset()), 1);
        under_test().gemm({.d = d, .a = a, .b = b, .bias = bias, .activation = Activation::relu});
        for (double v : read(row(d, 3))) EXPECT_TRUE(std::isnan(v)) << name(dtype) << " " << name(layout);
        const std::vector<double> overflowed = read(row(d, 5));
        EXPECT_EQ(overflowed[0], inf);
        for (size_t j = 1; j < overflowed.size(); ++j) EXPECT_TRUE(std::isnan(overflowed[j])) << overflowed[j];
        for (double v : read(row(d, 4))) EXPECT_GE(v, 0);
      }
    }
  }
}

TEST(Gemm, Accumulates) {
  for (DType dtype : kFloatingTypes) {
    for (DType out : {dtype, wide(dtype)}) {
      for (MemoryLayout layout :
           {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread}) {
        check({.d = noise({17, 40}, out, 4, layout),
               .a = noise({17, 24}, dtype, 1),
               .b = noise({24, 40}, dtype, 2),
               .bias = {},
               .accumulate = true},
              label(dtype, 17, 40, 24) + " into " + std::string(name(out)) + " " + name(layout));
      }
    }
  }
}

TEST(Gemm, F32ResultOf16BitOperands) {
  for (DType dtype : {kBFloat16, kHalf}) {
    for (MemoryLayout la : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
      for (MemoryLayout lb : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
        check({.d = unwritten({65, 40}, kFloat),
               .a = noise({65, 129}, dtype, 1, la),
               .b = noise({129, 40}, dtype, 2, lb),
               .bias = {}},
              label(dtype, 65, 40, 129));
      }
    }
  }
}

TEST(Gemm, Batches) {
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout la : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      for (MemoryLayout lb : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced}) {
        for (MemoryLayout ld : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
          for (int64_t batch : {1, 5}) {
            check({.d = unwritten({batch, 7, 9}, dtype, ld),
                   .a = noise({batch, 7, 11}, dtype, 1, la),
                   .b = noise({batch, 11, 9}, dtype, 2, lb),
                   .bias = noise({9}, dtype, 3)},
                  std::string(name(dtype)) + " " + name(la) + " " + name(lb) + " into " + name(ld));
          }
        }
      }
    }
  }
}

// Some libraries are slow if the columns of a are a multiple of 4 KiB apart; the backend may copy such a matrix first.
TEST(Gemm, ColumnsAPageApart) {
  for (DType dtype : kFloatingTypes) {
    const Tensor a = noise({1024, 65}, dtype, 1, MemoryLayout::transposed);
    ASSERT_EQ(a.stride(1), 1024);
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
      const Tensor b = noise({65, 70}, dtype, 2, layout);
      const std::string what = label(dtype, 1024, 70, 65) + name(layout);
      check({.d = unwritten({1024, 70}, dtype, layout), .a = a, .b = b, .bias = {}}, what);
      check({.d = unwritten({1024, 70}, dtype), .a = a, .b = b, .bias = noise({70}, dtype, 3)}, what + " with bias");
      check({.d = noise({1024, 70}, wide(dtype), 4), .a = a, .b = b, .bias = {}, .accumulate = true},
            what + " accumulated");
    }
  }
}

TEST(Gemm, RepeatedMatrices) {
  for (DType dtype : kFloatingTypes) {
    const Tensor a = noise({5, 7, 11}, dtype, 1), b = noise({5, 11, 9}, dtype, 2);
    const Tensor a1 = make_view(a, {5, 7, 11}, {0, 11, 1}, 0), b1 = make_view(b, {5, 11, 9}, {0, 9, 1}, 0);
    check({.d = unwritten({5, 7, 9}, dtype), .a = a, .b = b1, .bias = {}}, "b repeated");
    check({.d = unwritten({5, 7, 9}, dtype), .a = a1, .b = b, .bias = {}}, "a repeated");
    check({.d = unwritten({5, 7, 9}, dtype), .a = a1, .b = b1, .bias = {}}, "both repeated");
    // Attention heads: the batch dimension is inside the rows.
    const Tensor heads = make_view(a, {5, 7, 11}, {11, 55, 1}, 0);
    check({.d = unwritten({5, 7, 9}, dtype), .a = heads, .b = b, .bias = {}}, "interleaved");
  }
}

TEST(Gemm, EmptySizes) {
  for (DType dtype : kFloatingTypes) {
    for (Activation activation : {Activation::none, Activation::relu}) {
      check({.d = unwritten({3, 4}, dtype),
             .a = noise({3, 0}, dtype, 1),
             .b = noise({0, 4}, dtype, 1),
             .bias = {},
             .activation = activation},
            "k = 0");
      check({.d = unwritten({3, 4}, dtype),
             .a = noise({3, 0}, dtype, 1),
             .b = noise({0, 4}, dtype, 1),
             .bias = noise({4}, dtype, 2),
             .activation = activation},
            "k = 0 with bias");
    }
    check({.d = noise({3, 4}, dtype, 3),
           .a = noise({3, 0}, dtype, 1),
           .b = noise({0, 4}, dtype, 1),
           .bias = {},
           .accumulate = true},
          "k = 0, accumulated");
    check({.d = unwritten({0, 4}, dtype), .a = noise({0, 5}, dtype, 1), .b = noise({5, 4}, dtype, 1), .bias = {}},
          "m = 0");
    check({.d = unwritten({3, 0}, dtype), .a = noise({3, 5}, dtype, 1), .b = noise({5, 0}, dtype, 1), .bias = {}},
          "n = 0");
    check({.d = unwritten({0, 3, 4}, dtype),
           .a = noise({0, 3, 5}, dtype, 1),
           .b = noise({0, 5, 4}, dtype, 1),
           .bias = {}},
          "no matrices");
  }
}

void check_weight_gradient(DType dtype, DType out, int64_t n, MemoryLayout layout, bool weight, bool bias) {
  const int64_t features_in = 24, features_out = 40;
  const Tensor gy = noise({n, features_out}, dtype, 1, layout), x = noise({n, features_in}, dtype, 2, layout);
  const Tensor gweight = weight ? unwritten({features_out, features_in}, out) : Tensor();
  const Tensor gbias = bias ? unwritten({features_out}, out) : Tensor();
  under_test().linear_backward_weight(gweight, gbias, gy, x);
  const std::vector<double> g = read(gy), v = read(x);
  std::vector<double> w(features_out * features_in), b(features_out);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t o = 0; o < features_out; ++o) {
      b[o] += g[i * features_out + o];
      for (int64_t q = 0; q < features_in; ++q) {
        w[o * features_in + q] += g[i * features_out + o] * v[i * features_in + q];
      }
    }
  }
  const std::string what = label(dtype, n, features_out, features_in) + " into " + std::string(name(out));
  if (weight) expect_near(gweight, w, n, what + ": weight");
  if (bias) expect_near(gbias, b, n, what + ": bias");
}

TEST(LinearBackwardWeight, DtypesAndLayouts) {
  for (DType dtype : kFloatingTypes) {
    for (DType out : {dtype, wide(dtype)}) {
      for (int64_t n : {0, 1, 17, 513}) {
        for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::sliced}) {
          check_weight_gradient(dtype, out, n, layout, true, true);
        }
        check_weight_gradient(dtype, out, n, MemoryLayout::contiguous, true, false);
        check_weight_gradient(dtype, out, n, MemoryLayout::contiguous, false, true);
      }
    }
  }
}

}  // namespace
}  // namespace tandem::testing
