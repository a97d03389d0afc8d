// Matrix products.
#include "tandem/ops/matmul.h"

#include "cases/cases.h"

namespace tandem::testing {
namespace {

void product(Cases& cases, const std::string& op, const std::string& name, const std::string& torch,
             std::vector<Input> inputs, int64_t sum, Callable<Out(In)> run) {
  cases.push_back(
      {.op = op, .name = name, .torch = torch, .inputs = std::move(inputs), .run = std::move(run), .sum = sum});
}

}  // namespace

Cases matmul_cases() {
  Cases c;
  const auto run_mm = [](In x) -> Out { return {mm(x[0], x[1])}; };
  product(c, "mm", "square", "torch.mm(a, b)", {normal({8, 8}), normal({8, 8})}, 8, run_mm);
  product(c, "mm", "odd_sizes", "torch.mm(a, b)", {normal({7, 33}), normal({33, 5})}, 33, run_mm);
  product(c, "mm", "transposed_left", "torch.mm(a, b)",
          {normal({5, 9}).laid_out(MemoryLayout::transposed), normal({9, 4})}, 9, run_mm);
  product(c, "mm", "transposed_right", "torch.mm(a, b)",
          {normal({5, 9}), normal({9, 4}).laid_out(MemoryLayout::transposed)}, 9, run_mm);
  product(c, "mm", "transposed_both", "torch.mm(a, b)",
          {normal({5, 9}).laid_out(MemoryLayout::transposed), normal({9, 4}).laid_out(MemoryLayout::transposed)}, 9,
          run_mm);
  product(c, "mm", "gaps", "torch.mm(a, b)", {normal({3, 5}).laid_out(MemoryLayout::gaps), normal({5, 2})}, 5, run_mm);
  product(c, "mm", "row_times_column", "torch.mm(a, b)", {normal({1, 17}), normal({17, 1})}, 17, run_mm);
  product(c, "mm", "no_rows", "torch.mm(a, b)", {normal({0, 3}), normal({3, 2})}, 3, run_mm);
  product(c, "mm", "inner_size_zero", "torch.mm(a, b)", {normal({2, 0}), normal({0, 3})}, 1, run_mm);

  const auto run_bmm = [](In x) -> Out { return {bmm(x[0], x[1])}; };
  product(c, "bmm", "batches", "torch.bmm(a, b)", {normal({3, 4, 6}), normal({3, 6, 5})}, 6, run_bmm);
  product(c, "bmm", "transposed", "torch.bmm(a, b)",
          {normal({2, 4, 6}).laid_out(MemoryLayout::transposed), normal({2, 6, 3}).laid_out(MemoryLayout::transposed)},
          6, run_bmm);
  product(c, "bmm", "no_batches", "torch.bmm(a, b)", {normal({0, 4, 6}), normal({0, 6, 5})}, 6, run_bmm);

  product(c, "addmm", "bias_row", "torch.addmm(a, b, c)", {normal({5}), normal({4, 7}), normal({7, 5})}, 8,
          [](In x) -> Out { return {addmm(x[0], x[1], x[2])}; });
  product(c, "addmm", "factors", "torch.addmm(a, b, c, beta=0.5, alpha=-2)",
          {normal({4, 5}), normal({4, 7}), normal({7, 5})}, 8,
          [](In x) -> Out { return {addmm(x[0], x[1], x[2], 0.5, -2)}; });
  c.back().roundings = 3;  // the product, the scaled operands and their sum
  product(c, "addmm", "beta_zero", "torch.addmm(a, b, c, beta=0)", {normal({4, 5}), normal({4, 3}), normal({3, 5})}, 3,
          [](In x) -> Out { return {addmm(x[0], x[1], x[2], 0)}; });
  product(c, "addmm", "broadcast_column", "torch.addmm(a, b, c)", {normal({4, 1}), normal({4, 3}), normal({3, 5})}, 5,
          [](In x) -> Out { return {addmm(x[0], x[1], x[2])}; });
  c.back().roundings = 2;

  const auto run_matmul = [](In x) -> Out { return {matmul(x[0], x[1])}; };
  product(c, "matmul", "vector_vector", "a @ b", {normal({19}), normal({19})}, 19, run_matmul);
  product(c, "matmul", "matrix_vector", "a @ b", {normal({5, 9}), normal({9})}, 9, run_matmul);
  product(c, "matmul", "vector_matrix", "a @ b", {normal({9}), normal({9, 4})}, 9, run_matmul);
  product(c, "matmul", "matrix_matrix", "a @ b", {normal({5, 9}), normal({9, 4})}, 9, run_matmul);
  product(c, "matmul", "batch_matrix", "a @ b", {normal({2, 3, 5}), normal({5, 4})}, 6, run_matmul);
  product(c, "matmul", "matrix_batch", "a @ b", {normal({3, 5}), normal({2, 5, 4})}, 6, run_matmul);
  product(c, "matmul", "batch_vector", "a @ b", {normal({2, 3, 5}), normal({5})}, 6, run_matmul);
  product(c, "matmul", "vector_batch", "a @ b", {normal({5}), normal({2, 5, 4})}, 8, run_matmul);
  product(c, "matmul", "batches", "a @ b", {normal({3, 2, 5}), normal({3, 5, 4})}, 5, run_matmul);
  product(c, "matmul", "broadcast_batches", "a @ b", {normal({2, 1, 3, 4}), normal({5, 4, 2})}, 20, run_matmul);
  product(c, "matmul", "broadcast_ones", "a @ b", {normal({1, 3, 4}), normal({5, 4, 2})}, 20, run_matmul);
  product(c, "matmul", "transposed_batches", "a @ b",
          {normal({2, 3, 4}).laid_out(MemoryLayout::transposed), normal({2, 4, 5}).laid_out(MemoryLayout::transposed)},
          5, run_matmul);

  const auto run_linear = [](In x) -> Out { return {linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor())}; };
  product(c, "linear", "bias", "F.linear(a, b, c)", {normal({6, 11}), normal({5, 11}), normal({5})}, 12, run_linear);
  product(c, "linear", "no_bias", "F.linear(a, b)", {normal({6, 11}), normal({5, 11})}, 11, run_linear);
  product(c, "linear", "wide", "F.linear(a, b, c)", {normal({3, 40}), normal({17, 40}), normal({17})}, 41, run_linear);
  product(c, "linear", "rank_1", "F.linear(a, b, c)", {normal({11}), normal({5, 11}), normal({5})}, 12, run_linear);
  product(c, "linear", "rank_3", "F.linear(a, b, c)", {normal({2, 3, 7}), normal({5, 7}), normal({5})}, 8, run_linear);
  product(c, "linear", "transposed_input", "F.linear(a, b, c)",
          {normal({6, 7}).laid_out(MemoryLayout::transposed), normal({5, 7}), normal({5})}, 8, run_linear);
  product(c, "linear", "transposed_weight", "F.linear(a, b, c)",
          {normal({6, 7}), normal({5, 7}).laid_out(MemoryLayout::transposed), normal({5})}, 8, run_linear);
  product(c, "linear", "no_rows", "F.linear(a, b, c)", {normal({0, 7}), normal({5, 7}), normal({5})}, 8, run_linear);

