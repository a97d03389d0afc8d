#pragma once
// Node: a recorded op in the backward graph, and the tensors saved for its backward.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autograd/meta.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// Gradients, one per output or input; undefined where none flows.
using Grads = std::vector<Tensor>;

/// The dtype, device and sizes of an output of a node; its gradient must have the same.
struct OutputMeta {
  DType dtype;
  Device device;
  Dims sizes;
  explicit OutputMeta(const Tensor& x) : dtype(x.dtype()), device(x.device()), sizes(x.impl().sizes) {}
  /// Whether the gradient has this dtype, device and these sizes.
  bool fits(const Tensor& gradient) const;
  /// For messages, for example "[2, 3] f32 on cpu".
  std::string str() const;
};

/// A node of the backward graph. Maps the gradients of an op's outputs to those of its inputs.
struct Node : std::enable_shared_from_this<Node> {
  /// Create the edges first: that may create nodes, and the engine requires that those have smaller sequence numbers
  /// (nodes of leaves have the largest).
  Node(const char* op, std::vector<Edge> next);
  virtual ~Node();

  /// Returns libtorch's form of the op's name: "AddBackward0" for add. A node of a leaf is "AccumulateGrad". As in
  /// libtorch, programs should use it for messages only: a fused op has a name of its own.
  std::string name() const;

  /// Returns the gradients for `next`, undefined where none flows. `grads` has one entry per output, possibly
  /// undefined.
  virtual Grads apply(Grads grads) = 0;
  /// Runs the hooks on the gradients of the outputs. Hooks may replace them.
  virtual void run_hooks(Grads& grads);
  /// Drops the saved tensors after a backward that does not retain the graph. A node without saved tensors can run
  /// again.
  virtual void release() {}

  /// libtorch's names of the fields below.
  const std::vector<Edge>& next_edges() const { return next; }
  const Edge& next_edge(size_t i) const { return next.at(i); }
  size_t num_inputs() const { return outputs.size(); }
  size_t num_outputs() const { return next.size(); }
  uint64_t sequence_nr() const { return sequence; }

  const char* op;
  uint64_t sequence;       ///< increases in recording order; the engine runs the highest first
  std::vector<Edge> next;  ///< one per input of the op
  /// Of the node of GradScaler::scale(), which multiplies the gradients that pass it: their scale. Else null.
  std::shared_ptr<const LossScale> loss_scale;
  std::vector<OutputMeta> outputs;
  HookList hooks;  ///< hooks on the outputs' gradients, run before apply()
  /// Outputs whose gradient is kept in `.grad`, after the hooks. The references are weak because the tensors own this
  /// node.
  struct Retained {
    uint32_t output;
    std::weak_ptr<TensorImpl> tensor;
  };
  std::vector<Retained> retained;

 private:
  friend class NodePtr;
  std::shared_ptr<Node> next_to_free_;  ///< link of the list of nodes to free, see NodePtr
};

/// Recomputes the data of a saved tensor that is not kept in memory.
struct SavedSource {
  virtual ~SavedSource() = default;
  /// Returns the data. The backward of a node may call it several times.
  virtual Tensor get() = 0;
  /// Called when that backward is over, so the data may be freed.
  virtual void used() {}
};

/// A tensor saved for backward. Unpacking it checks that it was not changed since.
class SavedTensor {
 public:
  SavedTensor() = default;
  /// Saves the tensor itself: a leaf that requires grad, or a tensor that no one else holds.
  explicit SavedTensor(const Tensor& x);
  /// Saves `data` with a separate history: its gradient goes to `edge`, converted to `dtype`. For inputs that autocast
  /// has cast (`edge` and `dtype` are those before the cast), and for tensors that are not leaves, or have no history
  /// yet: saving such a tensor itself creates a reference cycle if an in-place op later adds this node to its history.
  SavedTensor(const Tensor& data, Edge edge, DType dtype);
  /// Saves output number `output` of the node that owns this SavedTensor, without a reference to that node.
  static SavedTensor of_output(const Tensor& y, uint32_t output);
  /// Saves `x` in the appropriate way of the above. `x` may be one of the saving node's `outputs`, or undefined.
  static SavedTensor of(const Tensor& x, const std::vector<Tensor>& outputs);

  bool defined() const { return data_.defined() || source_; }
  /// Drops the data and gets it from `source` from now on. The source is responsible for checking changes.
  void set_source(std::shared_ptr<SavedSource> source);
  /// Returns a copy with the same data and version check, but without history.
  SavedTensor without_history() const;
  /// Notifies the source that the node's backward is over.
  void used() const {
    if (source_) source_->used();
  }

  /// Returns the data without history. Throws like unpack().
  Tensor data(size_t number) const;

  /// Returns the tensor, connected to the graph if recording is on. Throws AutogradError, with `number` in the
  /// message, if the tensor was changed since it was saved.
  Tensor unpack(size_t number, const std::shared_ptr<Node>& owner) const;

 private:
  Tensor data_;
  std::shared_ptr<SavedSource> source_;
  Edge edge_;
  DType edge_dtype_ = kFloat;
  uint64_t version_ = 0;
  int output_ = -1;
};

/// Observes, until the end of the scope, every tensor that this thread saves for backward, except leaves that require
/// grad, which the graph keeps alive anyway. Of nested observers only the innermost is called.
class SaveObserver {
 public:
  SaveObserver();
  virtual ~SaveObserver();
  SaveObserver(const SaveObserver&) = delete;
  SaveObserver& operator=(const SaveObserver&) = delete;
  /// Called with each saved tensor.
  virtual void saved(SavedTensor& tensor) = 0;

 private:
  SaveObserver* outer_;
};

class OpNode;

/// The argument of an op's backward function.
class Backward {
 public:
  Backward(const OpNode& node, const Grads& grads) : node_(node), grads_(grads) {}
  /// dL/d(output i); undefined if no gradient flowed into it.
  const Tensor& grad(size_t i = 0) const { return grads_[i]; }
  /// dL/d(output i), or zeros if no gradient flowed into it.
  Tensor grad_or_zeros(size_t i) const;
  /// The i-th tensor of `save(...)`.
  Tensor saved(size_t i) const;
  /// Whether input i needs a gradient. If not, its computation can be skipped.
  bool needs(size_t i) const;
  /// The dtype of the gradient of input i. Ops should write it directly if they can; gradients of another dtype are
  /// converted.
  DType wanted(size_t i) const;

 private:
  void check_input(size_t i) const;

  const OpNode& node_;
  const Grads& grads_;
};

/// Computes the gradients of an op's inputs.
using BackwardFunction = std::function<Grads(const Backward&)>;

/// The node of an op that was recorded by dispatch (autograd/apply.h).
class OpNode final : public Node {
 public:
  using Node::Node;
  Grads apply(Grads grads) override;
  void release() override;

  BackwardFunction backward;
  std::vector<SavedTensor> saved;
  std::vector<DType> wanted;    ///< dtype of each input's gradient
  std::vector<DType> rounding;  ///< with GradientDType::Lower: the dtype to round each gradient to first; else empty
  bool released = false;        ///< saved tensors have been dropped
};

/// A node that calls a function. Used where the recorded operation is not an op.
class FunctionNode final : public Node {
 public:
  FunctionNode(const char* name_, std::vector<Edge> next_, std::function<Grads(const Grads&)> function)
      : Node(name_, std::move(next_)), function_(std::move(function)) {}
  Grads apply(Grads grads) override { return function_(grads); }

 private:
  std::function<Grads(const Grads&)> function_;
};

}  // namespace tandem::autograd
#pragma GCC visibility pop
