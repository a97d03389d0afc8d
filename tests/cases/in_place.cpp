// In-place ops. Each row changes a clone, so that the inputs stay unchanged.
#include "cases/cases.h"
#include "tandem/ops/elementwise.h"

namespace tandem::testing {
namespace {

void write_in_place(Cases& c, const std::string& op, const std::string& name, const std::string& torch,
                    std::vector<Input> inputs, Callable<const Tensor&(const Tensor&, In)> change, int roundings = 1) {
  c.push_back({.op = op,
               .name = "in_place" + name,
               .torch = "a.clone()." + torch,
               .inputs = std::move(inputs),
               .run = [change](In x) -> Out {
                 const Tensor y = x[0].clone();
                 return {change(y, x)};
               },
               .sum = 8,
               .roundings = roundings,
               .bypasses_autocast = true});
}

}  // namespace

Cases in_place_cases() {
  Cases c;
  const Input a = normal({3, 7}), row = normal({7}), positive = uniform({3, 7}, 0.25, 4);
  const Input divisor = uniform({3, 1}, 0.5, 2);
  write_in_place(
      c, "add", "", "add_(b, alpha=1.5)", {a, row}, [](const Tensor& y, In x) -> auto& { return y.add_(x[1], 1.5); });
  write_in_place(
      c, "add", "_number", "add_(0.5)", {a}, [](const Tensor& y, In) -> auto& { return y.add_(0.5); });
  write_in_place(
      c, "add", "_keeps_dtype", "add_(b)", {a, row.as(kDouble)},
      [](const Tensor& y, In x) -> auto& { return y.add_(x[1]); }, 2);
  write_in_place(
      c, "add", "_wider_operand", "add_(b)", {a, row.parameter()},
      [](const Tensor& y, In x) -> auto& { return y.add_(x[1]); }, 2);
  write_in_place(
      c, "add", "_integers", "add_(b)", {integers({4}, -9, 9), integers({4}, -9, 9)},
      [](const Tensor& y, In x) -> auto& { return y.add_(x[1]); });
  write_in_place(
      c, "add", "_addcmul", "addcmul_(b, c, value=0.5)", {a, row, divisor},
      [](const Tensor& y, In x) -> auto& { return y.addcmul_(x[1], x[2], 0.5); }, 3);
  write_in_place(
      c, "addmm", "", "addmm_(b, c, beta=0.5, alpha=2)", {normal({3, 7}), normal({3, 4}), normal({4, 7})},
      [](const Tensor& y, In x) -> auto& { return y.addmm_(x[1], x[2], 0.5, 2); }, 3);
  write_in_place(
      c, "sub", "", "sub_(b, alpha=2)", {a, row}, [](const Tensor& y, In x) -> auto& { return y.sub_(x[1], 2); });
  write_in_place(
      c, "sub", "_number", "sub_(3)", {a}, [](const Tensor& y, In) -> auto& { return y.sub_(3); });
  write_in_place(
      c, "mul", "", "mul_(b)", {a, row}, [](const Tensor& y, In x) -> auto& { return y.mul_(x[1]); });
  write_in_place(
      c, "mul", "_number", "mul_(0.75)", {a.laid_out(MemoryLayout::transposed)},
      [](const Tensor& y, In) -> auto& { return y.mul_(0.75); });
  write_in_place(
      c, "mul", "_chain", "mul_(b).add_(1).mul_(b)", {a, row},
      [](const Tensor& y, In x) -> auto& { return y.mul_(x[1]).add_(1).mul_(x[1]); }, 3);
  write_in_place(
      c, "div", "", "div_(b)", {a, divisor}, [](const Tensor& y, In x) -> auto& { return y.div_(x[1]); });
  write_in_place(
      c, "div", "_number", "div_(3)", {a}, [](const Tensor& y, In) -> auto& { return y.div_(3); });
  write_in_place(
      c, "pow", "", "pow_(3)", {positive}, [](const Tensor& y, In) -> auto& { return y.pow_(3); });
  write_in_place(
      c, "neg", "", "neg_()", {a}, [](const Tensor& y, In) -> auto& { return y.neg_(); });
  write_in_place(
      c, "abs", "", "abs_()", {a}, [](const Tensor& y, In) -> auto& { return y.abs_(); });
  write_in_place(
      c, "reciprocal", "", "reciprocal_()", {positive}, [](const Tensor& y, In) -> auto& { return y.reciprocal_(); });
  write_in_place(
      c, "sqrt", "", "sqrt_()", {positive}, [](const Tensor& y, In) -> auto& { return y.sqrt_(); });
  write_in_place(
      c, "rsqrt", "", "rsqrt_()", {positive}, [](const Tensor& y, In) -> auto& { return y.rsqrt_(); });
  write_in_place(
      c, "exp", "", "exp_()", {a}, [](const Tensor& y, In) -> auto& { return y.exp_(); });
  write_in_place(
      c, "log", "", "log_()", {positive}, [](const Tensor& y, In) -> auto& { return y.log_(); });
  write_in_place(
      c, "clamp", "", "clamp_(-0.5, 1)", {a}, [](const Tensor& y, In) -> auto& { return y.clamp_(-0.5, 1); });
  write_in_place(
      c, "relu", "", "relu_()", {a}, [](const Tensor& y, In) -> auto& { return y.relu_(); });
  write_in_place(
      c, "sigmoid", "", "sigmoid_()", {a}, [](const Tensor& y, In) -> auto& { return y.sigmoid_(); });
  write_in_place(
      c, "tanh", "", "tanh_()", {a}, [](const Tensor& y, In) -> auto& { return y.tanh_(); });

  c.push_back({.op = "mul",
               .name = "in_place_on_view",
               .torch = "(y := a * 2, y[1].mul_(b), y[:, 2:4].add_(1), y)[0]",
               .inputs = {normal({3, 5}), normal({5})},
               .run = [](In x) -> Out {
                 Tensor y = x[0] * 2;
                 y[1].mul_(x[1]);
                 y.slice(1, 2, 4).add_(1);
                 return {y};
               },
               .roundings = 3,
               .bypasses_autocast = true});
  c.push_back({.op = "copy",
               .name = "fill_with_tensor",
               .torch = "(y := a * 1, y[1].fill_(b), y[:, 2].fill_(c), y)[0]",
               .inputs = {normal({3, 5}), normal({}), values({}, {0.5}).as(kDouble)},
               .run = [](In x) -> Out {
                 Tensor y = x[0] * 1;
                 y[1].fill_(x[1]);
                 y.select(1, 2).fill_(x[2]);
                 return {y};
               },
               .roundings = 3,
               .bypasses_autocast = true});
  c.push_back({.op = "copy",
               .name = "in_place_on_view",
               .torch = "(y := a * 1, y[:, 1].copy_(b), y[0].zero_(), y)[0]",
               .inputs = {normal({3, 5}), normal({3})},
               .run = [](In x) -> Out {
                 Tensor y = x[0] * 1;
                 y.select(1, 1).copy_(x[1]);
                 y[0].zero_();
                 return {y};
               },
               .bypasses_autocast = true});
  return c;
}

}  // namespace tandem::testing
