#pragma once
// Tables of bad input by op family, each defined in the *_errors_test.cpp of that name.
#include "support/bad_input.h"

namespace tandem::testing {

BadInputs elementwise_bad_input();
BadInputs arithmetic_bad_input();
BadInputs functions_bad_input();
BadInputs in_place_bad_input();
BadInputs statistics_bad_input();
BadInputs matmul_bad_input();
BadInputs out_bad_input();
BadInputs reduce_bad_input();
BadInputs shape_bad_input();
BadInputs rearrange_bad_input();
BadInputs pad_bad_input();
BadInputs random_bad_input();
BadInputs softmax_bad_input();
BadInputs norm_layers_bad_input();
BadInputs conv_bad_input();
BadInputs pool_bad_input();
BadInputs dropout_bad_input();
BadInputs attention_bad_input();
BadInputs index_bad_input();
BadInputs advanced_index_bad_input();
BadInputs loss_bad_input();
BadInputs sort_bad_input();
BadInputs products_bad_input();
BadInputs distance_bad_input();
BadInputs group_norm_bad_input();
BadInputs pointwise_loss_bad_input();
BadInputs margin_loss_bad_input();
BadInputs pool_nd_bad_input();
BadInputs interpolate_bad_input();
BadInputs sampling_bad_input();
BadInputs rnn_bad_input();

}  // namespace tandem::testing
