#pragma once
// Indices for Tensor::index and Tensor::index_put_, written as in libtorch:
// x.index({0, Slice(1, None, 2), "...", None}).
#include <concepts>
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::indexing {

/// As a bound of a Slice: no bound. As an index: a new dimension of size 1.
inline constexpr std::nullopt_t None = std::nullopt;

/// The type of Ellipsis.
struct EllipsisType {};
/// Stands for all dimensions that the other indices do not cover. Allowed once per index list; the same as "...".
inline constexpr EllipsisType Ellipsis;

/// start:stop:step by Python's rules: negative bounds count from the end, bounds out of range are clamped; step >= 1.
class Slice {
 public:
  constexpr Slice(std::optional<int64_t> start = None, std::optional<int64_t> stop = None,
                  std::optional<int64_t> step = None)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  constexpr std::optional<int64_t> start() const { return start_; }
  constexpr std::optional<int64_t> stop() const { return stop_; }
  constexpr int64_t step() const { return step_; }

 private:
  std::optional<int64_t> start_, stop_;
  int64_t step_;
};

/// One entry of an index list. An integer, or an integer tensor of rank 0, drops its dimension. An index tensor (i64 or
/// i32) selects along its dimension, a bool tensor along as many dimensions as it has, and true or false along a new
/// dimension of size 1.
///
/// The result of Tensor::index is a view, so that `x.index({0, Slice(1, 3)}) = y` writes to x. With index tensors or
/// masks it is a copy; use index_put_ to write there. Integers, slices and None apply first; ops/advanced_index.h says
/// where the dimensions of index tensors go.
struct TensorIndex {
  enum class Kind : uint8_t { none, ellipsis, integer, boolean, slice, tensor };

  TensorIndex(std::nullopt_t) : kind(Kind::none) {}
  TensorIndex(EllipsisType) : kind(Kind::ellipsis) {}
  /// Throws StateError for text other than "...".
  TensorIndex(const char* text);
  template <std::integral T>
  requires(!std::same_as<T, bool>) TensorIndex(T i) : kind(Kind::integer), integer(static_cast<int64_t>(i)) {}
  TensorIndex(bool b) : kind(Kind::boolean), integer(b) {}
  TensorIndex(Slice s) : kind(Kind::slice), slice(s) {}
  TensorIndex(Tensor t) : kind(Kind::tensor), tensor(std::move(t)) {}

  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};

}  // namespace tandem::indexing
#pragma GCC visibility pop
