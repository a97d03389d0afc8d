#pragma once
// Random autograd programs: instructions on a growing list of tensors, run by tandem and by the reference.
#include <random>
#include <string>
#include <vector>

#include "soak/dual_tensor.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

enum class Step : uint8_t {
  unary,      ///< tanh, sin, sigmoid, relu, exp of tanh, negation
  binary,     ///< sum, difference, product; operands broadcast
  divide,     ///< by one plus a square
  product,    ///< x x^T
  sum,        ///< along a dimension
  softmax,    ///< along the last dimension
  transpose,  ///< views from here on
  narrow,
  select,
  every_other,
  unsqueeze,
  expand,
  flatten,
  detach,
  join,  ///< cat of x with itself or with another
  clone,
  change,  ///< in place by another tensor: mul_, add_, copy_
  change_by_number,
  unrecorded,  ///< a product under NoGradGuard
  unrecorded_change,
  checkpoint,
  hook  ///< doubles the gradient of a new tensor
};
inline constexpr int kSteps = static_cast<int>(Step::hook) + 1;

struct Instruction {
  Step step;
  uint32_t a, b, c;  ///< select tensors, dimensions and forms, modulo their number
};
using Program = std::vector<Instruction>;

inline Program random_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  Program program(4 + random() % 14);
  for (Instruction& i : program) {
    i = {static_cast<Step>(random() % kSteps), static_cast<uint32_t>(random()), static_cast<uint32_t>(random()),
         static_cast<uint32_t>(random())};
  }
  return program;
}

/// Returns whether differences of the reference's gradients give second derivatives: no gradient is stopped or scaled.
inline bool is_smooth(const Program& program) {
  for (const Instruction& i : program) {
    if (i.step == Step::detach || i.step == Step::unrecorded || i.step == Step::unrecorded_change ||
        i.step == Step::hook || (i.step == Step::unary && i.c % 6 == 3)) {
      return false;
    }
  }
  return true;
}

std::string to_string(const Program& program);

/// Runs the program on the inputs. Steps that tandem refuses with an Error change nothing and are marked in `refused`.
/// The result is a weighted sum over the list's last tensors.
Tensor run(const Program& program, std::vector<Tensor> list, std::vector<bool>& refused);
/// Runs the program on the reference, without the refused steps.
Dual run(const Program& program, std::vector<DualTensor> list, const std::vector<bool>& refused);

}  // namespace tandem::testing
