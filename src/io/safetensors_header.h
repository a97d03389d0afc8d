#pragma once
// The header of a safetensors file: parsing and writing.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/dtype.h"
#include "tandem/base/shape.h"
#include "tandem/io/safetensors.h"

namespace tandem::io {

/// The longest header allowed, as in the reference implementation.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// One tensor: its bytes are [begin, end) of the data section.
struct HeaderEntry {
  std::string name;
  DType dtype = kFloat;
  Dims sizes;
  uint64_t begin = 0, end = 0;
  std::string left_out;  ///< the dtype, if it is one of the format that tandem does not have; then `dtype` is not set
};

struct Header {
  Metadata metadata;
  std::vector<HeaderEntry> entries;  ///< in the order of the text
};

/// Parses a header and checks it against the number of data bytes that follow: the entries must cover them without gaps
/// or overlaps. Throws IoError with messages that start with `where`, which is empty or ends with ": ".
Header parse_header(const std::string& where, std::string_view text, uint64_t data_bytes);

/// The text of a header, without padding. Throws StateError if a name or text is not UTF-8.
std::string header_text(const Header& header);

}  // namespace tandem::io
