#pragma once
// Random damage to binary files.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tandem::testing {

/// Blind changes to bytes, splices from other files, and tokens of the format.
class ByteMutator {
 public:
  ByteMutator(uint64_t seed, const std::vector<std::string>& others, const std::vector<std::string>& tokens)
      : random_(seed), others_(others), tokens_(tokens) {}

  std::string mutate(std::string bytes) {
    for (uint64_t i = 1 + below(3); i > 0; --i) change(bytes);
    return bytes;
  }
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  void change(std::string& b) {
    const size_t at = below(b.size() + 1), count = std::min<size_t>(1 + below(16), b.size() - at);
    switch (below(9)) {
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
        if (below(4) == 0) b.resize(at);
        break;
      case 5:
        b.insert(at, tokens_[below(tokens_.size())]);
        break;
      case 6: {
        const std::string& other = others_[below(others_.size())];
        b.replace(at, count, other.substr(below(other.size() + 1), below(64)));
        break;
      }
      case 7: {  // a number
        const uint64_t values[] = {0, 1, below(256), uint64_t{1} << below(64), ~uint64_t{0}, b.size()};
        const uint64_t value = values[below(std::size(values))];
        const size_t size = size_t{1} << below(4);
        if (b.size() >= size) std::memcpy(b.data() + below(b.size() - size + 1), &value, size);
        break;
      }
      default:
        b.replace(at, count, tokens_[below(tokens_.size())]);
    }
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& others_;
  const std::vector<std::string>& tokens_;
};

}  // namespace tandem::testing
