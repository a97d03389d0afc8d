#pragma once
// EXPECT_THROWS: an exception of a type whose message holds all the given texts.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace tandem::test {

/// Empty when `run` throws Error with every one of `texts` in its message; else what happened.
template <class Error, class F>
std::string mismatch(const F& run, std::initializer_list<std::string> texts) {
  try {
    run();
  } catch (const Error& e) {
    const std::string message = e.what();
    for (const std::string& text : texts) {
      if (message.find(text) == std::string::npos) return "no '" + text + "' in the message: " + message;
    }
    return "";
  } catch (const std::exception& e) {
    return std::string("another exception was thrown: ") + e.what();
  }
  return "nothing was thrown";
}

}  // namespace tandem::test

/// EXPECT_THROWS(wrap_dim(3, 3, "sum"), IndexError, "sum: ", "dimension 3");
#define EXPECT_THROWS(expression, type, ...) \
  EXPECT_EQ((::tandem::test::mismatch<type>([&] { static_cast<void>(expression); }, {__VA_ARGS__})), "") << #expression
