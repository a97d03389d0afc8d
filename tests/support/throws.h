#pragma once
// EXPECT_THROWS: expects an exception of a type whose message contains all the given texts.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/callable.h"
#include "tandem/base/error.h"

namespace tandem::testing {

/// Returns "" if `run` throws Error with a message that contains each of `texts`; otherwise a description of what
/// happened. If `op` is given, it must be the error's op, which the message must not repeat.
template <class Error>
std::string mismatch(const Callable<void()>& run, const std::vector<std::string>& texts,
                     std::optional<std::string> op = {}) {
  try {
    run();
  } catch (const Error& e) {
    const std::string message = e.what();
    if constexpr (std::is_base_of_v<tandem::Error, Error>) {
      if (op && e.op() != *op) return "the error's op is not '" + *op + "': " + message;
      if (op && e.message().starts_with(*op + ": ")) return "the message repeats the op: " + message;
    }
    for (const std::string& text : texts) {
      if (message.find(text) == std::string::npos) return "no '" + text + "' in the message: " + message;
    }
    return "";
  } catch (const std::exception& e) {
    return std::string("another exception was thrown: ") + e.what();
  }
  return "nothing was thrown";
}

}  // namespace tandem::testing

/// EXPECT_THROWS(sum(x, 3), IndexError, "sum: ", "dimension 3");
#define EXPECT_THROWS(expression, type, ...)                                                                \
  EXPECT_EQ((::tandem::testing::mismatch<type>([&] { static_cast<void>(expression); }, {__VA_ARGS__})), "") \
      << #expression
