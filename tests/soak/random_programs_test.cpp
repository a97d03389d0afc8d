// Random autograd programs: operations, views, in-place changes, detach, NoGradGuard, checkpoints and hooks. Gradients
// agree with those of a reference without graphs, second derivatives with differences of the reference's gradients. A
// second run gives the same bits. Refused steps change nothing, or the comparison would fail.
#include "soak/program.h"
#include "soak/soak.h"
#include "support/counter.h"
#include "support/state.h"
#include "tandem/autograd/engine.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using Numbers = std::vector<double>;

/// Two inputs with gradients, [2, 3] and [3], and one without.
Numbers input_numbers(uint64_t seed) {
  Numbers numbers;
  for (uint64_t i = 0; i < kDirections + 6; ++i) numbers.push_back(counter_normal(seed, i) / 2);
  return numbers;
}

std::vector<Tensor> make_leaves(const Numbers& numbers) {
  const Tensor all = tensor(numbers, kDouble);
  return {all.slice(0, 0, 6).view({2, 3}).clone().requires_grad_(), all.slice(0, 6, 9).clone().requires_grad_(),
          all.slice(0, 9).view({2, 3}).clone()};
}

Dual run_reference(const Program& program, const Numbers& numbers, const std::vector<bool>& refused) {
  std::vector<Dual> duals;
  for (size_t i = 0; i < numbers.size(); ++i) {
    duals.push_back(constant(numbers[i]));
    if (i < kDirections) duals.back().d[i] = 1;
  }
  return run(
      program,
      {DualTensor({2, 3}, {duals.begin(), duals.begin() + 6}), DualTensor({3}, {duals.begin() + 6, duals.begin() + 9}),
       DualTensor({2, 3}, {duals.begin() + 9, duals.end()})},
      refused);
}

/// The gradients of both inputs, concatenated; zeros for undefined ones.
Numbers flat(const std::vector<Tensor>& gradients) {
  Numbers numbers(kDirections, 0);
  for (size_t k = 0, at = 0; k < 2; at += k == 0 ? 6 : 3, ++k) {
    if (!gradients[k].defined()) continue;
    const Tensor g = gradients[k].detach().contiguous();
    std::copy_n(g.const_data_ptr<double>(), g.numel(), numbers.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return numbers;
}

/// Describes the first number whose error exceeds `tolerance` times the largest; "" if there is none.
std::string difference(const Numbers& actual, const Numbers& expected, double tolerance) {
  double scale = 1;
  for (double v : expected) scale = std::max(scale, std::abs(v));
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= tolerance * scale)) {
      return "number " + std::to_string(i) + " is " + std::to_string(actual[i]) + ", expected " +
             std::to_string(expected[i]);
    }
  }
  return "";
}

/// The gradient of the sum of squares of the gradient, by central differences.
Numbers second_derivative(const Program& program, const Numbers& numbers, const std::vector<bool>& refused) {
  constexpr double h = 1e-5;
  Numbers result;
  for (size_t i = 0; i < kDirections; ++i) {
    double sides[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      Numbers moved = numbers;
      moved[i] += side == 0 ? h : -h;
      const Dual y = run_reference(program, moved, refused);
      for (double d : y.d) sides[side] += d * d;
    }
    result.push_back((sides[0] - sides[1]) / (2 * h));
  }
  return result;
}

struct Counts {
  int compared = 0, compared_twice = 0, refused_backward = 0;
};

void check_program(uint64_t seed, Counts& counts) {
  const Program program = random_program(seed);
  const Numbers numbers = input_numbers(seed);
  const std::vector<Tensor> leaves = make_leaves(numbers);
  const std::vector<Tensor> inputs{leaves[0], leaves[1]};
  std::vector<bool> refused, refused_again;
  const Tensor loss = run(program, leaves, refused);
  // Unrecorded changes write to the leaves themselves.
  const Dual expected = run_reference(program, numbers, refused);
  ASSERT_EQ(difference({loss.item<double>()}, {expected.v}, 1e-10), "") << "value of " << to_string(program);
  const Numbers expected_gradient(expected.d.begin(), expected.d.end());
  if (!loss.requires_grad()) {
    ASSERT_EQ(difference(expected_gradient, Numbers(kDirections, 0), 0), "")
        << "nothing recorded: " << to_string(program);
    return;
  }
  const bool smooth = is_smooth(program);
  std::vector<Tensor> gradients;
  try {
    gradients = autograd::grad({loss}, inputs, {}, true, smooth, /*allow_unused=*/true);
  } catch (const AutogradError&) {  // a tensor that backward needs was changed in place
    ++counts.refused_backward;
    EXPECT_FALSE(leaves[0].grad().defined());
    return;
  }
  ASSERT_EQ(difference(flat(gradients), expected_gradient, 1e-9), "") << "gradient of " << to_string(program);
  ++counts.compared;

  // A second pass through the retained graph and a second run give the same bits.
  loss.backward();
  const Numbers into_leaves = flat({leaves[0].grad(), leaves[1].grad()});
  ASSERT_EQ(into_leaves, flat(gradients)) << "backward() of " << to_string(program);
  const std::vector<Tensor> fresh = make_leaves(numbers);
  run(program, fresh, refused_again).backward();
  ASSERT_EQ(refused_again, refused);
  ASSERT_EQ(flat({fresh[0].grad(), fresh[1].grad()}), into_leaves) << "repeated: " << to_string(program);

  if (!smooth) return;
  Tensor squares;
  for (const Tensor& g : gradients) {
    if (g.defined() && g.requires_grad()) squares = squares.defined() ? squares + (g * g).sum() : (g * g).sum();
  }
  if (!squares.defined()) return;
  const std::vector<Tensor> again = make_leaves(numbers);
  const Tensor y = run(program, again, refused_again);
  const std::vector<Tensor> first = autograd::grad({y}, {again[0], again[1]}, {}, std::nullopt, true, true);
  squares = {};
  for (const Tensor& g : first) {
    if (g.defined() && g.requires_grad()) squares = squares.defined() ? squares + (g * g).sum() : (g * g).sum();
  }
  squares.backward();
  ASSERT_EQ(difference(flat({again[0].grad(), again[1].grad()}), second_derivative(program, numbers, refused), 1e-5),
            "")
      << "second derivative of " << to_string(program);
  ++counts.compared_twice;
}

TEST(RandomPrograms, GradientsMatchAPlainReference) {
  Counts counts;
  int tried = 0;
  for (Inputs inputs(1500); inputs.next(); ++tried) {
    SCOPED_TRACE(inputs.reproduction());
    ASSERT_NO_THROW(check_program(inputs.seed(), counts));
  }
  std::printf("%d programs: %d gradients compared, %d second derivatives; backward was refused %d times\n", tried,
              counts.compared, counts.compared_twice, counts.refused_backward);
  if (tried > 100) {  // a finder that compares nothing is useless
    EXPECT_GT(counts.compared, tried / 3);
    EXPECT_GT(counts.compared_twice, tried / 20);
  }
}

}  // namespace
}  // namespace tandem::testing
