// cast_float8. Contract: f16, bf16 and f32 are scaled in f32; f64 is scaled in f64 and rounded once. Element i uses
// Philox lane i, counted in row-major order, so that results depend neither on strides nor on the number of threads.
#include "kernels/cpu/float8.h"

#include <atomic>
#include <bit>
#include <type_traits>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/simd/float8.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/tile_lanes.h"
#include "tandem/math/arithmetic.h"

namespace tandem::cpu {
namespace {

/// A maximum to which several threads contribute.
class SharedMaximum {
 public:
  explicit SharedMaximum(uint32_t first) : value_(first) {}
  void add(uint32_t x) {
    uint32_t now = value_.load(std::memory_order_relaxed);
    while (now < x && !value_.compare_exchange_weak(now, x, std::memory_order_relaxed)) {
    }
  }
  uint32_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> value_;
};

/// Presents a tile of C as f32: in place, or convert(x) of f64.
template <class C>
class AsFloat {
 public:
  template <class F>
  const float* read(const C* x, int64_t n, F convert) {
    if constexpr (std::is_same_v<C, float>) {
      return x;
    } else {
      for (int64_t i = 0; i < n; ++i) buffer_[i] = convert(x[i]);
      return buffer_;
    }
  }

 private:
  float buffer_[std::is_same_v<C, float> ? 1 : kTile];
};

template <class C>
void cast(const Float8CastCall& call) {
  constexpr bool kWide = std::is_same_v<C, double>;
  const Float8Table& table = float8_table();
  const Float8Casts& casts = call.y.dtype() == kFloat8_e4m3fn ? table.e4m3fn : table.e5m2;
  const float scale = call.scale.defined() ? *call.scale.raw<float>() : 1;
  SharedMaximum largest(0);
  const Space space = make_space({&call.y, &call.x}, Order::logical);
  for_each_tile(space, [&] {
    return [&, out = TileWriter<uint8_t>(space, 0, call.y), in = TileReader<C>(space, 1, call.x),
            lanes = TileLanes(call.state, 0), plain = AsFloat<C>(), scaled = AsFloat<C>()](const Tile& tile) mutable {
      const C* const x = in.read(tile);
      if (call.amax.defined()) {
        const float* const magnitudes = plain.read(x, tile.size(), [](C v) { return static_cast<float>(v); });
        largest.add(table.amax(magnitudes, tile.size()));
      }
      const double factor = scale;
      const float* const values =
          scaled.read(x, tile.size(), [factor](C v) { return math::round_to_odd(static_cast<double>(v) * factor); });
      const float rest = kWide ? 1 : scale;
      uint8_t* const y = out.target(tile);
      if (call.stochastic) {
        const uint32_t* const own = lanes.read(tile) + TileLanes::skip(tile);
        casts.stochastic(y, values, own, tile.size(), rest, call.overflow);
      } else {
        casts.nearest(y, values, tile.size(), rest, call.overflow);
      }
      out.commit(tile, y);
    };
  });
  if (call.amax.defined()) raise_amax(call.amax, std::bit_cast<float>(largest.value()));
}

}  // namespace

float raise_amax(const Tensor& amax, float magnitude) {
  // Other threads may have found the largest magnitudes of other tensors.
  const std::atomic_ref<float> shared(*amax.raw<float>());
  float now = shared.load(std::memory_order_relaxed);
  while (std::bit_cast<uint32_t>(now) < std::bit_cast<uint32_t>(magnitude)) {
    if (shared.compare_exchange_weak(now, magnitude, std::memory_order_relaxed)) return magnitude;
  }
  return now;
}

float largest_magnitude(const Tensor& x) {
  SharedMaximum largest(0);
  const Space space = make_space({&x}, Order::memory);
  for_each_tile(space, [&] {
    return [&, in = TileReader<float>(space, 0, x)](const Tile& tile) mutable {
      largest.add(float8_table().amax(in.read(tile), tile.size()));
    };
  });
  return std::bit_cast<float>(largest.value());
}

void cast_float8(const Float8CastCall& call) {
  if (call.x.dtype() == kDouble) {
    cast<double>(call);
  } else {
    cast<float>(call);
  }
}

}  // namespace tandem::cpu
