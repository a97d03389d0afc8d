// One thread per 8 elements of a row: one store of 16 bytes, and one load if the channels are a multiple of 8.
#include "kernels/cuda/window_rows.h"

#include "kernels/cuda/element.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loads.h"

namespace tandem::cuda {
namespace {

using Octet = Pack<uint16_t, 8>;

/// One dimension: tap k of output o is input o stride - padding + k dilation.
struct Taps {
  int32_t in, out, kernel, stride, padding, dilation;
  int64_t step;  ///< of the input in memory
  __device__ __forceinline__ int32_t input(uint32_t o, uint32_t k) const {
    return static_cast<int32_t>(o) * stride - padding + static_cast<int32_t>(k) * dilation;
  }
  __device__ __forceinline__ bool has(int32_t i) const { return i >= 0 && i < in; }
};

struct Windows {
  Taps row, column;
  uint32_t channels, elements, octets;  ///< of a row: elements without the zeros at its end
  int64_t image_step;
};

/// kWhole: every 8 elements belong to one tap and lie at a multiple of 16 bytes. I: holds the number of octets.
template <bool kWhole, class I>
__global__ void __launch_bounds__(kThreads) gather_rows(Windows w, Octet* rows, const uint16_t* x, I count) {
  const I step = static_cast<I>(gridDim.x) * blockDim.x;
  for (I i = static_cast<I>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const I pixel = i / w.octets, line = pixel / w.column.out, n = line / w.row.out;
    const auto ow = static_cast<uint32_t>(pixel - line * w.column.out),
               oh = static_cast<uint32_t>(line - n * w.row.out);
    uint32_t e = static_cast<uint32_t>(i - pixel * w.octets) * 8;
    const uint32_t tap = e / w.channels;
    uint32_t kh = tap / w.column.kernel, kw = tap - kh * w.column.kernel, c = e - tap * w.channels;
    const uint16_t* const image = x + static_cast<int64_t>(n) * w.image_step;
    const auto address = [&] {  // null outside the image
      const int32_t ih = w.row.input(oh, kh), iw = w.column.input(ow, kw);
      const bool inside = e < w.elements && w.row.has(ih) && w.column.has(iw);
      return inside ? image + (ih * w.row.step + iw * w.column.step + c) : nullptr;
    };
    Octet octet{};
    if constexpr (kWhole) {
      if (const uint16_t* const p = address()) octet = *reinterpret_cast<const Octet*>(p);
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j, ++e) {
        if (const uint16_t* const p = address()) octet.at[j] = *p;
        if (++c < w.channels) continue;
        c = 0;
        if (++kw < static_cast<uint32_t>(w.column.kernel)) continue;
        kw = 0;
        ++kh;
      }
    }
    rows[i] = octet;
  }
}

}  // namespace

void window_rows(const Tensor& rows, const Tensor& x, IntArrayRef kernel, IntArrayRef out, const ConvParams& p) {
  const DeviceGuard on(rows.device());
  const auto taps = [&](size_t d) {
    const auto small = [](int64_t v) { return static_cast<int32_t>(v); };
    return Taps{small(x.sizes()[d + 2]), small(out[d]),        small(kernel[d]),  small(p.stride[d]),
                small(p.padding[d]),     small(p.dilation[d]), x.strides()[d + 2]};
  };
  const int64_t channels = x.size(1), count = rows.numel() / 8;
  const Windows w{taps(0),
                  taps(1),
                  static_cast<uint32_t>(channels),
                  static_cast<uint32_t>(kernel[0] * kernel[1] * channels),
                  static_cast<uint32_t>(rows.size(1) / 8),
                  x.stride(0)};
  const bool whole = in_runs(x, 1, 8);
  const auto run = [&]<bool kWhole, class I>(std::bool_constant<kWhole>, I) {
    launch(gather_rows<kWhole, I>, grid_stride(count), w, static_cast<Octet*>(rows.raw_bytes()),
           static_cast<const uint16_t*>(x.raw_bytes()), count);
  };
  const auto run_with = [&](auto index) { whole ? run(std::true_type(), index) : run(std::false_type(), index); };
  count <= 0x7fffffff ? run_with(uint32_t{}) : run_with(uint64_t{});
}

}  // namespace tandem::cuda
