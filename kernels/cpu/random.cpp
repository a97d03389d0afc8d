// uniform, normal, random_int, bernoulli, random_from, poisson, binomial, pick_weighted, dropout. Contract: the rules
// of math/philox.h and math/distributions.h, with element i counted in row-major order of the sizes. So the numbers
// depend neither on strides nor on the number of threads, and are equal in every dtype except for rounding. uniform
// stays below `to` in every dtype.
#include "kernels/cpu/simd/random.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/tile_lanes.h"
#include "kernels/largest_below.h"
#include "kernels/weighted_index.h"
#include "tandem/math/distributions.h"

namespace tandem::cpu {
namespace {

/// Fills y by make(C* out, lanes, further, n), where n covers whole counters. `further` is null for f32.
template <class C, class Make>
void generate(const Tensor& y, PhiloxState state, Make make) {
  const Space space = make_space({&y}, Order::logical);
  for_each_tile(space, [&] {
    return [&make, out = TileWriter<C>(space, 0, y), lanes = TileLanes(state, 0),
            further = TileLanes(state, 1)](const Tile& tile) mutable {
      C values[kTile + 8];
      const uint32_t* bits = lanes.read(tile);
      make(values, bits, sizeof(C) == 8 ? further.read(tile) : nullptr, TileLanes::padded(tile));
      out.commit(tile, values + TileLanes::skip(tile));
    };
  });
}

/// Draws each element of y from a distribution whose parameters are the elements of `parameters`.
template <class Distribution, class... Tensors>
void draw_each(const Tensor& y, PhiloxState state, const Tensors&... parameters) {
  const Space space = make_space({&y, &parameters...}, Order::logical);
  for_each_tile(space, [&] {
    int operand = 0;
    return [&, out = TileWriter<double>(space, 0, y),
            in = std::tuple{TileReader<double>(space, ++operand, parameters)...}](const Tile& tile) mutable {
      const auto rows = std::apply([&](auto&... reader) { return std::array{reader.read(tile)...}; }, in);
      double* target = out.target(tile);
      for (int64_t i = 0; i < tile.size(); ++i) {
        double p[Distribution::kParameters];
        for (size_t k = 0; k < rows.size(); ++k) p[k] = rows[k][i];
        target[i] = Distribution()(p, {state.seed, state.offset, static_cast<uint64_t>(tile.begin + i)});
      }
      out.commit(tile, target);
    };
  });
}

}  // namespace

void uniform(const Tensor& y, double from, double to, PhiloxState state) {
  const double last = std::max(from, kernels::largest_below(y.dtype(), to));
  if (y.dtype() == DType::F64) {
    return generate<double>(y, state, [&](double* out, const uint32_t* lanes, const uint32_t* further, int64_t n) {
      random_table().uniform_f64(out, lanes, further, n, from, to, last);
    });
  }
  generate<float>(y, state, [&](float* out, const uint32_t* lanes, const uint32_t*, int64_t n) {
    random_table().uniform_f32(out, lanes, n, static_cast<float>(from), static_cast<float>(to),
                               static_cast<float>(last));
  });
}

void normal(const Tensor& y, double mean, double std, PhiloxState state) {
  if (y.dtype() == DType::F64) {
    return generate<double>(y, state, [&](double* out, const uint32_t* lanes, const uint32_t* further, int64_t n) {
      random_table().normal_f64(out, lanes, further, n, mean, std);
    });
  }
  generate<float>(y, state, [&](float* out, const uint32_t* lanes, const uint32_t*, int64_t n) {
    random_table().normal_f32(out, lanes, n, static_cast<float>(mean), static_cast<float>(std));
  });
}

void random_int(const Tensor& y, int64_t low, int64_t high, PhiloxState state) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  generate<int64_t>(y, state, [&](int64_t* out, const uint32_t* lanes, const uint32_t* further, int64_t n) {
    random_table().integers(out, lanes, further, n, low, range);
  });
}

void bernoulli(const Tensor& y, double p, PhiloxState state) {
  const uint32_t threshold = math::bernoulli_threshold(p);
  generate<float>(y, state, [&](float* out, const uint32_t* lanes, const uint32_t*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = (lanes[i] >> 8) < threshold ? 1.0f : 0.0f;
  });
}

void random_from(const Tensor& y, kernels::Distribution which, double a, double b, PhiloxState state) {
  kernels::visit_floating_compute(y.dtype(), [&]<class C>(C) {
    generate<C>(y, state, [&](C* out, const uint32_t* lanes, const uint32_t* further, int64_t n) {
      for (int64_t i = 0; i < n; i += 4) {
        math::draw(which, static_cast<C>(a), static_cast<C>(b), lanes + i, further ? further + i : nullptr, out + i);
      }
    });
  });
}

void poisson(const Tensor& y, const Tensor& rate, PhiloxState state) { draw_each<math::Poisson>(y, state, rate); }

void binomial(const Tensor& y, const Tensor& count, const Tensor& prob, PhiloxState state) {
  draw_each<math::Binomial>(y, state, count, prob);
}

void pick_weighted(const Tensor& y, const Tensor& sums, const Tensor& u) {
  const int64_t n = sums.sizes()[1], k = u.sizes()[1];
  kernels::visit_floating_compute(u.dtype(), [&]<class C>(C) {
    parallel_for(y.numel(), grain_of(16), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y.raw<int64_t>()[i] = kernels::weighted_index(sums.raw<C>() + i / k * n, n, u.raw<C>()[i]);
      }
    });
  });
}

void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, PhiloxState state) {
  const uint32_t threshold = math::bernoulli_threshold(p);
  const double scale = 1.0 / (1.0 - p);
  const Space space = make_space({&y, &mask, &x}, Order::logical);
  visit_compute(compute_type(promote_types(y.dtype(), x.dtype())), [&](auto zero) {
    using C = decltype(zero);
    if constexpr (std::is_floating_point_v<C>) {
      for_each_tile(space, [&] {
        return [&, lanes = TileLanes(state, 0), out = TileWriter<C>(space, 0, y),
                kept = TileWriter<bool>(space, 1, mask), in = TileReader<C>(space, 2, x)](const Tile& tile) mutable {
          bool* k = kept.target(tile);
          C* target = out.target(tile);
          random_table().keep(k, lanes.read(tile) + TileLanes::skip(tile), tile.size(), threshold);
          if constexpr (sizeof(C) == sizeof(float)) {
            random_table().mask_f32(target, in.read(tile), k, tile.size(), static_cast<float>(scale));
          } else {
            random_table().mask_f64(target, in.read(tile), k, tile.size(), scale);
          }
          kept.commit(tile, k);
          out.commit(tile, target);
        };
      });
    }
  });
}

}  // namespace tandem::cpu
