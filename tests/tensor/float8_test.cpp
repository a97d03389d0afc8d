// Tensors of float8, u16, u32 and u64: they hold, move, convert and save values; ops that compute refuse them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/throws.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

constexpr DType kFloat8[] = {kFloat8_e4m3fn, kFloat8_e5m2, kFloat8_e8m0fnu};
constexpr DType kUnsigned[] = {kUInt16, kUInt32, kUInt64};
constexpr DType kStorageOnly[] = {kFloat8_e4m3fn, kFloat8_e5m2, kFloat8_e8m0fnu, kUInt16, kUInt32, kUInt64};

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
TEST(StorageOnlyTensor, Moves) {
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
         y[0].copy_(tensor({2.0, 4.0, 1.0}));
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
    for (const DType t : kStorageOnly) {
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

/// Conversions round or truncate once; integers are taken modulo 2^bits, as in PyTorch.
TEST(UnsignedTensor, ConvertsFromAndToEveryDtypeAndLayout) {
  const std::vector<uint64_t> values = {
      0, 1, 255, 65535, 65536, 0xffffffff, uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}};
  const Tensor x = tensor(values);
  ASSERT_EQ(x.dtype(), kUInt64);
  for (const DType t : kUnsigned) {
    const Tensor y = x.to(t), twice = stack({y, y}, 1).to(kLong).select(1, 1).to(t);  // with strides
    EXPECT_TRUE(twice.equal(y)) << name(t);
    for (const DType other : {kDouble, kFloat, kHalf, kBFloat16, kLong, kInt, kShort, kByte, kChar, kBool}) {
      const Tensor wide = stack({y, y}, 1).select(1, 0).to(other);
      EXPECT_TRUE(y.to(other).equal(wide)) << name(t) << ' ' << name(other);
      for (size_t i = 0; i < values.size(); ++i) {
        const uint64_t bits = t == kUInt64 ? 64 : t == kUInt32 ? 32 : 16;
        const uint64_t value = bits == 64 ? values[i] : values[i] % (uint64_t{1} << bits);
        const Tensor one = wide[static_cast<int64_t>(i)];
        visit_dtype(other, [&]<class T>(T) {
          if constexpr (std::is_arithmetic_v<T>) {
            EXPECT_EQ(one.item<T>(), static_cast<T>(value)) << name(t) << ' ' << value;
          } else if constexpr (dtype_of<T> == kHalf || dtype_of<T> == kBFloat16) {
            EXPECT_EQ(one.item<float>(), static_cast<float>(T(static_cast<float>(value)))) << name(t) << ' ' << value;
          }
        });
      }
    }
    const double most = t == kUInt64 ? 0x1p63 : t == kUInt32 ? 0xffffffffp0 : 65535;
    for (const DType from : {kFloat, kDouble, kBFloat16}) {
      const Tensor f = tensor({0.0, 2.75, -1.0, 1024.0, most}, kDouble).to(from);
      const Tensor expected = f.to(kDouble).slice(0, 0, 4).to(kLong).to(t);
      EXPECT_TRUE(f.slice(0, 0, 4).to(t).equal(expected)) << name(t) << ' ' << name(from);
      if (from == kDouble) {
        EXPECT_EQ(f.to(t)[4].item<double>(), most) << name(t);
      }
    }
    EXPECT_EQ(tensor({-1.0}).to(t).to(kLong).item<int64_t>(), t == kUInt64 ? -1 : static_cast<int64_t>(most));
  }
}

TEST(UnsignedTensor, NumbersEqualityAndText) {
  const Tensor x = tensor({~uint64_t{0}, uint64_t{5}});
  EXPECT_EQ(x[0].item<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(x[0].item<double>(), 0x1p64);
  EXPECT_EQ(x[0].item().str(), "18446744073709551615");
  EXPECT_THROWS(x[0].item<int64_t>(), StateError, "18446744073709551615");
  EXPECT_EQ(to_string(x[0].to(kCPU)), "18446744073709551615\n[ CPUUInt64Type{} ]");
  EXPECT_EQ(to_string(tensor({uint16_t{7}, uint16_t{65535}}).to(kCPU)), "     7\n 65535\n[ CPUUInt16Type{2} ]");
  EXPECT_TRUE(full({2}, x[0].item(), kUInt64).equal(stack({x[0], x[0]})));
  for (const DType t : kUnsigned) {
    const Tensor a = tensor({1, 2, 3}).to(t), b = tensor({1, 0, 3}).to(t);
    EXPECT_TRUE(a.eq(b).equal(tensor({true, false, true}))) << name(t);
    EXPECT_TRUE((a != b).equal(tensor({false, true, false}))) << name(t);
    EXPECT_THROWS(a == tensor({1, 2, 3}), DTypeError, "eq", name(t).data(), ".to(kLong)");
    EXPECT_THROWS(full({1}, 0x1p64, t), StateError, name(t).data());
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
  for (const DType t : kUnsigned) {
    const Tensor u = ones({2, 2}, t);
    EXPECT_THROWS(u + u, DTypeError, "add", name(t).data(), "holds values", ".to(kLong)");
    EXPECT_THROWS(u * 1.5, DTypeError, "mul", name(t).data(), "holds values");
    EXPECT_THROWS(u.sum(), DTypeError, "sum", name(t).data(), "holds values");
    EXPECT_THROWS(u.lt(u), DTypeError, "lt", name(t).data(), "holds values");
    EXPECT_THROWS(u.add_(1), DTypeError, "add_", name(t).data(), "holds values");
    EXPECT_THROWS(f.matmul(u), DTypeError, "matmul", name(t).data());
    EXPECT_THROWS(cat({u, ones({2, 2}, kInt)}), DTypeError, "cat", name(t).data(), "no common dtype");
    EXPECT_THROWS(arange(4, t), DTypeError, "arange", name(t).data());
    EXPECT_THROWS(ones({2}, t).requires_grad_(), DTypeError, name(t).data());
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
