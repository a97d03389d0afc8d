#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/pad.h"
#include "tandem/ops/remap-inl.h"
#include "tandem/ops/shape.h"

namespace tandem {

namespace detail {

/// The sizes of the padded tensor, and how many entries were added before each dimension.
struct Padded {
  Dims sizes, before;

  /// Throws ShapeError if `pad` does not fit x.
  Padded(const Tensor& x, IntArrayRef pad) : sizes(x.sizes()), before(sizes.size(), 0) {
    TANDEM_CHECK(pad.size() % 2 == 0 && static_cast<int64_t>(pad.size()) <= 2 * x.dim(), ShapeError,
                 "pad is {}, but x is {}; give two numbers for each dimension to pad, from the last on", to_string(pad),
                 checks::show(x));
    for (size_t i = 0; 2 * i < pad.size(); ++i) {
      const size_t d = sizes.size() - 1 - i;
      const int64_t n = x.sizes()[d];
      const Checked size = Checked(n) + pad[2 * i] + pad[2 * i + 1];
      TANDEM_CHECK(pad[2 * i] >= -n && pad[2 * i + 1] >= -n && size >= 0, ShapeError,
                   "pad {} and {} remove more than dimension {} of {} has, or give the size {}; remove fewer entries",
                   pad[2 * i], pad[2 * i + 1], d, to_string(x.sizes()), to_string(size));
      sizes[d] = *size.value();
      before[d] = pad[2 * i];
    }
  }
};

/// Throws unless x has 1 or 2 dimensions besides the padded ones, and they are not empty.
inline void check_padded_dims(const Tensor& x, IntArrayRef pad, size_t dims) {
  checks::defined("x", x);
  TANDEM_CHECK(pad.size() == 2 * dims, ShapeError, "pad is {}, but must have {} numbers, two for each dimension",
               to_string(pad), 2 * dims);
  const size_t rank = x.sizes().size();
  TANDEM_CHECK(rank == dims + 1 || rank == dims + 2, ShapeError,
               "x is {}, but must have rank {} or {} to pad {} dimensions; unsqueeze() or flatten() it",
               checks::show(x), dims + 1, dims + 2, dims);
  for (size_t d = rank == dims + 2 ? 1 : 0; d < rank; ++d) {
    TANDEM_CHECK(x.sizes()[d] > 0, ShapeError, "x is {}; only the batch may be empty", checks::show(x));
  }
}

/// `least`: how much smaller than its dimension each number in `pad` must be.
inline void check_reach(const Tensor& x, IntArrayRef pad, int64_t least) {
  for (size_t i = 0; i < pad.size(); ++i) {
    const size_t d = x.sizes().size() - 1 - i / 2;
    TANDEM_CHECK(pad[i] <= x.sizes()[d] - least, ShapeError,
                 "pad {} of dimension {} of {} is too large; it must be at most {}", pad[i], d, to_string(x.sizes()),
                 x.sizes()[d] - least);
  }
}

/// reflection_pad and replication_pad. `dims`: the number of padded dimensions.
template <FixedString Name>
Tensor pad_op(const Op<Name>& op, const Tensor& x, IntArrayRef pad, size_t dims, Border border) {
  check_padded_dims(x, pad, dims);
  if (border == Border::reflect) check_reach(x, pad, 1);
  const Padded padded(x, pad);
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = x.sizes().size() - 1 - i;
    TANDEM_CHECK(padded.sizes[d] > 0, ShapeError, "pad {} of {} gives the sizes {}; remove fewer entries",
                 to_string(pad), to_string(x.sizes()), to_string(padded.sizes));
  }
  return remap_op(op, x, padded.sizes, {border, padded.before});
}

}  // namespace detail

TANDEM_OPS Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, Scalar value) {
  const Op<"constant_pad_nd"> op;
  checks::defined("x", x);
  const detail::Padded padded(x, pad);
  check_fits(value, x.dtype());
  return op.apply(
      [&](const Tensor& x) {
        const std::vector<int64_t> removed = [&] {
          std::vector<int64_t> back;
          for (const int64_t n : pad) back.push_back(-n);
          return back;
        }();
        return Result{detail::remap_kernel(x, padded.sizes, {Border::fill, padded.before}, value),
                      {},
                      [removed](const Backward& b) -> Grads { return {constant_pad_nd(b.grad(), removed)}; }};
      },
      x);
}

