#pragma once
// EXPECT_THROWS: expects an exception of a type whose message contains all the given texts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem::testing {

/// Returns "" if `run` throws Error with a message that begins with `begin` and contains each of `texts`; otherwise a
/// description of what happened.
template <class Error, class F>
std::string mismatch(const F& run, const std::vector<std::string>& texts, const std::string& begin = "") {
  try {
    run();
  } catch (const Error& e) {
    const std::string message = e.what();
    if (!message.starts_with(begin)) return "the message does not begin with '" + begin + "': " + message;
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

/// EXPECT_THROWS(wrap_dim(3, 3, "sum"), IndexError, "sum: ", "dimension 3");
#define EXPECT_THROWS(expression, type, ...)                                                                \
  EXPECT_EQ((::tandem::testing::mismatch<type>([&] { static_cast<void>(expression); }, {__VA_ARGS__})), "") \
      << #expression
