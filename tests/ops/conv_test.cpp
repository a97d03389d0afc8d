// Convolutions: error messages, dtypes, memory formats and second derivatives. Values are compared with PyTorch through
// tests/cases.
#include <gtest/gtest.h>

#include <future>

#include "support/device.h"
#include "support/memory_limit.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"
#include "tandem/tensor/cpu_capability.h"

namespace tandem {
namespace {

using namespace testing;

class Conv : public OpTest {};

TEST_F(Conv, RefusesBadInput) {
  const Tensor x = randn({2, 4, 6, 6}), w = randn({8, 4, 3, 3});
  EXPECT_THROWS(conv2d(Tensor(), w), StateError, "conv2d: x", "undefined");
  EXPECT_THROWS(conv2d(x, Tensor()), StateError, "conv2d: weight", "undefined");
  EXPECT_THROWS(conv2d(randn({6, 6}), w), ShapeError, "conv2d: x is [6, 6]", "[N, C, H, W]");
  EXPECT_THROWS(conv2d(x, randn({8, 4, 3})), ShapeError, "conv2d: the weight is [8, 4, 3]");
  EXPECT_THROWS(conv2d(x, randn({8, 3, 3, 3})), ShapeError, "conv2d: x [2, 4, 6, 6] has 4 channels", "needs 3");
  EXPECT_THROWS(conv2d(x, w, randn({7})), ShapeError, "conv2d: bias is [7] f32", "[8]");
  EXPECT_THROWS(conv2d(x, w, {}, {0}), StateError, "conv2d: stride = [0]", "at least 1");
  EXPECT_THROWS(conv2d(x, w, {}, {1, 1, 1}), ShapeError, "conv2d: stride = [1, 1, 1]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {-1}), StateError, "conv2d: padding = [-1]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {0}), StateError, "conv2d: dilation = [0]");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {3}), ShapeError, "conv2d: the kernel spans 7", "with padding has 6");
  EXPECT_THROWS(conv2d(x, w, {}, {1}, {0}, {1}, 3), StateError, "conv2d: groups = 3", "8 outputs");
  EXPECT_THROWS(conv2d(x.to(kHalf), w), DTypeError, "conv2d: ", "f16", "f32", "Autocast", ".to()");
  EXPECT_THROWS(conv2d(x, w, randn({8}).to(kHalf)), DTypeError, "conv2d: ", "bias", "f16");
  EXPECT_THROWS(conv2d(x.to(kInt), w), DTypeError, "conv2d: x", "i32");
  EXPECT_THROWS(conv_backward_input(x, w, {2, 4, 6, 6}, {}), ShapeError, "conv_backward_input: gy");
  EXPECT_THROWS(conv_backward_weight(x, x, {8, 4, 3, 3}, {}), ShapeError, "conv_backward_weight: gy");
}

TEST_F(Conv, WeightGradientsStayInF32UnderAutocast) {
  const Tensor x = randn({16, 3, 9, 9}), w = leaf({4, 3, 3, 3}), b = leaf({4});
  const Tensor gy = randn({16, 4, 9, 9}).to(kBFloat16);
  Tensor y;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    y = conv2d(x, w, b, {1}, {1});
  }
  ASSERT_EQ(y.dtype(), kBFloat16);
  y.backward(gy);
  const Tensor wide = w.detach().to(kBFloat16).to(kDouble).requires_grad_(),
               wb = b.detach().to(kDouble).requires_grad_();
  conv2d(x.to(kBFloat16).to(kDouble), wide, wb, {1}, {1}).backward(gy.to(kDouble));
  ASSERT_EQ(w.grad().dtype(), kFloat);
  EXPECT_TRUE(near(w.grad(), wide.grad(), tolerance(kFloat, 16 * 81, 1, 16)));
  EXPECT_TRUE(near(b.grad(), wb.grad(), tolerance(kFloat, 16 * 81, 1, 16)));
  EXPECT_FALSE(near(w.grad(), w.grad().to(kBFloat16), kExact));
}

