#pragma once
// LossScale: the factor by which a gradient is multiplied. A backward pass passes it from the scaled loss along the
// graph, and the gradients that it writes to leaves keep it. A scaler divides each gradient by that scale, whatever its
// current scale is.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {
class GraphCapture;
}

namespace tandem::autograd {

/// The scale of a gradient. Gradients without one were assigned by the program.
struct LossScale : std::enable_shared_from_this<LossScale> {
  enum class Kind : uint8_t {
    scaled,    ///< of a loss of GradScaler::scale(): multiplied by `factor`
    plain,     ///< of a loss that was not scaled
    unscaled,  ///< divided by GradScaler::unscale_() or step()
    zero,      ///< filled by zero_grad(false)
    mixed,     ///< a sum of gradients whose scales cannot be brought to one
  };

  explicit LossScale(Kind kind_) : kind(kind_) {}
  /// The only scales of their kinds.
  static const std::shared_ptr<const LossScale>& plain();
  static const std::shared_ptr<const LossScale>& unscaled();
  static const std::shared_ptr<const LossScale>& zero();
  static const std::shared_ptr<const LossScale>& mixed();

  const Kind kind;
  Tensor factor, inverse;  ///< the scale and 1 / scale: f32 of one element. Undefined for other kinds than `scaled`
  Tensor source;           ///< what they are computed from, by each replay of a graph again: the scale of the scaler
};
using LossScalePtr = std::shared_ptr<const LossScale>;

/// The scale of a gradient that may be a sum.
struct ScaleOfSum {
  const LossScale* scale = nullptr;
  bool partly_assigned = false;  ///< one part is assigned, another scaled or unscaled

  bool operator==(const ScaleOfSum&) const = default;
};

/// What is known of the scale of a gradient.
struct GradientScale {
  LossScalePtr scale;            ///< null: the program has made the gradient, or there is none
  bool is_unchanged = false;     ///< the program has not written the gradient's memory since its scale was noted
  bool partly_assigned = false;  ///< a part of the sum was assigned by the program
  uint64_t version = 0;          ///< of the gradient when its scale was noted

  bool is(LossScale::Kind kind) const { return scale && scale->kind == kind; }  ///< false if unknown
  ScaleOfSum of_sum() const { return {scale.get(), partly_assigned}; }
  /// True if a step without a scaler would be wrong by the scale. A gradient that the program has written since the
  /// backward pass may have been unscaled by it.
  bool must_be_unscaled() const { return is_unchanged && (is(LossScale::Kind::scaled) || is(LossScale::Kind::mixed)); }
};

/// Returns the scale of a gradient, which it keeps if the program makes it the `.grad` of another leaf.
GradientScale scale_of(const Tensor& gradient);
/// Notes the scale of a gradient, as it is now.
void note_scale(const Tensor& gradient, LossScalePtr scale, bool partly_assigned = false);
/// Counts a write of a gradient by code that notes its scale afterwards. Others that are parts of the same memory keep
/// theirs; tensors of the whole memory are written.
void bump_version_of_gradient(const Tensor& gradient);
/// The same if the write has been counted by Storage::bump_version().
void count_as_gradient_write(const Tensor& gradient);
/// Returns the scale of a leaf's `.grad`.
GradientScale gradient_scale(const Tensor& leaf);
/// Notes the scale of the defined `.grad` of a leaf, as it is now.
void note_gradient_scale(const Tensor& leaf, LossScalePtr scale, bool partly_assigned = false);
/// Returns the scale of a leaf's `.grad` to which a gradient of scale `added` will be added: unknown where the program
/// may have changed it by a write.
GradientScale gradient_scale_before_sum(const Tensor& leaf, const LossScale* added);
/// In the capture of a graph, which will add a gradient of scale `added` to the `.grad` of a leaf: each replay first
/// brings that to the scale. Returns the scale that it has then; `now` is that of now.
LossScalePtr scale_at_replays(GraphCapture& capture, const Tensor& leaf, const GradientScale& now,
                              const LossScalePtr& added);
/// Multiplies the `.grad` of a leaf, if its scale is known, so that it gets the scale `scale`. A 16-bit gradient with
/// another scale becomes f32.
void rescale_gradient(const Tensor& leaf, const LossScalePtr& scale);
/// Notes that the `.grad` of a leaf, which was written or replaced, still has this scale, unless the program has
/// unscaled it by hand.
void note_written_gradient(const Tensor& leaf, const GradientScale& before);
/// Replaces the `.grad` of a leaf by another form of it, such as a copy of another dtype: keeps its scale.
void replace_gradient(const Tensor& leaf, Tensor gradient);

/// At the end of the scope, notes that the gradients of the leaves still have the scale that they had at its beginning,
/// although each was written once.
class KeepGradientScales {
 public:
  explicit KeepGradientScales(const std::vector<Tensor>& leaves);
  ~KeepGradientScales();
  KeepGradientScales(const KeepGradientScales&) = delete;
  KeepGradientScales& operator=(const KeepGradientScales&) = delete;

 private:
  std::vector<std::pair<Tensor, GradientScale>> kept_;
};

/// Whether two gradients are multiplied by the same factor, as far as is known without reading it.
bool same_scale(const LossScale* a, const LossScale* b);

/// The scale of the sum of gradients of scales a and b. Each is first brought to that scale, if can_rescale() is true.
ScaleOfSum scale_of_sum(const ScaleOfSum& a, const ScaleOfSum& b);

/// Whether a gradient of scale `from` can and must be multiplied to get the scale `to`.
bool can_rescale(const ScaleOfSum& from, const LossScale* to);
/// Returns a gradient that can_rescale() of scale `from`, multiplied in f64 to get the scale `to`. Has its dtype.
Tensor rescaled(const Tensor& gradient, const LossScale* from, const LossScale* to);
/// The same in place, of a gradient without history.
void rescale_(const Tensor& gradient, const LossScale* from, const LossScale* to);

namespace detail {
/// The scale of the gradients that the calling thread's backward pass is processing; unknown outside of a pass.
ScaleOfSum& running_loss_scale();
}  // namespace detail

}  // namespace tandem::autograd
#pragma GCC visibility pop
