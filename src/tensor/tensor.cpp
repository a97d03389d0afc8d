// Tensor: geometry, pointers and views.
#include "tandem/tensor/tensor.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"

namespace tandem {
namespace {

// Whether the dimensions, in the given order from fastest to slowest, leave no gaps.
template <class Order>
bool dense_in_order(const Dims& sizes, const Dims& strides, const Order& order) {
  int64_t expected = 1;
  for (size_t d : order) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

/// Returns the size or stride of dimension d, which may be negative. `method` names the caller in errors.
int64_t entry_of_dim(const Dims& entries, int64_t d, const char* method) {
  const int64_t rank = static_cast<int64_t>(entries.size()), i = d < 0 ? d + rank : d;
  if (i >= 0 && i < rank) [[likely]]
    return entries[static_cast<size_t>(i)];
  const OpScope op(method);
  TANDEM_CHECK(rank > 0, IndexError, "a tensor of rank 0 has no dimension {}", d);
  return wrap_dim(d, rank);  // throws
}

void check_dtype(const char* method, DType actual, std::optional<DType> expected) {
  if (!expected || *expected == actual) [[likely]]
    return;
  const OpScope op(method);
  TANDEM_THROW(DTypeError, "the tensor is {}, not {}; request {} or convert with .to()", name(actual), name(*expected),
               name(actual));
}

}  // namespace

void TensorImpl::refresh() {
  numel = numel_of(sizes);
  contiguous = true;
  if (numel == 0) return;
  int64_t expected = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) {
      contiguous = false;
      return;
    }
    expected *= sizes[d];
  }
}

int64_t Tensor::size(int64_t d) const { return entry_of_dim(known("size").sizes, d, "size"); }
int64_t Tensor::stride(int64_t d) const { return entry_of_dim(checked("stride").strides, d, "stride"); }

bool Tensor::is_contiguous(MemoryFormat format) const {
  const TensorImpl& t = known("is_contiguous");
  if (format != MemoryFormat::ChannelsLast) return t.contiguous;
  return t.sizes.size() == 4 && dense_in_order(t.sizes, t.strides, std::initializer_list<size_t>{1, 3, 2, 0});
}

bool Tensor::is_non_overlapping_and_dense() const {
  const TensorImpl& t = known("is_non_overlapping_and_dense");
  std::vector<size_t> order(t.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return t.strides[a] < t.strides[b]; });
  return t.numel == 0 || dense_in_order(t.sizes, t.strides, order);
}

MemoryFormat Tensor::suggest_memory_format() const {
  return !is_contiguous() && is_contiguous(kChannelsLast) ? kChannelsLast : MemoryFormat::Contiguous;
}

bool Tensor::is_set_to(const Tensor& other) const {
  const TensorImpl &a = checked("is_set_to"), &b = other.checked("is_set_to");
  return a.storage == b.storage && a.offset == b.offset && a.sizes == b.sizes && a.strides == b.strides;
}

int64_t Tensor::get_device() const { return is_cuda() ? device().index() : -1; }

size_t Tensor::nbytes() const {
  const OpScope op("nbytes");
  const TensorImpl& t = checked("nbytes");
  const Checked bytes = Checked(t.numel) * static_cast<int64_t>(tandem::element_size(t.dtype));
  TANDEM_CHECK(bytes.fits(), ShapeError, "{} elements of {} {} have more bytes than int64 can count", t.numel,
               to_string(t.sizes), name(t.dtype));
  return static_cast<size_t>(*bytes.value());
}

void Tensor::throw_out_of_range(const Scalar& value, const char* kind, size_t bytes) {
  const OpScope op("item");
  TANDEM_THROW(StateError, "{} is outside the range of {}{}; request a wider type", value.str(), kind, 8 * bytes);
}

void Tensor::throw_undefined(const char* method) {
  const OpScope op(method);
  TANDEM_THROW(StateError, "undefined tensor (default-constructed or moved from); give it a value first");
}