TEST_F(Conv, SecondDerivativesRunUnderAutocast) {
  const Tensor x = leaf({2, 2, 5, 5}), w = leaf({3, 2, 3, 3}), b = leaf({3});
  Tensor y;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    y = conv2d(x, w, b);
  }
  const auto first = autograd::grad({y.to(kFloat).square().sum()}, {x, w, b}, {}, true, true);
  for (const Tensor& g : first) EXPECT_EQ(g.dtype(), kFloat);
  (first[0].square().sum() + first[1].square().sum() + first[2].square().sum()).backward();
  const Tensor dx = x.detach().to(kDouble).requires_grad_(), dw = w.detach().to(kDouble).requires_grad_(),
               db = b.detach().to(kDouble).requires_grad_();
  const auto wide = autograd::grad({conv2d(dx, dw, db).square().sum()}, {dx, dw, db}, {}, true, true);
  (wide[0].square().sum() + wide[1].square().sum() + wide[2].square().sum()).backward();
  // bf16 operands: 3 % of the largest gradient.
  EXPECT_TRUE(near(w.grad(), dw.grad(), {0, 0.03 * testing::scale_of(values_of(dw.grad()))}));
  EXPECT_TRUE(near(x.grad(), dx.grad(), {0, 0.03 * testing::scale_of(values_of(dx.grad()))}));
  EXPECT_TRUE(near(b.grad(), db.grad(), {0, 0.03 * testing::scale_of(values_of(db.grad()))}));
}

TEST_F(Conv, DerivativesAreDifferentiable) {
  ConvParams p;
  p.stride = {2, 1};
  p.padding = {1, 0};
  p.dilation = {1, 2};
  p.groups = 2;
  const Dims xs{2, 2, 4, 5}, ws{4, 1, 3, 2}, ys{2, 4, 2, 3};
  check_twice(
      [&](In v) -> Out {
        return {conv2d(v[0], v[1], v[2], {2, 1}, {1, 0}, {1, 2}, 2)};
      },
      {f64(xs), f64(ws), f64({4})});
  check_twice([&](In v) -> Out { return {conv_backward_input(v[0], v[1], xs, p)}; }, {f64(ys), f64(ws)});
  check_twice(
      [&](In v) -> Out {
        auto [gw, gb] = conv_backward_weight(v[0], v[1], ws, p, {}, true);
        return {gw, gb};
      },
      {f64(ys), f64(xs)});
  check_twice([&](In v) -> Out { return {conv2d(v[0], v[1])}; }, {f64({1, 3, 3}), f64({2, 1, 2, 2})});
}

// conv_backward_input and conv_backward_weight are differentiated with the others in tests/cases for 1 and 3
// dimensions.
TEST_F(Conv, TransposedConvolutionIsTheGradientOfConvolution) {
  const Tensor gy = f64({2, 4, 3, 2}), w = f64({4, 3, 3, 2});
  const Tensor x = zeros({2, 3, 7, 4}, kDouble).requires_grad_();
  const Tensor y = conv2d(x, w, {}, {2}, {0, 1});
  const Tensor gx = autograd::grad({y.narrow(3, 0, 2)}, {x}, {gy})[0];
  const Tensor t = conv_transpose2d(gy, w, {}, {2}, {0, 1}, {0, 0});
  EXPECT_EQ(to_string(t.sizes()), "[2, 3, 7, 2]");
  EXPECT_TRUE(near(t, gx.narrow(3, 0, 2), tolerance(kDouble, 36)));
}

