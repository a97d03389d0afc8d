#pragma once
// Tensor: a handle of a strided view of a Storage, with the methods of libtorch's at::Tensor. Copies share the data.
#include <atomic>
#include <concepts>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/scalar.h"
#include "tandem/base/shape.h"
#include "tandem/tensor/accessor.h"
#include "tandem/tensor/generator.h"
#include "tandem/tensor/options.h"
#include "tandem/tensor/storage.h"

#pragma GCC visibility push(default)
namespace tandem {

class Stream;
class Tensor;
/// A list of tensors, as an argument.
using TensorList = ArrayRef<Tensor>;

namespace autograd {
struct Node;
struct LossScale;
/// Called with a gradient; a defined result replaces it.
using TensorHook = std::function<Tensor(const Tensor&)>;
}  // namespace autograd
namespace indexing {
struct TensorIndex;
}

/// Base of the autograd data of a tensor (autograd/meta.h).
struct AutogradMetaBase {
  virtual ~AutogradMetaBase() = default;
};

struct TensorImpl;
struct WeightFloat8;

/// Changes whenever a tensor's values may have changed. `version`, of the storage, counts in-place changes;
/// `generation`, of the tensor, counts calls of set_data() and data().
struct DataVersion {
  uint64_t version = 0, generation = 0;
  friend bool operator==(const DataVersion&, const DataVersion&) = default;
};

/// The low-precision copy of a weight, valid as long as the weight's data version is `version`. Created when an
/// optimizer first asks for a copy.
struct ShadowCopy {
  std::shared_ptr<TensorImpl> copy;  ///< null until an autocast region has cast the weight
  DataVersion version;
  bool lasting = false;   ///< written by an optimizer step: outlives the autocast region
  bool in_graph = false;  ///< a CUDA graph reads or writes its memory, so it must not be replaced
};

/// Of a gradient: its scale when this was noted, and what tells whether it has been written since. See
/// autograd/loss_scale.h.
struct LossScaleNote {
  std::shared_ptr<const autograd::LossScale> scale;
  DataVersion version;
  uint32_t other_writes = 0;     ///< Storage::other_writes()
  bool partly_assigned = false;  ///< a part of the sum was assigned by the program
  bool is_written = false;       ///< the program had written it before
};

/// The fields of a tensor. Internal: programs use Tensor.
struct TensorImpl {
  std::shared_ptr<Storage> storage;
  int64_t offset = 0;  ///< of the first element, in elements
  Dims sizes;
  Dims strides;  ///< in elements
  int64_t numel = 0;
  DType dtype = kFloat;
  bool contiguous = true;               ///< row-major without gaps
  bool requires_grad = false;           ///< leaf flag, or set with a history
  bool has_history = false;             ///< made by a recorded op
  bool is_parameter = false;            ///< registered with a module: its casts are cached even if it is frozen
  bool is_inference = false;            ///< made under InferenceMode
  bool is_view = false;                 ///< shares the storage of a base, from which it may inherit history
  std::atomic<uint64_t> generation{0};  ///< counts set_data() and data()
  std::unique_ptr<AutogradMetaBase> autograd;
  LossScaleNote loss_scale;
  std::unique_ptr<ShadowCopy> shadow;
  std::shared_ptr<WeightFloat8> float8;  ///< see tensor/weight_float8.h; null unless training in float8 needs it

  DataVersion data_version() const { return {storage->version(), generation}; }
  /// Recomputes numel and contiguous after a change of sizes or strides.
  void refresh();
};

/// An n-dimensional array. A default-constructed Tensor is undefined and means 'no tensor'.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// No value is an undefined tensor, for arguments that may be absent.
  Tensor(std::nullopt_t) {}
  template <std::same_as<std::optional<Tensor>> Optional>
  Tensor(const Optional& x) : impl_(x ? x->impl_ : nullptr) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  ~Tensor() = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  /// Assigning to a temporary writes through it, as in libtorch: `x[0] = y` and `x.index({...}) = y` change x.
  const Tensor& operator=(const Tensor& source) && { return copy_(source); }
  const Tensor& operator=(Tensor&& source) && { return copy_(source); }
  const Tensor& operator=(Scalar value) && { return fill_(value); }

