#include "tandem/amp/tools/overflow_finder.h"

#include <algorithm>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>
#include <unordered_map>

#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/meta.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

bool has_nonfinite(const Tensor& x) {
  if (!x.defined() || !is_differentiable(x.dtype()) || x.numel() == 0) return false;
  const Tensor found = full({}, 0, TensorOptions(kFloat).device(x.device()));
  backend(x).check_finite({x}, Tensor(), found);
  return check_numerics(found).zeros == 0;
}

/// Copies with the kernel directly, so that observers see no op.
Tensor copy_of(const Tensor& x) {
  Tensor copy = empty(x.sizes(), x.options());
  backend(x).copy(copy, x);
  return copy;
}

/// "fc1" of "fc1.weight"
std::string module_of(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

}  // namespace

class OverflowFinder::Finder : public autograd::Observer {
 public:
  Finder() = default;
  explicit Finder(const nn::Module& model) {
    for (const auto& item : model.named_parameters()) name_tensor("parameter", item.key(), *item);
    for (const auto& item : model.named_buffers()) name_tensor("buffer", item.key(), *item);
  }

  void before(const autograd::ObservedOp& op) override {
    const std::lock_guard lock(mutex_);
    Thread& t = threads_[std::this_thread::get_id()];
    t.old_self = Tensor();
    t.self_was_nonfinite = t.carries_meant = false;
    if (found_) return;
    // An in-place call overwrites the input that the report shows.
    if (op.in_place) t.old_self = copy_of(*op.inputs[0]);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& x = *op.inputs[i];
      if (has_nonfinite(x)) {
        if (is_meant(x) || allowed_.contains(op.name)) {
          t.carries_meant = true;
        } else if (op.in_place && i == 0) {
          t.self_was_nonfinite = true;  // not a fault if the op overwrites it
        } else {
          return report(op, input_name(op, i));
        }
      } else if (op.was_cast(i) && has_nonfinite(op.input(i))) {
        return report(op, fmt::format("the cast of {} from {} to {}", input_name(op, i), name(x.dtype()),
                                      name(op.input(i).dtype())));
      }
    }
  }

  void after(const autograd::ObservedOp& op) override {
    const std::lock_guard lock(mutex_);
    const Thread& t = threads_[std::this_thread::get_id()];
    const Place place = place_of(op);
    if (!op.backward_of) remember_node(op, place);
    if (!found_) {
      const bool meant = t.carries_meant || allowed_.contains(op.name);
      for (size_t o = 0; o < op.outputs.size(); ++o) {
        if (!has_nonfinite(op.outputs[o])) continue;
        if (!meant) {
          report(op, t.self_was_nonfinite ? input_name(op, 0) : fmt::format("result {}", o));
          break;
        }
        meant_.push_back(op.outputs[o].impl().storage);
        gradients_may_be_meant_ |= op.backward_of != nullptr;
      }
      for (size_t i = 0; meant && i < op.inputs.size(); ++i) {
        if (op.was_cast(i) && has_nonfinite(op.input(i))) meant_.push_back(op.input(i).impl().storage);
      }
    }
    ++calls_;
  }

  // The engine sums gradients itself, and some gradients come from kernels that are not ops.
  void before_backward(const autograd::Node& node, const autograd::Grads& gradients) override {
    const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(&node);
    check_gradients(node, gradients, [&](size_t i) {
      return leaf ? "the gradient of " + leaf_name(*leaf) : fmt::format("the gradient of result {}", i);
    });
  }
  void after_backward(const autograd::Node& node, const autograd::Grads& gradients) override {
    check_gradients(node, gradients, [&](size_t i) {
      const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(node.next[i].node.get());
      return fmt::format("the gradient of input {}{}", i, leaf ? ", " + leaf_name(*leaf) : "");
    });
  }

  void allow(std::string op) {
    const std::lock_guard lock(mutex_);
    allowed_.insert(std::move(op));
  }

  std::optional<Overflow> found() const {
    const std::lock_guard lock(mutex_);
    return found_;
  }

  void check_parameters() {
    const std::lock_guard lock(mutex_);
    for (const Tensor& p : named_) {
      if (found_) return;
      const Name& name = names_.at(&p.impl());
      for (const auto& [what, x] : {std::pair{name.text(), p}, {".grad of " + name.text(), p.grad()}}) {
        if (found_ || !has_nonfinite(x)) continue;
        found_.emplace();
        found_->what = what;
        found_->module = module_of(name.name);
        found_->call = calls_;
        found_->tensors.emplace_back(what, check_numerics(x));
      }
    }
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    found_.reset();
    places_.clear();
    meant_.clear();
    threads_.clear();
    gradients_may_be_meant_ = false;
    calls_ = 0;
  }

 private:
  struct Name {
    const char* kind;
    std::string name;
    std::string text() const { return fmt::format("{} '{}'", kind, name); }
  };

  void name_tensor(const char* kind, const std::string& name, const Tensor& x) {
    if (!x.defined()) return;
    named_.push_back(x);  // keeps the address valid
    names_.emplace(&x.impl(), Name{kind, name});
  }

  std::string input_name(const autograd::ObservedOp& op, size_t i) const {
    const auto known = names_.find(&op.inputs[i]->impl());
    return known == names_.end() ? fmt::format("input {}", i) : fmt::format("input {}, {}", i, known->second.text());
  }

  bool is_meant(const Tensor& x) const {
    return std::any_of(meant_.begin(), meant_.end(), [&](const auto& s) { return s.lock() == x.impl().storage; });
  }

  std::string leaf_name(const autograd::AccumulateGrad& leaf) const {
    const auto known = names_.find(&leaf.variable().impl());
    return known == names_.end() ? "a leaf" : known->second.text();
  }

  struct Place {
    std::string module;
    bool after = false;
  };

  /// Located by the parameters that the op takes; for a backward op, by those of the forward op; otherwise by the
  /// preceding module.
  Place place_of(const autograd::ObservedOp& op) {
    if (op.backward_of) return place_of(*op.backward_of);
    std::string& last_module = threads_[std::this_thread::get_id()].last_module;
    for (const Tensor* x : op.inputs) {
      if (!x->defined()) continue;
      const auto known = names_.find(&x->impl());
      if (known != names_.end()) return {last_module = module_of(known->second.name)};
    }
    return {last_module, !last_module.empty()};
  }
  Place place_of(const autograd::Node& node) const {
    if (const auto* leaf = dynamic_cast<const autograd::AccumulateGrad*>(&node)) {
      const auto known = names_.find(&leaf->variable().impl());
      return {known == names_.end() ? "" : module_of(known->second.name)};
    }
    const auto at = places_.find(&node);
    return at == places_.end() ? Place() : at->second;
  }

  void remember_node(const autograd::ObservedOp& op, const Place& place) {
    for (const Tensor& y : op.outputs) {
      const autograd::AutogradMeta* meta = y.defined() ? autograd::meta_or_null(y) : nullptr;
      if (meta && meta->grad_fn) places_[meta->grad_fn.get()] = place;
    }
  }

  template <class Name>
  void check_gradients(const autograd::Node& node, const autograd::Grads& gradients, Name name) {
    const std::lock_guard lock(mutex_);
    // If some gradients are intentionally non-finite, any sum of gradients may be so too.
    if (found_ || gradients_may_be_meant_) return;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!has_nonfinite(gradients[i])) continue;
      const Place place = place_of(node);
      found_.emplace();
      found_->what = name(i);
      found_->backward_of = node.op;
      found_->module = place.module;
      found_->after_module = place.after;
      found_->call = calls_;
      found_->tensors.emplace_back("gradient", check_numerics(gradients[i]));
      return;
    }
  }

  void report(const autograd::ObservedOp& op, std::string what) {
    Overflow o;
    o.what = std::move(what);
    o.op = op.name;
    if (op.backward_of) o.backward_of = op.backward_of->op;
    const Place place = place_of(op);
    o.module = place.module;
    o.after_module = place.after;
    o.call = calls_;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& x = op.in_place && i == 0 ? threads_[std::this_thread::get_id()].old_self : *op.inputs[i];
      if (!x.defined() || !is_differentiable(x.dtype())) continue;
      o.tensors.emplace_back(input_name(op, i), check_numerics(x));
      if (op.was_cast(i)) o.tensors.emplace_back(fmt::format("input {}, cast", i), check_numerics(op.input(i)));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor& y = op.outputs[i];
      if (y.defined() && is_differentiable(y.dtype()))
        o.tensors.emplace_back(fmt::format("result {}", i), check_numerics(y));
    }
    found_ = std::move(o);
  }

  mutable std::mutex mutex_;
  std::vector<Tensor> named_;
  std::unordered_map<const TensorImpl*, Name> names_;
  std::set<std::string, std::less<>> allowed_;
  std::optional<Overflow> found_;
  int64_t calls_ = 0;

  // State of the current step.
  std::unordered_map<const autograd::Node*, Place> places_;
  std::vector<std::weak_ptr<Storage>> meant_;  // storages whose non-finite values are intentional
  bool gradients_may_be_meant_ = false;

  struct Thread {
    std::string last_module;
    // State of the op between before() and after().
    Tensor old_self;
    bool self_was_nonfinite = false, carries_meant = false;
  };
  std::unordered_map<std::thread::id, Thread> threads_;
};

