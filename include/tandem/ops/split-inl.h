#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/split.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_part_count(const Tensor& x, int64_t d, int64_t count) {
  constexpr int64_t most = int64_t{1} << 24;
  TANDEM_CHECK(count <= most, ShapeError, "dimension {} of {} gives {} tensors, more than {}; use larger parts", d,
               to_string(x.sizes()), count, most);
}

inline void check_has_dimension(const Tensor& x) {
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() > 0, ShapeError, "a 0-dim tensor cannot be split; unsqueeze(0) it");
}

/// Views of consecutive parts of dimension `d`, whose sizes add up to at most that of the dimension. One node for all,
/// so that their gradients are joined in one pass.
inline std::vector<Tensor> split_op(const Op<"split">& op, const Tensor& x, const std::vector<int64_t>& lengths,
                                    int64_t d) {
  return op.apply_n(
      [&](const Tensor& x) {
        const size_t at = static_cast<size_t>(d);
        std::vector<Tensor> parts;
        Dims sizes = x.impl().sizes;
        int64_t start = 0;
        for (const int64_t length : lengths) {
          sizes[at] = length;
          const Checked offset = Checked(start) * x.strides()[at] + x.storage_offset();
          parts.push_back(make_view(x, sizes, x.impl().strides, offset.value_or(x.storage_offset())));
          start += length;
        }
        return Result{std::move(parts), {}, [d, count = lengths.size()](const Backward& b) -> Grads {
                        std::vector<Tensor> grads;
                        for (size_t i = 0; i < count; ++i) grads.push_back(b.grad_or_zeros(i));
                        return {cat(grads, d)};
                      }};
      },
      x);
}

/// The lengths of parts of `length` entries.
inline std::vector<int64_t> equal_lengths(const Tensor& x, int64_t d, int64_t length) {
  const int64_t size = x.size(d), count = size > 0 ? (size - 1) / length + 1 : 1;
  check_part_count(x, d, count);
  std::vector<int64_t> lengths(static_cast<size_t>(count), length);
  lengths.back() = size - (count - 1) * length;
  return lengths;
}

inline std::vector<Tensor> split_into(const Op<"split">& op, const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  check_has_dimension(x);
  const int64_t d = wrap_dim(dim, x.dim());
  Checked total = 0;
  for (const int64_t size : split_sizes) {
    TANDEM_CHECK(size >= 0, ShapeError, "size {} in {} is negative; sizes must be at least 0", size,
                 to_string(split_sizes));
    total += size;
  }
  TANDEM_CHECK(total == x.size(d), ShapeError,
               "the split sizes {} add up to {}, but dimension {} of {} has {} entries; the numbers must be equal",
               to_string(split_sizes), to_string(total), d, to_string(x.sizes()), x.size(d));
  check_part_count(x, d, static_cast<int64_t>(split_sizes.size()));
  if (split_sizes.empty()) return {};
  return split_op(op, x, split_sizes.vec(), d);
}

inline std::vector<Tensor> split_at(const Tensor& x, IntArrayRef indices, int64_t d) {
  check_part_count(x, d, static_cast<int64_t>(indices.size()) + 1);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (const int64_t end : indices) {
    parts.push_back(slice(x, d, start, end));
    start = end;
  }
  parts.push_back(slice(x, d, start));
  return parts;
}

inline std::vector<Tensor> split_sections(const Tensor& x, int64_t sections, int64_t d) {
  TANDEM_CHECK(sections > 0, ShapeError, "cannot split {} into {} sections; use at least 1", to_string(x.sizes()),
               sections);
  check_part_count(x, d, sections);
  const int64_t size = x.size(d) / sections, larger = x.size(d) % sections;
  std::vector<int64_t> ends;
  for (int64_t i = 1; i < sections; ++i) ends.push_back(i * size + std::min(i, larger));
  return split_at(x, ends, d);
}

/// The dimension that hsplit, vsplit or dsplit splits. Throws ShapeError if x has too few.
inline int64_t split_dim(const Tensor& x, int64_t least_rank, int64_t d) {
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() >= least_rank, ShapeError, "x is {}, but must have rank {} or more; unsqueeze() it",
               checks::show(x), least_rank);
  return x.dim() == 1 ? 0 : d;
}

