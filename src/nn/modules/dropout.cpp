#include "tandem/nn/modules/dropout.h"

#include "src/nn/checks-inl.h"
#include "src/nn/define-inl.h"

namespace tandem::nn {

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TANDEM_DROPOUT(Name, FUNCTION)                                                                               \
  TANDEM_DEFINE_MODULE(                                                                                              \
      Name,                                                                                                          \
      functional::FUNCTION(                                                                                          \
          input, functional::Name##FuncOptions().p(options.p()).training(is_training()).inplace(options.inplace())), \
      .field("p", options.p()).field("inplace", options.inplace()), check_probability("p", options.p()))
TANDEM_DROPOUT(Dropout, dropout)
TANDEM_DROPOUT(Dropout1d, dropout1d)
TANDEM_DROPOUT(Dropout2d, dropout2d)
TANDEM_DROPOUT(Dropout3d, dropout3d)
TANDEM_DROPOUT(AlphaDropout, alpha_dropout)
TANDEM_DROPOUT(FeatureAlphaDropout, feature_alpha_dropout)
#undef TANDEM_DROPOUT

}  // namespace tandem::nn