OverflowFinder::OverflowFinder() : finder_(std::make_shared<Finder>()), guard_(finder_) {}
OverflowFinder::OverflowFinder(const nn::Module& model) : finder_(std::make_shared<Finder>(model)), guard_(finder_) {}
OverflowFinder::~OverflowFinder() = default;

OverflowFinder& OverflowFinder::allow(std::string op) {
  const OpScope scope("allow");
  TANDEM_CHECK(!op.empty(), StateError, "the op's name is empty; give one such as \"where\"");
  finder_->allow(std::move(op));
  return *this;
}
std::optional<Overflow> OverflowFinder::found() const { return finder_->found(); }
std::optional<Overflow> OverflowFinder::check_parameters() {
  finder_->check_parameters();
  return finder_->found();
}
void OverflowFinder::reset() { finder_->reset(); }

std::string Overflow::str() const {
  std::string at = op.empty() ? "" : fmt::format(" of {} (call {})", op, call);
  if (!backward_of.empty()) at += fmt::format(", in the backward of {}", backward_of);
  if (!module.empty()) at += fmt::format(", {} module {}", after_module ? "after" : "in", module);
  std::string text = fmt::format("the first inf or NaN: {}{}\n", what, at);
  for (const auto& [name, numerics] : tensors) text += fmt::format("  {}: {}\n", name, numerics.summary());
  return text;
}

std::ostream& operator<<(std::ostream& stream, const Overflow& overflow) { return stream << overflow.str(); }

}  // namespace tandem::amp
