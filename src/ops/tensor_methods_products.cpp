// Tensor methods that forward to products and distances.
#include "tandem/ops/distance.h"
#include "tandem/ops/products.h"
#include "tandem/ops/vector_norm.h"

namespace tandem {

Tensor Tensor::dot(const Tensor& other) const { return tandem::dot(*this, other); }
Tensor Tensor::vdot(const Tensor& other) const { return tandem::vdot(*this, other); }
Tensor Tensor::inner(const Tensor& other) const { return tandem::inner(*this, other); }
Tensor Tensor::outer(const Tensor& other) const { return tandem::outer(*this, other); }
Tensor Tensor::ger(const Tensor& other) const { return tandem::ger(*this, other); }
Tensor Tensor::mv(const Tensor& vector) const { return tandem::mv(*this, vector); }
Tensor Tensor::kron(const Tensor& other) const { return tandem::kron(*this, other); }
Tensor Tensor::cross(const Tensor& other, std::optional<int64_t> dim) const { return tandem::cross(*this, other, dim); }
Tensor Tensor::matrix_power(int64_t n) const { return tandem::matrix_power(*this, n); }
Tensor Tensor::addmv(const Tensor& matrix, const Tensor& vector, Scalar beta, Scalar alpha) const {
  return tandem::addmv(*this, matrix, vector, beta, alpha);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const {
  return tandem::addr(*this, a, b, beta, alpha);
}
Tensor Tensor::addbmm(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const {
  return tandem::addbmm(*this, a, b, beta, alpha);
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const {
  return tandem::baddbmm(*this, a, b, beta, alpha);
}

Tensor Tensor::dist(const Tensor& other, Scalar p) const { return tandem::dist(*this, other, p); }
Tensor Tensor::renorm(Scalar p, int64_t dim, Scalar maxnorm) const { return tandem::renorm(*this, p, dim, maxnorm); }

}  // namespace tandem
