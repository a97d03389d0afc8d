// bernoulli_ with a tensor of probabilities.
#include "tandem/autograd/apply.h"
#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/tensor/factories.h"

namespace tandem {

const Tensor& Tensor::bernoulli_(const Tensor& p, std::optional<Generator> generator) const {
  const OpScope op("bernoulli_");
  checks::defined("self", *this);
  checks::not_expanded("the tensor", *this);
  checks::floating("p", p);
  if (is_storage_only(dtype())) detail::throw_storage_only_arithmetic(dtype());
  detail::check_devices({this, &p});
  TANDEM_CHECK(!(requires_grad() && GradMode::is_enabled()), AutogradError,
               "the tensor {} requires grad and would lose its history; write under NoGradGuard", checks::show(*this));
  TANDEM_CHECK(broadcast_shapes(sizes(), p.sizes()) == impl().sizes, ShapeError, "p {} does not broadcast to self {}",
               checks::show(p), checks::show(*this));
  detail::check_range("p", p, 0, 1);
  if (numel() == 0) return *this;
  const NoGradGuard no_grad;
  const Tensor u = empty(sizes(), TensorOptions(checks::sum_dtype(p.dtype())).device(device()));
  u.uniform_(0, 1, std::move(generator));
  const Tensor drawn = empty_like(u, kBool);
  tandem::backend(u).binary(drawn, kernels::Binary::lt, u, detail::broadcast_view(p, sizes()), 1);
  impl().storage->bump_version();
  tandem::backend(*this).copy(*this, drawn);
  return *this;
}

}  // namespace tandem
