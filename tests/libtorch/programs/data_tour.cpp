// Tensors in many ways: creation, indexing, views, reductions, sorting, printing, saving, ordered dictionaries.
#include <sstream>

#include "program.h"

using namespace torch::indexing;

int main() {
  auto x = program::numbers({4, 6}, 1);
  std::cout << x.sizes() << " " << x.strides() << " " << x.dtype() << " " << x.device() << std::endl;
  program::report("slice", x.index({Slice(None, 2), Slice(1, None, 2)}).sum());
  program::report("ellipsis", x.index({Ellipsis, 0}).sum());
  program::report("mask", x.index({x > 0}).sum());
  program::report("rows", x.index_select(0, torch::tensor({0, 2}, torch::kLong)).sum());
  x.index_put_({Slice(0, 2), Slice(0, 3)}, 5);
  x.index_put_({torch::tensor({3, 3})}, torch::full({2, 6}, 0.5f));
  program::report("put", x.sum());
  program::report("gather", x.gather(1, torch::zeros({4, 1}, torch::kLong)).sum());
  program::report("where", torch::where(x > 1, x, torch::zeros_like(x)).sum());

  auto [values, order] = x.sort(1, /*descending=*/true);
  program::report("sorted", values[0][0]);
  program::report("order", order.sum());
  auto [top, where] = x.flatten().topk(3);
  program::report("topk", top.sum());
  auto [largest, at] = x.max(1);
  program::report("max", largest.sum());
  program::report("std", x.std());
  program::report("var", x.var(0, /*unbiased=*/false).sum());
  program::report("cumsum", x.cumsum(0).select(0, 3).sum());
  program::report("norm", x.norm(2, {0}).sum());
  program::report("unique", static_cast<double>(std::get<0>(torch::_unique(program::integers({20}, 0, 6, 2))).size(0)));

  auto parts = torch::chunk(x, 2, 0);
  auto joined = torch::cat({parts[1], parts[0]}, 0);
  program::report("chunks", (joined - torch::roll(x, 2, 0)).abs().sum());
  program::report("stack", static_cast<double>(torch::stack({x, x}, 1).dim()));
  program::report("einsum", torch::einsum("ij,kj->ik", {x, x}).trace());
  program::report("repeat", x.repeat({2, 1}).sum());
  program::report("linspace", torch::linspace(0, 1, 5).sum());
  program::report("eye", torch::eye(3).sum());

  auto accessor = x.accessor<float, 2>();
  double trace = 0;
  for (int64_t i = 0; i < 4; ++i) trace += accessor[i][i];
  program::report("accessor", trace);
  std::vector<float> buffer = {1, 2, 3, 4, 5, 6};
  auto blob = torch::from_blob(buffer.data(), {2, 3}, torch::TensorOptions().dtype(torch::kFloat32));
  blob.mul_(2);
  program::report("blob", buffer[5]);
  auto moved = x.to(torch::Device("cpu"), torch::kDouble, /*non_blocking=*/false, /*copy=*/true);
  program::report("moved", moved.sum());
  program::report("scalar", torch::Scalar(2.5).toDouble());
  program::report("nested", torch::tensor({{1, 2}, {3, 4}}).sum());
  program::report("equal", torch::equal(x, x.clone()) && torch::allclose(x, x + 1e-9));

  std::stringstream stream;
  torch::save(x, stream);
  torch::Tensor loaded;
  torch::load(loaded, stream);
  program::report("loaded", (loaded - x).abs().sum());

  torch::OrderedDict<std::string, int> dict;
  dict.insert("a", 1);
  dict.insert("b", 2);
  for (const auto& item : dict) program::report(item.key(), item.value());
  std::cout << torch::tensor({1.5, 2.0}) << std::endl;
}
