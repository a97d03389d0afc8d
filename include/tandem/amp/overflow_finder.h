#pragma once
// OverflowFinder: where the first inf or NaN of a training step comes from.
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/amp/check_numerics.h"
#include "tandem/autograd/observer.h"
#include "tandem/nn/module.h"

namespace tandem::amp {

/// The first non-finite values of a step.
struct Overflow {
  std::string what;  ///< "result 0", "the cast of input 1 from f32 to f16", "input 0, parameter 'fc1.weight'", ...
  std::string op;    ///< that made it or, for a tensor that came with it, that read it; "" for .grad
  std::string backward_of;    ///< the forward op whose backward calls `op`; "" in the forward pass
  std::string module;         ///< whose parameters the (forward) op takes, else the last before it that has some; or ""
  bool after_module = false;  ///< the latter
  int64_t call = 0;           ///< number of the op since reset(), from 0
  /// What went in and what came out, by name.
  std::vector<std::pair<std::string, Numerics>> tensors;

  std::string str() const;
};

/// Looks at the inputs and results of every op of this thread (and of threads that ThreadContext carries its modes to),
/// forward and backward, until the first inf or NaN is found: in a result, in the cast that autocast made of an input,
/// in a tensor that came with it, or in a gradient. While it lives every op waits for the device; nothing is left of
/// that afterwards.
///
///   amp::OverflowFinder finder(net);
///   loss = net->forward(x) ...; scaler.scale(loss).backward();
///   if (auto found = finder.found()) std::cout << *found;
///
/// Steps that a GradScaler skips while it looks for its scale are no faults: what is found there is the gradient that
/// did not fit.
class [[nodiscard]] OverflowFinder {
 public:
  OverflowFinder();
  /// Knows the parameters and buffers of `model` by name, and modules by their parameters.
  explicit OverflowFinder(const nn::Module& model);
  ~OverflowFinder();
  OverflowFinder(const OverflowFinder&) = delete;
  OverflowFinder& operator=(const OverflowFinder&) = delete;

  /// Takes non-finite inputs and results of this op, and what is computed from its results, for meant: masks of -inf.
  /// Returns *this.
  OverflowFinder& allow(std::string op);
  /// What was found since reset(); nothing when all was finite.
  std::optional<Overflow> found() const;
  /// Looks at the parameters and gradients of the model now, for what no op has made: optimizer steps and sums in
  /// `.grad`. Returns found().
  std::optional<Overflow> check_parameters();
  /// Starts a new step.
  void reset();

 private:
  class Finder;
  std::shared_ptr<Finder> finder_;
  autograd::ObserverGuard guard_;
};

/// Writes str().
std::ostream& operator<<(std::ostream& stream, const Overflow& overflow);

}  // namespace tandem::amp
