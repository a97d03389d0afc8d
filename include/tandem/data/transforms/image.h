#pragma once
// ImageTransform: the frame of the transforms of images.
#include <functional>
#include <utility>

#include "tandem/data/transforms.h"

#pragma GCC visibility push(default)
namespace tandem::data::transforms {

namespace detail {

/// Returns `apply(images)` of an image [C, H, W] or of a batch [N, C, H, W], or with `one_by_one` the stack of the
/// results for each image of a batch. Runs without autograd and autocast. Throws StateError for an undefined tensor,
/// DTypeError unless it is floating, ShapeError for another rank or an image without elements.
Tensor for_images(const char* name, bool one_by_one, const Tensor& images,
                  const std::function<Tensor(const Tensor&)>& apply);

}  // namespace detail

/// A transform of the data of an Example, which is an image [C, H, W] or a batch [N, C, H, W] of a floating dtype.
/// Random transforms draw new numbers from data::transform_generator() for each image of a batch (torchvision's draw
/// once for a whole batch). `Op` is one of the structs below data/transforms; programs use the aliases after them, such
/// as RandomCrop. Their constructors throw StateError for arguments out of range.
template <class Op, class Target>
class ImageTransform : public TensorTransform<Target>, private Op {
 public:
  using Op::Op;

  Tensor operator()(Tensor input) override {
    return detail::for_images(Op::kName, Op::kRandom, input, [this](const Tensor& x) { return Op::transform(x); });
  }
  bool is_random() const { return Op::kRandom; }
};

}  // namespace tandem::data::transforms
#pragma GCC visibility pop