const TensorImpl& Tensor::undefined_impl(const char* method) {
  if (!detail::RunningOp::of_thread().runs_user_code) throw_undefined(method);
  static const TensorImpl& none = *[] {
    auto* impl = new TensorImpl;
    impl->sizes = {0};
    impl->strides = {1};
    impl->dtype = DType::Undefined;
    return impl;
  }();
  return none;
}

void* Tensor::mutable_pointer(std::optional<DType> expected) const {
  TensorImpl& t = checked("data_ptr");
  check_dtype("data_ptr", t.dtype, expected);
  t.storage->bump_version();
  t.storage->set_pointer_escaped();
  return raw_bytes();
}

const void* Tensor::const_pointer(std::optional<DType> expected) const {
  check_dtype("const_data_ptr", checked("const_data_ptr").dtype, expected);
  impl_->storage->set_pointer_escaped(Storage::Pointer::reads);
  return raw_bytes();
}

Tensor Tensor::data() const {
  TensorImpl& t = checked("data");
  // Writes through the result do not raise this tensor's version: treated like an escaped pointer.
  t.storage->set_pointer_escaped();
  ++t.generation;
  Tensor x = make_view(*this, t.sizes, t.strides, t.offset);
  std::shared_ptr<Storage>& storage = x.impl().storage;
  storage = std::make_shared<Storage>(t.storage->data(), t.storage->nbytes(), t.storage->device(),
                                      [owner = t.storage](void*) {});
  storage->set_pointer_escaped();
  return x;
}

void Tensor::check_accessor(DType expected, size_t rank) const {
  const OpScope op("accessor");
  const TensorImpl& t = checked("accessor");
  check_dtype(op.name(), t.dtype, expected);
  TANDEM_CHECK(t.sizes.size() == rank, ShapeError, "requested rank {}, but the tensor has rank {} {}", rank,
               t.sizes.size(), to_string(t.sizes));
  TANDEM_CHECK(t.storage->device().is_cpu(), DeviceError,
               "the tensor is on {}, but accessors read CPU memory; call .cpu() first", t.storage->device().str());
}

void Tensor::check_packed_accessor(DType expected, size_t rank, bool is_32_bit) const {
  const OpScope op("packed_accessor");
  const TensorImpl& t = checked("packed_accessor");
  check_dtype(op.name(), t.dtype, expected);
  TANDEM_CHECK(t.sizes.size() == rank, ShapeError, "requested rank {}, but the tensor has rank {} {}", rank,
               t.sizes.size(), to_string(t.sizes));
  TANDEM_CHECK(!is_32_bit || t.numel <= std::numeric_limits<int32_t>::max(), ShapeError,
               "{} elements of {} cannot be counted in 32 bits; use packed_accessor64", t.numel, to_string(t.sizes));
}

Scalar Tensor::item() const {
  const OpScope op("item");
  const TensorImpl& t = checked();
  TANDEM_CHECK(t.numel == 1, ShapeError, "needs a tensor of one element, got {} {}; index or reduce it first",
               to_string(t.sizes), name(t.dtype));
  if (t.storage->device().is_cpu()) {
    return visit_dtype(t.dtype, [&](auto zero) { return Scalar(*raw<decltype(zero)>()); });
  }
  auto host = std::make_shared<TensorImpl>();
  host->storage = std::make_shared<Storage>(element_size(), Device(kCPU));
  host->sizes = t.sizes;
  host->strides = contiguous_strides(t.sizes);
  host->dtype = t.dtype;
  host->refresh();
  const Tensor copy(std::move(host));
  tandem::backend(*this).copy(copy, *this);
  return copy.item();
}

Tensor make_view(const Tensor& base, const Dims& sizes, const Dims& strides, int64_t offset) {
  const TensorImpl& from = base.impl();
  auto view = std::make_shared<TensorImpl>();
  view->storage = from.storage;
  view->offset = offset;
  view->sizes = sizes;
  view->strides = strides;
  view->dtype = from.dtype;
  view->is_inference = from.is_inference;
  view->refresh();
  return Tensor(std::move(view));
}

}  // namespace tandem
