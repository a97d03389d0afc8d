// Tensors of float8: they hold, move, convert and save values; ops that compute refuse them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/throws.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

constexpr DType kFloat8[] = {kFloat8_e4m3fn, kFloat8_e5m2, kFloat8_e8m0fnu};

std::vector<uint8_t> codes_of(const Tensor& x) {
  const Tensor bits = x.view(kByte).to(kCPU).contiguous();
  return {bits.data_ptr<uint8_t>(), bits.data_ptr<uint8_t>() + bits.numel()};
}

uint8_t code_of(DType t, float x) {
  return visit_dtype(t, [&]<class T>(T) -> uint8_t {
    if constexpr (is_float8(dtype_of<T>)) return T(x).bits;
    return 0;
  });
}

TEST(Float8Tensor, ConvertsFromAndToEveryDtypeAndLayout) {
  for (const DType t : kFloat8) {
    for (const DType other : {kFloat, kHalf, kBFloat16, kDouble, kInt, kLong, kByte, kShort}) {
      const Tensor x = arange(1, 61, TensorOptions(kFloat)).reshape({3, 4, 5}).to(other);
      const std::vector<Tensor> layouts = {x, x.transpose(0, 2), x.slice(2, 1, 5, 2), x.permute({1, 2, 0})};
      for (const Tensor& from : layouts) {
        const Tensor y = from.to(t);
        ASSERT_EQ(y.dtype(), t);
        const Tensor wide = from.to(kFloat).contiguous().to(kCPU), back = y.to(other).to(kFloat).contiguous().to(kCPU);
        const std::vector<uint8_t> codes = codes_of(y);
        for (int64_t i = 0; i < wide.numel(); ++i) {
          const uint8_t code = code_of(t, wide.data_ptr<float>()[i]);
          EXPECT_EQ(codes[static_cast<size_t>(i)], code) << name(t) << ' ' << name(other) << ' ' << i;
          EXPECT_EQ(back.data_ptr<float>()[i], full({}, 0, kByte).fill_(code).view(t).item<float>()) << name(other);
        }
      }
    }
  }
}

TEST(Float8Tensor, RoundsF64Once) {
  // Just above a tie: rounded to f32 first, it would become the tie and then the even neighbour.
  const double x = 17 + 0x1p-40;
  EXPECT_EQ(tensor({x}, kDouble).to(kFloat8_e4m3fn).item<float>(), 18);
  EXPECT_EQ(tensor({17.0}, kDouble).to(kFloat8_e4m3fn).item<float>(), 16);
}

