#pragma once
// Bad input as rows of a table: a call, the exception that refuses it, and what the message must say. A table can be
// asked which functions it covers.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// One call that must be refused.
struct BadInput {
  std::string function;                   ///< the message begins with it
  std::string call;                       ///< as written, for a failure's message
  std::function<std::string()> mismatch;  ///< runs it; empty when it was refused as it should be
};
using BadInputs = std::vector<BadInput>;

/// The row of a call that throws `E` with "function: " in front and every one of `texts` in its message.
template <class E>
BadInput bad_input(const std::string& function, const std::string& call, std::function<void()> run,
                   std::vector<std::string> texts) {
  auto mismatch = [function, run = std::move(run), texts = std::move(texts)]() -> std::string {
    try {
      run();
    } catch (const E& e) {
      const std::string message = e.what();
      if (!message.starts_with(function + ": ")) return "the message does not begin with the function: " + message;
      for (const std::string& text : texts) {
        if (message.find(text) == std::string::npos) return "no '" + text + "' in the message: " + message;
      }
      return "";
    } catch (const std::exception& e) {
      return std::string("another exception was thrown: ") + e.what();
    }
    return "nothing was thrown";
  };
  return {function, call, std::move(mismatch)};
}

/// Runs the rows. A refused call leaves the thread's modes as they were.
inline void expect_refused(const BadInputs& rows) {
  for (const BadInput& row : rows) {
    EXPECT_EQ(row.mismatch(), "") << row.function << ": " << row.call;
    EXPECT_TRUE(thread_state().grad_mode && !thread_state().autocast[0].enabled) << row.call;
    EXPECT_STREQ(thread_state().current_op, "tandem") << row.call;
  }
}

/// A tensor that says it is on a CUDA device, on machines with and without one. Nothing may touch its memory.
inline Tensor on_another_device(IntArrayRef sizes, DType dtype = kFloat) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = std::make_shared<Storage>(nullptr, 0, Device(kCUDA), std::function<void(void*)>());
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = dtype;
  impl->refresh();
  return Tensor(std::move(impl));
}

/// The lines of a header below include/tandem/ that match, each as its first group.
inline std::set<std::string> matches_in_header(const std::string& header, const std::string& pattern) {
  const std::string path = std::string(TANDEM_TESTS_DIR) + "/../include/tandem/" + header;
  std::ifstream file(path);
  const std::regex expression(pattern);
  std::set<std::string> found;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, expression)) found.insert(match[1]);
  }
  EXPECT_FALSE(found.empty()) << path;
  return found;
}
/// The names of the functions that a header declares, each at the start of a line.
inline std::set<std::string> declared_functions(const std::string& header) {
  return matches_in_header(header,
                           " *(?:const )?(?:Tensor&?|Dims|DType|bool|void|std::(?:tuple|vector)<[^()]*>) (\\w+)\\(.*");
}
/// The headers of tandem that a header includes, below include/tandem/.
inline std::set<std::string> included_headers(const std::string& header) {
  return matches_in_header(header, "#include \"tandem/(.*)\"");
}

/// Every function has a row, unless `exceptions` (a map from names to reasons) names it; none has both.
template <class Exceptions>
void expect_covered(const std::set<std::string>& functions, const BadInputs& rows, const Exceptions& exceptions) {
  std::set<std::string> covered;
  for (const BadInput& row : rows) covered.insert(row.function);
  for (const std::string& name : functions) {
    EXPECT_TRUE(covered.count(name) + exceptions.count(name) > 0) << name << " has no test of bad input: add a row";
  }
  for (const auto& [name, reason] : exceptions) {
    EXPECT_TRUE(functions.count(name)) << name << " is listed as an exception, but is no function";
    EXPECT_FALSE(covered.count(name)) << name << " has a row and is listed as an exception";
  }
}

}  // namespace tandem::testing

/// The row of a call, whose tensors are captured: BAD_INPUT("mm", mm(x, y), ShapeError, "[2, 3] f32", "[4] f32")
#define BAD_INPUT(function, expression, type, ...) \
  ::tandem::testing::bad_input<type>(function, #expression, [=] { static_cast<void>(expression); }, {__VA_ARGS__})
/// The call has an undefined tensor.
#define UNDEFINED(function, expression) \
  BAD_INPUT(function, expression, ::tandem::StateError, "undefined tensor", "give it a value first")
/// The call's tensors are on two devices.
#define ON_TWO_DEVICES(function, expression) \
  BAD_INPUT(function, expression, ::tandem::DeviceError, "is on cpu", "is on cuda", ".to(device)")
