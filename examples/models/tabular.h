#pragma once
// A network for tables: an embedding per column of categories, then an MLP. Also compiles with libtorch.
#include <torch/torch.h>

#include <vector>

namespace models {

/// One number per row, [rows], from categories, i64 [rows, columns], and numbers, [rows, `numbers`]. `categories` has
/// the number of categories of each column.
struct TabularImpl : torch::nn::Module {
  TabularImpl(const std::vector<int64_t>& categories, int64_t numbers, int64_t width, int64_t embedding = 8)
      : fc1(embedding * static_cast<int64_t>(categories.size()) + numbers, width), fc2(width, width), fc3(width, 1) {
    for (size_t i = 0; i < categories.size(); ++i) {
      columns.push_back(register_module("column" + std::to_string(i), torch::nn::Embedding(categories[i], embedding)));
    }
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  torch::Tensor forward(const torch::Tensor& categories, const torch::Tensor& numbers) {
    std::vector<torch::Tensor> parts = {numbers};
    for (size_t i = 0; i < columns.size(); ++i) {
      parts.push_back(columns[i](categories.select(1, static_cast<int64_t>(i))));
    }
    return fc3(torch::relu(fc2(torch::relu(fc1(torch::cat(parts, 1)))))).squeeze(1);
  }

  std::vector<torch::nn::Embedding> columns;
  torch::nn::Linear fc1, fc2, fc3;
};
TORCH_MODULE(Tabular);

}  // namespace models
