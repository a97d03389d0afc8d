#pragma once
// Norms of vectors and matrices. Sums of f16, bf16 and f32 are held in f32 or wider. Integer tensors throw DTypeError.
#include <concepts>
#include <optional>
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The name of a matrix norm, "fro" or "nuc".
struct NormName {
  explicit NormName(std::string_view name) : text(name) {}
  std::string_view text;
};

/// (sum |x|^ord)^(1/ord) over `dims`, or over all elements if `dims` is empty. ord = 0: the number of elements that are
/// not 0; ord = inf or -inf: the largest or smallest |x|. With a `dtype`, x is converted first; it must be at least as
/// wide. Where the norm has no derivative, the gradient is a subgradient. Throws ShapeError for an ord that is negative
/// or inf without elements. Source: torch.linalg.vector_norm.
Tensor linalg_vector_norm(const Tensor& x, Scalar ord = 2, IntArrayRef dims = {}, bool keepdim = false,
                          std::optional<DType> dtype = {});
/// Norm of the matrices in two dimensions. "fro": the root of the sum of squares; 1 and -1: the largest and smallest
/// sum of |x| of a column; inf and -inf: of a row. Throws NotImplementedError for 2, -2 and "nuc", which need singular
/// values. Source: torch.linalg.matrix_norm.
Tensor linalg_matrix_norm(const Tensor& x, Scalar ord, IntArrayRef dims = {-2, -1}, bool keepdim = false,
                          std::optional<DType> dtype = {});
Tensor linalg_matrix_norm(const Tensor& x, NormName ord, IntArrayRef dims, bool keepdim, std::optional<DType> dtype);
template <std::convertible_to<std::string_view> Name>
Tensor linalg_matrix_norm(const Tensor& x, const Name& ord, IntArrayRef dims = {-2, -1}, bool keepdim = false,
                          std::optional<DType> dtype = {}) {
  return linalg_matrix_norm(x, NormName(ord), dims, keepdim, dtype);
}
inline Tensor linalg_matrix_norm(const Tensor& x) { return linalg_matrix_norm(x, "fro"); }
/// linalg_vector_norm or linalg_matrix_norm. Without `ord`: the vector norm of order 2 over `dims`. With it: the vector
/// norm for one dimension, the matrix norm for two; without `dims`, by the rank of x, which must be 1 or 2.
/// Source: torch.linalg.norm.
Tensor linalg_norm(const Tensor& x, std::optional<Scalar> ord = {}, IntArrayRef dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = {});
Tensor linalg_norm(const Tensor& x, NormName ord, IntArrayRef dims, bool keepdim, std::optional<DType> dtype);
template <std::convertible_to<std::string_view> Name>
Tensor linalg_norm(const Tensor& x, const Name& ord, IntArrayRef dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = {}) {
  return linalg_norm(x, NormName(ord), dims, keepdim, dtype);
}
/// The root of the sum of squares over `dims`; over all elements if `dims` is empty.
Tensor frobenius_norm(const Tensor& x, IntArrayRef dims, bool keepdim = false);

/// x / max(|x|_p, eps), with the norm along `dim`. Source: torch.nn.functional.normalize.
Tensor normalize(const Tensor& x, double p = 2, int64_t dim = 1, double eps = 1e-12);
/// Scales each slice of x at an index of `dim` to a norm of order p of at most `maxnorm`. Source: torch.renorm.
Tensor renorm(const Tensor& x, Scalar p, int64_t dim, Scalar maxnorm);

}  // namespace tandem
#pragma GCC visibility pop