  // ---- identity and geometry
  /// False for a default-constructed tensor. The functions of its geometry and requires_grad() then answer as for an
  /// empty tensor of rank 1, dtype Undefined and no device, as in libtorch. The other functions throw StateError, and
  /// so do all ops but cat, which skips it.
  bool defined() const { return impl_ != nullptr; }
  /// Whether both are handles of one tensor.
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  /// The number of dimensions, or rank.
  int64_t dim() const { return static_cast<int64_t>(known("dim").sizes.size()); }
  int64_t ndimension() const { return static_cast<int64_t>(known("ndimension").sizes.size()); }
  /// The number of entries of each dimension, and the distances between them in elements.
  IntArrayRef sizes() const { return known("sizes").sizes; }
  IntArrayRef strides() const { return checked("strides").strides; }
  /// Size or stride of dimension `d`; negative numbers count from the end. Throws IndexError if there is none.
  int64_t size(int64_t d) const;
  int64_t stride(int64_t d) const;
  /// The number of elements.
  int64_t numel() const { return known("numel").numel; }
  /// The position of the first element in the storage, in elements.
  int64_t storage_offset() const { return known("storage_offset").offset; }
  /// The size of an element in bytes.
  size_t element_size() const { return tandem::element_size(checked("element_size").dtype); }
  size_t itemsize() const { return tandem::element_size(checked("itemsize").dtype); }
  /// Returns numel() element_size(); an expanded tensor needs less memory. Throws ShapeError on overflow.
  size_t nbytes() const;
  /// The dtype of the elements.
  DType dtype() const { return known("dtype").dtype; }
  DType scalar_type() const { return known("scalar_type").dtype; }
  /// Where the elements are.
  Device device() const { return checked("device").storage->device(); }
  bool is_cpu() const { return is_on(known("is_cpu"), kCPU); }
  bool is_cuda() const { return is_on(known("is_cuda"), kCUDA); }
  /// Options that make a tensor of this dtype on this device.
  TensorOptions options() const { return TensorOptions(checked("options").dtype).device(device()); }
  bool is_floating_point() const { return tandem::is_floating_point(known("is_floating_point").dtype); }
  bool is_signed() const { return dtype() != kByte && dtype() != kBool; }
  /// Whether the elements are in row-major order, or in that of ChannelsLast, without gaps.
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  /// Whether the elements fill a block of memory, each once, in any order of the dimensions.
  bool is_non_overlapping_and_dense() const;
  /// ChannelsLast if the tensor is in that format, and not contiguous as well, else Contiguous.
  MemoryFormat suggest_memory_format() const;
  /// Always kStrided.
  Layout layout() const { return known("layout"), kStrided; }
  /// Whether this tensor shares the storage of a base, from which it takes its history.
  bool is_view() const { return checked("is_view").is_view; }
  /// Whether both tensors use the same storage.
  bool is_alias_of(const Tensor& other) const {
    return checked("is_alias_of").storage == other.checked("is_alias_of").storage;
  }
  /// The number of handles of this tensor; 0 if it is undefined.
  size_t use_count() const { return static_cast<size_t>(impl_.use_count()); }
  /// The device and the dtype, as libtorch names and prints them: "CPUFloatType", and "UndefinedType".
  std::string toString() const;
  /// The same as a value that converts to TensorOptions.
  DeprecatedTypeProperties type() const { return {options(), toString()}; }
  /// Writes toString() and the sizes to std::cerr: "[CPUFloatType [2, 3]]".
  void print() const;
  /// Whether both tensors are the same elements of one storage.
  bool is_set_to(const Tensor& other) const;
  /// The index of the CUDA device, or -1 for the CPU.
  int64_t get_device() const;
  /// The memory, which views share.
  const Storage& storage() const { return *checked("storage").storage; }
  /// Increases with each in-place change of the storage, through any view.
  uint64_t _version() const { return defined() ? impl_->storage->version() : (known("_version"), 0); }

