#pragma once
// Node: one recorded op, and the tensors it keeps for its backward.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autograd/meta.h"

namespace tandem::autograd {

using Grads = std::vector<Tensor>;

/// dtype, device and sizes that the gradient of a node's output must have.
struct OutputMeta {
  DType dtype;
  Device device;
  Dims sizes;
  explicit OutputMeta(const Tensor& x) : dtype(x.dtype()), device(x.device()), sizes(x.impl().sizes) {}
  bool fits(const Tensor& gradient) const;
  /// For messages: '[2, 3] f32 on cpu'.
  std::string str() const;
};

/// A node of the backward graph: takes the gradients of an op's outputs, gives those of its inputs.
struct Node : std::enable_shared_from_this<Node> {
  /// The edges come first: to ask for one may make a node, and the engine relies on the order of sequence numbers.
  Node(const char* name, std::vector<Edge> next);
  virtual ~Node();

  /// Gradients for `next`, undefined where none flows. `grads` has one entry per output, possibly undefined.
  virtual Grads apply(Grads grads) = 0;
  /// Runs the hooks on the outputs' gradients, which they may replace.
  virtual void run_hooks(Grads& grads);
  /// Drops saved tensors after a backward that does not retain the graph. A node without any can run again.
  virtual void release() {}
  /// Notes that the gradients which just ran through apply() are multiplied by a loss scale.
  virtual void mark_scaled() {}

  const char* name;
  uint64_t sequence;       ///< grows with recording order: later ops run backward first
  std::vector<Edge> next;  ///< one per input of the op
  /// The node of GradScaler::scale: gradients that have passed it are multiplied by the scale.
  bool scales_loss = false;
  std::vector<OutputMeta> outputs;
  HookList hooks;  ///< on outputs, run on their gradients before apply()
  /// Outputs whose `.grad` is kept, as it is after the hooks. The tensors are held weakly: they hold this node.
  struct Retained {
    uint32_t output;
    std::weak_ptr<TensorImpl> tensor;
  };
  std::vector<Retained> retained;

 private:
  friend class NodePtr;
  std::shared_ptr<Node> next_to_free_;  ///< while the graph is being freed
};

/// Makes the data of a saved tensor anew, for those who do not keep it.
struct SavedSource {
  virtual ~SavedSource() = default;
  /// The data. Asked for as often as the backward of one node likes.
  virtual Tensor get() = 0;
  /// That backward is over: the data may go.
  virtual void used() {}
};

/// A tensor kept for backward. Unpacking it checks that nobody changed it since.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// A tensor as it is: an input with its own history, or an intermediate without one.
  explicit SavedTensor(const Tensor& x);
  /// Data whose history lies elsewhere: `edge` takes its gradient, converted to `dtype`. For inputs that autocast has
  /// cast (edge and dtype are those before the cast), and for tensors made by other ops: to hold such a tensor itself
  /// could close a circle, when its history comes to hold this node.
  SavedTensor(const Tensor& data, Edge edge, DType dtype);
  /// Output number `output` of the node that saves it; holds no reference to the node.
  static SavedTensor of_output(const Tensor& y, uint32_t output);
  /// Whichever of these holds `x`, which may be one of the `outputs` of the node that saves it, or undefined.
  static SavedTensor of(const Tensor& x, const std::vector<Tensor>& outputs);

  bool defined() const { return data_.defined() || source_; }
  /// From now on the data comes from `source` instead of being kept. Its changes are the source's to check.
  void set_source(std::shared_ptr<SavedSource> source);
  /// The same data, with its check, that keeps no history alive.
  SavedTensor without_history() const;
  /// Tells the source that the node's backward is over.
  void used() const {
    if (source_) source_->used();
  }

  /// The data, without history. Throws as unpack() does.
  Tensor data(const char* op, size_t number) const;

  /// The tensor, connected to the graph when gradients are being recorded. Throws AutogradError naming `op` when the
  /// tensor has changed since.
  Tensor unpack(const char* op, size_t number, const std::shared_ptr<Node>& owner) const;

 private:
  Tensor data_;
  std::shared_ptr<SavedSource> source_;
  Edge edge_;
  DType edge_dtype_ = kFloat;
  uint64_t version_ = 0;
  int output_ = -1;
};

/// Sees every tensor that this thread saves for backward until the end of the scope, leaves that require grad apart:
/// whoever uses them holds those anyway. Of nested observers only the innermost sees it.
class SaveObserver {
 public:
  SaveObserver();
  virtual ~SaveObserver();
  SaveObserver(const SaveObserver&) = delete;
  SaveObserver& operator=(const SaveObserver&) = delete;
  virtual void saved(SavedTensor& tensor) = 0;

 private:
  SaveObserver* outer_;
};

class OpNode;

/// What an op's backward function sees.
class Backward {
 public:
  Backward(const OpNode& node, const Grads& grads) : node_(node), grads_(grads) {}
  /// dL/d(output i); undefined when nothing flowed into it.
  const Tensor& grad(size_t i = 0) const { return grads_[i]; }
  /// dL/d(output i), zeros instead of undefined.
  Tensor grad_or_zeros(size_t i) const;
  /// The i-th tensor of `save(...)`.
  Tensor saved(size_t i) const;
  /// True when input i wants a gradient: skip the work otherwise.
  bool needs(size_t i) const;
  /// The dtype in which input i wants its gradient. Ops that can write it directly should; others are converted.
  DType wanted(size_t i) const;

 private:
  void check_input(size_t i) const;

  const OpNode& node_;
  const Grads& grads_;
};

using BackwardFunction = std::function<Grads(const Backward&)>;

/// The node of an op that passed the door.
class OpNode final : public Node {
 public:
  using Node::Node;
  Grads apply(Grads grads) override;
  void release() override;

  BackwardFunction backward;
  std::vector<SavedTensor> saved;
  std::vector<DType> wanted;    ///< dtype of each input's gradient
  std::vector<DType> rounding;  ///< with GradientDType::Lower: the dtype it is rounded through first; else empty
  bool released = false;        ///< saved tensors have been dropped
};

/// A node made of a function, for the few places that are not ops.
class FunctionNode final : public Node {
 public:
  FunctionNode(const char* name_, std::vector<Edge> next_, std::function<Grads(const Grads&)> function)
      : Node(name_, std::move(next_)), function_(std::move(function)) {}
  Grads apply(Grads grads) override { return function_(grads); }

 private:
  std::function<Grads(const Grads&)> function_;
};

}  // namespace tandem::autograd
