#include "soak/program.h"

#include "soak/dual_ops.h"

#include "support/counter.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

constexpr size_t kMostElements = 60;

// ---- tandem

Tensor unary(uint32_t form, const Tensor& x) {
  switch (form) {
    case 0:
      return tanh(x);
    case 1:
      return sin(x);
    case 2:
      return sigmoid(x);
    case 3:
      return relu(x);
    case 4:
      return exp(tanh(x));
    default:
      return -x;
  }
}
Tensor binary(uint32_t form, const Tensor& a, const Tensor& b) { return form == 0 ? a + b : form == 1 ? a - b : a * b; }
Tensor quotient(const Tensor& a, const Tensor& b) { return a / (square(b) + 1); }
Tensor product(const Tensor& a) { return mm(a, a.t()); }
Tensor sum_along(const Tensor& a, int64_t dim, bool keepdim) { return sum(a, {dim}, keepdim); }
Tensor softmax_last(const Tensor& a) { return softmax(a, -1); }
Tensor swapped(const Tensor& a, int64_t i, int64_t j) { return a.transpose(i, j); }
Tensor sliced(const Tensor& a, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  return a.slice(dim, start, stop, step);
}
Tensor selected(const Tensor& a, int64_t dim, int64_t index) { return a.select(dim, index); }
Tensor unsqueezed(const Tensor& a, int64_t dim) { return a.unsqueeze(dim); }
Tensor widened(const Tensor& a, int64_t n) {
  return a.unsqueeze(0).expand([&] {
    std::vector<int64_t> sizes(a.sizes().begin(), a.sizes().end());
    sizes.insert(sizes.begin(), n);
    return sizes;
  }());
}
Tensor flattened(const Tensor& a) { return a.clone().view({-1}); }
Tensor joined(const Tensor& a, const Tensor& b, int64_t dim) { return cat(std::vector<Tensor>{a, b}, dim); }
Tensor copied(const Tensor& a) { return a.clone(); }
Tensor detached(const Tensor& a) { return a.detach(); }
void change(uint32_t form, const Tensor& a, const Tensor& b) {
  if (form == 0) a.mul_(b);
  if (form == 1) a.add_(b, 0.5);
  if (form == 2) a.copy_(b);
}
void change_by_number(uint32_t form, const Tensor& a) {
  if (form == 0) a.mul_(0.75);
  if (form == 1) a.fill_(0.5);
  if (form == 2) a.add_(1);
}
Tensor unrecorded(const Tensor& a) {
  NoGradGuard no_grad;
  return a * a;
}
void unrecorded_change(const Tensor& a) {
  NoGradGuard no_grad;
  a.mul_(0.5);
}
Tensor checkpointed(const Tensor& a) {
  return autograd::checkpoint([](const Tensor& x) { return tanh(x * x) * x; }, a);
}
Tensor hooked(const Tensor& a) {
  const Tensor y = a * 1;
  if (y.requires_grad()) y.register_hook([](const Tensor& g) { return g * 2; });
  return y;
}
size_t numel(const Tensor& a) { return static_cast<size_t>(a.numel()); }
std::vector<int64_t> sizes_of(const Tensor& a) { return {a.sizes().begin(), a.sizes().end()}; }

// ---- both

bool broadcasts(const Sizes& a, const Sizes& b, bool into_a) {
  if (into_a && b.size() > a.size()) return false;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - 1 - i], y = b[b.size() - 1 - i];
    if (x != y && y != 1 && (into_a || x != 1)) return false;
  }
  return true;
}

/// Returns whether a tensor of the list was made by detach(). Only numbers are written to such a tensor, because a
/// write of another tensor would give it a history. A step adds at most one tensor.
struct Marks {
  std::vector<bool> is_detached;
};

