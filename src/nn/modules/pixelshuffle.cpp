#include "tandem/nn/modules/pixelshuffle.h"

#include "src/nn/define-inl.h"
#include "tandem/base/check.h"
#include "tandem/ops/pixel_shuffle.h"

namespace tandem::nn {
namespace {

void check_count(const char* option, int64_t value) {
  TANDEM_CHECK(value >= 1, StateError, "{} = {}; it must be at least 1", option, value);
}

}  // namespace

TANDEM_DEFINE_MODULE(PixelShuffle, functional::pixel_shuffle(input, options),
                     .field("upscale_factor", options.upscale_factor()),
                     check_count("upscale_factor", options.upscale_factor()))
TANDEM_DEFINE_MODULE(PixelUnshuffle, functional::pixel_unshuffle(input, options),
                     .field("downscale_factor", options.downscale_factor()),
                     check_count("downscale_factor", options.downscale_factor()))
TANDEM_DEFINE_MODULE(ChannelShuffle, channel_shuffle(input, options.groups()), .field("groups", options.groups()),
                     check_count("groups", options.groups()))

}  // namespace tandem::nn
