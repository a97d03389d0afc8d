// Tensor::resize_ and set_: changes of a tensor's sizes and storage in place.
#include <algorithm>

#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/tensor.h"

namespace tandem {

void Tensor::check_no_grad(const char* method) const {
  const OpScope op(method);
  checked(method);
  TANDEM_CHECK(!requires_grad(), AutogradError,
               "the tensor {} requires grad; change the size of its detach(), or call requires_grad_(false) first",
               to_string(sizes()));
}

const Tensor& Tensor::resize_(IntArrayRef sizes) const {
  check_no_grad("resize_");
  const OpScope op("resize_");
  for (const int64_t s : sizes) {
    TANDEM_CHECK(s >= 0, ShapeError, "sizes are {}; they must be at least 0", to_string(sizes));
  }
  TensorImpl& impl = *impl_;
  const Dims target(sizes), strides = contiguous_strides(sizes);
  const size_t held = impl.storage->nbytes() / element_size() - static_cast<size_t>(impl.offset);
  if (static_cast<size_t>(numel_of(sizes)) <= held) {
    impl.sizes = target;
    impl.strides = strides;
    impl.refresh();
    impl.shadow.reset();
    ++impl.generation;
    return *this;
  }
  const Tensor wanted = empty(target, options());
  const int64_t kept = std::min(impl.numel, wanted.numel());
  if (kept > 0) {
    const auto flat = [kept](const Tensor& x) { return make_view(x, {kept}, {1}, x.storage_offset()); };
    flat(wanted.detach()).copy_(flat(detach()));
  }
  return set_(wanted);
}

const Tensor& Tensor::set_(const Tensor& source) const {
  check_no_grad("set_");
  set_data(source);
  return *this;
}

}  // namespace tandem