TEST_F(Conv, WeightGradientsOfTransposedConvolutionsStayInF32UnderAutocast) {
  const Tensor x = randn({8, 4, 5, 5}), w = leaf({4, 3, 3, 3}), b = leaf({3});
  const Tensor gy = randn({8, 3, 7, 7}).to(kBFloat16);
  Tensor y;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    y = conv_transpose2d(x, w, b);
  }
  ASSERT_EQ(y.dtype(), kBFloat16);
  y.backward(gy);
  const Tensor wide = w.detach().to(kBFloat16).to(kDouble).requires_grad_(),
               wb = b.detach().to(kDouble).requires_grad_();
  conv_transpose2d(x.to(kBFloat16).to(kDouble), wide, wb).backward(gy.to(kDouble));
  ASSERT_EQ(w.grad().dtype(), kFloat);
  EXPECT_TRUE(near(w.grad(), wide.grad(), tolerance(kFloat, 8 * 25, 1, 16)));
  EXPECT_TRUE(near(b.grad(), wb.grad(), tolerance(kFloat, 8 * 49, 1, 16)));
}

TEST_F(Conv, SecondDerivativesOfVolumesRunUnderAutocast) {
  const Tensor x = leaf({2, 2, 3, 3, 3}), w = leaf({3, 2, 2, 2, 2});
  Tensor y;
  {
    amp::AutocastGuard autocast(device_type());
    y = conv3d(x, w);
  }
  const auto first = autograd::grad({y.to(kFloat).square().sum()}, {x, w}, {}, true, true);
  (first[0].square().sum() + first[1].square().sum()).backward();
  const Tensor dx = x.detach().to(kDouble).requires_grad_(), dw = w.detach().to(kDouble).requires_grad_();
  const auto wide = autograd::grad({conv3d(dx, dw).square().sum()}, {dx, dw}, {}, true, true);
  (wide[0].square().sum() + wide[1].square().sum()).backward();
  // bf16 operands: 3 % of the largest gradient.
  EXPECT_TRUE(near(w.grad(), dw.grad(), {0, 0.03 * testing::scale_of(values_of(dw.grad()))}));
  EXPECT_TRUE(near(x.grad(), dx.grad(), {0, 0.03 * testing::scale_of(values_of(dx.grad()))}));
}

TEST_F(Conv, StridesBeyondTheResultOfATransposedConvolution) {
  const int64_t huge = int64_t{1} << 40;
  const Tensor y = conv_transpose1d(ones({1, 1, 1}), ones({1, 1, 2}), ones({1}), {huge}, {0}, {1});
  EXPECT_EQ(values_of(y), (std::vector<double>{2, 2, 1}));
}

TEST_F(Conv, TbcUsesItsInputInPlace) {
  const Tensor x = randn({6, 2, 3}), w = randn({3, 3, 4}), b = randn({4});
  const Tensor y = conv_tbc(x, w, b, 1);
  EXPECT_TRUE(y.is_contiguous());
  const Tensor expected = conv1d(x.permute({1, 2, 0}), w.permute({2, 1, 0}), b, {1}, {1}).permute({2, 0, 1});
  EXPECT_TRUE(near(y, expected, tolerance(kFloat, 10, 1, 8)));
}

TEST_F(Conv, ColumnsTimesWeightIsConvolution) {
  const Tensor x = f64({2, 3, 6, 5}), w = f64({4, 3, 2, 3});
  const Tensor product = matmul(w.reshape({4, 18}), im2col(x, {2, 3}, {1, 2}, {1, 2}, {2, 1}));
  const Tensor y = conv2d(x, w, {}, {2, 1}, {1, 2}, {1, 2});
  EXPECT_TRUE(near(product.reshape(y.sizes()), y, tolerance(kDouble, 18)));
}

TEST_F(Conv, KeepsChannelsLast) {
  const Tensor x = leaf({2, 3, 5, 5}), w = leaf({4, 3, 3, 3});
  EXPECT_TRUE(conv2d(x, w).is_contiguous());
  for (int which = 0; which < 2; ++which) {
    const Tensor cx = which == 0 ? x.detach().contiguous(kChannelsLast).requires_grad_() : x;
    const Tensor cw = which == 1 ? w.detach().contiguous(kChannelsLast).requires_grad_() : w;
    const Tensor y = conv2d(cx, cw);
    EXPECT_TRUE(is_channels_last(y));
    EXPECT_TRUE(near(y, conv2d(x, w), tolerance(kFloat, 27, 1, 8)));
    const auto grads = autograd::grad({y}, {cx, cw}, {ones_like(y)});
    EXPECT_TRUE(is_channels_last(grads[0]));
  }
}

