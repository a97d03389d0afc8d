#pragma once
// Calls of the library of products.h, and the end of the process.
namespace tandem::cpu {

/// A call of the library. While the object exists, the end of the process waits before the library is destroyed. False
/// if it has come to that: then the library must not be used, and the backend's own loops compute.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  explicit operator bool() const { return allowed_; }

 private:
  bool allowed_;
};

/// If a thread other than the main one calls exit(), has it wait for the calls before it destroys the static objects
/// that exist now. For libraries that construct such objects in calls.
void end_calls_before_static_objects();

}  // namespace tandem::cpu
