#pragma once
// TANDEM_ARG: one named option of an options class, libtorch's TORCH_ARG.
#include <utility>

/// A member `name_` with `options.name(value)`, which returns the options for chaining, and `options.name()`, which
/// reads it or gives a reference to write through. Use inside a class; what follows is private.
#define TANDEM_ARG(T, name)                                \
 public:                                                   \
  auto name(const T& new_##name)->decltype(*this) {        \
    this->name##_ = new_##name;                            \
    return *this;                                          \
  }                                                        \
  auto name(T&& new_##name)->decltype(*this) {             \
    this->name##_ = std::move(new_##name);                 \
    return *this;                                          \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
  T& name() noexcept { return this->name##_; }             \
                                                           \
 private:                                                  \
  T name##_ /* NOLINT(bugprone-macro-parentheses) */
