#include "src/io/utf8.h"

namespace tandem::io {
namespace {

/// Takes the first code point of a text that is not empty; nothing if it is not valid.
std::optional<uint32_t> take_code_point(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > text.size()) return std::nullopt;
  uint32_t point = size == 1 ? first : first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    point = point << 6 | (next & 0x3fu);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < smallest[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return std::nullopt;
  text.remove_prefix(size);
  return point;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!take_code_point(bytes)) return false;
  }
  return true;
}

std::optional<std::string> latin1_of(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::optional<uint32_t> point = take_code_point(text);
    if (!point || *point > 0xff) return std::nullopt;
    bytes += static_cast<char>(*point);
  }
  return bytes;
}

std::string utf8_of_latin1(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

}  // namespace tandem::io
