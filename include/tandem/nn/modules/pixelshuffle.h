#pragma once
// Rearrangements of channels (tandem/ops/pixel_shuffle.h). The constructors throw StateError for numbers below 1.
#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/pixelshuffle.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Channels become pixels, or pixels channels.
TANDEM_OPTIONS_MODULE(PixelShuffle);
TANDEM_OPTIONS_MODULE(PixelUnshuffle);
/// Interleaves groups of channels.
TANDEM_OPTIONS_MODULE(ChannelShuffle);

}  // namespace tandem::nn
#pragma GCC visibility pop
