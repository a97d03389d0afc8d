// Tensor methods that forward to the ops of masks, index tensors and scattering.
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/masked.h"
#include "tandem/ops/scatter.h"

namespace tandem {

Tensor Tensor::where(const Tensor& condition, Scalar other) const { return tandem::where(condition, *this, other); }

Tensor Tensor::masked_fill(const Tensor& mask, Scalar value) const { return tandem::masked_fill(*this, mask, value); }
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return tandem::masked_fill(*this, mask, value);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, Scalar value) const {
  return tandem::masked_fill_(*this, mask, value);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  return tandem::masked_fill_(*this, mask, value);
}
Tensor Tensor::masked_select(const Tensor& mask) const { return tandem::masked_select(*this, mask); }
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return tandem::masked_scatter(*this, mask, source);
}
const Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  return tandem::masked_scatter_(*this, mask, source);
}

Tensor Tensor::nonzero() const { return tandem::nonzero(*this); }
Tensor Tensor::argwhere() const { return tandem::argwhere(*this); }
Tensor Tensor::index(const std::vector<std::optional<Tensor>>& indices) const { return tandem::index(*this, indices); }
Tensor Tensor::index_put(const std::vector<std::optional<Tensor>>& indices, const Tensor& values,
                         bool accumulate) const {
  return tandem::index_put(*this, indices, values, accumulate);
}
const Tensor& Tensor::index_put_(const std::vector<std::optional<Tensor>>& indices, const Tensor& value,
                                 bool accumulate) const {
  return tandem::index_put_(*this, indices, value, accumulate);
}
Tensor Tensor::take(const Tensor& index) const { return tandem::take(*this, index); }
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const {
  return tandem::take_along_dim(*this, indices, dim);
}
Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate) const {
  return tandem::put(*this, index, source, accumulate);
}
const Tensor& Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate) const {
  return tandem::put_(*this, index, source, accumulate);
}

Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tandem::index_copy(*this, dim, index, source);
}
const Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tandem::index_copy_(*this, dim, index, source);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, Scalar value) const {
  return tandem::index_fill(*this, dim, index, value);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  return tandem::index_fill(*this, dim, index, value);
}
const Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, Scalar value) const {
  return tandem::index_fill_(*this, dim, index, value);
}
const Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  return tandem::index_fill_(*this, dim, index, value);
}
Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                            bool include_self) const {
  return tandem::index_reduce(*this, dim, index, source, reduce, include_self);
}
const Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                                    bool include_self) const {
  return tandem::index_reduce_(*this, dim, index, source, reduce, include_self);
}

Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter(*this, dim, index, src);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, Scalar value) const {
  return tandem::scatter(*this, dim, index, value);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
  return tandem::scatter(*this, dim, index, src, reduce);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) const {
  return tandem::scatter(*this, dim, index, value, reduce);
}
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter_(*this, dim, index, src);
}
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, Scalar value) const {
  return tandem::scatter_(*this, dim, index, value);
}
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
  return tandem::scatter_(*this, dim, index, src, reduce);
}
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) const {
  return tandem::scatter_(*this, dim, index, value, reduce);
}
Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self) const {
  return tandem::scatter_reduce(*this, dim, index, src, reduce, include_self);
}
const Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                                      bool include_self) const {
  return tandem::scatter_reduce_(*this, dim, index, src, reduce, include_self);
}

}  // namespace tandem
