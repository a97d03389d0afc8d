#pragma once
// Looking at the ops that pass the door: what the tools of amp/ that show what autocast does are made of.
//
// An Observer sees every op of its thread that passes the door, forward and backward, with the inputs as they came, as
// the policy cast them, and the results; in-place calls too. When nobody looks, that costs the door one test of a
// pointer on the way in and one on the way out.
#include <memory>
#include <optional>
#include <vector>

#include "tandem/amp/cast_cache.h"
#include "tandem/amp/policy.h"
#include "tandem/autograd/node.h"
#include "tandem/tensor/context.h"

namespace tandem::autograd {

/// One op on its way through the door. What it refers to lives for the call only.
struct ObservedOp {
  const char* name;
  amp::Cast policy = amp::Cast::keep;  ///< in force; `keep` for in-place calls, which autocast does not touch
  bool in_place = false;
  ArrayRef<const Tensor*> inputs = {};  ///< as the caller gave them; undefined where an optional one is absent
  ArrayRef<Tensor> cast_inputs = {};    ///< as the body gets them; empty when nothing was cast
  std::optional<DType> dtype = {};      ///< the dtype argument that the body gets
  bool dtype_from_policy = false;       ///< ... and the caller did not give
  amp::CastCacheStats cache = {};       ///< what the casts of this op added to the thread's statistics
  ArrayRef<Tensor> outputs = {};        ///< empty before the body has run

  // Filled in by Observation.
  AutocastState autocast[kNumDeviceTypes] = {};  ///< of the thread, when the op was called
  const Node* backward_of = nullptr;             ///< the node whose backward calls the op; null in the forward pass

  const Tensor& input(size_t i) const { return cast_inputs.empty() ? *inputs[i] : cast_inputs[i]; }
  bool was_cast(size_t i) const { return !cast_inputs.empty() && !cast_inputs[i].is_same(*inputs[i]); }
};

/// Sees ops. It is called on the thread that runs them, so on several at a time when ThreadContext has carried it to
/// others. Ops that it runs itself are not recorded, not cast and not observed; those inside an op's body are not
/// observed either.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Inputs are cast; the body runs next. An op that is refused by then, or in its body, gets no after().
  virtual void before(const ObservedOp&) {}
  virtual void after(const ObservedOp&) {}
  /// The engine has the gradients of the node's outputs, summed and after hooks, and runs its backward next.
  virtual void before_backward(const Node&, const Grads& /*of outputs*/) {}
  /// What the node's backward gives, by ops or by kernels of its own.
  virtual void after_backward(const Node&, const Grads& /*of inputs*/) {}
};

/// The observers of a thread; never changed, only replaced.
class Observers {
 public:
  std::vector<std::shared_ptr<Observer>> all;
};

/// Lets an observer see the ops of this thread until the end of the scope, and of threads that ThreadContext carries
/// this thread's modes to. Guards of one thread may end in any order.
class [[nodiscard]] ObserverGuard {
 public:
  explicit ObserverGuard(std::shared_ptr<Observer> observer);
  ~ObserverGuard();
  ObserverGuard(const ObserverGuard&) = delete;
  ObserverGuard& operator=(const ObserverGuard&) = delete;

 private:
  std::shared_ptr<Observer> observer_;
};

/// An op in the eyes of its thread's observers: they see neither the ops of its body nor their own.
class Observation {
 public:
  explicit Observation(ObservedOp seen);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  void before();
  void after();

  ObservedOp op;

 private:
  std::shared_ptr<const Observers> observers_;  // of the thread, which has none meanwhile
};

/// The node whose backward this thread runs, for those who look; until the end of the scope.
class [[nodiscard]] BackwardScope {
 public:
  explicit BackwardScope(const Node& node);
  ~BackwardScope();
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;

 private:
  const Node* outer_;
};

/// Shows `gradients` to the thread's observers, if there are any, by before_backward or after_backward.
void show_gradients(void (Observer::*to)(const Node&, const Grads&), const Node& node, const Grads& gradients);

}  // namespace tandem::autograd
