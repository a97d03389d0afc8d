#pragma once
// TANDEM_ARG: declares a named option of an options class, like libtorch's TORCH_ARG.
#include <utility>

/// Declares a private member `name_`, the setter `options.name(value)`, which returns the options for chaining, and the
/// getter `options.name()`, which returns a reference. For use inside a class; members declared after it are private.
#define TANDEM_ARG(T, name)                                \
 public:                                                   \
  auto name(T new_##name)->decltype(*this) {               \
    this->name##_ = std::move(new_##name);                 \
    return *this;                                          \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
  T& name() noexcept { return this->name##_; }             \
                                                           \
 private:                                                  \
  T name##_ /* NOLINT(bugprone-macro-parentheses) */