inline std::vector<Tensor> split_evenly(const Tensor& x, int64_t sections, int64_t d) {
  TANDEM_CHECK(sections > 0 && x.size(d) % sections == 0, ShapeError,
               "{} sections do not divide dimension {} of {}; use tensor_split()", sections, d, to_string(x.sizes()));
  return split_sections(x, sections, d);
}

}  // namespace detail

TANDEM_OPS std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  const Op<"split"> op;
  detail::check_has_dimension(x);
  const int64_t d = wrap_dim(dim, x.dim());
  TANDEM_CHECK(split_size > 0 || (split_size == 0 && x.size(d) == 0), ShapeError,
               "cannot split dimension {} of {} into parts of {}; use at least 1", d, to_string(x.sizes()), split_size);
  return detail::split_op(op, x, detail::equal_lengths(x, d, split_size), d);
}
TANDEM_OPS std::vector<Tensor> split(const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  return detail::split_into(Op<"split">(), x, split_sizes, dim);
}
TANDEM_OPS std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  const OpScope op("split_with_sizes");
  return split(x, split_sizes, dim);
}

TANDEM_OPS std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  const OpScope op("tensor_split");
  detail::check_has_dimension(x);
  return detail::split_sections(x, sections, wrap_dim(dim, x.dim()));
}
TANDEM_OPS std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim) {
  const OpScope op("tensor_split");
  detail::check_has_dimension(x);
  return detail::split_at(x, indices, wrap_dim(dim, x.dim()));
}
TANDEM_OPS std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim) {
  const OpScope op("tensor_split");
  detail::check_has_dimension(x);
  checks::defined("indices_or_sections", indices_or_sections);
  const Tensor& given = indices_or_sections;
  TANDEM_CHECK(
      given.is_cpu() && given.dtype() == kLong && given.dim() <= 1, DTypeError,
      "indices_or_sections is {} on {}, but must be an i64 tensor of rank 0 or 1 on cpu; convert it with .to()",
      checks::show(given), given.device().str());
  if (given.dim() == 0) return tensor_split(x, given.item<int64_t>(), dim);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < given.numel(); ++i) indices.push_back(given.raw<int64_t>()[i * given.stride(0)]);
  return tensor_split(x, IntArrayRef(indices), dim);
}

TANDEM_OPS std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) {
  const OpScope op("hsplit");
  return detail::split_evenly(x, sections, detail::split_dim(x, 1, 1));
}
TANDEM_OPS std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices) {
  const OpScope op("hsplit");
  return detail::split_at(x, indices, detail::split_dim(x, 1, 1));
}
TANDEM_OPS std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) {
  const OpScope op("vsplit");
  return detail::split_evenly(x, sections, detail::split_dim(x, 2, 0));
}
TANDEM_OPS std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices) {
  const OpScope op("vsplit");
  return detail::split_at(x, indices, detail::split_dim(x, 2, 0));
}
TANDEM_OPS std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) {
  const OpScope op("dsplit");
  return detail::split_evenly(x, sections, detail::split_dim(x, 3, 2));
}
TANDEM_OPS std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices) {
  const OpScope op("dsplit");
  return detail::split_at(x, indices, detail::split_dim(x, 3, 2));
}

TANDEM_OPS std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  const Op<"unbind"> op;
  detail::check_has_dimension(x);
  const int64_t d = wrap_dim(dim, x.dim());
  detail::check_part_count(x, d, x.size(d));
  if (x.size(d) == 0) return {};
  return op.apply_n(
      [d](const Tensor& x) {
        const size_t at = static_cast<size_t>(d);
        Dims sizes = x.impl().sizes, strides = x.impl().strides;
        sizes.erase(at);
        strides.erase(at);
        const int64_t count = x.size(d);
        std::vector<Tensor> parts;
        for (int64_t i = 0; i < count; ++i) {
          const Checked offset = Checked(i) * x.strides()[at] + x.storage_offset();
          parts.push_back(make_view(x, sizes, strides, offset.value_or(x.storage_offset())));
        }
        return Result{std::move(parts), {}, [d, count](const Backward& b) -> Grads {
                        std::vector<Tensor> grads;
                        for (int64_t i = 0; i < count; ++i) grads.push_back(b.grad_or_zeros(static_cast<size_t>(i)));
                        return {stack(grads, d)};
                      }};
      },
      x);
}

}  // namespace tandem
