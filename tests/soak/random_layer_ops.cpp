// Random calls of pooling, normalisation, interpolation and attention. The Python side is
// differential_layers.py.
#include "soak/random_call_ops.h"

#define TANDEM_MAX_POOL(NAME) \
  TANDEM_OP(#NAME,            \
            NAME(x[0], a.list("kernel"), a.list("stride"), a.list("padding"), a.list("dilation"), a.flag("ceil")))
#define TANDEM_LP_POOL(NAME) \
  TANDEM_OP(#NAME, NAME(x[0], a.real("p"), a.list("kernel"), a.list("stride"), a.flag("ceil")))
#define TANDEM_ADAPTIVE_POOL(NAME) TANDEM_OP(#NAME, NAME(x[0], a.list("sizes")))

namespace tandem::testing {
namespace {

void pools(Ops& ops) {
  TANDEM_MAX_POOL(max_pool1d);
  TANDEM_MAX_POOL(max_pool2d);
  TANDEM_MAX_POOL(max_pool3d);
  TANDEM_MAX_POOL(max_pool1d_with_indices);
  TANDEM_MAX_POOL(max_pool2d_with_indices);
  TANDEM_MAX_POOL(max_pool3d_with_indices);
  TANDEM_OP("avg_pool1d",
            avg_pool1d(x[0], a.list("kernel"), a.list("stride"), a.list("padding"), a.flag("ceil"), a.flag("include")));
  TANDEM_OP("avg_pool2d", avg_pool2d(x[0], a.list("kernel"), a.list("stride"), a.list("padding"), a.flag("ceil"),
                                     a.flag("include"), a.maybe_i("divisor")));
  TANDEM_OP("avg_pool3d", avg_pool3d(x[0], a.list("kernel"), a.list("stride"), a.list("padding"), a.flag("ceil"),
                                     a.flag("include"), a.maybe_i("divisor")));
  TANDEM_ADAPTIVE_POOL(adaptive_avg_pool1d);
  TANDEM_ADAPTIVE_POOL(adaptive_avg_pool2d);
  TANDEM_ADAPTIVE_POOL(adaptive_avg_pool3d);
  TANDEM_ADAPTIVE_POOL(adaptive_max_pool1d);
  TANDEM_ADAPTIVE_POOL(adaptive_max_pool2d);
  TANDEM_ADAPTIVE_POOL(adaptive_max_pool3d);
  TANDEM_LP_POOL(lp_pool1d);
  TANDEM_LP_POOL(lp_pool2d);
  TANDEM_LP_POOL(lp_pool3d);
}

void normalisation(Ops& ops) {
  TANDEM_OP("layer_norm", layer_norm(x[0], a.list("sizes"), maybe(x, 1), maybe(x, 2), a.real("eps")));
  TANDEM_OP("add_layer_norm", add_layer_norm(x[0], x[1], a.list("sizes"), maybe(x, 2), maybe(x, 3), a.real("eps")));
  TANDEM_OP("rms_norm", rms_norm(x[0], a.list("sizes"), maybe(x, 1), a.maybe_real("eps")));
  TANDEM_OP("group_norm", group_norm(x[0], a.i("groups"), maybe(x, 1), maybe(x, 2), a.real("eps")));
  TANDEM_OP("batch_norm", batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, a.real("eps")));
  TANDEM_OP("batch_norm.running", batch_norm(x[0], x[1], x[2], x[3], x[4], false, 0.1, a.real("eps")));
  TANDEM_OP("instance_norm", instance_norm(x[0], maybe(x, 1), maybe(x, 2), {}, {}, true, 0.1, a.real("eps")));
  TANDEM_OP("local_response_norm",
            local_response_norm(x[0], a.i("size"), a.real("alpha"), a.real("beta"), a.real("k")));
}

void interpolation(Ops& ops) {
  TANDEM_OP("upsample_nearest1d", upsample_nearest1d(x[0], a.list("sizes")));
  TANDEM_OP("upsample_nearest2d", upsample_nearest2d(x[0], a.list("sizes")));
  TANDEM_OP("upsample_nearest3d", upsample_nearest3d(x[0], a.list("sizes")));
  TANDEM_OP("_upsample_nearest_exact1d", _upsample_nearest_exact1d(x[0], a.list("sizes")));
  TANDEM_OP("_upsample_nearest_exact2d", _upsample_nearest_exact2d(x[0], a.list("sizes")));
  TANDEM_OP("_upsample_nearest_exact3d", _upsample_nearest_exact3d(x[0], a.list("sizes")));
  TANDEM_OP("upsample_linear1d", upsample_linear1d(x[0], a.list("sizes"), a.flag("align"), a.maybe_real("scale")));
  TANDEM_OP("upsample_bilinear2d",
            upsample_bilinear2d(x[0], a.list("sizes"), a.flag("align"), a.maybe_real("scale"), a.maybe_real("scale")));
  TANDEM_OP("upsample_trilinear3d", upsample_trilinear3d(x[0], a.list("sizes"), a.flag("align"), a.maybe_real("scale"),
                                                         a.maybe_real("scale"), a.maybe_real("scale")));
  TANDEM_OP("upsample_bicubic2d",
            upsample_bicubic2d(x[0], a.list("sizes"), a.flag("align"), a.maybe_real("scale"), a.maybe_real("scale")));
}

void attention(Ops& ops) {
  TANDEM_OP("scaled_dot_product_attention",
            scaled_dot_product_attention(x[0], x[1], x[2], maybe(x, 3), 0, a.flag("causal"), a.maybe_real("scale"),
                                         a.flag("gqa")));
}

}  // namespace

void add_layer_ops(Ops& ops) {
  pools(ops);
  normalisation(ops);
  interpolation(ops);
  attention(ops);
}

}  // namespace tandem::testing
