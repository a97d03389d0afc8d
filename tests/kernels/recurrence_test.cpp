// recurrence and recurrence_backward against plain loops in f64, and the gradients against finite differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "support/tolerance.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class RecurrenceKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(RecurrenceKernels);

struct Layer {
  Cell cell;
  bool reverse = false;
  std::vector<int64_t> batch_sizes;
  int64_t units = 3, projected = 0;  ///< projected: 0 for none

  int64_t gates() const { return gates_of(cell); }
  int64_t state() const { return projected > 0 ? projected : units; }
  int64_t rows() const {
    int64_t n = 0;
    for (const int64_t size : batch_sizes) n += size;
    return n;
  }
  int64_t batch() const { return batch_sizes[0]; }
};

/// Inputs or results of a layer, each in row-major order.
struct Numbers {
  Values gates, w_hh, b_hh, w_hr, h, c, y;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// y = w x + bias, w: [rows, x.size()]
Values product(const Values& w, const double* x, size_t n, const Values& bias) {
  Values y = bias.empty() ? Values(w.size() / n, 0) : bias;
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t j = 0; j < n; ++j) y[i] += w[i * n + j] * x[j];
  }
  return y;
}

/// One sample after the other, step by step. Sets y, and h and c after the last step.
Numbers plain_layer(const Layer& layer, Numbers v) {
  const auto units = static_cast<size_t>(layer.units), state = static_cast<size_t>(layer.state());
  const size_t width = units * static_cast<size_t>(layer.gates()), steps = layer.batch_sizes.size();
  v.y.assign(static_cast<size_t>(layer.rows()) * state, 0);
  for (size_t k = 0; k < steps; ++k) {
    const size_t t = layer.reverse ? steps - 1 - k : k;
    size_t begin = 0;
    for (size_t s = 0; s < t; ++s) begin += static_cast<size_t>(layer.batch_sizes[s]);
    for (size_t b = 0; b < static_cast<size_t>(layer.batch_sizes[t]); ++b) {
      const double* const x = &v.gates[(begin + b) * width];
      double* const h = &v.h[b * state];
      const Values r = product(v.w_hh, h, state, v.b_hh);
      Values y(units);
      for (size_t i = 0; i < units; ++i) {
        const auto sum = [&](size_t gate) { return x[gate * units + i] + r[gate * units + i]; };
        if (layer.cell == Cell::lstm) {
          double& c = v.c[b * units + i];
          c = sigmoid(sum(1)) * c + sigmoid(sum(0)) * std::tanh(sum(2));
          y[i] = sigmoid(sum(3)) * std::tanh(c);
        } else if (layer.cell == Cell::gru) {
          const double n = std::tanh(x[2 * units + i] + sigmoid(sum(0)) * r[2 * units + i]), z = sigmoid(sum(1));
          y[i] = (1 - z) * n + z * h[i];
        } else {
          y[i] = layer.cell == Cell::tanh ? std::tanh(sum(0)) : std::max(0.0, sum(0));
        }
      }
      if (layer.projected > 0) y = product(v.w_hr, y.data(), units, {});
      for (size_t i = 0; i < state; ++i) v.y[(begin + b) * state + i] = h[i] = y[i];
    }
  }
  return v;
}

Tensor tensor_with(const Values& values, Dims sizes, DType dtype) {
  const Tensor x = empty(sizes, TensorOptions(dtype).device(device_type()));
  write(x, values);
  return x;
}

/// The sum of all results, each times a fixed weight.
double loss(const Numbers& v, const Numbers& weights) {
  double sum = 0;
  for (size_t i = 0; i < v.y.size(); ++i) sum += v.y[i] * weights.y[i];
  for (size_t i = 0; i < v.h.size(); ++i) sum += v.h[i] * weights.h[i];
  for (size_t i = 0; i < v.c.size(); ++i) sum += v.c[i] * weights.c[i];
  return sum;
}

/// dL/d(values), where `values` is a member of `in`.
Values slopes(const Layer& layer, Numbers in, Values Numbers::*values, const Numbers& weights) {
  Values slope;
  constexpr double eps = 1e-6;
  for (double& x : in.*values) {
    const double before = x;
    x = before + eps;
    const double up = loss(plain_layer(layer, in), weights);
    x = before - eps;
    slope.push_back((up - loss(plain_layer(layer, in), weights)) / (2 * eps));
    x = before;
  }
  return slope;
}

