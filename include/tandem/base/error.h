#pragma once
// The exceptions that tandem throws. Each message names the operation, what is wrong, the actual values and the remedy.
#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace tandem {

/// Base of all errors thrown by tandem. A call that throws one leaves every object as it was before the call.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// `op`: the name of the function that was called; what() is then "op: message". May be empty.
  Error(std::string_view op, const std::string& message)
      : std::runtime_error(op.empty() ? message : std::string(op) + ": " + message), op_size_(op.size()) {}

  /// Returns the name of the function that was called, as in "conv2d", or an empty string if the error has none. The
  /// result points into this error.
  std::string_view op() const noexcept { return {what(), op_size_}; }
  /// Returns what() without the name.
  std::string_view message() const noexcept { return what() + (op_size_ == 0 ? 0 : op_size_ + 2); }
  /// what(), as c10::Error has it: tandem adds no backtrace.
  const char* what_without_backtrace() const noexcept { return what(); }
  std::string msg() const { return what(); }

 private:
  size_t op_size_ = 0;
};

/// Sizes do not match each other or the operation.
struct ShapeError : Error {
  using Error::Error;
};
/// A dtype that the operation does not accept, or dtypes that do not match.
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
/// A value outside an argument's domain, or a call that the object's current state does not allow.
struct StateError : Error {
  using Error::Error;
};
/// Backward cannot run (no graph, a freed graph, a saved tensor changed in place), or a change cannot be recorded.
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
/// Memory could not be allocated.
struct OutOfMemoryError : Error {
  using Error::Error;
};

}  // namespace tandem
#pragma GCC visibility pop
