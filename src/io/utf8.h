#pragma once
// UTF-8 texts of files.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::io {

/// True if the bytes are UTF-8: no overlong forms, surrogates or code points above U+10FFFF.
bool is_utf8(std::string_view bytes);
/// Returns the code points of a UTF-8 text as one byte each (ISO 8859-1); nothing if one is above U+00FF.
std::optional<std::string> latin1_of(std::string_view text);
/// The reverse of latin1_of.
std::string utf8_of_latin1(std::string_view bytes);

}  // namespace tandem::io
