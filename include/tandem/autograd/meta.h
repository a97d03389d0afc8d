#pragma once
// What autograd keeps for a tensor.
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

struct Node;
struct OutputMeta;

/// A shared pointer to a node. Nodes own the nodes before them, directly, through saved tensors and through tensors
/// that hooks have captured: the last owner frees them one after another, without recursion and without taking memory.
class NodePtr {
 public:
  NodePtr() = default;
  NodePtr(std::nullptr_t) {}
  template <class T>
  NodePtr(std::shared_ptr<T> node) : node_(std::move(node)) {}
  NodePtr(const NodePtr&) = default;
  NodePtr(NodePtr&&) noexcept = default;
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_.use_count() == 1) free_last(std::move(node_));
  }

  operator const std::shared_ptr<Node>&() const { return node_; }
  Node* get() const { return node_.get(); }
  Node* operator->() const { return node_.get(); }
  Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  static void free_last(std::shared_ptr<Node> node) noexcept;

  std::shared_ptr<Node> node_;
};

/// Where a gradient goes: input number `input` of `node`. An empty edge leads nowhere.
struct Edge {
  NodePtr node;
  uint32_t input = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

/// A view remembers its base, so that changing it in place can rewrite the base's history.
struct ViewInfo {
  Tensor base;
  uint64_t rebases = 0;  ///< the base's `AutogradMeta::rebases` for which this view's history holds
  /// The output of an op that is not a view op: its own derivative would be lost if the history came from the base.
  bool has_own_history = false;
};

/// Hooks on gradients, in the order of registration.
class HookList {
 public:
  void add(uint32_t output, unsigned handle, TensorHook call);
  void remove(unsigned handle);
  bool empty() const { return hooks_.empty(); }
  /// Calls the hooks on the gradients, which they may replace by gradients of the same sizes, dtype and device, else
  /// AutogradError. Hooks may add hooks, which run from the next time on, and remove hooks, which run no more.
  void run(const char* op, const std::vector<OutputMeta>& outputs, std::vector<Tensor>& grads) const;

 private:
  struct Hook {
    uint32_t output;
    unsigned handle;
    TensorHook call;
    bool removed = false;
  };
  std::vector<std::shared_ptr<Hook>> hooks_;
};

/// The hooks of a tensor: those of a leaf; and the nodes that hold those of a result, whose history may have moved on
/// since.
struct TensorHooks {
  HookList of_leaf;
  std::vector<std::weak_ptr<Node>> nodes;
};

struct AutogradMeta : AutogradMetaBase {
  Tensor grad;
  NodePtr grad_fn;                     ///< null for leaves
  uint32_t output = 0;                 ///< which output of grad_fn this tensor is
  bool retains_grad = false;           ///< `.grad` of a result is kept
  std::weak_ptr<Node> accumulator;     ///< of a leaf: adds into grad
  std::unique_ptr<TensorHooks> hooks;  ///< made with the first hook
  std::unique_ptr<ViewInfo> view;
  /// Of a leaf: its gradient after a backward pass from a scaled loss, and the version that it had then.
  std::weak_ptr<TensorImpl> scaled_grad;
  uint64_t scaled_grad_version = 0;
  uint64_t rebases = 0;  ///< in-place writes that rewrote this tensor's history: its views take theirs anew
};

/// The tensor's meta, made on first use.
AutogradMeta& meta(const Tensor& x);
/// The tensor's meta, or null.
inline AutogradMeta* meta_or_null(const Tensor& x) { return static_cast<AutogradMeta*>(x.impl().autograd.get()); }

/// Where the gradient of `x` goes; an empty edge when it needs none.
Edge gradient_edge(const Tensor& x);
/// Makes `y`, which shares the storage of `x`, a view of x, or of the tensor of which x is a view. Only as such may y
/// be changed in place. Does nothing for tensors of InferenceMode, which never have a history.
void track_view(const Tensor& y, const Tensor& x);
/// True while `.grad` of a leaf holds what a backward pass from GradScaler::scale left there: still multiplied by the
/// scale. Whatever changes the gradient, or sets another, ends it.
bool has_scaled_grad(const Tensor& leaf);
/// Where the old value of `self`, which is about to be overwritten, sends its gradient. Throws AutogradError, in the
/// name of `op`, for a tensor whose change cannot be recorded: a leaf that requires grad, and its kin.
Edge edge_before_overwriting(const char* op, const Tensor& self);
/// After the memory of `self` was overwritten: its history, and its base's if it is a view, goes through `written`.
/// `before` is what edge_before_overwriting() gave.
void rebase_history(const Tensor& self, const Edge& before, Edge written);
/// The node through which `view` takes its history from `base`, after an in-place write rewrote it.
std::shared_ptr<Node> make_view_node(const Tensor& base, const Tensor& view);
/// Makes `x` output number `output` of `node`.
void set_history(const Tensor& x, std::shared_ptr<Node> node, uint32_t output);
/// A new handle on the same storage and geometry, without history.
Tensor alias(const Tensor& x);
/// Nobody else can see this tensor's memory and no two elements share any: it may be written, or kept, without a copy.
bool is_solely_owned(const Tensor& x);
/// A copy with the given strides, recorded when gradients are.
Tensor copy_strided(const Tensor& x, const Dims& strides);
/// A gradient as `.grad` of `x` may hold it: dense in the order of x's dimensions and shared with nobody. `g` itself
/// where it is that already, else a copy, which is recorded when gradients are.
Tensor own_gradient(Tensor g, const Tensor& x);

}  // namespace tandem::autograd
