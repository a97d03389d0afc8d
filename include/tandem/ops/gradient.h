#pragma once
// Derivatives of sampled functions by finite differences. For derivatives of programs see autograd/engine.h.
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Estimates the derivatives of a function along each of `dims`, or along all dimensions: one tensor of x's sizes for
/// each. x holds the function's values at points `spacing` apart (1 by default): one number for all dimensions, or one
/// for each. Inside, central differences; at both ends, differences of two points (edge_order = 1) or of three
/// (edge_order = 2). Each dimension needs at least edge_order + 1 points. Integers give f32.
std::vector<Tensor> gradient(const Tensor& x, std::optional<Scalar> spacing = {}, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
template <class T>
requires std::is_arithmetic_v<T> std::vector<Tensor> gradient(const Tensor& x, T spacing) {
  return gradient(x, std::optional<Scalar>(spacing));
}
std::vector<Tensor> gradient(const Tensor& x, Scalar spacing, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, IntArrayRef dims, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, ArrayRef<Scalar> spacing, IntArrayRef dims, int64_t edge_order = 1);
/// The same for points at given coordinates: for each dimension a tensor of rank 1 with a coordinate for each point.
/// The differences are of second order for uneven distances, too.
std::vector<Tensor> gradient(const Tensor& x, TensorList coordinates, std::optional<int64_t> dim = {},
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& x, TensorList coordinates, IntArrayRef dims, int64_t edge_order = 1);
template <std::integral Dim>
std::vector<Tensor> gradient(const Tensor& x, TensorList coordinates, Dim dim, int64_t edge_order = 1) {
  return gradient(x, coordinates, IntArrayRef(dim), edge_order);
}

}  // namespace tandem
#pragma GCC visibility pop
