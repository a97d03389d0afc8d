#pragma once
// TensorAccessor: unchecked indexed access to a CPU tensor's elements, as in libtorch.
#include <cstddef>
#include <cstdint>

#include "tandem/base/macros.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The type of an accessor's pointer: T*.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
/// A restrict-qualified T*: nothing else refers to its elements.
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

/// A view of N dimensions of a tensor: `a[i]` is an accessor of N - 1 dimensions, or an element. Valid as long as the
/// tensor exists.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  TANDEM_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  /// The size of dimension d, and its stride in elements.
  TANDEM_HOST_DEVICE Index size(size_t d) const { return sizes_[d]; }
  TANDEM_HOST_DEVICE Index stride(size_t d) const { return strides_[d]; }
  TANDEM_HOST_DEVICE PtrType data() const { return data_; }
  TANDEM_HOST_DEVICE TensorAccessor<T, N - 1, PtrTraits, Index> operator[](Index i) const {
    return TensorAccessor<T, N - 1, PtrTraits, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

template <class T, template <class> class PtrTraits, class Index>
class TensorAccessor<T, 1, PtrTraits, Index> {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  TANDEM_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  TANDEM_HOST_DEVICE Index size(size_t d) const { return sizes_[d]; }
  TANDEM_HOST_DEVICE Index stride(size_t d) const { return strides_[d]; }
  TANDEM_HOST_DEVICE PtrType data() const { return data_; }
  TANDEM_HOST_DEVICE T& operator[](Index i) const { return data_[i * strides_[0]]; }

 private:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

/// A TensorAccessor that holds its sizes and strides, as Index.
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename PtrTraits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }
  /// The size of dimension d, and its stride in elements.
  TANDEM_HOST_DEVICE Index size(size_t d) const { return sizes_[d]; }
  TANDEM_HOST_DEVICE Index stride(size_t d) const { return strides_[d]; }
  TANDEM_HOST_DEVICE PtrType data() const { return data_; }
  TANDEM_HOST_DEVICE decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, PtrTraits, Index>(data_, sizes_, strides_)[i];
  }

 private:
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;

}  // namespace tandem
#pragma GCC visibility pop
