#pragma once
// The King James Bible as numbers.
#include <string>
#include <vector>

#include <torch/torch.h>

namespace networks {

/// A text as token numbers; the last tenth is for testing.
struct Corpus {
  torch::Tensor train, test;        ///< i64 [n]
  std::vector<std::string> tokens;  ///< by number
};

/// One token per character.
Corpus characters(const std::string& data);
/// One token per word or punctuation mark, of the `vocabulary - 2` most frequent ones. Token 0 stands for a masked
/// word, token 1 for any other word.
Corpus words(const std::string& data, int64_t vocabulary);

/// Returns `count` pieces of `length` tokens from random places, [count, length].
torch::Tensor random_pieces(const torch::Tensor& tokens, int64_t count, int64_t length);
/// Returns piece number `index` of consecutive batches, [count, length].
torch::Tensor pieces(const torch::Tensor& tokens, int64_t index, int64_t count, int64_t length);

}  // namespace networks
