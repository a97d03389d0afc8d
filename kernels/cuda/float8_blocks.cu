// quantize_float8, dequantize_float8, update_delayed_scales. Contract: as on the CPU, bit for bit: all in f32, and the
// largest magnitude by comparing bits. Blocks of one column have a thread each, so that neighbours read neighbouring
// columns; others have a group of threads, one warp for a row and a whole thread block for several.
#include "kernels/cuda/element.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/tensor_list.h"
#include "tandem/math/float8_scale.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// The matrices of a tensor and their blocks. A tensor of rank 1 is one row.
struct Blocks {
  Blocks() = default;
  Blocks(const Tensor& x, const Float8Scales& scales)
      : width(x.sizes().back()),
        height(x.dim() < 2 ? 1 : x.size(-2)),
        rows(scales.rows),
        columns(scales.columns),
        down((height + rows - 1) / rows),
        across((width + columns - 1) / columns),
        count(x.numel() == 0 ? 0 : x.numel() / (width * height) * down * across) {}

  /// Part of a matrix: its first element's offset, and its size.
  struct Place {
    int64_t offset, rows, columns;
  };
  __device__ Place place(int64_t block) const {
    const int64_t b = block % across, i = block / across, r = i % down * rows;
    return {(i / down * height + r) * width + b * columns, height - r < rows ? height - r : rows,
            width - b * columns < columns ? width - b * columns : columns};
  }
  /// The block of an element.
  __device__ int64_t block_of(int64_t element) const {
    const int64_t row = element / width, column = element % width;
    return (row / height * down + row % height / rows) * across + column / columns;
  }

  int64_t width = 0, height = 0, rows = 0, columns = 0, down = 0, across = 0, count = 0;
};

struct QuantizePlan {
  Blocks blocks;
  uint8_t* codes;
  void* inverse;
  const void* x;
  DType from;
  float least;
  bool exponents;  ///< inverse is e8m0fnu
  bool power_of_two;
};

__device__ __forceinline__ uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

__device__ __forceinline__ uint32_t magnitude_at(const QuantizePlan& plan, int64_t i) {
  return math::bits_as<uint32_t>(load<float>(plan.x, plan.from, i)) & 0x7fffffffu;
}

/// The scale of a block; `writes` its inverse.
template <class Format>
__device__ float scale_of(const QuantizePlan& plan, uint32_t amax_bits, int64_t block, bool writes) {
  const float amax = math::bits_as<float>(amax_bits), largest = Format::widen(Format::kLargest);
  if (plan.exponents) {
    const uint8_t code = math::float8_block_exponent(amax, largest);
    if (writes) static_cast<uint8_t*>(plan.inverse)[block] = code;
    return 1 / tandem::detail::E8m0fnu::widen(code);
  }
  const math::Float8Scale s = math::float8_scale(amax, largest, plan.least, plan.power_of_two);
  if (writes) static_cast<float*>(plan.inverse)[block] = s.inverse;
  return s.scale;
}

template <class Format>
__device__ __forceinline__ void round_at(const QuantizePlan& plan, int64_t i, float scale) {
  plan.codes[i] = Format::round(load<float>(plan.x, plan.from, i) * scale, Float8Overflow::saturate);
}

template <class Format>
__global__ void __launch_bounds__(kThreads) quantize_columns(const QuantizePlan __grid_constant__ plan) {
  const Blocks& blocks = plan.blocks;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t k = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < blocks.count; k += step) {
    const Blocks::Place at = blocks.place(k);
    uint32_t amax = 0;
#pragma unroll 2  // on compute capability 12, the compiler's own choice spills registers
    for (int64_t r = 0; r < at.rows; ++r) amax = larger(amax, magnitude_at(plan, at.offset + r * blocks.width));
    const float scale = scale_of<Format>(plan, amax, k, true);
    for (int64_t r = 0; r < at.rows; ++r) round_at<Format>(plan, at.offset + r * blocks.width, scale);
  }
}