/// Fills freed memory blocks of many sizes with NaN bits, so that later allocations contain them.
void fill_the_heap_with_nan() {
  std::vector<std::vector<uint16_t>> blocks;
  std::vector<Tensor> tensors;
  for (size_t bytes = 64; bytes <= size_t{1} << 17; bytes *= 2) {
    for (int i = 0; i < 3; ++i) {
      blocks.emplace_back(bytes / 2, uint16_t{0x7fff});
      tensors.push_back(empty({static_cast<int64_t>(bytes / 2)}, kBFloat16));
      tensors.back().fill_(NAN);
    }
  }
}

TEST_F(Conv, WeightGradientsReadOnlyTheImage) {
  for (DType dtype : {kBFloat16, kHalf}) {
    for (const Dims& image :
         {Dims{1, 1}, Dims{3, 2}, Dims{5, 3}, Dims{1, 5, 5}, Dims{2, 5, 5}, Dims{5, 1, 5}, Dims{5, 5, 1}}) {
      for (const int64_t stride : {1, 2, 3}) {
        Dims sizes{2, 16}, kernel{16, 16};
        for (const int64_t size : image) {
          sizes.push_back(size);
          kernel.push_back(3);
        }
        const Tensor x = ones(sizes, dtype), w = ones(kernel, dtype).requires_grad_();
        const Tensor wide = ones(kernel, kDouble).requires_grad_();
        const auto run = [&](const Tensor& x, const Tensor& weight) {
          convolution(x, weight, {}, {stride}, {1}, {1}, false, {0}, 1).sum().backward();
        };
        fill_the_heap_with_nan();
        run(x, w);
        run(x.to(kDouble), wide);
        EXPECT_EQ(values_of(w.grad()), values_of(wide.grad()))
            << name(dtype) << to_string(image) << " stride " << stride;
      }
    }
  }
}

TEST_F(Conv, BiasAloneMayRequireGrad) {
  const Tensor b = leaf({4});
  conv2d(randn({2, 3, 5, 5}), randn({4, 3, 3, 3}), b).sum().backward();
  EXPECT_TRUE(near(b.grad(), full({4}, 18.0), kExact));
}

// oneDNN 3.2 itself would make no primitive on that thread any more, and one that crashes on other threads.
TEST_F(Conv, GoesOnAfterTooLittleMemoryForOneDnn) {
  TANDEM_TEST_ON_HOST();
  if (cpu_product_library().name != "oneDNN") GTEST_SKIP() << "this build does not use oneDNN";
  if (!MemoryLimit::is_possible()) GTEST_SKIP() << "memory cannot be limited";
  const Tensor x = randn({1, 16, 7, 7}), w = randn({16, 16, 5, 5}), v = randn({16, 16, 1, 1});
  const auto check = [&] {
    for (const Tensor& weight : {w, v}) {
      const Tensor expected = conv2d(x.to(kDouble), weight.to(kDouble), {}, {1}, {2});
      EXPECT_TRUE(near(conv2d(x, weight, {}, {1}, {2}), expected, tolerance(kFloat, 16 * 25)));
    }
  };
  const auto run = [&] {
    // Makes what is made once, and memory for the result.
    static_cast<void>(conv2d(x, randn({16, 16, 3, 3}), {}, {1}, {1}));
    {
      const MemoryLimit limit(0);
      EXPECT_THROWS(conv2d(x, w, {}, {1}, {2}), OutOfMemoryError, "conv2d: oneDNN ran out of memory", "free");
    }
    check();
  };
  std::async(std::launch::async, run).get();
  check();
}

}  // namespace
}  // namespace tandem
