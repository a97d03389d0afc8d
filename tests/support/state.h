#pragma once
// Bitwise comparison of tensors and states.
#include <cstring>
#include <string>

#include "tandem/tensor/state_dict.h"

namespace tandem::testing {

/// Returns "" if both have the same dtype, sizes and bits; otherwise the difference.
inline std::string difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? "" : "one is undefined";
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return "the form differs";
  const Tensor x = a.detach().to(kCPU).contiguous(), y = b.detach().to(kCPU).contiguous();
  if (x.nbytes() == 0 || std::memcmp(x.raw_bytes(), y.raw_bytes(), x.nbytes()) == 0) return "";
  return "the bits differ";
}

/// Returns "" if both have the same names and bits; otherwise the first name that differs.
inline std::string difference(const StateDict& a, const StateDict& b) {
  for (const auto& item : a) {
    if (!b.contains(item.key())) return item.key() + " is only in the first";
    const std::string text = difference(item.value(), b[item.key()]);
    if (!text.empty()) return item.key() + ": " + text;
  }
  return a.size() == b.size() ? "" : "the second has more entries";
}

/// Returns a deep copy.
inline StateDict clone(const StateDict& state) {
  StateDict copy;
  for (const auto& item : state) copy.insert(item.key(), item.value().detach().clone());
  return copy;
}

}  // namespace tandem::testing
