#pragma once
// Scratch: memory for the duration of a scope.
#include <cstdint>

#include "tandem/tensor/allocator.h"

namespace tandem::cpu {

/// `n` uninitialised elements from the caching allocator.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : bytes_(static_cast<size_t>(n) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace tandem::cpu
