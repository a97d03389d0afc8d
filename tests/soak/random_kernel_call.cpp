// The tensors of random kernel calls.
#include <algorithm>
#include <cmath>
#include <limits>

#include "soak/random_kernel_calls.h"
#include "support/counter.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

DType KernelCall::floating() { return pick<DType>({kFloat, kFloat, kDouble, kHalf, kBFloat16}); }

KernelCall::Sizes KernelCall::sizes(int64_t most) {
  if (chance(0.3)) return {integer(1, most)};
  Sizes sizes;
  const int64_t rank = integer(0, 4);
  for (int64_t left = chance(0.3) ? most : 60; static_cast<int64_t>(sizes.size()) < rank;) {
    sizes.push_back(integer(1, std::min<int64_t>(left, chance(0.2) ? 1000 : 20)));
    left = std::max<int64_t>(left / sizes.back(), 1);
  }
  if (rank > 0 && chance(0.04)) sizes[static_cast<size_t>(integer(0, rank - 1))] = 0;
  return sizes;
}

std::vector<double> KernelCall::numbers(int64_t count, DType dtype, Numbers which) {
  const uint64_t seed = fill_++;
  const bool is_float = is_floating_point(dtype);
  const int64_t low = dtype == kBool ? 0 : 1, high = dtype == kBool ? 2 : 100;  // fit into every integer dtype
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {0, -0.0, 1, -1, inf, -inf, std::nan(""), 65504, -70000, 0x1p-24, 0x1p-130};
  const bool any_special = which == Numbers::special && is_float && chance(0.5);
  const double scale = is_float && chance(0.2) ? pick<double>({0x1p-20, 0x1p-10, 8, 300}) : 1;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(i);
    values.push_back(is_float ? counter_normal(seed, index) * scale
                              : static_cast<double>(counter_integer(seed, index, low, high)));
    if (which == Numbers::positive) values.back() = std::abs(values.back());
    const uint64_t bits = counter_bits(seed + 1, index);
    if (any_special && bits % 8 == 0) values.back() = special[(bits >> 8) % special.size()];
  }
  return values;
}

Tensor KernelCall::view(const std::vector<double>& numbers, DType dtype, const Sizes& sizes, const Sizes& strides,
                        int64_t offset) {
  const Tensor wide = empty({static_cast<int64_t>(numbers.size())}, TensorOptions(kDouble).device(kCPU));
  std::copy(numbers.begin(), numbers.end(), wide.data_ptr<double>());
  // Converted by the CPU, so that both devices begin with the same bits.
  kept_.push_back({to(wide, dtype).to(get_default_device()), kExact});
  text += (kept_.size() > 1 ? ", " : " of ") + std::string(name(dtype)) + " " + to_string(IntArrayRef(sizes)) +
          " strides " + to_string(IntArrayRef(strides)) + " offset " + std::to_string(offset);
  return as_strided(kept_.back().memory, sizes, strides, offset);
}

Tensor KernelCall::tensor(const Sizes& sizes, DType dtype, Numbers which, bool expanded) {
  Sizes order, strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  if (chance(0.4)) std::shuffle(order.begin(), order.end(), random_);
  const bool gaps = chance(0.3);
  int64_t step = gaps ? integer(1, 3) : 1;
  for (const int64_t d : order) {
    strides[static_cast<size_t>(d)] = step;
    step *= std::max<int64_t>(sizes[static_cast<size_t>(d)], 1);
    if (gaps && chance(0.5)) step += integer(1, 5);
  }
  if (expanded && !sizes.empty() && chance(0.2)) strides[static_cast<size_t>(pick(order))] = 0;
  const int64_t offset = chance(0.4) ? integer(1, 9) : 0;
  return view(numbers(offset + step + integer(0, 3), dtype, which), dtype, sizes, strides, offset);
}

Tensor KernelCall::dense(const Sizes& sizes, DType dtype, Numbers which) {
  const Dims strides = contiguous_strides(sizes);
  const int64_t offset = chance(0.4) ? integer(1, 9) : 0;
  return view(numbers(offset + numel_of(sizes) + integer(0, 3), dtype, which), dtype, sizes,
              {strides.begin(), strides.end()}, offset);
}

Tensor KernelCall::of(const std::vector<double>& numbers, DType dtype) {
  return view(numbers, dtype, {static_cast<int64_t>(numbers.size())}, {1}, 0);
}

void KernelCall::tolerate(const Tensor& x, Tolerance tolerance, int64_t slips) {
  for (Kept& kept : kept_) {
    if (!x.is_alias_of(kept.memory)) continue;
    kept.tolerance = tolerance;
    kept.slips = slips;
  }
}

}  // namespace tandem::testing