TANDEM_OPS Tensor reflection_pad1d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"reflection_pad1d">(), x, pad, 1, Border::reflect);
}
TANDEM_OPS Tensor reflection_pad2d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"reflection_pad2d">(), x, pad, 2, Border::reflect);
}
TANDEM_OPS Tensor reflection_pad3d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"reflection_pad3d">(), x, pad, 3, Border::reflect);
}
TANDEM_OPS Tensor replication_pad1d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"replication_pad1d">(), x, pad, 1, Border::replicate);
}
TANDEM_OPS Tensor replication_pad2d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"replication_pad2d">(), x, pad, 2, Border::replicate);
}
TANDEM_OPS Tensor replication_pad3d(const Tensor& x, IntArrayRef pad) {
  return detail::pad_op(Op<"replication_pad3d">(), x, pad, 3, Border::replicate);
}

TANDEM_OPS Tensor pad_circular(const Tensor& x, IntArrayRef pad) {
  const Op<"pad_circular"> op;
  TANDEM_CHECK(pad.size() >= 2 && pad.size() <= 6 && pad.size() % 2 == 0, ShapeError,
               "pad is {}, but must have 2, 4 or 6 numbers, two for each dimension", to_string(pad));
  detail::check_padded_dims(x, pad, pad.size() / 2);
  detail::check_reach(x, pad, 0);
  const detail::Padded all(x, pad);
  // As in PyTorch, entries are removed first, and what is left is repeated.
  Tensor rest = x;
  std::vector<int64_t> added;
  for (size_t i = 0; i < pad.size(); ++i) {
    const int64_t d = x.dim() - 1 - static_cast<int64_t>(i / 2);
    added.push_back(std::max<int64_t>(pad[i], 0));
    if (pad[i] >= 0) continue;
    const int64_t kept = rest.size(d) + pad[i];
    TANDEM_CHECK(kept >= 0, ShapeError, "pad {} of {} gives the sizes {}; remove fewer entries", to_string(pad),
                 to_string(x.sizes()), to_string(all.sizes));
    rest = narrow(rest, d, i % 2 == 0 ? -pad[i] : 0, kept);
  }
  detail::check_reach(rest, added, 0);
  const detail::Padded padded(rest, added);
  return detail::remap_op(op, rest, padded.sizes, {Border::circular, padded.before});
}

TANDEM_OPS Tensor pad(const Tensor& x, IntArrayRef pad, PadMode mode, double value) {
  const OpScope op("pad");
  checks::defined("x", x);
  if (mode == PadMode::Constant) return constant_pad_nd(x, pad, value);
  TANDEM_CHECK(value == 0, StateError, "value = {}, but only the mode \"constant\" has a value; leave it 0", value);
  TANDEM_CHECK(pad.size() == 2 || pad.size() == 4 || pad.size() == 6, ShapeError,
               "pad is {}; this mode pads 1, 2 or 3 dimensions, so give 2, 4 or 6 numbers", to_string(pad));
  if (mode == PadMode::Circular) return pad_circular(x, pad);
  const bool reflects = mode == PadMode::Reflect;
  if (pad.size() == 2) return reflects ? reflection_pad1d(x, pad) : replication_pad1d(x, pad);
  if (pad.size() == 4) return reflects ? reflection_pad2d(x, pad) : replication_pad2d(x, pad);
  return reflects ? reflection_pad3d(x, pad) : replication_pad3d(x, pad);
}

TANDEM_OPS Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode, double value) {
  const OpScope op("pad");
  if (mode == "constant") return tandem::pad(x, pad, PadMode::Constant, value);
  if (mode == "reflect") return tandem::pad(x, pad, PadMode::Reflect, value);
  if (mode == "replicate") return tandem::pad(x, pad, PadMode::Replicate, value);
  TANDEM_CHECK(mode == "circular", StateError,
               "mode is \"{}\"; it must be \"constant\", \"reflect\", \"replicate\" or \"circular\"",
               std::string(mode));
  return tandem::pad(x, pad, PadMode::Circular, value);
}

}  // namespace tandem
