#pragma once
// AutogradMeta: the autograd data of a tensor, and functions on it.
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

struct LossScale;
struct Node;
struct OutputMeta;

/// A shared pointer to a node. A node owns earlier nodes: directly, through saved tensors, and through tensors captured
/// by hooks. Releasing the last reference frees such a chain iteratively, without recursion and without allocating
/// memory.
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

/// The destination of a gradient: entry number `input` of the gradients that `node` receives. An empty edge has no
/// destination.
struct Edge {
  NodePtr node;
  uint32_t input = 0;
  bool is_valid() const { return static_cast<bool>(node); }
  explicit operator bool() const { return static_cast<bool>(node); }
};

/// The base of a view. An in-place change of the view rewrites the base's history.
struct ViewInfo {
  Tensor base;
  uint64_t rebases = 0;  ///< the base's `AutogradMeta::rebases` when this view's history was set
  /// True for an output of an op that is not a view op: the op's derivative would be lost if the view took its history
  /// from the base.
  bool has_own_history = false;
};

/// Gradient hooks, in the order of registration.
class HookList {
 public:
  /// Adds a hook of an output. The handle is the one that remove() takes.
  void add(uint32_t output, unsigned handle, TensorHook call);
  /// Removes the hook with this handle, if there is one.
  void remove(unsigned handle);
  bool empty() const { return hooks_.empty(); }
  /// Calls the hooks on the gradients. A hook may replace a gradient by one of the same sizes, dtype and device;
  /// another replacement throws AutogradError. A hook may add hooks, which run from the next call on, and remove hooks,
  /// which then no longer run.
  void run(const std::vector<OutputMeta>& outputs, std::vector<Tensor>& grads) const;

 private:
  struct Hook {
    uint32_t output;
    unsigned handle;
    TensorHook call;
    bool removed = false;
  };
  std::vector<std::shared_ptr<Hook>> hooks_;
};

/// A function that is called with a leaf after a backward pass has added to its `.grad`.
using PostAccumulateGradHook = std::function<void(const Tensor& leaf)>;

/// The hooks of a tensor: those of a leaf, and the nodes that hold the hooks of a non-leaf tensor. There may be several
/// such nodes, since in-place changes give the tensor a new node.
struct TensorHooks {
  HookList of_leaf;
  std::vector<std::weak_ptr<Node>> nodes;
  std::vector<std::pair<unsigned, std::shared_ptr<PostAccumulateGradHook>>> after_accumulation;  ///< with their handles
};

/// The autograd data of a tensor.
struct AutogradMeta : AutogradMetaBase {
  Tensor grad;
  NodePtr grad_fn;                     ///< null for leaves
  uint32_t output = 0;                 ///< which output of grad_fn this tensor is
  bool retains_grad = false;           ///< `.grad` of this non-leaf tensor is kept
  std::weak_ptr<Node> accumulator;     ///< of a leaf: the node that adds to `grad`
  std::unique_ptr<TensorHooks> hooks;  ///< null until the first hook is registered
  std::unique_ptr<ViewInfo> view;
  /// Of a 16-bit leaf: its `.grad` is f32, because an optimizer keeps an f32 master of it.
  bool accumulates_in_f32 = false;
  uint64_t rebases = 0;  ///< number of in-place writes that rewrote this tensor's history; its views then renew theirs
};

/// Returns the tensor's AutogradMeta, creating it on first use.
AutogradMeta& meta(const Tensor& x);
/// Returns the tensor's AutogradMeta, or null if it has none.
inline AutogradMeta* meta_or_null(const Tensor& x) { return static_cast<AutogradMeta*>(x.impl().autograd.get()); }

/// Returns the edge for the gradient of `x`, or an empty edge if `x` does not require grad. May create a node.
Edge gradient_edge(const Tensor& x);
/// Marks `y`, which shares the storage of `x`, as a view of `x` or, if `x` is itself a view, of the base of `x`. Only
/// then are in-place changes of `y` recorded correctly. Does nothing for inference tensors, which never have a history.
void track_view(const Tensor& y, const Tensor& x);
/// The dtype in which a backward pass writes the `.grad` of a leaf: its own, or f32 if an optimizer keeps a master of
/// it.
DType grad_dtype(const Tensor& leaf);
/// Makes backward passes write the `.grad` of a 16-bit leaf in f32, or in its own dtype again.
void accumulate_in_f32(const Tensor& leaf, bool f32);
/// Returns the edge for the gradient of the old value of `self`, which is about to be overwritten. Throws
/// AutogradError, naming `op`, for a tensor whose change cannot be recorded, such as a leaf that requires grad (see
/// apply_in_place).
Edge edge_before_overwriting(const Tensor& self);
/// Sets the history of `self`, and that of its base if it is a view, to `written` after its memory was overwritten.
/// `before` is the result of edge_before_overwriting().
void rebase_history(const Tensor& self, const Edge& before, Edge written);
/// Returns a new node for `view`, connected to the history of `base` after an in-place write rewrote it.
std::shared_ptr<Node> make_view_node(const Tensor& base, const Tensor& view);
/// Sets the history of `x`: output number `output` of `node`.
void set_history(const Tensor& x, std::shared_ptr<Node> node, uint32_t output);
/// Returns a new tensor with the same storage, offset, sizes and strides, without history.
Tensor alias(const Tensor& x);
/// True if no other tensor refers to this tensor's memory and it is not expanded, so that it can be written or kept
/// without a copy.
bool is_solely_owned(const Tensor& x);
/// Returns a copy with the given strides. Recorded if recording is on.
Tensor copy_strided(const Tensor& x, const Dims& strides);
/// Returns `g` in the form that `.grad` of `x` requires: dense, in the memory order of `x`, and not shared. Returns `g`
/// itself if it has that form, else a copy, which is recorded if recording is on.
Tensor own_gradient(Tensor g, const Tensor& x);

}  // namespace tandem::autograd
#pragma GCC visibility pop