/// Every op with Role::moves, on a tensor of 2 x 3.
TEST(Float8Tensor, Moves) {
  using Results = std::vector<Tensor>;
  const Tensor rows = tensor({1, 0}, kLong);
  const std::map<std::string, std::function<Results(const Tensor&)>> calls = {
      {"as_strided",
       [&](const Tensor& x) -> Results {
         return {x.as_strided({2, 2}, {1, 3}, 1)};
       }},
      {"cat",
       [&](const Tensor& x) -> Results {
         return {cat({x, x.slice(0, 0, 1)})};
       }},
      {"clone", [&](const Tensor& x) -> Results { return {x.t().clone()}; }},
      {"constant_pad_nd",
       [&](const Tensor& x) -> Results {
         return {constant_pad_nd(x, {1, 2}, 4)};
       }},
      {"contiguous",
       [&](const Tensor& x) -> Results {
         return {x.expand({2, 2, 3}).contiguous()};
       }},
      {"copy",
       [&](const Tensor& x) -> Results {
         Tensor y = x.clone();
         y[0].copy_(tensor({0.25, 0.5, 1.0}));
         return {y};
       }},
      {"detach", [&](const Tensor& x) -> Results { return {x.detach()}; }},
      {"diagonal", [&](const Tensor& x) -> Results { return {x.diagonal()}; }},
      {"expand",
       [&](const Tensor& x) -> Results {
         return {x.expand({2, 2, 3})};
       }},
      {"flip", [&](const Tensor& x) -> Results { return {x.flip({1})}; }},
      {"gather",
       [&](const Tensor& x) -> Results {
         return {x.gather(1, tensor({{2}, {1}}, kLong))};
       }},
      {"index",
       [&](const Tensor& x) -> Results {
         return {x.index({rows}), x.index({x.to(kFloat).gt(4)})};
       }},
      {"index_copy", [&](const Tensor& x) -> Results { return {x.index_copy(0, rows, x)}; }},
      {"index_fill", [&](const Tensor& x) -> Results { return {x.index_fill(1, rows, 2)}; }},
      {"index_put", [&](const Tensor& x) -> Results { return {x.index_put({rows}, x)}; }},
      {"index_select", [&](const Tensor& x) -> Results { return {x.index_select(1, rows)}; }},
      {"permute",
       [&](const Tensor& x) -> Results {
         return {x.permute({1, 0})};
       }},
      {"reshape", [&](const Tensor& x) -> Results { return {x.t().reshape({6})}; }},
      {"roll", [&](const Tensor& x) -> Results { return {x.roll(1, 1)}; }},
      {"select", [&](const Tensor& x) -> Results { return {x.select(1, 2)}; }},
      {"slice", [&](const Tensor& x) -> Results { return {x.slice(1, 0, 3, 2)}; }},
      {"split", [&](const Tensor& x) -> Results { return x.split(2, 1); }},
      {"squeeze", [&](const Tensor& x) -> Results { return {x.slice(0, 0, 1).squeeze()}; }},
      {"stack",
       [&](const Tensor& x) -> Results {
         return {stack({x[0], x[1]}, 1)};
       }},
      {"to", [&](const Tensor& x) -> Results { return {x.to(kBFloat16).to(x.dtype())}; }},
      {"transpose", [&](const Tensor& x) -> Results { return {x.transpose(0, 1)}; }},
      {"unbind", [&](const Tensor& x) -> Results { return x.unbind(1); }},
      {"unfold", [&](const Tensor& x) -> Results { return {x.unfold(1, 2, 1)}; }},
      {"unsqueeze", [&](const Tensor& x) -> Results { return {x.unsqueeze(0)}; }},
      {"view",
       [&](const Tensor& x) -> Results {
         return {x.view({3, 2}), x[0][0].view({})};
       }},
  };
  for (const amp::PolicyRow& row : amp::policy_table) {
    if (row.role == amp::Role::moves) {
      EXPECT_EQ(calls.count(std::string(row.op)), 1U) << row.op;
    }
  }
  const Tensor f32 = tensor({1.0, 2.0, 4.0, 8.0, 16.0, 32.0}).reshape({2, 3});
  for (const auto& [op, call] : calls) {
    const Results expected = call(f32);
    for (const DType t : kFloat8) {
      const Results results = call(f32.to(t));
      ASSERT_EQ(results.size(), expected.size());
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].dtype(), t) << op;
        EXPECT_TRUE(results[i].to(kFloat).equal(expected[i])) << op << ' ' << name(t);
      }
    }
  }
  for (const DType t : kFloat8) {
    EXPECT_TRUE(full({2}, 0.5, t).to(kFloat).equal(full({2}, 0.5)));
    EXPECT_TRUE(f32.to(t).fill_(2).to(kFloat).equal(full({2, 3}, 2.0)));
  }
}

TEST(Float8Tensor, BitsAsAnotherDtype) {
  const Tensor codes = tensor({0, 0x38, 0x7e, 0x7f, 0xfe}, kByte);
  const Tensor x = codes.view(kFloat8_e4m3fn);
  EXPECT_EQ(x[1].item<float>(), 1);
  EXPECT_EQ(x[2].item<float>(), 448);
  EXPECT_TRUE(std::isnan(x[3].item<float>()));
  EXPECT_EQ(x[4].item<float>(), -448);
  EXPECT_EQ(x.data_ptr(), codes.data_ptr());
  EXPECT_EQ(codes_of(x), codes_of(codes));
  EXPECT_EQ(tensor({1.0f}).view(kInt).item<int>(), 0x3f800000);
  EXPECT_THROWS(codes.view(kHalf), ShapeError, "[5] u8", "f16", ".to()");
  EXPECT_THROWS(codes.view(kBool), DTypeError, "bool");
}

TEST(Float8Tensor, PrintsLikeLibtorch) {
  const Tensor x = tensor({1.0, -2.5}).to(kFloat8_e4m3fn).to(kCPU);
  EXPECT_EQ(to_string(x), " 1.0000\n-2.5000\n[ CPUFloat8_e4m3fnType{2} ]");
}