  const auto run_linear_relu = [](In x) -> Out { return {linear_relu(x[0], x[1], x.size() > 2 ? x[2] : Tensor())}; };
  product(c, "linear_relu", "bias", "F.relu(F.linear(a, b, c))", {normal({6, 11}), normal({5, 11}), normal({5})}, 12,
          run_linear_relu);
  product(c, "linear_relu", "no_bias", "F.relu(F.linear(a, b))", {normal({6, 11}), normal({5, 11})}, 11,
          run_linear_relu);
  product(c, "linear_relu", "rank_1", "F.relu(F.linear(a, b, c))", {normal({11}), normal({5, 11}), normal({5})}, 12,
          run_linear_relu);
  product(c, "linear_relu", "rank_3", "F.relu(F.linear(a, b, c))", {normal({2, 3, 7}), normal({5, 7}), normal({5})}, 8,
          run_linear_relu);
  product(c, "linear_relu", "transposed", "F.relu(F.linear(a, b, c))",
          {normal({6, 7}).laid_out(MemoryLayout::transposed), normal({5, 7}).laid_out(MemoryLayout::transposed),
           normal({5})},
          8, run_linear_relu);
  product(c, "linear_relu", "no_rows", "F.relu(F.linear(a, b, c))", {normal({0, 7}), normal({5, 7}), normal({5})}, 8,
          run_linear_relu);
  return c;
}

}  // namespace tandem::testing
