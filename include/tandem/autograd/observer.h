#pragma once
// Observer: sees the ops that a thread dispatches. The basis of the AMP debugging tools (amp/tools.h).
//
// An Observer is called for every op that its thread dispatches (autograd/apply.h), forward and backward, in-place
// calls included. It gets the inputs before and after the policy's casts, and the results. Without observers, the cost
// is two tests of a pointer per op.
#include <memory>
#include <optional>
#include <vector>

#include "tandem/amp/cast_cache.h"
#include "tandem/amp/policy.h"
#include "tandem/autograd/node.h"
#include "tandem/backend.h"
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// One dispatched op. Valid only during the call of the observer.
struct ObservedOp {
  const char* name;
  amp::Cast policy = amp::Cast::keep;  ///< in force; `keep` for in-place calls, which autocast does not affect
  bool in_place = false;
  ArrayRef<const Tensor*> inputs = {};  ///< as the caller passed them; undefined for an absent optional input
  ArrayRef<Tensor> cast_inputs = {};    ///< as the body gets them; empty if nothing was cast
  std::optional<DType> dtype = {};      ///< the dtype argument that the body gets
  bool dtype_from_policy = false;       ///< true if the policy, not the caller, set `dtype`
  std::optional<DType> float8 = {};     ///< the dtype to which the body rounds the operands of a product
  amp::CastCacheStats cache = {};       ///< the changes of the thread's statistics by the casts of this op
  ArrayRef<Tensor> outputs = {};        ///< empty before the body has run

  // Filled in by Observation.
  AutocastState autocast[kNumDeviceTypes] = {};  ///< of the thread, when the op was called
  const Node* backward_of = nullptr;             ///< the node whose backward calls the op; null in the forward pass

  /// Input i as the body gets it, and whether it was cast.
  const Tensor& input(size_t i) const { return cast_inputs.empty() ? *inputs[i] : cast_inputs[i]; }
  bool was_cast(size_t i) const { return !cast_inputs.empty() && !cast_inputs[i].is_same(*inputs[i]); }
};

/// An operand of a product that was rounded to float8. Valid only during the call of the observer.
struct ObservedRounding {
  const char* op;       ///< the product, also if it is its gradient that is rounded
  const char* operand;  ///< "input", "weight" or "gradient"
  const Tensor& x;
  const Tensor& codes;
  const Float8Scales& scales;
};

/// Base of observers. The functions are called on the thread that runs the op, so concurrently if ThreadContext has
/// passed the observer to other threads. Ops that an observer runs are not recorded, not cast and not observed. Ops
/// inside the body of another op are not observed either.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Called before the inputs of an op are checked and cast. Neither before() nor after() follows if that throws.
  virtual void enter(ArrayRef<const Tensor*> /*inputs*/) {}
  /// Called after the inputs were cast and before the body runs. after() is not called if the body throws; neither is
  /// called if dispatch throws before the body.
  virtual void before(const ObservedOp&) {}
  virtual void after(const ObservedOp&) {}
  /// Called by the body of an op, or by its backward, after it has rounded an operand.
  virtual void rounded(const ObservedRounding&) {}
  /// Called before the engine runs a node's backward, with the gradients of its outputs, summed and after hooks.
  virtual void before_backward(const Node&, const Grads& /*of outputs*/) {}
  /// Called after the node's backward, with the gradients of its inputs, whether computed by ops or directly by
  /// kernels.
  virtual void after_backward(const Node&, const Grads& /*of inputs*/) {}
};

/// The observers of a thread. Immutable: changes replace the whole list.
class Observers {
 public:
  std::vector<std::shared_ptr<Observer>> all;
};

/// Registers an observer for this thread, and for threads that get this thread's modes through ThreadContext, until the
/// end of the scope. The guards of a thread may end in any order.
class ObserverGuard {
 public:
  [[nodiscard]] explicit ObserverGuard(std::shared_ptr<Observer> observer);
  ~ObserverGuard();
  ObserverGuard(const ObserverGuard&) = delete;
  ObserverGuard& operator=(const ObserverGuard&) = delete;

 private:
  std::shared_ptr<Observer> observer_;
};

/// Reports one op to the thread's observers. Nested ops, and ops that the observers run, are not reported.
class Observation {
 public:
  explicit Observation(ObservedOp seen);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  /// Report the op before and after its body runs.
  void before();
  void after();

  ObservedOp op;

 private:
  friend void show_rounding(const ObservedRounding& rounding);
  std::shared_ptr<const Observers> observers_;  // moved from the thread, which has none until the end of the scope
  const Observation* outer_;
};

/// Hides the ops of this thread from observers until the end of the scope.
class ObserversOff {
 public:
  [[nodiscard]] ObserversOff();
  ~ObserversOff();
  ObserversOff(const ObserversOff&) = delete;
  ObserversOff& operator=(const ObserversOff&) = delete;

 private:
  std::shared_ptr<const Observers> observers_;
};

/// Sets the node whose backward this thread is running, for ObservedOp::backward_of, until the end of the scope.
class BackwardScope {
 public:
  [[nodiscard]] explicit BackwardScope(const Node& node);
  ~BackwardScope();
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;

 private:
  const Node* outer_;
};

/// Calls rounded() of the observers that see the op whose body or backward is running.
void show_rounding(const ObservedRounding& rounding);
/// Calls enter() of the thread's observers.
void show_entry(ArrayRef<const Tensor*> inputs);

/// Calls `to`, which is before_backward or after_backward, on the thread's observers, if any.
void show_gradients(void (Observer::*to)(const Node&, const Grads&), const Node& node, const Grads& gradients);

}  // namespace tandem::autograd
#pragma GCC visibility pop
