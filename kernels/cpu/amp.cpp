// Loss scaling. f16 and bf16 gradients are widened, multiplied in f32 and rounded once to nearest even; f64 is
// multiplied in f64. found_inf is set to 1 if a value is inf or NaN before or after its multiplication (as rounded),
// and is never reset. Each memory location is visited once, even if a gradient is expanded.
#include <atomic>
#include <cstring>
#include <memory>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/amp.h"
#include "kernels/element_ranges.h"
#include "kernels/walk.h"
#include "tandem/math/amp.h"

namespace tandem::cpu {

using kernels::ElementRanges;
using kernels::make_walk;
using kernels::Walk;

namespace {

bool check_f64(const double* x, int64_t n, float factor) {
  uint64_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= math::non_finite_bit(x[i] * factor, math::kNonFiniteF64);
  return (found >> 63) != 0;
}

bool unscale_f64(double* x, int64_t n, float factor) {
  const bool found = check_f64(x, n, factor);
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
  return found;
}

/// Processes one contiguous row. Returns true if it contains an inf or NaN.
bool process_row(void* data, DType dtype, int64_t n, float factor, bool write) {
  const AmpTable& table = amp_table();
  auto* f64 = static_cast<double*>(data);
  auto* f32 = static_cast<float*>(data);
  auto* bits = static_cast<uint16_t*>(data);
  switch (dtype) {
    case DType::F64:
      return write ? unscale_f64(f64, n, factor) : check_f64(f64, n, factor);
    case DType::F32:
      return write ? table.unscale_f32(f32, n, factor) : table.check_f32(f32, n, factor);
    case DType::F16:
      return write ? table.unscale_f16(bits, n, factor) : table.check_f16(bits, n, factor);
    default:
      return write ? table.unscale_bf16(bits, n, factor) : table.check_bf16(bits, n, factor);
  }
}

struct Gradient {
  char* data;
  DType dtype;
  int64_t numel;                  ///< distinct memory locations
  std::unique_ptr<Walk<1>> walk;  ///< null if the elements are contiguous
};

Gradient describe(const Tensor& g) {
  Gradient out{static_cast<char*>(g.raw_bytes()), g.dtype(), g.numel(), nullptr};
  if (g.is_contiguous()) return out;
  const Walk<1> walk = make_walk<1>(g.sizes(), {g.strides()});
  out.numel = walk.numel;
  if (!walk.linear()) out.walk = std::make_unique<Walk<1>>(walk);
  return out;
}

/// Processes elements [begin, end) of a strided gradient in blocks gathered from its rows.
bool process_strided(const Gradient& g, int64_t begin, int64_t end, float factor, bool write) {
  constexpr int64_t kBlock = 512;
  alignas(64) char block[kBlock * sizeof(double)];
  const auto width = static_cast<int64_t>(element_size(g.dtype));
  const int64_t step = g.walk->row_stride(0) * width;
  bool found = false;
  for_each_row(*g.walk, begin, end, [&](const auto& offset, int64_t length) {
    char* row = g.data + offset[0] * width;
    for (int64_t from = 0; from < length; from += kBlock) {
      const int64_t n = std::min(kBlock, length - from);
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(block + i * width, row + (from + i) * step, static_cast<size_t>(width));
      found |= process_row(block, g.dtype, n, factor, write);
      if (!write) continue;
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(row + (from + i) * step, block + i * width, static_cast<size_t>(width));
    }
  });
  return found;
}

void process(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf, bool write) {
  const float factor = inverse_scale.defined() ? *inverse_scale.raw<float>() : 1.0f;
  write = write && factor != 1.0f;
  std::vector<Gradient> list;
  ElementRanges ranges;
  list.reserve(grads.size());
  ranges.reserve(grads.size());
  for (const Tensor& g : grads) {
    list.push_back(describe(g));
    ranges.push_back(list.back().numel);
  }
  std::atomic<bool> found = false;
  parallel_for(ranges.total(), kParallelGrain, [&](int64_t first, int64_t last) {
    bool bad = false;
    ranges.visit(first, last, [&](size_t k, int64_t begin, int64_t end) {
      const Gradient& g = list[k];
      if (g.walk) {
        bad |= process_strided(g, begin, end, factor, write);
      } else {
        char* row = g.data + begin * static_cast<int64_t>(element_size(g.dtype));
        bad |= process_row(row, g.dtype, end - begin, factor, write);
      }
    });
    if (bad) found.store(true, std::memory_order_relaxed);
  });
  if (found) *found_inf.raw<float>() = 1.0f;
}

}  // namespace

void unscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf) {
  process(grads, inverse_scale, found_inf, true);
}

void check_finite(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf) {
  process(grads, inverse_scale, found_inf, false);
}

void update_scale(const ScaleUpdateCall& call) {
  bool overflow = false;
  for (const Tensor& found : call.found_infs) overflow |= *found.raw<float>() != 0;  // NaN counts as an overflow
  auto* scale = call.scale.raw<float>();
  auto* growth = call.growth_tracker.raw<int32_t>();
  auto* hysteresis = call.hysteresis_tracker.raw<int32_t>();
  auto* skips = call.skips.raw<int32_t>();
  const math::ScaleState next =
      math::update_scale({*scale, *growth, *hysteresis, *skips}, math::scale_rule(call), overflow);
  *scale = next.scale;
  *growth = next.growth_tracker;
  *hysteresis = next.hysteresis_tracker;
  *skips = next.skips;
}

void copy_scale(const Tensor& copy, const Tensor& inverse, const Tensor& scale) {
  *copy.raw<float>() = *scale.raw<float>();
  *inverse.raw<float>() = math::invert_scale(*scale.raw<float>());
}

}  // namespace tandem::cpu
