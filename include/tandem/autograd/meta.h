#pragma once
// What autograd keeps for a tensor.
#include <memory>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

struct Node;

/// Where a gradient goes: input number `input` of `node`. An empty edge leads nowhere.
struct Edge {
  std::shared_ptr<Node> node;
  uint32_t input = 0;
  explicit operator bool() const { return node != nullptr; }
};

/// A view remembers its base, so that changing it in place can rewrite the base's history.
struct ViewInfo {
  Tensor base;
  uint64_t rebases = 0;  ///< the base's `AutogradMeta::rebases` for which this view's history holds
};

struct AutogradMeta : AutogradMetaBase {
  Tensor grad;
  std::shared_ptr<Node> grad_fn;    ///< null for leaves
  uint32_t output = 0;              ///< which output of grad_fn this tensor is
  std::weak_ptr<Node> accumulator;  ///< of a leaf: adds into grad
  std::vector<std::pair<unsigned, TensorHook>> hooks;
  unsigned next_hook = 0;
  bool retains_grad = false;
  std::unique_ptr<ViewInfo> view;
  uint64_t rebases = 0;  ///< in-place writes that rewrote this tensor's history: its views take theirs anew
};

/// The tensor's meta, made on first use.
AutogradMeta& meta(const Tensor& x);
/// The tensor's meta, or null.
inline AutogradMeta* meta_or_null(const Tensor& x) { return static_cast<AutogradMeta*>(x.impl().autograd.get()); }

/// Where the gradient of `x` goes; an empty edge when it needs none.
Edge gradient_edge(const Tensor& x);
/// The node through which `view` takes its history from `base`, after an in-place write rewrote it.
std::shared_ptr<Node> make_view_node(const Tensor& base, const Tensor& view);
/// Makes `x` output number `output` of `node`.
void set_history(const Tensor& x, std::shared_ptr<Node> node, uint32_t output);
/// A new handle on the same storage and geometry, without history.
Tensor alias(const Tensor& x);

}  // namespace tandem::autograd
