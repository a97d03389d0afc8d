// Tensor methods that forward to the ops of layers.
#include "tandem/ops/index.h"
#include "tandem/ops/softmax.h"

namespace tandem {

Tensor Tensor::softmax(int64_t dim, std::optional<DType> dtype) const { return tandem::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(int64_t dim, std::optional<DType> dtype) const {
  return tandem::log_softmax(*this, dim, dtype);
}
Tensor Tensor::gather(int64_t dim, const Tensor& index, bool /*sparse_grad*/) const {
  return tandem::gather(*this, dim, index);
}
Tensor Tensor::index_select(int64_t dim, const Tensor& index) const { return tandem::index_select(*this, dim, index); }
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter_add(*this, dim, index, src);
}
const Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter_add_(*this, dim, index, src);
}
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha) const {
  return tandem::index_add(*this, dim, index, src, alpha);
}
const Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& src, Scalar alpha) const {
  return tandem::index_add_(*this, dim, index, src, alpha);
}

}  // namespace tandem
