#pragma once
// Indices for Tensor::index and Tensor::index_put_, spelled as in libtorch: x.index({0, Slice(1, None, 2), "...",
// None}).
#include <concepts>
#include <optional>

#include "tandem/tensor/tensor.h"

namespace tandem::indexing {

/// Left out: a bound of a Slice, or, as an index, a new dimension of size 1.
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisType {};
/// As many full dimensions as the other indices leave. At most one; "..." says the same.
inline constexpr EllipsisType Ellipsis;

/// start:stop:step by Python's rules: negative bounds count from the end, bounds out of range are cut; step >= 1.
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

/// One entry of an index list. An integer drops its dimension; so does an integer tensor of rank 0. Masks and longer
/// index tensors throw NotImplementedError.
struct TensorIndex {
  enum class Kind : uint8_t { none, ellipsis, integer, boolean, slice, tensor };

  TensorIndex(std::nullopt_t) : kind(Kind::none) {}
  TensorIndex(EllipsisType) : kind(Kind::ellipsis) {}
  /// Only "...": throws StateError for other text.
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
