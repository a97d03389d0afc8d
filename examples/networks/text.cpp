#include "networks/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace networks {
namespace {

std::string read_text(const std::string& data) {
  std::ifstream file(data + "/kjv.txt", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) throw tandem::IoError(data + "/kjv.txt: cannot read it; scripts/example_data.sh makes it");
  return text;
}

Corpus split(const std::vector<int64_t>& numbers, std::vector<std::string> tokens) {
  const auto all = torch::tensor(numbers);
  const int64_t test = all.size(0) / 10, train = all.size(0) - test;
  return {all.narrow(0, 0, train), all.narrow(0, train, test), std::move(tokens)};
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (std::isalpha(static_cast<unsigned char>(text[end])) || text[end] == '\'')) ++end;
    if (end == i) {
      if (!std::isspace(static_cast<unsigned char>(text[i]))) result.push_back(text.substr(i, 1));
      ++i;
    } else {
      result.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return result;
}

}  // namespace

Corpus characters(const std::string& data) {
  const std::string text = read_text(data);
  std::array<int64_t, 256> number{};
  number.fill(-1);
  std::vector<std::string> tokens;
  std::vector<int64_t> numbers;
  numbers.reserve(text.size());
  for (const char c : text) {
    int64_t& n = number[static_cast<unsigned char>(c)];
    if (n < 0) {
      n = static_cast<int64_t>(tokens.size());
      tokens.emplace_back(1, c);
    }
    numbers.push_back(n);
  }
  return split(numbers, std::move(tokens));
}

Corpus words(const std::string& data, int64_t vocabulary) {
  const std::vector<std::string> text = words_of(read_text(data));
  std::unordered_map<std::string, int64_t> count;
  for (const std::string& word : text) ++count[word];
  std::vector<std::pair<std::string, int64_t>> by_count(count.begin(), count.end());
  std::sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> tokens = {"[mask]", "[rare]"};
  std::unordered_map<std::string, int64_t> number;
  for (const auto& [word, times] : by_count) {
    if (static_cast<int64_t>(tokens.size()) == vocabulary) break;
    number[word] = static_cast<int64_t>(tokens.size());
    tokens.push_back(word);
  }
  std::vector<int64_t> numbers;
  numbers.reserve(text.size());
  for (const std::string& word : text) {
    const auto found = number.find(word);
    numbers.push_back(found == number.end() ? 1 : found->second);
  }
  return split(numbers, std::move(tokens));
}

torch::Tensor random_pieces(const torch::Tensor& tokens, int64_t count, int64_t length) {
  const auto options = tokens.options();
  const auto starts = torch::randint(0, tokens.size(0) - length + 1, {count, 1}, options);
  return tokens.index_select(0, (starts + torch::arange(length, options)).flatten()).view({count, length});
}

torch::Tensor pieces(const torch::Tensor& tokens, int64_t index, int64_t count, int64_t length) {
  return tokens.narrow(0, index * count * length, count * length).view({count, length});
}

}  // namespace networks
