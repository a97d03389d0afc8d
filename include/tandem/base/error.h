#pragma once
// The exceptions that tandem throws. Every message has the form: operation, what is wrong, the actual values, the cure.
#include <stdexcept>
#include <string>

namespace tandem {

/// Base of all errors thrown by tandem. Errors derived from it leave every object as it was before the call.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Sizes do not fit each other or the operation.
struct ShapeError : Error {
  using Error::Error;
};
/// A dtype that the operation does not take, or dtypes that do not fit each other.
struct DTypeError : Error {
  using Error::Error;
};
/// Tensors on different devices, or a device that is not available.
struct DeviceError : Error {
  using Error::Error;
};
/// A dimension or an index out of range.
struct IndexError : Error {
  using Error::Error;
};
/// A value outside an argument's domain, or calls in an order that the object's state does not allow.
struct StateError : Error {
  using Error::Error;
};
/// Backward cannot run: no graph, a freed graph, or a saved tensor changed in place.
struct AutogradError : Error {
  using Error::Error;
};
/// The device has no kernel for this operation and dtype.
struct NotImplementedError : Error {
  using Error::Error;
};
/// A file or stream is missing, truncated or malformed.
struct IoError : Error {
  using Error::Error;
};
/// A vendor library (oneDNN, cuBLAS, cuDNN, the CUDA runtime) reported a failure.
struct BackendError : Error {
  using Error::Error;
};
/// An allocation could not be served.
struct OutOfMemoryError : Error {
  using Error::Error;
};

}  // namespace tandem
