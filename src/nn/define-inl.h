#pragma once
// Definitions of modules that TANDEM_OPTIONS_MODULE or TANDEM_PLAIN_MODULE declares.
#include "src/nn/text-inl.h"
#include "tandem/base/op_scope.h"
#include "tandem/nn/functional.h"

// NOLINTBEGIN(bugprone-macro-parentheses)
/// FORWARD: an expression of `input` and `options`. FIELDS: calls of Description's members, such as
/// `.field("alpha", options.alpha())`, or nothing.
#define TANDEM_DEFINE_PLAIN_MODULE(Name, FORWARD, FIELDS)             \
  Tensor Name##Impl::forward(const Tensor& input) { return FORWARD; } \
  void Name##Impl::pretty_print(std::ostream& stream) const { static_cast<void>(Description(stream, #Name) FIELDS); }

/// CHECKS: statements that throw for invalid options.
#define TANDEM_DEFINE_MODULE(Name, FORWARD, FIELDS, CHECKS) \
  void Name##Impl::reset() {                                \
    const OpScope op(#Name);                                \
    CHECKS;                                                 \
  }                                                         \
  TANDEM_DEFINE_PLAIN_MODULE(Name, FORWARD, FIELDS)

/// The same without checks.
#define TANDEM_DEFINE_UNCHECKED_MODULE(Name, FORWARD, FIELDS) \
  void Name##Impl::reset() {}                                 \
  TANDEM_DEFINE_PLAIN_MODULE(Name, FORWARD, FIELDS)
// NOLINTEND(bugprone-macro-parentheses)
