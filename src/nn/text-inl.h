#pragma once
// Output helper for the modules' one-line descriptions.
#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tandem/base/shape.h"
#include "tandem/base/type_name.h"
#include "tandem/nn/expanding_array.h"

namespace tandem::nn {

/// Writes fmt-formatted text.
template <class... Args>
void print(std::ostream& stream, fmt::format_string<Args...> format, Args&&... args) {
  stream << fmt::format(format, std::forward<Args>(args)...);
}

inline std::string shown(bool v) { return v ? "true" : "false"; }
inline std::string shown(int64_t v) { return std::to_string(v); }
inline std::string shown(double v) { return fmt::format("{}", v); }
inline std::string shown(IntArrayRef v) { return to_string(v); }
inline std::string shown(const std::vector<int64_t>& v) { return to_string(v); }
inline std::string shown(const char* constant) { return constant; }
inline std::string shown(const std::string& v) { return "'" + v + "'"; }
template <size_t D>
std::string shown(const ExpandingArray<D>& v) {
  return D == 1 ? std::to_string((*v)[0]) : to_string(v);
}
template <class T>
std::string shown(const std::optional<T>& v) {
  return v ? shown(*v) : "None";
}
template <size_t D>
std::string shown(const ExpandingArray<D, std::optional<int64_t>>& v) {
  std::string text;
  for (const std::optional<int64_t>& entry : *v) text += (text.empty() ? "[" : ", ") + shown(entry);
  return text + "]";
}

/// Writes "tandem::nn::Name(field=value, field=value)"; the parenthesis is closed at the end of the statement.
class Description {
 public:
  Description(std::ostream& stream, const char* name) : stream_(stream) { stream_ << "tandem::nn::" << name << "("; }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() { stream_ << ")"; }

  template <class T>
  Description& field(const char* name, const T& value) {
    return text(std::string(name) + "=" + shown(value));
  }
  /// A value without a name.
  template <class T>
  Description& value(const T& v) {
    return text(shown(v));
  }
  /// Written only if set.
  Description& inplace(bool set) { return set ? field("inplace", true) : *this; }

 private:
  Description& text(const std::string& text) {
    stream_ << (first_ ? "" : ", ") << text;
    first_ = false;
    return *this;
  }
  std::ostream& stream_;
  bool first_ = true;
};

}  // namespace tandem::nn