template <class Format>
__global__ void __launch_bounds__(kThreads) quantize_groups(const QuantizePlan __grid_constant__ plan) {
  const Blocks& blocks = plan.blocks;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < blocks.count;
       first += int64_t{gridDim.x} * blockDim.y) {
    const int64_t k = first + threadIdx.y;
    const bool inside = k < blocks.count;
    const Blocks::Place at = inside ? blocks.place(k) : Blocks::Place{0, 0, 1};
    const auto for_each = [&](auto f) {
      for (int64_t e = threadIdx.x; e < at.rows * at.columns; e += blockDim.x) {
        f(at.offset + e / at.columns * blocks.width + e % at.columns);
      }
    };
    uint32_t amax = 0;
    for_each([&](int64_t i) { amax = larger(amax, magnitude_at(plan, i)); });
    amax = Group<false>::fold(amax, larger);
    if (!inside) continue;
    const float scale = scale_of<Format>(plan, amax, k, threadIdx.x == 0);
    for_each([&](int64_t i) { round_at<Format>(plan, i, scale); });
  }
}

// One scale for the whole tensor: the largest magnitude, then the scale from it.

__global__ void __launch_bounds__(kThreads)
    find_amax(const QuantizePlan __grid_constant__ plan, int64_t numel, uint32_t* amax) {
  uint32_t largest = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    largest = larger(largest, magnitude_at(plan, i));
  }
  const uint32_t all = Group<false>::fold(largest, larger);
  if (threadIdx.x == 0) atomicMax(amax, all);
}

template <class Format>
__global__ void set_scale(const QuantizePlan __grid_constant__ plan, const uint32_t* amax, float* scale) {
  *scale = scale_of<Format>(plan, *amax, 0, true);
}

// A scale that the call brings: all numbers are rounded with it, and again if it does not fit.

struct ScaledPlan {
  const float* scale;
  const uint32_t* amax;
  uint32_t* noted;  ///< null if not wanted
  float* own;       ///< the scale with which to round again; 0: not needed
};

template <class Format>
__global__ void choose_scale(const QuantizePlan __grid_constant__ plan, const ScaledPlan __grid_constant__ scaled) {
  const float given = *scaled.scale, amax = math::bits_as<float>(*scaled.amax);
  float* const inverse = static_cast<float*>(plan.inverse);
  *inverse = 1 / given;
  const bool fits = math::float8_scale_fits(given, amax, Format::widen(Format::kLargest));
  *scaled.own = fits ? 0.0f : scale_of<Format>(plan, *scaled.amax, 0, true);
  const uint32_t noted = scaled.noted ? larger(atomicMax(scaled.noted, *scaled.amax), *scaled.amax) : *scaled.amax;
  if (!math::is_finite_magnitude(math::bits_as<float>(noted))) *inverse = math::bits_as<float>(0x7fc00000u);
}

template <class Format>
__global__ void __launch_bounds__(kThreads)
    round_again(const QuantizePlan __grid_constant__ plan, int64_t numel, const float* own) {
  const float scale = *own;
  if (scale == 0) return;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    round_at<Format>(plan, i, scale);
  }
}

struct DequantizePlan {
  Blocks blocks;
  int64_t numel;
  void* y;
  const uint8_t* codes;
  const void* inverse;
  DType to;
  bool exponents;
};

/// Each thread converts `kTogether` adjacent elements of one block at a time: 1 or 4.
template <class Format, int kTogether>
__global__ void __launch_bounds__(kThreads) dequantize(const DequantizePlan __grid_constant__ plan) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kTogether;
  for (int64_t i = kTogether * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x); i < plan.numel; i += step) {
    const int64_t block = plan.blocks.block_of(i);
    const float inverse = plan.exponents
                              ? tandem::detail::E8m0fnu::widen(static_cast<const uint8_t*>(plan.inverse)[block])
                              : static_cast<const float*>(plan.inverse)[block];
    if constexpr (kTogether == 1) {
      store<float>(plan.y, plan.to, i, Format::widen(plan.codes[i]) * inverse);
    } else {
      const Quad<uint8_t> codes = reinterpret_cast<const Quad<uint8_t>*>(plan.codes)[i / 4];
      float values[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) values[j] = Format::widen(codes.at[j]) * inverse;
      store_quad<float>(plan.y, plan.to, i, values);
    }
  }
}