TEST(Float8Tensor, OpsThatComputeRefuse) {
  const Tensor a = ones({2, 2}, kFloat8_e4m3fn), f = ones({2, 2});
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"add", [&] { add(a, a); }},
      {"add", [&] { add(f, a); }},
      {"mul", [&] { a * 2; }},
      {"relu", [&] { relu(a); }},
      {"matmul", [&] { matmul(a, a); }},
      {"linear", [&] { linear(f, a); }},
      {"softmax", [&] { softmax(a, 0); }},
      {"sum", [&] { a.sum(); }},
      {"exp", [&] { exp(a); }},
      {"eq", [&] { eq(a, a); }},
      {"sort", [&] { a.sort(0); }},
      {"cumsum", [&] { cumsum(a, 0); }},
      {"add_", [&] { a.add_(a); }},
      {"mul_", [&] { a.mul_(2); }},
      {"relu_", [&] { a.relu_(); }},
      {"masked_fill_",
       [&] {
         a.masked_fill_(ones({2, 2}, kBool), 1);
       }},
      {"normal_", [&] { a.normal_(); }},
      {"uniform_", [&] { a.uniform_(); }},
      {"bernoulli_", [&] { a.bernoulli_(0.5); }},
      {"random_", [&] { a.random_(0, 2); }},
      {"index_add_", [&] { a.index_add_(0, tensor({0}, kLong), a.slice(0, 0, 1)); }},
      {"scatter_add_",
       [&] {
         a.scatter_add_(0, zeros({1, 2}, kLong), a);
       }},
      {"randn", [&] { randn({2}, kFloat8_e5m2); }},
      {"bernoulli_",
       [&] {
         a.bernoulli_(full({2, 2}, 0.5));
       }},
      {"add_out", [&] { add_out(a, a, a); }},
      {"add_out", [&] { add_out(a, f, f); }},
      {"exp_out", [&] { exp_out(a, f); }},
  };
  for (const auto& entry : calls) {
    EXPECT_THROWS(entry.second(), DTypeError, entry.first, "f8e", "holds values", ".to(k") << entry.first;
  }
  EXPECT_THROWS(cat({a, f}), DTypeError, "cat", "f8e4m3fn", "f32", "no common dtype");
  EXPECT_THROWS(softmax(f, 0, kFloat8_e5m2), DTypeError, "softmax", "f8e5m2");
  EXPECT_THROWS(set_default_dtype(kFloat8_e5m2), DTypeError, "f8e5m2");
  EXPECT_THROWS(arange(4, kFloat8_e5m2), DTypeError, "arange", "f8e5m2");
  EXPECT_THROWS(full({1}, std::numeric_limits<double>::infinity(), kFloat8_e4m3fn), StateError, "f8e4m3fn");
  EXPECT_THROWS(full({1}, 450, kFloat8_e4m3fn), StateError, "450", "f8e4m3fn");
  EXPECT_THROWS(full({1}, -1, kFloat8_e8m0fnu), StateError, "-1", "f8e8m0fnu");
  {
    const amp::AutocastGuard guard(a.device().type(), kBFloat16);
    EXPECT_THROWS(matmul(f, a), DTypeError, "matmul", "f8e4m3fn");
  }
}

/// What reads or writes tensors without an op's dispatch.
TEST(Float8Tensor, OptimizersAndToolsRefuseOrPassOver) {
  const Tensor p = ones({4}).requires_grad_(), q = ones({4}).to(kFloat8_e4m3fn);
  EXPECT_THROWS(optim::SGD({q}, 0.1), DTypeError, "f8e4m3fn", "kFloat");
  p.mutable_grad() = q;
  optim::SGD sgd({p}, 0.1);
  EXPECT_THROWS(sgd.step(), DTypeError, "f8e4m3fn", "zero_grad");
  amp::GradScaler scaler;
  scaler.scale(full({}, 1.0));
  EXPECT_THROWS(scaler.unscale_(sgd), DTypeError, "f8e4m3fn", "zero_grad");
  EXPECT_THROWS(nn::utils::clip_grad_norm_({p}, 1), DTypeError, "f8e4m3fn");
  EXPECT_TRUE(q.to(kFloat).equal(ones({4})));
  amp::OverflowFinder finder;
  amp::OpStats stats;
  Tensor y = q.clone();
  y.copy_(ones({4}));
  EXPECT_TRUE(y.to(kFloat).equal(ones({4})));
  EXPECT_FALSE(finder.found());
}

/// A change of bits has no derivative, and gives its base no history.
TEST(Float8Tensor, BitsAreNoViewForAutograd) {
  const Tensor w = ones({3}).requires_grad_();
  Tensor half = ones({3}, kHalf);
  Tensor other = half.view(kBFloat16);
  other.mul_(w);
  EXPECT_FALSE(half.requires_grad());
  Tensor base = zeros({3});
  const Tensor bits = base.view(kInt);
  base.add_(w);
  EXPECT_FALSE(bits.requires_grad());
  EXPECT_FALSE(bits.is_view());
  EXPECT_EQ(bits[0].item<int>(), 0x3f800000);
}

TEST(Float8Tensor, HasNoGradient) {
  const Tensor x = ones({2}, kFloat).requires_grad_();
  const Tensor y = x.to(kFloat8_e4m3fn);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_FALSE(y.to(kFloat).requires_grad());
  EXPECT_THROWS(y.requires_grad_(), DTypeError, "f8e4m3fn", "f32");
  EXPECT_THROWS(zeros({2}, TensorOptions(kFloat8_e5m2).requires_grad(true)), DTypeError, "f8e5m2");
  nn::Linear layer(2, 2);
  EXPECT_THROWS(layer->to(kFloat8_e4m3fn), DTypeError, "Module::to", "f8e4m3fn");
}

}  // namespace
}  // namespace tandem
