#pragma once
// OverflowFinder: finds the origin of the first inf or NaN in a training step.
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/amp/tools/check_numerics.h"
#include "tandem/autograd/observer.h"
#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// The first non-finite values of a step.
struct Overflow {
  std::string what;  ///< "result 0", "the cast of input 1 from f32 to f16", "input 0, parameter 'fc1.weight'", ...
  /// The op that produced it or, for an input, read it. "" for parameters, `.grad` and sums of gradients.
  std::string op;
  std::string backward_of;  ///< the forward op in whose backward it was found; "" in the forward pass
  /// The module whose parameters the forward op uses, else the last one used before that op, else "".
  std::string module;
  bool after_module = false;  ///< true if `module` is the last one used before the op
  int64_t call = 0;           ///< index of the op since reset(), from 0
  /// The op's inputs and results, by name.
  std::vector<std::pair<std::string, Numerics>> tensors;

  std::string str() const;
};

/// Checks the inputs and results of every op of this thread (and of threads that get its modes through ThreadContext),
/// forward and backward, until it finds the first inf or NaN: in an input, in autocast's cast of an input, in a result
/// or in a gradient. Until then, every op waits for the device.
///
///   amp::OverflowFinder finder(net);
///   loss = net->forward(x) ...; scaler.scale(loss).backward();
///   if (auto found = finder.found()) std::cout << *found;
///
/// A GradScaler may skip steps until it has found a suitable scale. In such a step the finder reports a gradient that
/// overflowed because of the scale; that is not a bug.
class OverflowFinder {
 public:
  [[nodiscard]] OverflowFinder();
  /// Reports the parameters and buffers of `model` by name, and the module whose parameters an op uses.
  [[nodiscard]] explicit OverflowFinder(const nn::Module& model);
  ~OverflowFinder();
  OverflowFinder(const OverflowFinder&) = delete;
  OverflowFinder& operator=(const OverflowFinder&) = delete;

  /// Does not report non-finite inputs and results of this op, nor values computed from its results; for intended ones,
  /// such as masks of -inf. Returns *this. Throws StateError for an empty name.
  OverflowFinder& allow(std::string op);
  /// The overflow found since reset(); nullopt if there was none.
  std::optional<Overflow> found() const;
  /// Checks the parameters and gradients of the model now, since optimizer steps and sums in `.grad` are not ops.
  /// Returns found().
  std::optional<Overflow> check_parameters();
  /// Forgets the overflow found, and starts a new step.
  void reset();

 private:
  class Finder;
  std::shared_ptr<Finder> finder_;
  autograd::ObserverGuard guard_;
};

/// Writes str().
std::ostream& operator<<(std::ostream& stream, const Overflow& overflow);

}  // namespace tandem::amp
#pragma GCC visibility pop
