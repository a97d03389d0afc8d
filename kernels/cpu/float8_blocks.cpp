// quantize_float8, dequantize_float8, update_delayed_scales. Contract: all in f32; a block's largest magnitude is found
// first, by comparing bits, so that NaN is the largest. Threads divide the rows of blocks, or the rows.
#include <algorithm>

#include "kernels/cpu/float8.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_access.h"
#include "kernels/cpu/simd/float8.h"
#include "tandem/math/float8_scale.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu {
namespace {

/// The matrices of a tensor and their blocks. A tensor of rank 1 is one row.
struct ScaleBlocks {
  ScaleBlocks(const Tensor& x, const Float8Scales& scales)
      : width(x.sizes().back()),
        height(x.dim() < 2 ? 1 : x.size(-2)),
        matrices(width * height == 0 ? 0 : x.numel() / (width * height)),
        rows(scales.rows),
        columns(scales.columns),
        down((height + rows - 1) / rows),
        across((width + columns - 1) / columns) {}

  /// Calls f()(first row, number of rows, first block) for each row of blocks, from several threads; f() makes what one
  /// thread needs.
  template <class F>
  void for_each_block_row(F f) const {
    parallel_for(matrices * down, grain_of(rows * width), [&](int64_t begin, int64_t end) {
      auto own = f();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % down * rows;
        own(i / down * height + first, std::min(rows, height - first), i * across);
      }
    });
  }
  int64_t width_of(int64_t block) const { return std::min(columns, width - block * columns); }

  int64_t width, height, matrices, rows, columns, down, across;
};

/// Repeats the numbers of blocks for each of their columns.
void spread(float* y, const float* per_block, const ScaleBlocks& blocks) {
  for (int64_t b = 0; b < blocks.across; ++b) {
    std::fill_n(y + b * blocks.columns, blocks.width_of(b), per_block[b]);
  }
}

/// The rule by which blocks get their scales.
class BlockRule {
 public:
  BlockRule(const Float8QuantizeCall& call, float largest)
      : inverse_(call.scales.inverse),
        largest_(largest),
        least_(static_cast<float>(call.least_amax)),
        power_of_two_(call.scales.power_of_two) {}

  /// Writes the inverse scale of a block, and returns its scale.
  float scale(float amax, int64_t block) const {
    if (inverse_.dtype() == kFloat8_e8m0fnu) {
      const uint8_t code = math::float8_block_exponent(amax, largest_);
      static_cast<uint8_t*>(inverse_.raw_bytes())[block] = code;
      return 1 / tandem::detail::E8m0fnu::widen(code);
    }
    const math::Float8Scale s = math::float8_scale(amax, largest_, least_, power_of_two_);
    inverse_.raw<float>()[block] = s.inverse;
    return s.scale;
  }

 private:
  const Tensor& inverse_;
  float largest_, least_;
  bool power_of_two_;
};

template <class Format>
constexpr float largest_of() {
  return Format::widen(Format::kLargest);
}

Float8CastCall cast_of(const Float8QuantizeCall& call, const Tensor& scale) {
  Float8CastCall cast;
  cast.y = call.codes;
  cast.x = call.x;
  cast.scale = scale;
  return cast;
}

/// One scale for the whole tensor, from its largest magnitude.
void quantize_whole(const Float8QuantizeCall& call, const BlockRule& rule, float amax) {
  const Tensor scale = empty({1}, TensorOptions(kFloat).device(kCPU));
  *scale.raw<float>() = rule.scale(amax, 0);
  cast_float8(cast_of(call, scale));
}

/// With the call's scale, or with one from the largest magnitude if that does not fit.
void quantize_scaled(const Float8QuantizeCall& call, const BlockRule& rule, float largest) {
  Float8CastCall cast = cast_of(call, call.scale);
  cast.amax = zeros({1}, TensorOptions(kFloat).device(kCPU));
  cast_float8(cast);
  const float scale = *call.scale.raw<float>(), amax = *cast.amax.raw<float>();
  float& inverse = *call.scales.inverse.raw<float>();
  inverse = 1 / scale;
  if (!math::float8_scale_fits(scale, amax, largest)) quantize_whole(call, rule, amax);
  const float noted = call.noted.defined() ? raise_amax(call.noted, amax) : amax;
  if (!math::is_finite_magnitude(noted)) inverse = math::bits_as<float>(0x7fc00000u);
}

}  // namespace

