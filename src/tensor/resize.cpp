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

const Tensor& Tensor::resize_(IntArrayRef sizes, std::optional<MemoryFormat> format) const {
  check_no_grad("resize_");
  const OpScope op("resize_");
  for (const int64_t s : sizes) {
    TANDEM_CHECK(s >= 0, ShapeError, "sizes are {}; they must be at least 0", to_string(sizes));
  }
  TANDEM_CHECK(format != MemoryFormat::Preserve, StateError,
               "the format is Preserve, but must be Contiguous or ChannelsLast");
  TensorImpl& impl = *impl_;
  const bool last = format == MemoryFormat::ChannelsLast;
  const Dims target(sizes), strides = last ? channels_last_strides(sizes) : contiguous_strides(sizes);
  const size_t held = impl.storage->nbytes() / element_size() - static_cast<size_t>(impl.offset);
  if (static_cast<size_t>(numel_of(sizes)) <= held) {
    impl.sizes = target;
    impl.strides = strides;
    impl.refresh();
    impl.shadow.reset();
    ++impl.generation;
    return *this;
  }
  const Tensor wanted = empty(target, options().memory_format(format.value_or(MemoryFormat::Contiguous)));
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
const Tensor& Tensor::set_() const { return set_(empty({0}, options())); }

}  // namespace tandem