  // ---- data
  /// Returns a pointer to the first element, for writing. Raises the version, and stops autocast from keeping casts of
  /// this tensor beyond a region, since later writes through the pointer are not tracked. Throws DTypeError if T is not
  /// the dtype. For a CUDA tensor it is a device pointer.
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(mutable_pointer(dtype_of<T>));
  }
  void* data_ptr() const { return mutable_pointer(std::nullopt); }
  /// libtorch's other name for data_ptr().
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  /// Returns a pointer to the first element, for reading.
  template <class T>
  const T* const_data_ptr() const {
    return static_cast<const T*>(const_pointer(dtype_of<T>));
  }
  const void* const_data_ptr() const { return const_pointer(std::nullopt); }
  /// Returns the value of a tensor with one element, converted to T. Waits for the device. Throws ShapeError for other
  /// sizes, StateError for a value outside T's range (Scalar::fits).
  template <class T>
  T item() const {
    const Scalar value = item();
    if (!value.fits<T>()) [[unlikely]] {
      constexpr bool is_integer = std::is_integral_v<T>, is_bfloat16 = std::is_same_v<T, BFloat16>;
      throw_out_of_range(value, is_integer ? (std::is_signed_v<T> ? "i" : "u") : is_bfloat16 ? "bf" : "f", sizeof(T));
    }
    return value.to<T>();
  }
  Scalar item() const;
  /// Returns indexed access to a CPU tensor's elements: `x.accessor<float, 2>()[i][j]`. `accessor<const float, 2>` is
  /// for reading only.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const {
    using Element = std::remove_const_t<T>;
    check_accessor(dtype_of<Element>, N);
    T* p;
    if constexpr (std::is_const_v<T>) {
      p = const_data_ptr<Element>();
    } else {
      p = data_ptr<Element>();
    }
    return TensorAccessor<T, N>(p, impl_->sizes.begin(), impl_->strides.begin());
  }
  /// Returns an accessor that holds the sizes and strides, as 32- or 64-bit numbers, and so can be passed to a kernel
  /// of the tensor's device. Throws ShapeError if the elements cannot be counted in 32 bits.
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class Index = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, Index> packed_accessor() const {
    check_packed_accessor(dtype_of<T>, N, sizeof(Index) == 4);
    return {data_ptr<T>(), impl_->sizes.begin(), impl_->strides.begin()};
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    return packed_accessor<T, N, PtrTraits, int32_t>();
  }
  template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    return packed_accessor<T, N, PtrTraits>();
  }
  /// Whether the value of a tensor with one element differs from 0. Waits for the device. Throws ShapeError for other
  /// sizes.
  bool is_nonzero() const { return item().to<bool>(); }

  // ---- conversion and copies
  /// Converts to a dtype, moves to a device, or both. Returns this tensor if nothing changes and `copy` is false.
  Tensor to(DType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false, bool copy = false) const;
  /// Properties that the options do not set stay the same. A memory format converts too: `x.to(kChannelsLast)`.
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  /// The same with a memory format; no format keeps the strides.
  Tensor to(const TensorOptions& options, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const;
  Tensor to(Device device, DType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
    return to(TensorOptions(device).dtype(dtype), non_blocking, copy, format);
  }
  Tensor to(DType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
    return to(TensorOptions(dtype), non_blocking, copy, format);
  }
  Tensor to(DeviceType device, bool non_blocking = false) const { return to(Device(device), non_blocking); }
  /// Converts to the dtype and the device of `other`.
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
    return to(other.options(), non_blocking, copy, format);
  }
  Tensor type_as(const Tensor& other) const;
  /// The same as to() with this device or dtype.
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor half() const { return to(kHalf); }
  Tensor bfloat16() const { return to(kBFloat16); }
  Tensor toType(DType t) const { return to(t); }
  /// Returns true if the data are in page-locked host memory allocated by tandem.
  bool is_pinned(std::optional<Device> device = {}) const;
  /// Returns a copy in page-locked host memory, without history; this tensor itself if it is already there. Copies from
  /// such memory to a CUDA device run asynchronously to the host if non_blocking. Throws DeviceError for a CUDA tensor,
  /// and if there is no CUDA device.
  Tensor pin_memory(std::optional<Device> device = {}) const;
  /// Records that `stream` also uses this tensor: its memory, once freed, is reused only when that work is done. Needed
  /// if a tensor made on one stream is used on another. Throws DeviceError for a CPU tensor.
  void record_stream(const Stream& stream) const;
  /// Returns this tensor if it has the format, else a copy that has it.
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  /// Returns a copy with its own memory. Preserve keeps the strides of a dense tensor; ChannelsLast needs rank 4.
  Tensor clone(MemoryFormat format = MemoryFormat::Preserve) const;
  /// New tensors with the dtype and the device of this one, unless the options give others (tensor/factories.h).
  Tensor new_empty(IntArrayRef sizes, const TensorOptions& options = {}) const;
  Tensor new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) const;
  Tensor new_zeros(IntArrayRef sizes, const TensorOptions& options = {}) const;
  Tensor new_ones(IntArrayRef sizes, const TensorOptions& options = {}) const;
  Tensor new_full(IntArrayRef sizes, Scalar value, const TensorOptions& options = {}) const;
  /// Overwrites this tensor with `source`, which is broadcast and converted. Returns *this.
  const Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  /// Sets all elements to a number, to the value of a tensor of rank 0, or to 0.
  const Tensor& fill_(Scalar value) const;
  const Tensor& fill_(const Tensor& value) const;
  const Tensor& zero_() const;

  // ---- random, in place: drawn from `generator` if given, else from default_generator() (tensor/random.h)
  /// Uniform in [from, to).
  const Tensor& uniform_(double from = 0, double to = 1, std::optional<Generator> generator = {}) const;
  /// Normal with this mean and standard deviation.
  const Tensor& normal_(double mean = 0, double std = 1, std::optional<Generator> generator = {}) const;
  /// 1 with probability p, else 0.
  const Tensor& bernoulli_(double p = 0.5, std::optional<Generator> generator = {}) const;
  /// 1 with probability p, which is floating, broadcast to this tensor, and in [0, 1].
  const Tensor& bernoulli_(const Tensor& p, std::optional<Generator> generator = {}) const;
  /// Integers in [low, high).
  const Tensor& random_(int64_t low, int64_t high, std::optional<Generator> generator = {}) const;
  /// Integers in [0, high).
  const Tensor& random_(int64_t high, std::optional<Generator> generator = {}) const;
  /// Integers from 0 to the dtype's largest (i64: one less), or to 2^digits for a floating dtype.
  const Tensor& random_(std::optional<Generator> generator = {}) const;
  /// Density lambda e^(-lambda x).
  const Tensor& exponential_(double lambda = 1, std::optional<Generator> generator = {}) const;
  /// The number of trials up to the first success, each with probability p; 0 < p < 1.
  const Tensor& geometric_(double p, std::optional<Generator> generator = {}) const;
  /// The Cauchy distribution.
  const Tensor& cauchy_(double median = 0, double sigma = 1, std::optional<Generator> generator = {}) const;
  /// e^z for normal z with this mean and standard deviation.
  const Tensor& log_normal_(double mean = 1, double std = 2, std::optional<Generator> generator = {}) const;

  // ---- autograd
  /// Whether gradients are computed for this tensor.
  bool requires_grad() const {
    const TensorImpl& t = known("requires_grad");
    return t.requires_grad || (t.is_view && base_requires_grad());
  }
  /// Sets whether gradients are computed. Throws DTypeError to set it for a dtype other than f16, bf16, f32 and f64,
  /// and AutogradError to clear it for the result of an op.
  const Tensor& requires_grad_(bool requires_grad = true) const;
  const Tensor& set_requires_grad(bool requires_grad) const {
    return requires_grad || defined() ? requires_grad_(requires_grad) : (known("set_requires_grad"), *this);
  }
  /// Whether the tensor has no history.
  bool is_leaf() const;
  /// The accumulated gradient; undefined before backward.
  const Tensor& grad() const;
  /// The same, to be assigned to.
  Tensor& mutable_grad() const;
  /// The node that made this tensor; null for leaves.
  std::shared_ptr<autograd::Node> grad_fn() const;
  /// Runs backward from this tensor. `gradient` may be omitted for a tensor with one element. Throws AutogradError.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false) const;
  /// Registers `hook`, which is called with the gradient when it is computed. A defined return value replaces the
  /// gradient. Returns a handle for remove_hook().
  unsigned register_hook(autograd::TensorHook hook) const;
  /// Registers a hook that returns nothing, and so does not replace the gradient.
  template <class F>
  requires std::is_void_v<std::invoke_result_t<F&, const Tensor&>>
  unsigned register_hook(F hook) const {
    return register_hook(autograd::TensorHook([hook = std::move(hook)](const Tensor& g) mutable {
      hook(g);
      return Tensor();
    }));
  }
  /// Removes the hook with this handle, if there is one.
  void remove_hook(unsigned handle) const;
  /// Makes backward keep `.grad` of a tensor that is not a leaf.
  void retain_grad() const;
  /// Whether retain_grad() was called for this tensor, which is not a leaf.
  bool retains_grad() const;
  /// Returns the same data without history. Shares storage and version.
  Tensor detach() const;
  /// Returns the same memory without history, as libtorch's `.data()`: a leaf that requires no grad and has its own
  /// version counter. The check of saved tensors does not see writes through it, so a later backward can use wrong
  /// values. Prefer detach(), or a NoGradGuard. After the call, autocast casts this tensor again, and no longer keeps
  /// casts of it beyond a region.
  Tensor data() const;
  /// data_ptr<T>(), under the name that libtorch has for old programs.
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  /// Drops the history of this tensor in place. Throws AutogradError for a view of a tensor that still exists.
  const Tensor& detach_() const;
  /// Replaces the data of this tensor but keeps its identity: `parameter.set_data(other)`.
  void set_data(const Tensor& other) const;
  /// Makes this variable undefined, as assigning `Tensor()`.
  void reset() { impl_.reset(); }
  /// Changes the sizes in place, as a contiguous tensor or with the strides of ChannelsLast. The elements keep their
  /// order in memory; new ones are uninitialised. Memory is allocated if the storage is too small; other tensors keep
  /// the old one. Throws AutogradError if the tensor requires grad.
  const Tensor& resize_(IntArrayRef sizes, std::optional<MemoryFormat> format = {}) const;
  /// resize_() to the sizes of `other`.
  const Tensor& resize_as_(const Tensor& other, std::optional<MemoryFormat> format = {}) const {
    return resize_(other.sizes(), format);
  }
  /// Makes this tensor the same elements of the same storage as `source`. Throws AutogradError if the tensor requires
  /// grad.
  const Tensor& set_(const Tensor& source) const;
  /// Makes this tensor one of sizes [0] with memory of its own.
  const Tensor& set_() const;

  // ---- left out (left_out.h has functions)
  TANDEM_UNAVAILABLE("tandem has no sparse tensors: use index_add, scatter_add or gather on dense ones")
  Tensor to_sparse() const;
  TANDEM_UNAVAILABLE("tandem has no matrix decompositions: use LAPACK, Eigen or cuSOLVER on data_ptr<float>()")
  Tensor inverse() const;

  // ---- indexing (tensor/indexing.h)
  /// x.index({...}) selects as Python's x[...]; index_put_ writes to that selection, or adds if `accumulate`.
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
  template <std::same_as<indexing::TensorIndex> Index>
  Tensor index(ArrayRef<Index> indices) const {
    return index(std::vector<Index>(indices.begin(), indices.end()));
  }
  Tensor index(const std::vector<std::optional<Tensor>>& indices) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value,
                           bool accumulate = false) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar value,
                           bool accumulate = false) const;
  const Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, const Tensor& value,
                           bool accumulate = false) const;
  const Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, Scalar value,
                           bool accumulate = false) const;
  const Tensor& index_put_(const std::vector<std::optional<Tensor>>& indices, const Tensor& value,
                           bool accumulate = false) const;
  /// x[i]: the slice at `i` of dimension 0. An index on a GPU, an integer tensor of rank 0, is waited for.
  Tensor operator[](int64_t i) const;
  Tensor operator[](const Tensor& i) const;

