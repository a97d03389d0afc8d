#include "ptx/tokens.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace tandem::ptx {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }

}  // namespace

void Tokens::skip_blanks() {
  const auto skip_to = [&](std::string_view end) {
    const size_t found = std::min(text_.find(end, at_), text_.size());
    for (; at_ < found; ++at_) line_ += text_[at_] == '\n';
  };
  while (at_ < text_.size()) {
    if (text_.substr(at_, 2) == "//") {
      skip_to("\n");
    } else if (text_.substr(at_, 2) == "/*") {
      skip_to("*/");
      at_ = std::min(at_ + 2, text_.size());
    } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      line_ += text_[at_++] == '\n';
    } else {
      return;
    }
  }
}

void Tokens::advance() {
  skip_blanks();
  token_line_ = line_;
  const size_t begin = at_;
  if (at_ < text_.size()) {
    const char first = text_[at_++];
    if (first == '"') {
      at_ = std::min(text_.find('"', at_), text_.size() - 1) + 1;
    } else if (first == '%' || is_of_word(first)) {
      while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    }
  }
  token_ = text_.substr(begin, at_ - begin);
}

std::string_view Tokens::next() {
  if (token_.empty()) fail("the text ends too early");
  const std::string_view token = token_;
  advance();
  return token;
}

bool Tokens::take(std::string_view token) {
  if (token_ != token) return false;
  advance();
  return true;
}

void Tokens::expect(std::string_view token) {
  if (!take(token)) fail(fmt::format("'{}' where '{}' is expected", token_, token));
}

int64_t Tokens::next_integer() {
  const bool negative = take("-");
  std::string_view digits = peek();
  const int base = digits.starts_with("0x") ? 16 : 10;
  if (base == 16) digits.remove_prefix(2);
  if (digits.ends_with('U')) digits.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) fail(fmt::format("'{}' is no integer", peek()));
  advance();
  return static_cast<int64_t>(negative ? 0 - value : value);
}

void Tokens::skip_block() {
  if (token_ != "{") fail(fmt::format("'{}' where a block is expected", token_));
  for (int depth = 1; depth > 0; ++at_) {
    if (at_ == text_.size()) fail("the block has no end");
    const char c = text_[at_];
    depth += (c == '{') - (c == '}');
    line_ += c == '\n';
  }
  advance();
}

void Tokens::fail(const std::string& what) const {
  throw SyntaxError(fmt::format("{}:{}: {}", file_, token_line_, what));
}

}  // namespace tandem::ptx
