#pragma once
// Padding. `pad` lists the number of entries to add before and after the last dimension, then before and after the one
// in front of it, and so on: {left, right, top, bottom}. Negative numbers remove entries. A list that does not fit
// throws ShapeError.
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// How entries beyond the border are made: a number, the mirror image without the border itself, the entry at the
/// border, or the entries of the opposite side.
enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };

/// Pads with `value`, in any number of dimensions.
Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, Scalar value = 0);
/// mode: "constant", "reflect", "replicate" or "circular"; the last three pad the last 1, 2 or 3 dimensions of a tensor
/// with one or two dimensions more (channels and batch). Only "constant" accepts a value other than 0. Source:
/// torch.nn.functional.pad.
Tensor pad(const Tensor& x, IntArrayRef pad, PadMode mode, double value = 0);
Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode = "constant", double value = 0);

/// 1d: x is [C, W] or [N, C, W]; 2d: [C, H, W] or [N, C, H, W]; 3d: [C, D, H, W] or [N, C, D, H, W]. Each number in
/// `pad` must be below the size of its dimension. Gradients are summed in f32 (f64 for f64).
Tensor reflection_pad1d(const Tensor& x, IntArrayRef pad);
Tensor reflection_pad2d(const Tensor& x, IntArrayRef pad);
Tensor reflection_pad3d(const Tensor& x, IntArrayRef pad);
Tensor replication_pad1d(const Tensor& x, IntArrayRef pad);
Tensor replication_pad2d(const Tensor& x, IntArrayRef pad);
Tensor replication_pad3d(const Tensor& x, IntArrayRef pad);
/// Repeats x in the last 1, 2 or 3 dimensions; each number must be at most the size of its dimension.
Tensor pad_circular(const Tensor& x, IntArrayRef pad);

}  // namespace tandem
#pragma GCC visibility pop
