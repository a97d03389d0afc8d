#pragma once
// The steps of random programs, on the tensors of the reference.
#include "soak/dual_tensor.h"

namespace tandem::testing {

using Sizes = DualTensor::Sizes;

inline size_t numel(const DualTensor& a) { return a.numel(); }
inline Sizes sizes_of(const DualTensor& a) { return a.sizes(); }
inline size_t count(const Sizes& sizes) {
  size_t n = 1;
  for (int64_t s : sizes) n *= static_cast<size_t>(s);
  return n;
}
/// Converts between the number of an element and its indices.
inline Sizes indices(const Sizes& sizes, size_t i) {
  Sizes result(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; i /= static_cast<size_t>(sizes[d])) {
    result[d] = static_cast<int64_t>(i % static_cast<size_t>(sizes[d]));
  }
  return result;
}
inline size_t position(const Sizes& sizes, const Sizes& at) {
  size_t i = 0;
  for (size_t d = 0; d < sizes.size(); ++d) i = i * static_cast<size_t>(sizes[d]) + static_cast<size_t>(at[d]);
  return i;
}
/// A new tensor with elements f(indices).
template <class F>
DualTensor make(const Sizes& sizes, const F& f) {
  std::vector<Dual> values;
  for (size_t i = 0; i < count(sizes); ++i) values.push_back(f(indices(sizes, i)));
  return {sizes, values};
}
/// A view whose element at `indices` is a's element at f(indices).
template <class F>
DualTensor viewed(const DualTensor& a, const Sizes& sizes, const F& f) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count(sizes); ++i) order.push_back(position(a.sizes(), f(indices(sizes, i))));
  return a.view(sizes, order);
}
/// The element of `a` for given indices of a broadcast result.
inline Dual broadcast_at(const DualTensor& a, const Sizes& at) {
  Sizes own(a.sizes().size());
  for (size_t d = 0; d < own.size(); ++d) own[d] = a.sizes()[d] == 1 ? 0 : at[at.size() - own.size() + d];
  return a[position(a.sizes(), own)];
}
inline Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& r = result[result.size() - shorter.size() + i];
    if (r == 1) r = shorter[i];
  }
  return result;
}
inline Dual unary(uint32_t form, const Dual& x) {
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
inline DualTensor unary(uint32_t form, const DualTensor& x) {
  return make(x.sizes(), [&](const Sizes& at) { return unary(form, x[position(x.sizes(), at)]); });
}
template <class F>
DualTensor pairwise(const DualTensor& a, const DualTensor& b, const F& f) {
  return make(broadcast(a.sizes(), b.sizes()),
              [&](const Sizes& at) { return f(broadcast_at(a, at), broadcast_at(b, at)); });
}
inline DualTensor binary(uint32_t form, const DualTensor& a, const DualTensor& b) {
  return pairwise(a, b, [&](const Dual& x, const Dual& y) { return form == 0 ? x + y : form == 1 ? x - y : x * y; });
}
inline DualTensor quotient(const DualTensor& a, const DualTensor& b) {
  return pairwise(a, b, [](const Dual& x, const Dual& y) { return x / (y * y + constant(1)); });
}
inline DualTensor product(const DualTensor& a) {
  return make({a.sizes()[0], a.sizes()[0]}, [&](const Sizes& at) {
    Dual total;
    for (int64_t k = 0; k < a.sizes()[1]; ++k) {
      total = total + a[position(a.sizes(), {at[0], k})] * a[position(a.sizes(), {at[1], k})];
    }
    return total;
  });
}
inline DualTensor sum_along(const DualTensor& a, int64_t dim, bool keepdim) {
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
inline DualTensor softmax_last(const DualTensor& a) {
  return make(a.sizes(), [&](Sizes at) {
    const auto e = [](const Dual& x) { return chain(std::exp(x.v), x, std::exp(x.v)); };
    const Dual own = e(a[position(a.sizes(), at)]);
    Dual total;
    for (at.back() = 0; at.back() < a.sizes().back(); ++at.back()) total = total + e(a[position(a.sizes(), at)]);
    return own / total;
  });
}
inline DualTensor swapped(const DualTensor& a, int64_t i, int64_t j) {
  Sizes sizes = a.sizes();
  std::swap(sizes[static_cast<size_t>(i)], sizes[static_cast<size_t>(j)]);
  return viewed(a, sizes, [&](Sizes at) {
    std::swap(at[static_cast<size_t>(i)], at[static_cast<size_t>(j)]);
    return at;
  });
}
inline DualTensor sliced(const DualTensor& a, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  Sizes sizes = a.sizes();
  sizes[static_cast<size_t>(dim)] = (stop - start + step - 1) / step;
  return viewed(a, sizes, [&](Sizes at) {
    at[static_cast<size_t>(dim)] = start + at[static_cast<size_t>(dim)] * step;
    return at;
  });
}
inline DualTensor selected(const DualTensor& a, int64_t dim, int64_t index) {
  Sizes sizes = a.sizes();
  sizes.erase(sizes.begin() + dim);
  return viewed(a, sizes, [&](Sizes at) {
    at.insert(at.begin() + dim, index);
    return at;
  });
}
inline DualTensor unsqueezed(const DualTensor& a, int64_t dim) {
  Sizes sizes = a.sizes();
  sizes.insert(sizes.begin() + dim, 1);
  return viewed(a, sizes, [&](Sizes at) {
    at.erase(at.begin() + dim);
    return at;
  });
}
inline DualTensor widened(const DualTensor& a, int64_t n) {
  Sizes sizes = a.sizes();
  sizes.insert(sizes.begin(), n);
  return viewed(a, sizes, [&](const Sizes& at) { return Sizes(at.begin() + 1, at.end()); });
}
inline DualTensor copied(const DualTensor& a) {
  return make(a.sizes(), [&](const Sizes& at) { return a[position(a.sizes(), at)]; });
}
inline DualTensor flattened(const DualTensor& a) {
  return make({static_cast<int64_t>(a.numel())}, [&](const Sizes& at) { return a[static_cast<size_t>(at[0])]; });
}
inline DualTensor joined(const DualTensor& a, const DualTensor& b, int64_t dim) {
  const auto d = static_cast<size_t>(dim);
  Sizes sizes = a.sizes();
  sizes[d] += b.sizes()[d];
  return make(sizes, [&](Sizes at) {
    if (at[d] < a.sizes()[d]) return a[position(a.sizes(), at)];
    at[d] -= a.sizes()[d];
    return b[position(b.sizes(), at)];
  });
}
inline DualTensor detached(const DualTensor& a) { return a.detached(); }
/// Reads all operands before writing.
template <class F>
void write(const DualTensor& a, const F& f, bool recording) {
  std::vector<Dual> values;
  for (size_t i = 0; i < a.numel(); ++i) values.push_back(f(i));
  for (size_t i = 0; i < a.numel(); ++i) a.write(i, values[i], recording);
}
inline void change(uint32_t form, const DualTensor& a, const DualTensor& b) {
  write(
      a,
      [&](size_t i) {
        const Dual y = broadcast_at(b, indices(a.sizes(), i));
        return form == 0 ? a[i] * y : form == 1 ? a[i] + y * constant(0.5) : y;
      },
      true);
}
inline void change_by_number(uint32_t form, const DualTensor& a) {
  write(
      a, [&](size_t i) { return form == 0   ? a[i] * constant(0.75)
                                : form == 1 ? constant(0.5)
                                            : a[i] + constant(1); },
      true);
}
inline DualTensor unrecorded(const DualTensor& a) {
  return make(a.sizes(), [&](const Sizes& at) {
    const double v = a[position(a.sizes(), at)].v;
    return constant(v * v);
  });
}
inline void unrecorded_change(const DualTensor& a) {
  write(
      a, [&](size_t i) { return a[i] * constant(0.5); }, false);
}
inline DualTensor checkpointed(const DualTensor& a) {
  return pairwise(a, a, [](const Dual& x, const Dual&) {
    const Dual y = x * x;
    return unary(0, y) * x;
  });
}
inline DualTensor hooked(const DualTensor& a) {
  const DualTensor y = copied(a);
  y.scale_derivatives(2);
  return y;
}

}  // namespace tandem::testing
