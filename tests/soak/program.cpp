#include "soak/program.h"

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
Tensor divide(const Tensor& a, const Tensor& b) { return a / (square(b) + 1); }
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

// ---- the reference

using Sizes = DualTensor::Sizes;
size_t numel(const DualTensor& a) { return a.numel(); }
Sizes sizes_of(const DualTensor& a) { return a.sizes(); }
size_t count(const Sizes& sizes) {
  size_t n = 1;
  for (int64_t s : sizes) n *= static_cast<size_t>(s);
  return n;
}
/// The indices of element `i` of sizes, and back.
Sizes indices(const Sizes& sizes, size_t i) {
  Sizes result(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; i /= static_cast<size_t>(sizes[d])) {
    result[d] = static_cast<int64_t>(i % static_cast<size_t>(sizes[d]));
  }
  return result;
}
size_t position(const Sizes& sizes, const Sizes& at) {
  size_t i = 0;
  for (size_t d = 0; d < sizes.size(); ++d) i = i * static_cast<size_t>(sizes[d]) + static_cast<size_t>(at[d]);
  return i;
}
/// A fresh tensor of f(indices).
template <class F>
DualTensor make(const Sizes& sizes, const F& f) {
  std::vector<Dual> values;
  for (size_t i = 0; i < count(sizes); ++i) values.push_back(f(indices(sizes, i)));
  return {sizes, values};
}
/// A view whose element at `indices` is a's at f(indices).
template <class F>
DualTensor viewed(const DualTensor& a, const Sizes& sizes, const F& f) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count(sizes); ++i) order.push_back(position(a.sizes(), f(indices(sizes, i))));
  return a.view(sizes, order);
}
/// a's element for indices of a broadcast result.
Dual broadcast_at(const DualTensor& a, const Sizes& at) {
  Sizes own(a.sizes().size());
  for (size_t d = 0; d < own.size(); ++d) own[d] = a.sizes()[d] == 1 ? 0 : at[at.size() - own.size() + d];
  return a[position(a.sizes(), own)];
}
Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& r = result[result.size() - shorter.size() + i];
    if (r == 1) r = shorter[i];
  }
  return result;
}
Dual unary(uint32_t form, const Dual& x) {
  const double t = std::tanh(x.v), s = 1 / (1 + std::exp(-x.v));
  switch (form) {
    case 0:
      return chain(t, x, 1 - t * t);
    case 1:
      return chain(std::sin(x.v), x, std::cos(x.v));
    case 2:
      return chain(s, x, s * (1 - s));
    case 3:
      return chain(std::max(x.v, 0.0), x, x.v > 0);
    case 4:
      return chain(std::exp(t), x, std::exp(t) * (1 - t * t));
    default:
      return chain(-x.v, x, -1);
  }
}
DualTensor unary(uint32_t form, const DualTensor& x) {
  return make(x.sizes(), [&](const Sizes& at) { return unary(form, x[position(x.sizes(), at)]); });
}
template <class F>
DualTensor pairwise(const DualTensor& a, const DualTensor& b, const F& f) {
  return make(broadcast(a.sizes(), b.sizes()),
              [&](const Sizes& at) { return f(broadcast_at(a, at), broadcast_at(b, at)); });
}
DualTensor binary(uint32_t form, const DualTensor& a, const DualTensor& b) {
  return pairwise(a, b, [&](const Dual& x, const Dual& y) { return form == 0 ? x + y : form == 1 ? x - y : x * y; });
}
DualTensor divide(const DualTensor& a, const DualTensor& b) {
  return pairwise(a, b, [](const Dual& x, const Dual& y) { return x / (y * y + constant(1)); });
}
DualTensor product(const DualTensor& a) {
  return make({a.sizes()[0], a.sizes()[0]}, [&](const Sizes& at) {
    Dual total;
    for (int64_t k = 0; k < a.sizes()[1]; ++k) {
      total = total + a[position(a.sizes(), {at[0], k})] * a[position(a.sizes(), {at[1], k})];
    }
    return total;
  });
}
DualTensor sum_along(const DualTensor& a, int64_t dim, bool keepdim) {
  Sizes sizes = a.sizes();
  sizes[static_cast<size_t>(dim)] = 1;
  DualTensor y = make(sizes, [&](Sizes at) {
    Dual total;
    for (int64_t k = 0; k < a.sizes()[static_cast<size_t>(dim)]; ++k) {
      at[static_cast<size_t>(dim)] = k;
      total = total + a[position(a.sizes(), at)];
    }
    return total;
  });
  if (keepdim) return y;
  sizes.erase(sizes.begin() + dim);
  std::vector<size_t> order;
  for (size_t i = 0; i < y.numel(); ++i) order.push_back(i);
  return y.view(sizes, order);
}
DualTensor softmax_last(const DualTensor& a) {
  return make(a.sizes(), [&](Sizes at) {
    const auto e = [](const Dual& x) { return chain(std::exp(x.v), x, std::exp(x.v)); };
    const Dual own = e(a[position(a.sizes(), at)]);
    Dual total;
    for (at.back() = 0; at.back() < a.sizes().back(); ++at.back()) total = total + e(a[position(a.sizes(), at)]);
    return own / total;
  });
}
DualTensor swapped(const DualTensor& a, int64_t i, int64_t j) {
  Sizes sizes = a.sizes();
  std::swap(sizes[static_cast<size_t>(i)], sizes[static_cast<size_t>(j)]);
  return viewed(a, sizes, [&](Sizes at) {
    std::swap(at[static_cast<size_t>(i)], at[static_cast<size_t>(j)]);
    return at;
  });
}
DualTensor sliced(const DualTensor& a, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  Sizes sizes = a.sizes();
  sizes[static_cast<size_t>(dim)] = (stop - start + step - 1) / step;
  return viewed(a, sizes, [&](Sizes at) {
    at[static_cast<size_t>(dim)] = start + at[static_cast<size_t>(dim)] * step;
    return at;
  });
}
DualTensor selected(const DualTensor& a, int64_t dim, int64_t index) {
  Sizes sizes = a.sizes();
  sizes.erase(sizes.begin() + dim);
  return viewed(a, sizes, [&](Sizes at) {
    at.insert(at.begin() + dim, index);
    return at;
  });
}
DualTensor unsqueezed(const DualTensor& a, int64_t dim) {
  Sizes sizes = a.sizes();
  sizes.insert(sizes.begin() + dim, 1);
  return viewed(a, sizes, [&](Sizes at) {
    at.erase(at.begin() + dim);
    return at;
  });
}
DualTensor widened(const DualTensor& a, int64_t n) {
  Sizes sizes = a.sizes();
  sizes.insert(sizes.begin(), n);
  return viewed(a, sizes, [&](const Sizes& at) { return Sizes(at.begin() + 1, at.end()); });
}
DualTensor copied(const DualTensor& a) {
  return make(a.sizes(), [&](const Sizes& at) { return a[position(a.sizes(), at)]; });
}
DualTensor flattened(const DualTensor& a) {
  return make({static_cast<int64_t>(a.numel())}, [&](const Sizes& at) { return a[static_cast<size_t>(at[0])]; });
}
DualTensor joined(const DualTensor& a, const DualTensor& b, int64_t dim) {
  const auto d = static_cast<size_t>(dim);
  Sizes sizes = a.sizes();
  sizes[d] += b.sizes()[d];
  return make(sizes, [&](Sizes at) {
    if (at[d] < a.sizes()[d]) return a[position(a.sizes(), at)];
    at[d] -= a.sizes()[d];
    return b[position(b.sizes(), at)];
  });
}
DualTensor detached(const DualTensor& a) { return a.detached(); }
/// Operands are read before anything is written.
template <class F>
void write(const DualTensor& a, const F& f, bool recording) {
  std::vector<Dual> values;
  for (size_t i = 0; i < a.numel(); ++i) values.push_back(f(i));
  for (size_t i = 0; i < a.numel(); ++i) a.write(i, values[i], recording);
}
void change(uint32_t form, const DualTensor& a, const DualTensor& b) {
  write(
      a,
      [&](size_t i) {
        const Dual y = broadcast_at(b, indices(a.sizes(), i));
        return form == 0 ? a[i] * y : form == 1 ? a[i] + y * constant(0.5) : y;
      },
      true);
}
void change_by_number(uint32_t form, const DualTensor& a) {
  write(
      a, [&](size_t i) { return form == 0   ? a[i] * constant(0.75)
                                : form == 1 ? constant(0.5)
                                            : a[i] + constant(1); },
      true);
}
DualTensor unrecorded(const DualTensor& a) {
  return make(a.sizes(), [&](const Sizes& at) {
    const double v = a[position(a.sizes(), at)].v;
    return constant(v * v);
  });
}
void unrecorded_change(const DualTensor& a) {
  write(
      a, [&](size_t i) { return a[i] * constant(0.5); }, false);
}
DualTensor checkpointed(const DualTensor& a) {
  return pairwise(a, a, [](const Dual& x, const Dual&) {
    const Dual y = x * x;
    return unary(0, y) * x;
  });
}
DualTensor hooked(const DualTensor& a) {
  const DualTensor y = copied(a);
  y.scale_derivatives(2);
  return y;
}

// ---- both

bool broadcasts(const Sizes& a, const Sizes& b, bool into_a) {
  if (into_a && b.size() > a.size()) return false;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - 1 - i], y = b[b.size() - 1 - i];
    if (x != y && y != 1 && (into_a || x != 1)) return false;
  }
  return true;
}

/// Whether a tensor of the list was made by detach(): written to by numbers only, since it would get a history of its
/// own. A step adds at most one tensor.
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
      if (broadcasts(sizes, sizes_of(b), false)) add(divide(a, b), false);
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
