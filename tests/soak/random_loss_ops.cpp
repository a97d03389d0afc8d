// Random calls of losses. The Python side is differential_losses.py.
#include "soak/random_call_ops.h"

#define TANDEM_PAIR_LOSS(NAME) TANDEM_OP(#NAME, NAME(x[0], x[1], a.reduction()))

namespace tandem::testing {

void add_loss_ops(Ops& ops) {
  TANDEM_OP("cross_entropy", cross_entropy(x[0], x[1], maybe(x, 2), a.reduction(), a.i("ignore"), a.real("smoothing")));
  TANDEM_OP("cross_entropy.probabilities",
            cross_entropy(x[0], x[1], maybe(x, 2), a.reduction(), -100, a.real("smoothing")));
  TANDEM_OP("nll_loss", nll_loss(x[0], x[1], maybe(x, 2), a.reduction(), a.i("ignore")));
  TANDEM_OP("nll_loss2d", nll_loss2d(x[0], x[1], maybe(x, 2), a.reduction(), a.i("ignore")));
  TANDEM_OP("binary_cross_entropy", binary_cross_entropy(x[0], x[1], maybe(x, 2), a.reduction()));
  TANDEM_OP("binary_cross_entropy_with_logits",
            binary_cross_entropy_with_logits(x[0], x[1], maybe(x, 2), maybe(x, 3), a.reduction()));

  TANDEM_PAIR_LOSS(mse_loss);
  TANDEM_PAIR_LOSS(l1_loss);
  TANDEM_PAIR_LOSS(soft_margin_loss);
  TANDEM_PAIR_LOSS(multilabel_margin_loss);
  TANDEM_OP("smooth_l1_loss", smooth_l1_loss(x[0], x[1], a.reduction(), a.real("beta")));
  TANDEM_OP("huber_loss", huber_loss(x[0], x[1], a.reduction(), a.real("delta")));
  TANDEM_OP("kl_div", kl_div(x[0], x[1], a.reduction(), a.flag("log_target")));
  TANDEM_OP("poisson_nll_loss",
            poisson_nll_loss(x[0], x[1], a.flag("log_input"), a.flag("full"), a.real("eps"), a.reduction()));
  TANDEM_OP("gaussian_nll_loss", gaussian_nll_loss(x[0], x[1], x[2], a.flag("full"), a.real("eps"), a.reduction()));
  TANDEM_OP("hinge_embedding_loss", hinge_embedding_loss(x[0], x[1], a.real("margin"), a.reduction()));
  TANDEM_OP("multilabel_soft_margin_loss", multilabel_soft_margin_loss(x[0], x[1], maybe(x, 2), a.reduction()));

  TANDEM_OP("margin_ranking_loss", margin_ranking_loss(x[0], x[1], x[2], a.real("margin"), a.reduction()));
  TANDEM_OP("cosine_embedding_loss", cosine_embedding_loss(x[0], x[1], x[2], a.real("margin"), a.reduction()));
  TANDEM_OP("multi_margin_loss", multi_margin_loss(x[0], x[1], a.n("p"), a.n("margin"), maybe(x, 2), a.reduction()));
  TANDEM_OP("triplet_margin_loss", triplet_margin_loss(x[0], x[1], x[2], a.real("margin"), a.real("p"), a.real("eps"),
                                                       a.flag("swap"), a.reduction()));
  TANDEM_OP("ctc_loss", ctc_loss(log_softmax(x[0], 2), x[1], a.list("input_lengths"), a.list("target_lengths"),
                                 a.i("blank"), a.reduction(), a.flag("zero_infinity")));
}

}  // namespace tandem::testing