/// The most rows that one launch updates.
constexpr int64_t kMostRows = 4;

struct DelayedPlan {
  int64_t states, first, count;
  float largest[kMostRows];
  float factor;
  bool most_recent;
};

/// The table: for each state its address and the length of its histories. A block updates one row at a time.
template <class Table>
__global__ void __launch_bounds__(kThreads)
    update_rows(const Table __grid_constant__ table, const DelayedPlan __grid_constant__ plan) {
  for (int64_t k = blockIdx.x; k < plan.states * plan.count; k += gridDim.x) {
    const int64_t row = k % plan.count, length = static_cast<int64_t>(table.data()[2 * (k / plan.count) + 1]);
    float* const scale =
        reinterpret_cast<float*>(table.data()[2 * (k / plan.count)]) + (plan.first + row) * (1 + length);
    float* const history = scale + 1;
    uint32_t amax = 0;
    for (int64_t i = threadIdx.x; i < (plan.most_recent ? 1 : length); i += blockDim.x) {
      amax = larger(amax, math::bits_as<uint32_t>(history[i]));
    }
    amax = Group<false>::fold(amax, larger);
    const float newest = math::is_finite_magnitude(history[0]) ? history[0] : 0.0f;
    for (int64_t begin = 0; begin < length; begin += blockDim.x) {
      const int64_t i = begin + threadIdx.x;
      __syncthreads();  // all have read what the previous pass, or this one, overwrites
      const float next = i + 1 < length ? history[i + 1] : newest;
      __syncthreads();
      if (i < length) history[i] = i == 0 ? 0.0f : next;
    }
    if (threadIdx.x == 0) {
      *scale = math::next_delayed_scale(*scale, math::bits_as<float>(amax), plan.largest[row], plan.factor);
    }
    __syncthreads();
  }
}

/// Calls f with the format of a float8 dtype.
template <class F>
void visit_format(DType dtype, F f) {
  if (dtype == kFloat8_e4m3fn) {
    f(tandem::detail::E4m3fn());
  } else {
    f(tandem::detail::E5m2());
  }
}

}  // namespace

