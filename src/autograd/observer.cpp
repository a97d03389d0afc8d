#include "tandem/autograd/observer.h"

#include <algorithm>
#include <utility>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/op_scope.h"

namespace tandem::autograd {
namespace {

thread_local const Node* running_node = nullptr;
thread_local const Observation* running_observation = nullptr;

/// Calls `f` on every observer, with recording and autocast off.
template <class F>
void tell(const Observers& observers, F f) {
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  const UserCodeScope user(running_op());
  for (const auto& observer : observers.all) f(*observer);
}

void replace(std::vector<std::shared_ptr<Observer>> all) {
  thread_state().observers = all.empty() ? nullptr : std::make_shared<const Observers>(Observers{std::move(all)});
}

std::vector<std::shared_ptr<Observer>> current() {
  const auto& observers = thread_state().observers;
  return observers ? observers->all : std::vector<std::shared_ptr<Observer>>();
}

}  // namespace

ObserverGuard::ObserverGuard(std::shared_ptr<Observer> observer) : observer_(std::move(observer)) {
  auto all = current();
  all.push_back(observer_);
  replace(std::move(all));
}

ObserverGuard::~ObserverGuard() {
  auto all = current();
  std::erase(all, observer_);
  replace(std::move(all));
}

Observation::Observation(ObservedOp seen)
    : op(seen), observers_(std::move(thread_state().observers)), outer_(std::exchange(running_observation, this)) {
  thread_state().observers = nullptr;
  op.backward_of = running_node;
  std::copy_n(thread_state().autocast, kNumDeviceTypes, op.autocast);
}

Observation::~Observation() {
  running_observation = outer_;
  thread_state().observers = std::move(observers_);
}

void Observation::before() {
  tell(*observers_, [this](Observer& o) { o.before(op); });
}
void Observation::after() {
  tell(*observers_, [this](Observer& o) { o.after(op); });
}

ObserversOff::ObserversOff() : observers_(std::move(thread_state().observers)) { thread_state().observers = nullptr; }
ObserversOff::~ObserversOff() { thread_state().observers = std::move(observers_); }

BackwardScope::BackwardScope(const Node& node) : outer_(running_node) { running_node = &node; }
BackwardScope::~BackwardScope() { running_node = outer_; }

namespace {

/// Calls `f` on the thread's observers, if any. Ops that they run are not observed.
template <class F>
void tell_all(F f) {
  if (!thread_state().observers) return;
  const auto observers = std::move(thread_state().observers);
  struct Restore {
    const std::shared_ptr<const Observers>& observers;
    ~Restore() { thread_state().observers = observers; }
  } restore{observers};
  tell(*observers, f);
}

}  // namespace

void show_rounding(const ObservedRounding& rounding) {
  const auto show = [&](Observer& o) { o.rounded(rounding); };
  if (thread_state().observers) {
    tell_all(show);
  } else if (running_observation) {
    tell(*running_observation->observers_, show);
  }
}

void show_entry(ArrayRef<const Tensor*> inputs) {
  tell_all([&](Observer& o) { o.enter(inputs); });
}

void show_gradients(void (Observer::*to)(const Node&, const Grads&), const Node& node, const Grads& gradients) {
  tell_all([&](Observer& o) { (o.*to)(node, gradients); });
}

}  // namespace tandem::autograd