template <class T>
void execute(const Instruction& i, std::vector<T>& list, Marks& marks) {
  const size_t index_a = i.a % list.size(), index_b = i.b % list.size();
  const T a = list[index_a], b = list[index_b];
  const Sizes sizes = sizes_of(a);
  const auto n = static_cast<int64_t>(sizes.size());
  const int64_t dim = n > 0 ? i.b % n : 0, other = n > 0 ? i.c % n : 0;
  const auto extent = [&] { return sizes[static_cast<size_t>(dim)]; };
  bool detached_now = marks.is_detached[index_a];
  const auto add = [&](const T& y, bool is_view) {
    if (numel(y) > kMostElements) return;
    list.push_back(y);
    marks.is_detached.push_back(is_view && detached_now);
  };
  switch (i.step) {
    case Step::unary:
      return add(unary(i.c % 6, a), false);
    case Step::binary:
      if (broadcasts(sizes, sizes_of(b), false)) add(binary(i.c % 3, a, b), false);
      return;
    case Step::divide:
      if (broadcasts(sizes, sizes_of(b), false)) add(quotient(a, b), false);
      return;
    case Step::product:
      if (n == 2) add(product(a), false);
      return;
    case Step::sum:
      if (n > 0) add(sum_along(a, dim, i.c % 2), false);
      return;
    case Step::softmax:
      if (n > 0) add(softmax_last(a), false);
      return;
    case Step::transpose:
      if (n > 0) add(swapped(a, dim, other), true);
      return;
    case Step::narrow:
      if (n > 0 && extent() > 1) add(sliced(a, dim, 1, extent(), 1), true);
      return;
    case Step::select:
      if (n > 0) add(selected(a, dim, i.c % extent()), true);
      return;
    case Step::every_other:
      if (n > 0) add(sliced(a, dim, 0, extent(), 2), true);
      return;
    case Step::unsqueeze:
      if (n < 4) add(unsqueezed(a, i.c % (n + 1)), true);
      return;
    case Step::expand:
      if (n < 4) add(widened(a, 1 + i.c % 3), true);
      return;
    case Step::flatten:
      return add(flattened(a), false);
    case Step::detach:
      detached_now = true;
      return add(detached(a), true);
    case Step::join:
      if (n > 0) add(joined(a, sizes_of(b) == sizes ? b : a, dim), false);
      return;
    case Step::clone:
      return add(copied(a), false);
    case Step::change:
      if (!detached_now && broadcasts(sizes, sizes_of(b), true)) change(i.c % 3, a, b);
      return;
    case Step::change_by_number:
      return change_by_number(i.c % 3, a);
    case Step::unrecorded:
      return add(unrecorded(a), false);
    case Step::unrecorded_change:
      return unrecorded_change(a);
    case Step::checkpoint:
      return add(checkpointed(a), false);
    case Step::hook:
      return add(hooked(a), false);
  }
}

double weight(size_t tensor, size_t element) { return counter_normal(77 + tensor, element); }

}  // namespace

std::string to_string(const Program& program) {
  static const char* names[] = {"unary",      "binary",    "divide",           "product",    "sum",
                                "softmax",    "transpose", "narrow",           "select",     "every_other",
                                "unsqueeze",  "expand",    "flatten",          "detach",     "join",
                                "clone",      "change",    "change_by_number", "unrecorded", "unrecorded_change",
                                "checkpoint", "hook"};
  std::string text;
  for (const Instruction& i : program) {
    text += std::string(names[static_cast<int>(i.step)]) + '(' + std::to_string(i.a) + ", " + std::to_string(i.b) +
            ", " + std::to_string(i.c) + ") ";
  }
  return text;
}

Tensor run(const Program& program, std::vector<Tensor> list, std::vector<bool>& refused) {
  Marks marks{std::vector<bool>(list.size(), false)};
  refused.clear();
  for (const Instruction& i : program) {
    refused.push_back(false);
    try {
      execute(i, list, marks);
    } catch (const Error&) {
      refused.back() = true;
    }
  }
  Tensor total;
  for (size_t k = list.size() - std::min<size_t>(3, list.size()); k < list.size(); ++k) {
    const Tensor w = empty(list[k].sizes(), kDouble);
    for (int64_t j = 0; j < w.numel(); ++j) w.data_ptr<double>()[j] = weight(k, static_cast<size_t>(j));
    const Tensor part = (list[k] * w).sum();
    total = total.defined() ? total + part : part;
  }
  return total;
}

Dual run(const Program& program, std::vector<DualTensor> list, const std::vector<bool>& refused) {
  Marks marks{std::vector<bool>(list.size(), false)};
  for (size_t i = 0; i < program.size(); ++i) {
    if (!refused[i]) execute(program[i], list, marks);
  }
  Dual total;
  for (size_t k = list.size() - std::min<size_t>(3, list.size()); k < list.size(); ++k) {
    for (size_t j = 0; j < list[k].numel(); ++j) total = total + list[k][j] * constant(weight(k, j));
  }
  return total;
}

}  // namespace tandem::testing
