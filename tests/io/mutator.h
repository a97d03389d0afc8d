#pragma once
// Random damage to files.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tandem::testing {

/// Changes to the bytes of a file, some blind, some in the words of the format.
class Mutator {
 public:
  explicit Mutator(uint64_t seed, const std::vector<std::string>& others) : random_(seed), others_(others) {}

  std::string mutate(std::string bytes) {
    const uint64_t changes = 1 + below(4);
    for (uint64_t i = 0; i < changes; ++i) change(bytes);
    if (below(4) != 0) fix_length(bytes);
    return bytes;
  }

 private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

  void change(std::string& b) {
    const size_t at = below(b.size() + 1), count = std::min<size_t>(below(16), b.size() - at);
    switch (below(10)) {
      case 0:
        if (at < b.size()) b[at] = static_cast<char>(b[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < b.size()) b[at] = static_cast<char>(below(256));
        break;
      case 2:
        b.erase(at, count);
        break;
      case 3:
        b.insert(below(b.size() + 1), b.substr(at, count));
        break;
      case 4:
        b.resize(at);
        break;
      case 5:
        b.insert(std::min(b.size(), 8 + below(200)), token());
        break;
      case 6:
        change_number(b);
        break;
      case 7: {
        const std::string& other = others_[below(others_.size())];
        const size_t from = below(other.size() + 1);
        b.replace(at, count, other.substr(from, below(64)));
        break;
      }
      case 8: {  // the length of the header
        const uint64_t length = below(2) == 0 ? random_() : below(b.size() + 8);
        if (b.size() >= sizeof length) std::memcpy(b.data(), &length, sizeof length);
        break;
      }
      default:
        b.append(count, static_cast<char>(below(256)));
    }
  }

  std::string token() {
    static const std::vector<std::string> tokens = {"{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    ",",
                                                    ":",
                                                    "\"",
                                                    "\\",
                                                    "null",
                                                    "true",
                                                    "-1",
                                                    "1e400",
                                                    "0.5",
                                                    "\"dtype\"",
                                                    "\"shape\"",
                                                    "\"data_offsets\"",
                                                    "\"__metadata__\"",
                                                    "\"tandem.crc32\":\"",
                                                    "\"F32\"",
                                                    "\"BOOL\"",
                                                    "\"F8_E5M2\"",
                                                    "\"U64\"",
                                                    "18446744073709551615",
                                                    "9223372036854775807",
                                                    "4294967296",
                                                    "\\u0000",
                                                    "\xef\xbb\xbf",
                                                    "\xff",
                                                    ",\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}"};
    return below(20) == 0 ? std::string(below(3000), '[') : tokens[below(tokens.size())];
  }

  void change_number(std::string& b) {
    const size_t at = b.find_first_of("0123456789", std::min(b.size(), 8 + below(b.size())));
    if (at == std::string::npos) return;
    const size_t end = b.find_first_not_of("0123456789", at);
    const uint64_t values[] = {0, 1, 2, below(64), below(4096), uint64_t{1} << below(64), ~uint64_t{0}};
    b.replace(at, end == std::string::npos ? end : end - at, std::to_string(values[below(7)]));
  }

  /// Makes the length agree with the last brace again, so that the header is read.
  void fix_length(std::string& b) {
    const size_t end = b.find("}}");
    if (end == std::string::npos || end < 8) return;
    const uint64_t length = end + 2 - 8;
    std::memcpy(b.data(), &length, sizeof length);
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& others_;
};

}  // namespace tandem::testing