void check(const Layer& layer, DType dtype, bool bias, bool gradient_of_y) {
  const std::string label = fmt::format("cell {} reverse {} {} units {} projected {} {}", static_cast<int>(layer.cell),
                                        layer.reverse, name(dtype), layer.units, layer.projected, bias);
  const DType wide = dtype == kDouble ? kDouble : kFloat;
  const int64_t width = layer.gates() * layer.units, rows = layer.rows(), batch = layer.batch(), p = layer.state();
  const bool lstm = layer.cell == Cell::lstm;
  RecurrenceCall call;
  call.cell = layer.cell;
  call.reverse = layer.reverse;
  call.batch_sizes = layer.batch_sizes;
  const auto filled = [&](Dims sizes, uint32_t seed, DType type) {
    return tensor_with(random_values(numel_of(sizes), seed), sizes, type);
  };
  call.w_hh = filled({width, p}, 1, dtype);
  if (bias) call.b_hh = filled({width}, 2, dtype);
  if (layer.projected > 0) call.w_hr = filled({p, layer.units}, 3, dtype);
  call.gates = filled({rows, width}, 4, dtype);
  call.h = filled({batch, p}, 5, dtype);
  if (lstm) call.c = filled({batch, layer.units}, 6, wide);
  call.y = empty({rows, p}, call.gates.options());
  call.kept = empty({rows, layer.units}, call.gates.options().dtype(wide));
  if (layer.projected > 0) call.unprojected = empty({rows, layer.units}, call.gates.options());
  Numbers in{read(call.gates),
             read(call.w_hh),
             bias ? read(call.b_hh) : Values(),
             layer.projected > 0 ? read(call.w_hr) : Values(),
             read(call.h),
             lstm ? read(call.c) : Values(),
             {}};
  const Numbers want = plain_layer(layer, in);
  const Tensor first = empty(call.h.sizes(), call.h.options());
  under_test().copy(first, call.h);
  under_test().recurrence(call);
  const auto steps = static_cast<int64_t>(layer.batch_sizes.size());
  const auto limit = [&](DType type, const Values& values) {
    Tolerance t = tolerance(dtype, 4 * p * steps, static_cast<int>(6 * steps), std::max(1.0, scale_of(values)));
    if (type != dtype) t.rtol += tolerance(dtype).rtol;
    return t;
  };
  EXPECT_TRUE(near(call.y, want.y, limit(dtype, want.y))) << label;
  EXPECT_TRUE(near(call.h, want.h, limit(dtype, want.h))) << label;
  if (lstm) {
    EXPECT_TRUE(near(call.c, want.c, limit(wide, want.c))) << label;
  }

  // The gradients, of products as of the other inputs.
  Numbers weights;
  weights.y = gradient_of_y ? random_values(rows * p, 7) : Values(static_cast<size_t>(rows * p), 0);
  weights.h = random_values(batch * p, 8);
  if (lstm) weights.c = random_values(batch * layer.units, 9);
  RecurrenceBackwardCall back;
  back.forward = call;
  back.forward.gates = layer.cell == Cell::tanh || layer.cell == Cell::relu ? call.y : call.gates;
  Values before;  // h before each step
  {
    const Values y = read(call.y), h = read(first);
    const auto columns = static_cast<size_t>(p);
    before.resize(y.size());
    size_t begin = 0;
    for (size_t t = 0; t < layer.batch_sizes.size(); ++t) {
      const auto count = static_cast<size_t>(layer.batch_sizes[t]);
      const size_t earlier = t > 0 ? begin - static_cast<size_t>(layer.batch_sizes[t - 1]) : 0, later = begin + count;
      const size_t known = layer.reverse
                               ? (t + 1 < layer.batch_sizes.size() ? static_cast<size_t>(layer.batch_sizes[t + 1]) : 0)
                               : (t > 0 ? count : 0);
      for (size_t b = 0; b < count; ++b) {
        for (size_t i = 0; i < columns; ++i) {
          before[(begin + b) * columns + i] =
              b < known ? y[((layer.reverse ? later : earlier) + b) * columns + i] : h[b * columns + i];
        }
      }
      begin = later;
    }
  }
  back.previous = tensor_with(before, {rows, p}, dtype);
  if (gradient_of_y) {
    back.gy = tensor_with(weights.y, {rows, p}, dtype);
    weights.y = read(back.gy);  // as rounded to the dtype
  }
  back.gh = tensor_with(weights.h, {batch, p}, wide);
  if (lstm) back.gc = tensor_with(weights.c, {batch, layer.units}, wide);
  back.ggates = empty(call.gates.sizes(), call.gates.options());
  back.grecurrent = layer.cell == Cell::gru ? empty(call.gates.sizes(), call.gates.options()) : back.ggates;
  if (layer.projected > 0) back.gprojected = empty({rows, p}, call.gates.options());
  under_test().recurrence_backward(back);
  const auto expect = [&](const Tensor& gradient, Values Numbers::*values, const char* which) {
    const Values slope = slopes(layer, in, values, weights);
    Tolerance t = limit(gradient.dtype(), slope);
    t.atol += 1e-7 * std::max(1.0, scale_of(slope));  // of the finite differences
    if (is_reduced_floating_point(dtype)) t.atol *= 4;
    EXPECT_TRUE(near(gradient, slope, t)) << label << " " << which;
  };
  expect(back.ggates, &Numbers::gates, "gates");
  expect(back.gh, &Numbers::h, "h");
  if (lstm) expect(back.gc, &Numbers::c, "c");
  if (!bias) return;
  // The column sums of grecurrent are the gradient of the bias.
  Values sums(static_cast<size_t>(width), 0);
  const Values recurrent = read(back.grecurrent);
  for (size_t i = 0; i < recurrent.size(); ++i) sums[i % sums.size()] += recurrent[i];
  expect(tensor_with(sums, {width}, wide), &Numbers::b_hh, "bias");
}

