#pragma once
// The words of a PTX text: names with their dots (ld.global.f32, %tid.x), numbers, and single characters.
#include <stdexcept>
#include <string>
#include <string_view>

namespace tandem::ptx {

/// Text that is not PTX, or an instruction that the executor does not know. The message begins with file and line.
struct SyntaxError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Tokens {
 public:
  Tokens(std::string_view text, const std::string& file, int line) : text_(text), file_(file), line_(line) {
    advance();
  }
  /// The next token; empty at the end.
  std::string_view peek() const { return token_; }
  std::string_view next();
  bool take(std::string_view token);
  void expect(std::string_view token);
  int64_t next_integer();
  /// Skips up to and over the brace that closes the next one.
  void skip_block();

  int line() const { return token_line_; }
  /// Where the next token begins in the text.
  size_t position() const { return static_cast<size_t>(token_.data() - text_.data()); }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void skip_blanks();
  void advance();

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_, token_line_ = 0;
  std::string_view token_;
};

}  // namespace tandem::ptx