void quantize_float8(const Float8QuantizeCall& call) {
  const bool e4m3fn = call.codes.dtype() == kFloat8_e4m3fn;
  const float most = e4m3fn ? largest_of<tandem::detail::E4m3fn>() : largest_of<tandem::detail::E5m2>();
  const BlockRule rule(call, most);
  if (call.scale.defined()) return quantize_scaled(call, rule, most);
  if (call.scales.rows == 0) return quantize_whole(call, rule, largest_magnitude(call.x));
  const ScaleBlocks blocks(call.x, call.scales);
  const Float8Table& table = float8_table();
  const Float8Casts& casts = e4m3fn ? table.e4m3fn : table.e5m2;
  uint8_t* const codes = static_cast<uint8_t*>(call.codes.raw_bytes());
  blocks.for_each_block_row([&] {
    return [&, x = RowAccess<float>(call.x, blocks.width), largest = Scratch<uint32_t>(blocks.across),
            per_block = Scratch<float>(blocks.across),
            factor = Scratch<float>(blocks.width)](int64_t first, int64_t rows, int64_t first_block) {
      std::fill_n(largest.data(), blocks.across, 0u);
      const float* row = nullptr;
      for (int64_t r = first; r < first + rows; ++r) {
        row = x.read(r);
        if (blocks.columns == 1) {
          table.amax_each(largest.data(), row, blocks.width);
          continue;
        }
        for (int64_t b = 0; b < blocks.across; ++b) {
          largest.data()[b] = std::max(largest.data()[b], table.amax(row + b * blocks.columns, blocks.width_of(b)));
        }
      }
      for (int64_t b = 0; b < blocks.across; ++b) {
        per_block.data()[b] = rule.scale(math::bits_as<float>(largest.data()[b]), first_block + b);
      }
      spread(factor.data(), per_block.data(), blocks);
      for (int64_t r = first; r < first + rows; ++r) {
        casts.scaled(codes + r * blocks.width, rows == 1 ? row : x.read(r), factor.data(), blocks.width);
      }
    };
  });
}

void dequantize_float8(const Tensor& y, const Tensor& codes, const Float8Scales& scales) {
  const ScaleBlocks blocks(codes, scales);
  const Float8Table& table = float8_table();
  blocks.for_each_block_row([&] {
    return [&, in = RowAccess<float>(codes, blocks.width), out = RowAccess<float>(y, blocks.width),
            inverse = RowAccess<float>(scales.inverse, blocks.across),
            factor = Scratch<float>(blocks.width)](int64_t first, int64_t rows, int64_t first_block) {
      spread(factor.data(), inverse.read(first_block / blocks.across), blocks);
      for (int64_t r = first; r < first + rows; ++r) {
        table.multiply(out.target(r), in.read(r), factor.data(), blocks.width);
        out.commit(r);
      }
    };
  });
}

void update_delayed_scales(const DelayedScalesCall& call) {
  for (const Tensor& state : call.states) {
    const int64_t length = state.size(1) - 1;
    for (int64_t r = 0; r < call.count; ++r) {
      float* const scale = state.raw<float>() + (call.first + r) * (1 + length);
      float* const history = scale + 1;
      const uint32_t bits =
          call.most_recent ? math::bits_as<uint32_t>(history[0]) : float8_table().amax(history, length);
      const float largest = static_cast<float>(call.largest[static_cast<size_t>(r)]);
      *scale = math::next_delayed_scale(*scale, math::bits_as<float>(bits), largest, static_cast<float>(call.factor));
      if (!math::is_finite_magnitude(history[0])) history[0] = 0;
      std::rotate(history, history + 1, history + length);
      history[0] = 0;
    }
  }
}

}  // namespace tandem::cpu
