#pragma once
// Tables of bad input. Each row is a call, the exception that it must throw and texts that the message must contain.
// expect_covered() checks that a table covers all functions of a header.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/callable.h"
#include "support/paths.h"
#include "support/throws.h"
#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// One call that must throw.
struct BadInput {
  std::string function;              ///< the error's op
  std::string call;                  ///< source text of the call, for failure messages
  Callable<std::string()> mismatch;  ///< runs the call; returns "" if it threw as expected
};
using BadInputs = std::vector<BadInput>;

/// Returns the row of a call that must throw `E` with the op `function` and a message that contains each of `texts`.
template <class E>
BadInput bad_input(const std::string& function, const std::string& call, Callable<void()> run,
                   std::vector<std::string> texts) {
  return {function, call,
          [function, run = std::move(run), texts = std::move(texts)] { return mismatch<E>(run, texts, function); }};
}

/// Runs the rows, and checks that a refused call leaves the thread's modes unchanged.
inline void expect_refused(const BadInputs& rows) {
  for (const BadInput& row : rows) {
    EXPECT_EQ(row.mismatch(), "") << row.function << ": " << row.call;
    EXPECT_TRUE(thread_state().grad_mode && !thread_state().autocast[0].enabled) << row.call;
    EXPECT_STREQ(running_op(), "") << row.call;
  }
}

/// A tensor that claims to be on a CUDA device; works without a GPU. Its memory must not be accessed.
inline Tensor on_another_device(IntArrayRef sizes, DType dtype = kFloat) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = std::make_shared<Storage>(nullptr, 0, Device(kCUDA), std::function<void(void*)>());
  impl->sizes = sizes;
  impl->strides = contiguous_strides(sizes);
  impl->dtype = dtype;
  impl->refresh();
  return Tensor(std::move(impl));
}

/// Returns the lines of a header in include/tandem/, without leading spaces.
inline std::vector<std::string> lines_of(const std::string& header) {
  const std::string path = source_path("../include/tandem/" + header);
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  EXPECT_FALSE(lines.empty()) << path;
  return lines;
}
/// Returns the names of the tensor functions that a header declares, each at the start of a line.
inline std::set<std::string> declared_functions(const std::string& header) {
  std::set<std::string> names;
  for (std::string line : lines_of(header)) {
    if (line.starts_with("const ")) line.erase(0, 6);
    const size_t open = line.find('('), space = line.rfind(' ', open);
    if (open == std::string::npos || space == std::string::npos) continue;
    const std::string type = line.substr(0, space), name = line.substr(space + 1, open - space - 1);
    const bool is_type = type == "Tensor" || type == "Tensor&" || type == "DType" || type == "Dims" || type == "void" ||
                         (type.starts_with("std::") && type.ends_with('>'));
    if (is_type && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos)
      names.insert(name);
  }
  EXPECT_FALSE(names.empty()) << header;
  return names;
}
/// Returns the tandem headers that a header includes, relative to include/tandem/, without ops/bodies.h, which declares
/// nothing.
inline std::set<std::string> included_headers(const std::string& header) {
  const std::string begin = "#include \"tandem/";
  std::set<std::string> headers;
  for (const std::string& line : lines_of(header)) {
    if (line.starts_with(begin)) headers.insert(line.substr(begin.size(), line.size() - begin.size() - 1));
  }
  headers.erase("ops/bodies.h");
  return headers;
}

/// Expects each function to have a row or to be named in `exceptions` (a map from names to reasons), but not both.
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

/// The row of a call; captures its tensors: BAD_INPUT("mm", mm(x, y), ShapeError, "[2, 3] f32", "[4] f32")
#define BAD_INPUT(function, expression, type, ...) \
  ::tandem::testing::bad_input<type>(function, #expression, [=] { static_cast<void>(expression); }, {__VA_ARGS__})
/// A call with an undefined tensor.
#define UNDEFINED(function, expression) \
  BAD_INPUT(function, expression, ::tandem::StateError, "undefined tensor", "give it a value first")
/// A call with tensors on two devices.
#define ON_TWO_DEVICES(function, expression) \
  BAD_INPUT(function, expression, ::tandem::DeviceError, "is on cpu", "is on cuda", ".to(device)")
