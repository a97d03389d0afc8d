#pragma once
// A descriptor of cuDNN's backend API.
#include <utility>

#include "kernels/cuda/dnn_driver.h"

namespace tandem::cuda {

/// A call that cuDNN refused while a plan was created. Caught during planning, where the next candidate is tried.
struct DnnRefusal {
  const char* call;
  cudnnStatus_t status;
};

inline void require(const char* call, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw DnnRefusal{call, status};
}

/// The attribute type of a C++ type.
template <class T>
struct AttributeType;
#define TANDEM_ATTRIBUTE(CPP, TYPE)                            \
  template <>                                                  \
  struct AttributeType<CPP> {                                  \
    static constexpr cudnnBackendAttributeType_t value = TYPE; \
  };
TANDEM_ATTRIBUTE(void*, CUDNN_TYPE_VOID_PTR)
TANDEM_ATTRIBUTE(int64_t, CUDNN_TYPE_INT64)
TANDEM_ATTRIBUTE(float, CUDNN_TYPE_FLOAT)
TANDEM_ATTRIBUTE(double, CUDNN_TYPE_DOUBLE)
TANDEM_ATTRIBUTE(bool, CUDNN_TYPE_BOOLEAN)
TANDEM_ATTRIBUTE(cudnnHandle_t, CUDNN_TYPE_HANDLE)
TANDEM_ATTRIBUTE(cudnnDataType_t, CUDNN_TYPE_DATA_TYPE)
TANDEM_ATTRIBUTE(cudnnConvolutionMode_t, CUDNN_TYPE_CONVOLUTION_MODE)
TANDEM_ATTRIBUTE(cudnnPointwiseMode_t, CUDNN_TYPE_POINTWISE_MODE)
TANDEM_ATTRIBUTE(cudnnBackendHeurMode_t, CUDNN_TYPE_HEUR_MODE)
#undef TANDEM_ATTRIBUTE

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    require("cudnnBackendCreateDescriptor", dnn_driver().cudnnBackendCreateDescriptor(type, &raw_));
  }
  ~Descriptor() {
    if (raw_) dnn_driver().cudnnBackendDestroyDescriptor(raw_);
  }
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  cudnnBackendDescriptor_t raw() const { return raw_; }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T* values, int64_t count) {
    require("cudnnBackendSetAttribute",
            dnn_driver().cudnnBackendSetAttribute(raw_, name, AttributeType<T>::value, count, values));
    return *this;
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, T value) {
    return set(name, &value, 1);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    require("cudnnBackendSetAttribute",
            dnn_driver().cudnnBackendSetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_));
    return *this;
  }
  Descriptor& set_list(cudnnBackendAttributeName_t name, const cudnnBackendDescriptor_t* values, int64_t count) {
    require("cudnnBackendSetAttribute",
            dnn_driver().cudnnBackendSetAttribute(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, values));
    return *this;
  }
  /// Returns the number of values, and stores the first `count` of them in `values`.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, void* values) const {
    int64_t found = 0;
    require("cudnnBackendGetAttribute", dnn_driver().cudnnBackendGetAttribute(raw_, name, type, count, &found, values));
    return found;
  }
  Descriptor& finalize() {
    require("cudnnBackendFinalize", dnn_driver().cudnnBackendFinalize(raw_));
    return *this;
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace tandem::cuda
