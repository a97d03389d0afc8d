#pragma once
// Random programs of calls to gradient scalers and optimizers, as data that can be printed and shortened.
#include <array>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::testing {

enum class ScalerCall : uint8_t {
  scaled_backward,       ///< scaler.scale(loss).backward()
  scale,                 ///< keeps scaler.scale(loss)
  backward,              ///< of a kept loss
  plain_backward,        ///< loss.backward(): scale() is forgotten
  half_scaled_backward,  ///< (scaler.scale(loss) + loss).backward(); if `flag`, both of one tensor. If `number` is
                         ///< not 0, the next scaler scales the second loss
  seeded_backward,       ///< loss.backward(the scale), or, if `flag`, of the gradient of `param`
  grad,                  ///< makes results of autograd::grad(loss) the gradients: of a scaled loss if `number` is not
                         ///< 0, times 1 / scale if `flag`
  unscale,
  unscale_tensor,  ///< scaler.unscale_({a gradient})
  clip_norm,
  clip_value,
  change,        ///< multiplies a gradient by a number, in place or, if `flag`, with set_data()
  undo_scale,    ///< multiplies a gradient by 1 / scale, in place or, if `flag`, with set_data()
  move,          ///< makes the gradient of parameter `other` that of another parameter; of both if `flag`
  replace,       ///< makes a new tensor the gradient
  drop,          ///< makes an undefined tensor the gradient
  zero_grad,     ///< to none, or to zeros if `flag`
  step,          ///< scaler.step(optimizer)
  plain_step,    ///< optimizer.step()
  update,        ///<
  set_scale,     ///< update(number), or a tensor if `flag`
  load_state,    ///< with the scale `number`, or the current one if `flag`
  set_interval,  ///< of growth
  set_factors    ///< of growth and backoff
};
inline constexpr int kScalerCalls = static_cast<int>(ScalerCall::set_factors) + 1;

struct ScalerInstruction {
  ScalerCall call;
  size_t scaler = 0, optimizer = 0, param = 0, other = 0;
  size_t kept = 0;                 ///< of `backward`: which kept loss, modulo their number
  double number = 0;               ///< the factor, limit, new gradient or new scale
  bool flag = false;               ///< of scaled_backward: the loss in two parts; of backward: retains the graph
  std::array<double, 3> slopes{};  ///< the loss: the sum of slope times parameter over slopes that are not 0
  bool reads = false;              ///< compares all gradients after the call; reading applies a postponed unscale
};

struct ScalerProgram {
  enum class Kind : uint8_t {
    fused,       ///< SGD
    overridden,  ///< SGD with an overridden step, for which the scaler unscales first
    own          ///< the user's, which the library cannot keep from stepping
  };
  struct Optimizer {
    Kind kind;
    optim::MasterWeights masters;
    double lr;
    std::vector<size_t> params;
  };
  struct Scaler {
    double scale, growth, backoff;
    int64_t interval;
  };
  std::vector<DType> params;
  std::vector<Optimizer> optimizers;
  std::vector<Scaler> scalers;
  std::vector<ScalerInstruction> calls;

  bool is_16_bit(size_t param) const { return params[param] != kFloat; }
  /// Whether an optimizer keeps a master of the parameter. Such an optimizer is the only one of the parameter.
  bool has_master(size_t param) const;
  /// The dtype of the parameter's gradients: f32 if it has a master.
  DType grad_dtype(size_t param) const { return has_master(param) ? kFloat : params[param]; }
};

/// More than half of the programs make their calls as PyTorch wants them. The others are such programs with calls left
/// out, repeated, exchanged or added, or calls in any order.
ScalerProgram random_scaler_program(uint64_t seed);

/// C++ that a reader can follow.
std::string to_string(const ScalerProgram& program);
std::string to_string(const ScalerInstruction& call);

}  // namespace tandem::testing