#include "tandem/tensor/methods.inc"

  /// The fields. Throws StateError for an undefined tensor.
  TensorImpl& impl() const { return checked(); }
  const std::shared_ptr<TensorImpl>& impl_ptr() const { return impl_; }
  /// The key of this tensor in an optimizer's state; null if it is undefined.
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  /// Kernel access: pointer to the first element, without a dtype check or version change.
  template <class T>
  T* raw() const {
    return static_cast<T*>(impl_->storage->data()) + impl_->offset;
  }
  /// Kernel access: untyped pointer to the first element.
  void* raw_bytes() const {
    return static_cast<char*>(impl_->storage->data()) + impl_->offset * static_cast<int64_t>(element_size());
  }

 private:
  /// Returns the implementation. If there is none, throws StateError, which names the running op or else `method`.
  TensorImpl& checked(const char* method = "Tensor") const {
    if (!impl_) [[unlikely]]
      throw_undefined(method);
    return *impl_;
  }
  /// The same for what an undefined tensor has outside of ops: see defined().
  const TensorImpl& known(const char* method) const {
    if (!impl_) [[unlikely]]
      return undefined_impl(method);
    return *impl_;
  }
  static bool is_on(const TensorImpl& t, DeviceType type) { return t.storage && t.storage->device().type() == type; }
  static const TensorImpl& undefined_impl(const char* method);
  [[noreturn]] static void throw_out_of_range(const Scalar& value, const char* kind, size_t bytes);
  [[noreturn]] static void throw_undefined(const char* method);
  void* mutable_pointer(std::optional<DType> expected) const;
  const void* const_pointer(std::optional<DType> expected) const;
  void check_accessor(DType expected, size_t rank) const;
  void check_packed_accessor(DType expected, size_t rank, bool is_32_bit) const;
  void check_no_grad(const char* method) const;
  bool base_requires_grad() const;

  std::shared_ptr<TensorImpl> impl_;
};

/// Returns a view of `base`'s storage with the given geometry, without autograd. Ops use it to build views.
Tensor make_view(const Tensor& base, const Dims& sizes, const Dims& strides, int64_t offset);

}  // namespace tandem
#pragma GCC visibility pop
