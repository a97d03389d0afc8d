#pragma once
// Dropout. The constructors throw StateError for p outside [0, 1].
#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/dropout.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// In training, zeroes elements with probability p and scales the others by 1 / (1 - p).
TANDEM_OPTIONS_MODULE(Dropout);
/// The same for whole channels of [N, C, ...].
TANDEM_OPTIONS_MODULE(Dropout1d);
TANDEM_OPTIONS_MODULE(Dropout2d);
TANDEM_OPTIONS_MODULE(Dropout3d);
/// functional::alpha_dropout and functional::feature_alpha_dropout, in training.
TANDEM_OPTIONS_MODULE(AlphaDropout);
TANDEM_OPTIONS_MODULE(FeatureAlphaDropout);

}  // namespace tandem::nn
#pragma GCC visibility pop
