// Uninitialized tensors: the geometry of factories.
#include <utility>

#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

int64_t width_of(DType t) {
  if (t == DType::Undefined) detail::throw_undefined_dtype();
  return static_cast<int64_t>(element_size(t));
}

void check_sizes(IntArrayRef sizes, DType t) {
  Checked bytes = width_of(t);
  for (int64_t s : sizes) {
    TANDEM_CHECK(s >= 0, ShapeError, "sizes {} have a negative entry; all must be at least 0", to_string(sizes));
    bytes *= s > 0 ? s : 1;
  }
  TANDEM_CHECK(bytes <= kMaxBytes, ShapeError,
               "sizes {} of {} need more bytes than the address space has; check the sizes", to_string(sizes), name(t));
}

// The number of bytes that sizes and strides span.
size_t bytes_of(IntArrayRef sizes, IntArrayRef strides, DType t) {
  const int64_t width = width_of(t);
  const std::optional<int64_t> extent = extent_of(sizes, strides);
  TANDEM_CHECK(extent && *extent <= kMaxBytes / width, ShapeError,
               "sizes {} with strides {} of {} need more bytes than the address space has; check them",
               to_string(sizes), to_string(strides), name(t));
  return static_cast<size_t>(*extent * width);
}

void check_strides(IntArrayRef sizes, IntArrayRef strides) {
  TANDEM_CHECK(sizes.size() == strides.size(), ShapeError, "sizes {} and strides {} differ in length", to_string(sizes),
               to_string(strides));
  for (int64_t s : strides) {
    TANDEM_CHECK(s >= 0, ShapeError, "strides {} have a negative entry; all must be at least 0", to_string(strides));
  }
}

Tensor wrap(std::shared_ptr<Storage> storage, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = std::move(storage);
  impl->sizes = sizes;
  impl->strides = strides;
  impl->dtype = options.dtype();
  impl->requires_grad = options.requires_grad();
  impl->is_inference = thread_state().inference_mode;
  impl->refresh();
  return Tensor(std::move(impl));
}

void check_grad(const TensorOptions& options) {
  TANDEM_CHECK(!options.requires_grad() || is_differentiable(options.dtype()), DTypeError,
               "requires_grad needs a floating dtype, got {}; omit it, or use f16, bf16, f32 or f64",
               name(options.dtype()));
}

std::shared_ptr<Storage> pinned_storage(size_t bytes, Device device) {
  TANDEM_CHECK(device.is_cpu(), DeviceError, "pinned_memory was requested on {}; only host memory can be page-locked",
               device.str());
  accelerator().check_available();
  std::shared_ptr<void> block = accelerator().allocate_pinned(bytes);
  void* data = block.get();
  return std::make_shared<Storage>(data, bytes, device, [block = std::move(block)](void*) {});
}

Tensor allocated(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  check_grad(options);
  const size_t bytes = bytes_of(sizes, strides, options.dtype());
  auto storage = options.pinned_memory() ? pinned_storage(bytes, options.device())
                                         : std::make_shared<Storage>(bytes, options.device());
  return wrap(std::move(storage), sizes, strides, options);
}

// Whether every element has its own address and there are no gaps.
bool is_dense(const TensorImpl& x) {
  if (x.contiguous) return true;
  const Dims dense = dense_strides(x.sizes, x.strides);
  for (size_t d = 0; d < x.sizes.size(); ++d) {
    if (x.sizes[d] != 1 && x.strides[d] != dense[d]) return false;
  }
  return true;
}

}  // namespace

Dims dense_strides(IntArrayRef sizes, IntArrayRef strides) {
  const OpScope op("dense_strides");
  TANDEM_CHECK(sizes.size() == strides.size(), ShapeError, "sizes {} and strides {} differ in length", to_string(sizes),
               to_string(strides));
  // Insertion sort of the dimensions, fastest first. A stride of 0 does not determine an order: it keeps its place.
  const size_t rank = sizes.size();
  Dims order;
  for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  const auto at = [&](size_t i) { return static_cast<size_t>(order[i]); };
  for (size_t i = 1; i < rank; ++i) {
    for (size_t moving = i, j = i; j-- > 0;) {
      const int64_t sj = strides[at(j)], sm = strides[at(moving)];
      if (sj == 0 || sm == 0) continue;
      if (sj < sm) break;
      if (sj > sm || sizes[at(j)] > sizes[at(moving)]) {
        std::swap(order[j], order[moving]);
        moving = j;
      }
    }
  }
  Dims ordered(rank, 1), out(rank, 1);
  for (size_t i = 0; i < rank; ++i) ordered[rank - 1 - i] = sizes[at(i)];
  const Dims packed = contiguous_strides(ordered);
  for (size_t i = 0; i < rank; ++i) out[at(i)] = packed[rank - 1 - i];
  return out;
}

Tensor empty(IntArrayRef sizes, const TensorOptions& options) {
  const OpScope op("empty");
  check_sizes(sizes, options.dtype());
  const bool channels_last = options.memory_format_opt() == MemoryFormat::ChannelsLast;
  return allocated(sizes, channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes), options);
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  const OpScope op("empty_strided");
  check_sizes(sizes, options.dtype());
  check_strides(sizes, strides);
  return allocated(sizes, strides, options);
}

Tensor empty_like(const Tensor& x, const TensorOptions& options) {
  const OpScope op("empty_like");
  TensorOptions o = options;
  if (!o.has_dtype()) o = o.dtype(x.dtype());
  if (!o.has_device()) o = o.device(x.device());
  const MemoryFormat format = o.memory_format_opt().value_or(MemoryFormat::Preserve);
  if (format != MemoryFormat::Preserve) return empty(x.sizes(), o);
  const TensorImpl& from = x.impl();
  if (is_dense(from)) return allocated(from.sizes, from.strides, o);
  return allocated(from.sizes, dense_strides(from.sizes, from.strides), o);
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  const OpScope op("from_blob");
  check_sizes(sizes, options.dtype());
  check_strides(sizes, strides);
  check_grad(options);
  const size_t bytes = bytes_of(sizes, strides, options.dtype());
  TANDEM_CHECK(data != nullptr || bytes == 0, StateError, "null pointer for sizes {}; pass the data", to_string(sizes));
  auto storage = std::make_shared<Storage>(data, bytes, options.has_device() ? options.device() : Device(kCPU),
                                           std::move(deleter));
  storage->set_pointer_escaped();  // the caller can write at any time
  return wrap(std::move(storage), sizes, strides, options);
}

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, std::function<void(void*)>(), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options) {
  const OpScope op("from_blob");
  check_sizes(sizes, options.dtype());  // before multiplying the sizes
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return from_blob(data, sizes, strides, {}, options);
}

}  // namespace tandem
