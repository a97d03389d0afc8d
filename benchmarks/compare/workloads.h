#pragma once
// The functions that compare_bench measures, written once for both libraries: `lib` is tandem or torch.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/counter.h"

namespace bench {

/// One prepared function. Its result is the first tensor; `leaves` get gradients in the backward pass.
struct Workload {
  std::function<lib::Tensor()> run;
  std::vector<lib::Tensor> leaves;
  lib::Tensor gradient;  ///< of the result
};

struct WorkloadEntry {
  std::string name;
  std::vector<std::string> precisions;
  bool is_small;  ///< measures the overhead of a call: repeated within one measurement
  std::function<Workload(bool low)> prepare;
};

using Sizes = std::vector<int64_t>;

/// Converted in pieces, so that no f32 copy of a bf16 tensor adds to the peak of memory.
inline lib::Tensor numbers(uint64_t seed, const Sizes& sizes, bool low) {
  constexpr int64_t kPiece = 1 << 16;
  const lib::Tensor x = lib::empty(sizes, lib::TensorOptions(low ? lib::kBFloat16 : lib::kFloat));
  const lib::Tensor flat = x.view({-1}), piece = lib::empty({kPiece});
  float* const values = piece.data_ptr<float>();
  for (int64_t begin = 0; begin < x.numel(); begin += kPiece) {
    const int64_t count = std::min(kPiece, x.numel() - begin);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(tandem::testing::counter_normal(seed, static_cast<uint64_t>(begin + i)));
    }
    flat.narrow(0, begin, count).copy_(piece.narrow(0, 0, count));
  }
  return x;
}

inline lib::Tensor leaf(uint64_t seed, const Sizes& sizes, bool low) {
  return numbers(seed, sizes, low).requires_grad_();
}

inline lib::Tensor indices(uint64_t seed, const Sizes& sizes, int64_t bound) {
  const lib::Tensor x = lib::empty(sizes, lib::TensorOptions(lib::kLong));
  int64_t* const values = x.data_ptr<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    values[i] = tandem::testing::counter_integer(seed, static_cast<uint64_t>(i), 0, bound);
  }
  return x;
}

/// A function of one tensor with a result of the same sizes.
template <class F>
WorkloadEntry unary(const std::string& name, const Sizes& sizes, F f, bool is_small = false) {
  return {name, is_small ? std::vector<std::string>{"f32"} : std::vector<std::string>{"f32", "bf16"}, is_small,
          [sizes, f](bool low) {
            const lib::Tensor x = leaf(1, sizes, low);
            return Workload{[x, f] { return f(x); }, {x}, numbers(2, sizes, low)};
          }};
}

inline WorkloadEntry attention(int64_t length) {
  return {"attention/" + std::to_string(length), {"f32", "bf16"}, false, [length](bool low) {
            const Sizes sizes{1, 8, length, 64};
            const lib::Tensor q = leaf(1, sizes, low), k = leaf(2, sizes, low), v = leaf(3, sizes, low);
            return Workload{
                [q, k, v] { return lib::scaled_dot_product_attention(q, k, v); }, {q, k, v}, numbers(4, sizes, low)};
          }};
}

inline WorkloadEntry lstm() {
  return {"lstm", {"f32", "bf16"}, false, [](bool low) {
            lib::nn::LSTM model(lib::nn::LSTMOptions(256, 256).num_layers(2));
            uint64_t seed = 10;
            std::vector<lib::Tensor> leaves;
            {
              lib::NoGradGuard guard;
              for (lib::Tensor& p : model->parameters()) p.copy_(numbers(seed++, p.sizes().vec(), false) / 16);
            }
            if (low) model->to(lib::kBFloat16);
            for (const lib::Tensor& p : model->parameters()) leaves.push_back(p);
            const lib::Tensor x = leaf(1, {64, 32, 256}, low);
            leaves.push_back(x);
            return Workload{[model, x]() mutable { return std::get<0>(model->forward(x)); }, leaves,
                            numbers(2, {64, 32, 256}, low)};
          }};
}

