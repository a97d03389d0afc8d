#pragma once
// Options of PixelShuffle, PixelUnshuffle and ChannelShuffle.
#include <cstdint>

#include "tandem/base/arg.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `PixelShuffleOptions(2)`
struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TANDEM_ARG(int64_t, upscale_factor);
};
/// `PixelUnshuffleOptions(2)`
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TANDEM_ARG(int64_t, downscale_factor);
};
/// `ChannelShuffleOptions(2)`
struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}
  TANDEM_ARG(int64_t, groups);
};

namespace functional {
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