void quantize_float8(const Float8QuantizeCall& call) {
  const Float8Scales& scales = call.scales;
  const bool whole = scales.rows == 0;
  if (call.x.numel() == 0 && !whole) return;
  const DeviceGuard on(call.x.device());
  const QuantizePlan plan{.blocks = whole ? Blocks() : Blocks(call.x, scales),
                          .codes = static_cast<uint8_t*>(call.codes.raw_bytes()),
                          .inverse = scales.inverse.raw_bytes(),
                          .x = call.x.raw_bytes(),
                          .from = call.x.dtype(),
                          .least = static_cast<float>(call.least_amax),
                          .exponents = scales.inverse.dtype() == kFloat8_e8m0fnu,
                          .power_of_two = scales.power_of_two};
  if (whole) {
    const TensorOptions f32 = call.x.options().dtype(kFloat);
    const Tensor amax = empty({1}, f32), scale = empty({1}, f32);
    fill(amax, 0);
    uint32_t* const bits = static_cast<uint32_t*>(amax.raw_bytes());
    const Launch one{dim3(1), dim3(1), 0};
    const int64_t numel = call.x.numel();
    Float8CastCall cast;
    cast.y = call.codes;
    cast.x = call.x;
    if (call.scale.defined()) {
      cast.scale = call.scale;
      cast.amax = amax;
      cast_float8(cast);
      const ScaledPlan scaled{.scale = call.scale.raw<float>(),
                              .amax = bits,
                              .noted = call.noted.defined() ? static_cast<uint32_t*>(call.noted.raw_bytes()) : nullptr,
                              .own = scale.raw<float>()};
      visit_format(call.codes.dtype(), [&]<class Format>(Format) {
        launch(choose_scale<Format>, one, plan, scaled);
        if (numel > 0) launch(round_again<Format>, grid_stride(numel), plan, numel, scaled.own);
      });
      return;
    }
    if (numel > 0) launch(find_amax, grid_stride(numel, 4), plan, numel, bits);
    visit_format(call.codes.dtype(),
                 [&]<class Format>(Format) { launch(set_scale<Format>, one, plan, bits, scale.raw<float>()); });
    cast.scale = scale;
    return cast_float8(cast);
  }
  visit_format(call.codes.dtype(), [&]<class Format>(Format) {
    if (plan.blocks.columns == 1) {
      launch(quantize_columns<Format>, grid_stride(plan.blocks.count), plan);
      return;
    }
    const unsigned groups = plan.blocks.rows == 1 ? kThreads / 32 : 1;
    Launch shape = block_stride((plan.blocks.count + groups - 1) / groups);
    shape.block = dim3(kThreads / groups, groups);
    launch(quantize_groups<Format>, shape, plan);
  });
}

void dequantize_float8(const Tensor& y, const Tensor& codes, const Float8Scales& scales) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const DequantizePlan plan{.blocks = Blocks(codes, scales),
                            .numel = y.numel(),
                            .y = y.raw_bytes(),
                            .codes = static_cast<const uint8_t*>(codes.raw_bytes()),
                            .inverse = scales.inverse.raw_bytes(),
                            .to = y.dtype(),
                            .exponents = scales.inverse.dtype() == kFloat8_e8m0fnu};
  const bool quads = plan.blocks.width % 4 == 0 && plan.blocks.columns % 4 == 0 &&
                     reinterpret_cast<uintptr_t>(plan.y) % 16 == 0 && reinterpret_cast<uintptr_t>(plan.codes) % 4 == 0;
  visit_format(codes.dtype(), [&]<class Format>(Format) {
    if (quads) {
      launch(dequantize<Format, 4>, grid_stride(plan.numel, 4), plan);
    } else {
      launch(dequantize<Format, 1>, grid_stride(plan.numel), plan);
    }
  });
}

void update_delayed_scales(const DelayedScalesCall& call) {
  if (call.states.empty() || call.count == 0) return;
  if (call.count > kMostRows) {  // in parts
    DelayedScalesCall part = call;
    for (int64_t begin = 0; begin < call.count; begin += kMostRows) {
      part.first = call.first + begin;
      part.count = std::min(kMostRows, call.count - begin);
      part.largest.assign(call.largest.begin() + begin, call.largest.begin() + begin + part.count);
      update_delayed_scales(part);
    }
    return;
  }
  const DeviceGuard on(call.states[0].device());
  DelayedPlan plan{.states = static_cast<int64_t>(call.states.size()),
                   .first = call.first,
                   .count = call.count,
                   .largest = {},
                   .factor = static_cast<float>(call.factor),
                   .most_recent = call.most_recent};
  for (size_t r = 0; r < call.largest.size(); ++r) plan.largest[r] = static_cast<float>(call.largest[r]);
  std::vector<uint64_t> words;
  for (const Tensor& state : call.states) {
    words.push_back(reinterpret_cast<uint64_t>(state.raw_bytes()));
    words.push_back(static_cast<uint64_t>(state.size(1) - 1));
  }
  with_table(words, [&](const auto& table) {
    launch(update_rows<std::decay_t<decltype(table)>>, block_stride(plan.states * plan.count), table, plan);
  });
}

}  // namespace tandem::cuda
