// Random calls of convolutions and of columns of images. The Python side is differential_convolutions.py.
#include "soak/random_call_ops.h"

#define TANDEM_CONV(NAME) \
  TANDEM_OP(#NAME,        \
            NAME(x[0], x[1], maybe(x, 2), a.list("stride"), a.list("padding"), a.list("dilation"), a.i("groups")))
#define TANDEM_CONV_TRANSPOSE(NAME)                                                                             \
  TANDEM_OP(#NAME, NAME(x[0], x[1], maybe(x, 2), a.list("stride"), a.list("padding"), a.list("output_padding"), \
                        a.i("groups"), a.list("dilation")))

namespace tandem::testing {

void add_convolution_ops(Ops& ops) {
  TANDEM_CONV(conv1d);
  TANDEM_CONV(conv2d);
  TANDEM_CONV(conv3d);
  TANDEM_CONV(conv2d_relu);
  TANDEM_CONV_TRANSPOSE(conv_transpose1d);
  TANDEM_CONV_TRANSPOSE(conv_transpose2d);
  TANDEM_CONV_TRANSPOSE(conv_transpose3d);
  TANDEM_OP("convolution", convolution(x[0], x[1], maybe(x, 2), a.list("stride"), a.list("padding"), a.list("dilation"),
                                       a.flag("transposed"), a.list("output_padding"), a.i("groups")));
  TANDEM_OP("conv_tbc", conv_tbc(x[0], x[1], x[2], a.i("pad")));
  TANDEM_OP("im2col", im2col(x[0], a.list("kernel"), a.list("dilation"), a.list("padding"), a.list("stride")));
  TANDEM_OP("col2im",
            col2im(x[0], a.list("sizes"), a.list("kernel"), a.list("dilation"), a.list("padding"), a.list("stride")));
}

}  // namespace tandem::testing