inline std::vector<WorkloadEntry> workloads() {
  const Sizes rows{2048, 1024};
  std::vector<WorkloadEntry> all = {attention(256), attention(2048), attention(8192), lstm()};
  all.push_back(
      {"layer_norm", {"f32", "bf16"}, false, [rows](bool low) {
         const lib::Tensor x = leaf(1, rows, low), w = leaf(2, {1024}, low), b = leaf(3, {1024}, low);
         return Workload{[=] { return lib::layer_norm(x, {1024}, w, b, 1e-5); }, {x, w, b}, numbers(4, rows, low)};
       }});
  all.push_back(unary("softmax", rows, [](const lib::Tensor& x) { return lib::softmax(x, -1); }));
  all.push_back(unary("gelu", rows, [](const lib::Tensor& x) { return lib::gelu(x); }));
  all.push_back(
      {"embedding", {"f32", "bf16"}, false, [](bool low) {
         const lib::Tensor weight = leaf(1, {30000, 256}, low), index = indices(2, {32, 128}, 30000);
         return Workload{[=] { return lib::embedding(weight, index); }, {weight}, numbers(3, {32, 128, 256}, low)};
       }});
  all.push_back(unary("sort/rows", {1000, 1000}, [](const lib::Tensor& x) { return std::get<0>(lib::sort(x, -1)); }));
  all.push_back(unary("sort/columns", {1000, 1000}, [](const lib::Tensor& x) { return std::get<0>(lib::sort(x, 0)); }));
  all.push_back(unary("cumsum/rows", rows, [](const lib::Tensor& x) { return lib::cumsum(x, -1); }));
  all.push_back(unary("cumsum/columns", rows, [](const lib::Tensor& x) { return lib::cumsum(x, 0); }));
  all.push_back(unary("cumprod", rows, [](const lib::Tensor& x) { return lib::cumprod(x / 8, -1); }));
  all.push_back(unary("cummax", rows, [](const lib::Tensor& x) { return std::get<0>(lib::cummax(x, -1)); }));
  all.push_back(
      unary("logsumexp", rows, [](const lib::Tensor& x) { return lib::logsumexp(x, -1, true).expand_as(x); }));
  for (const int64_t k : {5, 500}) {
    for (const Sizes& sizes : {Sizes{1000, 1000}, Sizes{1, 1000000}}) {
      all.push_back(
          {"topk/" + std::to_string(k) + "_of_" + std::to_string(sizes[1]),
           {"f32", "bf16"},
           false,
           [sizes, k](bool low) {
             const lib::Tensor x = leaf(1, sizes, low);
             return Workload{[x, k] { return std::get<0>(lib::topk(x, k, -1)); }, {x}, numbers(2, {sizes[0], k}, low)};
           }});
    }
  }
  all.push_back({"gather", {"f32", "bf16"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), index = indices(2, rows, 1024);
                   return Workload{[=] { return lib::gather(x, 1, index); }, {x}, numbers(3, rows, low)};
                 }});
  all.push_back({"scatter_add", {"f32", "bf16"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), index = indices(2, rows, 1024), src = leaf(3, rows, low);
                   return Workload{[=] { return lib::scatter_add(x, 1, index, src); }, {x, src}, numbers(4, rows, low)};
                 }});
  all.push_back({"scatter", {"f32", "bf16"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), src = leaf(3, rows, low);
                   const lib::Tensor index = std::get<1>(lib::sort(numbers(2, rows, false), 1));  // each place once
                   return Workload{[=] { return lib::scatter(x, 1, index, src); }, {x, src}, numbers(4, rows, low)};
                 }});
  all.push_back({"index/rows", {"f32", "bf16"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), index = indices(2, {2048}, 2048);
                   return Workload{[=] { return x.index({index}); }, {x}, numbers(3, rows, low)};
                 }});
  all.push_back({"index/elements", {"f32", "bf16"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low);
                   const lib::Tensor i = indices(2, {1 << 20}, 2048), j = indices(3, {1 << 20}, 1024);
                   return Workload{[=] { return x.index({i, j}); }, {x}, numbers(4, {1 << 20}, low)};
                 }});
  all.push_back({"index_put", {"f32"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), v = leaf(4, {1 << 20}, low);
                   const lib::Tensor i = indices(2, {1 << 20}, 2048), j = indices(3, {1 << 20}, 1024);
                   return Workload{[=] { return x.index_put({i, j}, v, true); }, {x, v}, numbers(5, rows, low)};
                 }});
  all.push_back({"masked_select", {"f32"}, false, [rows](bool low) {
                   const lib::Tensor x = leaf(1, rows, low), mask = indices(2, rows, 2).to(lib::kBool);
                   const int64_t count = mask.sum().item<int64_t>();
                   return Workload{[=] { return lib::masked_select(x, mask); }, {x}, numbers(3, {count}, low)};
                 }});
  // ---- the overhead of a call
  all.push_back({"overhead/add", {"f32"}, true, [](bool low) {
                   const lib::Tensor x = leaf(1, {8}, low), y = leaf(2, {8}, low);
                   return Workload{[=] { return lib::add(x, y); }, {x, y}, numbers(3, {8}, low)};
                 }});
  all.push_back(unary(
      "overhead/relu", {8}, [](const lib::Tensor& x) { return lib::relu(x); }, true));
  all.push_back(unary(
      "overhead/softmax", {8}, [](const lib::Tensor& x) { return lib::softmax(x, 0); }, true));
  all.push_back(unary(
      "overhead/view", {8},
      [](const lib::Tensor& x) {
        return x.view({2, 4}).view({8});
      },
      true));
  return all;
}

}  // namespace bench
