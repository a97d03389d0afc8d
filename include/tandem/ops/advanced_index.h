#pragma once
// Indexing with index tensors and masks. Tensor::index and Tensor::index_put_ (tensor/indexing.h) combine them with
// integers and slices.
//
// In these functions entry d of `indices` is for dimension d of x: an index tensor (i64 or i32), a bool mask, which
// stands for as many dimensions as it has, or std::nullopt or an undefined tensor for the whole dimension. Missing
// entries at the end are std::nullopt. Index tensors broadcast against each other; negative indices count from the end.
// On the CPU, an index out of range throws IndexError. On CUDA, a mask makes the host wait for the device, which counts
// its elements.
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// index(x, {i, std::nullopt, j})[b.., c] = x[i[b..], c, j[b..]]. The dimensions of the index tensors, broadcast, take
/// the place of the indexed dimensions if those are adjacent, else they come first. The result is a copy. Its gradient
/// adds up where places repeat; sums are held in f32 (f64 for f64).
Tensor index(const Tensor& x, const std::vector<std::optional<Tensor>>& indices);
/// Returns x with `values` written to the places that index() reads, or added to them if `accumulate`. values
/// broadcasts to the result of index(). Throws DTypeError if the dtypes differ (autocast promotes them). Without
/// `accumulate`, places that repeat get their last value on the CPU and, with cuda::set_deterministic(true), on CUDA;
/// else any of them. Sums are held in f32 (f64 for f64).
Tensor index_put(const Tensor& x, const std::vector<std::optional<Tensor>>& indices, const Tensor& values,
                 bool accumulate = false);
Tensor index_put(const Tensor& x, const std::vector<std::optional<Tensor>>& indices, Scalar value,
                 bool accumulate = false);

/// Returns the elements of x, counted in row-major order, that `index` names, in its sizes. Negative indices count from
/// the end.
Tensor take(const Tensor& x, const Tensor& index);
/// Returns x with `source` written to, or added to, the elements that take() reads. source has as many elements as
/// `index`, and x's dtype.
Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate = false);
/// gather() of x and `indices`, which have the same rank and broadcast against each other except in `dim`; without
/// `dim`, of both flattened.
Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim = {});

/// Returns the coordinates of the elements that are not 0, in row-major order: [n, rank of x] i64. On CUDA it waits for
/// the device, which counts them.
Tensor nonzero(const Tensor& x);
/// The same as nonzero.
Tensor argwhere(const Tensor& x);
/// The columns of nonzero(condition), one index tensor per dimension; x of rank 0 counts as [1].
std::vector<Tensor> where(const Tensor& condition);
/// a where `condition` (bool) is true, else b: f32 if one of them is floating, else i64 or bool.
Tensor where(const Tensor& condition, Scalar a, Scalar b);

/// Returns i64 [sizes of x.., num_classes] with 1 at the classes in x, else 0. num_classes = -1: the largest class plus
/// one, for which a CUDA tensor makes the host wait. On the CPU, a class out of range throws IndexError.
Tensor one_hot(const Tensor& x, int64_t num_classes = -1);

/// In-place forms; return self. apply_in_place says which calls throw.
const Tensor& index_put_(const Tensor& self, const std::vector<std::optional<Tensor>>& indices, const Tensor& values,
                         bool accumulate = false);
const Tensor& index_put_(const Tensor& self, const std::vector<std::optional<Tensor>>& indices, Scalar value,
                         bool accumulate = false);
const Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false);

}  // namespace tandem
#pragma GCC visibility pop
