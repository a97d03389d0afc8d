// Loss scaling. f16 and bf16 gradients are widened, multiplied in f32 and rounded once to nearest even; f64 is
// multiplied in f64. found_inf is set to 1 if a value is inf or NaN before or after its multiplication (as rounded),
// and is never reset. Each memory location is visited once, even if a gradient is expanded. One launch per list; the
// scale, its inverse and the flags are read and written only on the device.
#include "tandem/math/amp.h"

#include "kernels/cuda/chunks.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"

namespace tandem::cuda {
namespace {

/// Product bits at or above this limit are inf or NaN in storage of type T.
template <class T>
inline constexpr uint32_t kLimit = math::kNonFiniteF32;
template <>
inline constexpr uint32_t kLimit<Half> = math::kNonFiniteF16;
template <>
inline constexpr uint32_t kLimit<BFloat16> = math::kNonFiniteBF16;
template <>
inline constexpr uint64_t kLimit<double> = math::kNonFiniteF64;

/// x = x factor; returns bits whose highest one is set if that is inf or NaN.
template <class T>
__device__ __forceinline__ auto multiply(T& x, float factor) {
  using C = typename ComputeOf<T>::type;
  const C product = static_cast<C>(x) * static_cast<C>(factor);
  x = convert<T>(product);
  return math::non_finite_bit(product, kLimit<T>);
}

/// Processes elements [begin, end) of a gradient with the block's threads. Returns true if this thread found an inf or
/// NaN.
template <class T>
__device__ bool process(const uint64_t* words, const ListEntry<1>& entry, int64_t begin, int64_t end, float factor,
                        bool write) {
  constexpr int kPack = 16 / static_cast<int>(sizeof(T));
  T* x = static_cast<T*>(entry.data[0]);
  decltype(multiply(*x, factor)) found = 0;
  if (entry.packs) {  // chunks start at multiples of a pack
    const int64_t packs_end = begin + (end - begin) / kPack * kPack;
    for (int64_t i = begin + threadIdx.x * kPack; i < packs_end; i += blockDim.x * kPack) {
      auto* at = reinterpret_cast<Pack<T, kPack>*>(x + i);
      Pack<T, kPack> pack = *at;
#pragma unroll
      for (int j = 0; j < kPack; ++j) found |= multiply(pack.at[j], factor);
      if (write) *at = pack;
    }
    begin = packs_end;
  }
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    int64_t offset[1];
    offsets_of(words, entry, i, offset);
    T value = x[offset[0]];
    found |= multiply(value, factor);
    if (write) x[offset[0]] = value;
  }
  return (found >> (8 * sizeof(found) - 1)) != 0;
}

// Four blocks on a multiprocessor: for five, the compiler spills registers on compute capability 10 and 12.
template <class Table>
__global__ void __launch_bounds__(kThreads, 4)
    process_list(const Table __grid_constant__ table, int64_t count, int64_t chunks, const float* inverse_scale,
                 float* found_inf, bool write) {
  const float factor = inverse_scale ? *inverse_scale : 1.0f;
  const bool writes = write && factor != 1.0f;
  const uint64_t* words = table.data();
  bool bad = false;
  for_each_chunk<1>(
      words, count,
      chunks, [&](int64_t, const ListEntry<1>& entry, int64_t begin, int64_t end) __attribute__((always_inline)) {
        switch (entry.dtypes[0]) {
          case DType::F64:
            bad |= process<double>(words, entry, begin, end, factor, writes);
            return;
          case DType::F32:
            bad |= process<float>(words, entry, begin, end, factor, writes);
            return;
          case DType::F16:
            bad |= process<Half>(words, entry, begin, end, factor, writes);
            return;
          default:
            bad |= process<BFloat16>(words, entry, begin, end, factor, writes);
            return;
        }
      });
  if (bad) atomicExch(found_inf, 1.0f);  // other blocks may write it, too
}

void process(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf, bool write) {
  const DeviceGuard on(found_inf.device());
  TensorList<1> list;
  for (const Tensor& g : grads) list.add({&g});
  if (list.chunks() == 0) return;
  const float* inverse = inverse_scale.defined() ? inverse_scale.raw<float>() : nullptr;
  with_table(list.words(), [&](const auto& table) {
    launch(process_list<std::decay_t<decltype(table)>>, block_stride(list.chunks()), table, list.count(), list.chunks(),
           inverse, found_inf.raw<float>(), write);
  });
}

/// Runs in one block. The table contains the addresses of the flags.
template <class Table>
__global__ void __launch_bounds__(kThreads)
    update_scale_block(const Table __grid_constant__ table, int64_t count, math::ScaleRule rule,
                       const double* captured_rule, float* scale, int32_t* growth, int32_t* hysteresis,
                       int32_t* skips) {
  bool overflow = false;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    overflow |= *reinterpret_cast<const float*>(table.data()[i]) != 0;  // NaN counts as an overflow
  }
  overflow = __syncthreads_or(overflow) != 0;
  if (threadIdx.x != 0) return;
  if (captured_rule) {
    rule.growth_factor = captured_rule[0];
    rule.backoff_factor = captured_rule[1];
    rule.growth_interval = static_cast<int64_t>(captured_rule[2]);
  }
  const math::ScaleState next = math::update_scale({*scale, *growth, *hysteresis, *skips}, rule, overflow);
  *scale = next.scale;
  *growth = next.growth_tracker;
  *hysteresis = next.hysteresis_tracker;
  *skips = next.skips;
}

__global__ void copy_one_scale(float* copy, float* inverse, const float* scale) {
  *copy = *scale;
  *inverse = math::invert_scale(*scale);
}

}  // namespace

void unscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf) {
  process(grads, inverse_scale, found_inf, true);
}

void check_finite(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf) {
  process(grads, inverse_scale, found_inf, false);
}

void update_scale(const ScaleUpdateCall& call) {
  const DeviceGuard on(call.scale.device());
  std::vector<uint64_t> words;
  for (const Tensor& found : call.found_infs) words.push_back(reinterpret_cast<uint64_t>(found.raw_bytes()));
  with_table(words, [&](const auto& table) {
    launch(update_scale_block<std::decay_t<decltype(table)>>, Launch{}, table, words.size(), math::scale_rule(call),
           call.captured_rule, call.scale.raw<float>(), call.growth_tracker.raw<int32_t>(),
           call.hysteresis_tracker.raw<int32_t>(), call.skips.raw<int32_t>());
  });
}

void copy_scale(const Tensor& copy, const Tensor& inverse, const Tensor& scale) {
  const DeviceGuard on(scale.device());
  launch(copy_one_scale, Launch{dim3(1), dim3(1), 0}, copy.raw<float>(), inverse.raw<float>(), scale.raw<float>());
}

}  // namespace tandem::cuda