TEST_P(RecurrenceKernels, CellsAndDtypes) {
  for (const Cell cell : {Cell::tanh, Cell::lstm, Cell::gru}) {
    for (const DType dtype : kFloatingTypes) {
      check({.cell = cell, .batch_sizes = {2, 2, 2}}, dtype, true, true);
      check({.cell = cell, .reverse = true, .batch_sizes = {3, 2, 1, 1}}, dtype, false, true);
    }
  }
}

TEST_P(RecurrenceKernels, Relu) {
  // Only values: a sum that is close to 0 has no slope.
  const Tensor w = tensor_with({1, 0, 0, -1}, {2, 2}, kFloat), gates = tensor_with({-3, 3, 1, -0.5}, {2, 2}, kFloat);
  RecurrenceCall call;
  call.cell = Cell::relu;
  call.batch_sizes = {1, 1};
  call.w_hh = w;
  call.gates = gates;
  call.h = tensor_with({2, 1}, {1, 2}, kFloat);
  call.y = empty({2, 2}, gates.options());
  under_test().recurrence(call);
  EXPECT_EQ(read(call.y), (Values{0, 2, 1, 0}));
  EXPECT_EQ(read(call.h), (Values{1, 0}));
  RecurrenceBackwardCall back;
  back.forward = call;
  back.gy = tensor_with({1, 1, 1, 1}, {2, 2}, kFloat);
  back.gh = tensor_with({0, 0}, {1, 2}, kFloat);
  back.ggates = back.grecurrent = empty({2, 2}, gates.options());
  under_test().recurrence_backward(back);
  EXPECT_EQ(read(back.ggates), (Values{0, 1, 1, 0}));
  EXPECT_EQ(read(back.gh), (Values{0, -1}));
}

TEST_P(RecurrenceKernels, Sizes) {
  for (const int64_t units : {1, 17, 40}) {
    check({.cell = Cell::lstm, .batch_sizes = {2, 1}, .units = units}, kFloat, true, true);
    check({.cell = Cell::gru, .batch_sizes = {2, 1}, .units = units}, kFloat, true, false);
  }
}

TEST_P(RecurrenceKernels, Projection) {
  for (const DType dtype : kFloatingTypes) {
    check({.cell = Cell::lstm, .batch_sizes = {2, 2, 1}, .units = 4, .projected = 2}, dtype, true, true);
    check({.cell = Cell::lstm, .reverse = true, .batch_sizes = {2, 1}, .units = 4, .projected = 3}, dtype, false,
          false);
  }
}

}  // namespace
}  // namespace tandem
