// Ops that are composed of others, with operands of every floating dtype: in a region under torch_cpu_policy() they
// run, or are refused, as in PyTorch on the CPU; and the advice of errors to use a region.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/tandem.h"

namespace tandem::amp {
namespace {

using testing::device_type;
namespace F = nn::functional;
using Tensors = std::vector<Tensor>;

struct Composite {
  const char* name;
  std::vector<Dims> sizes;
  std::function<Tensor(const Tensors&)> call;
};

Tensor first(const auto& results) { return std::get<0>(results); }
Tensor columns(const Tensor& w) { return w.slice(1, 0, 2); }
Tensor column(const Tensor& w) { return w.select(1, 0); }
Tensors weights(const Tensor& w) { return {w, columns(w), column(w), column(w)}; }
Tensor classes() { return tensor({1, 0}, kLong); }

// The calls of tests/golden/autocast_cpu.py.
const std::vector<Composite>& composites() {
  static const std::vector<Composite> all = {
      {"gru",
       {{2, 3, 4}, {1, 3, 2}, {6, 4}},
       [](const Tensors& x) { return first(gru(x[0], x[1], weights(x[2]), true, 1, 0, false, false, false)); }},
      {"gru_two_layers",
       {{2, 3, 2}, {4, 3, 2}, {6, 4}},
       [](const Tensors& x) {
         const Tensor w = x[2], u = columns(w);
         return first(gru(x[0], x[1], {u, u, u, u, w, u, w, u}, false, 2, 0, false, true, false));
       }},
      {"lstm",
       {{2, 3, 4}, {1, 3, 2}, {8, 4}},
       [](const Tensors& x) {
         return first(lstm(x[0], {x[1], x[1]}, weights(x[2]), true, 1, 0, false, false, false));
       }},
      {"rnn_tanh",
       {{2, 3, 4}, {1, 3, 2}, {2, 4}},
       [](const Tensors& x) { return first(rnn_tanh(x[0], x[1], weights(x[2]), true, 1, 0, false, false, false)); }},
      {"rnn_relu",
       {{2, 3, 4}, {1, 3, 2}, {2, 4}},
       [](const Tensors& x) { return first(rnn_relu(x[0], x[1], weights(x[2]), true, 1, 0, false, false, false)); }},
      {"gru_cell",
       {{3, 4}, {3, 2}, {6, 4}},
       [](const Tensors& x) { return gru_cell(x[0], x[1], x[2], columns(x[2]), column(x[2]), column(x[2])); }},
      {"lstm_cell",
       {{3, 4}, {3, 2}, {8, 4}},
       [](const Tensors& x) {
         return first(lstm_cell(x[0], {x[1], x[1]}, x[2], columns(x[2]), column(x[2]), column(x[2])));
       }},
      {"rnn_tanh_cell",
       {{3, 4}, {3, 2}, {2, 4}},
       [](const Tensors& x) { return rnn_tanh_cell(x[0], x[1], x[2], columns(x[2])); }},
      {"rnn_relu_cell",
       {{3, 4}, {3, 2}, {2, 4}},
       [](const Tensors& x) { return rnn_relu_cell(x[0], x[1], x[2], columns(x[2])); }},
      {"scaled_dot_product_attention",
       {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}},
       [](const Tensors& x) { return scaled_dot_product_attention(x[0], x[1], x[2]); }},
      {"sdpa_mask",
       {{1, 2, 3, 4}, {3, 3}},
       [](const Tensors& x) { return scaled_dot_product_attention(x[0], x[0], x[0], x[1]); }},
      {"multi_head_attention_forward",
       {{3, 1, 4}, {3, 1, 4}, {12, 4}},
       [](const Tensors& x) {
         const Tensor out = x[2].slice(0, 0, 4);
         return first(F::multi_head_attention_forward(
             x[0], x[1], x[1],
             F::MultiheadAttentionForwardFuncOptions(4, 2, x[2], column(x[2]), {}, {}, false, 0, out, column(out))
                 .training(false)));
       }},
      {"linear", {{2, 3}, {4, 3}, {4}}, [](const Tensors& x) { return linear(x[0], x[1], x[2]); }},
      {"conv1d", {{1, 2, 5}, {3, 2, 2}, {3}}, [](const Tensors& x) { return conv1d(x[0], x[1], x[2]); }},
      {"conv2d", {{1, 2, 5, 5}, {3, 2, 2, 2}, {3}}, [](const Tensors& x) { return conv2d(x[0], x[1], x[2]); }},
      {"conv_transpose2d",
       {{1, 2, 5, 5}, {2, 3, 2, 2}, {3}},
       [](const Tensors& x) { return conv_transpose2d(x[0], x[1], x[2]); }},
      {"bilinear", {{2, 3}, {2, 4}, {2, 3, 4}}, [](const Tensors& x) { return bilinear(x[0], x[1], x[2]); }},
      {"einsum", {{2, 3}, {3, 4}}, [](const Tensors& x) { return einsum("ij,jk->ik", x); }},
      {"einsum_elementwise", {{2, 3}, {2, 3}}, [](const Tensors& x) { return einsum("ij,ij->ij", x); }},
      {"einsum_three", {{2, 3}, {3, 4}, {4, 2}}, [](const Tensors& x) { return einsum("ij,jk,kl->il", x); }},
      {"matmul", {{2, 3}, {3, 4}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"matmul_vectors", {{3}, {3}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
      {"mv", {{2, 3}, {3}}, [](const Tensors& x) { return mv(x[0], x[1]); }},
      {"bmm", {{2, 2, 3}, {2, 3, 4}}, [](const Tensors& x) { return bmm(x[0], x[1]); }},
      {"addmm", {{2, 4}, {2, 3}, {3, 4}}, [](const Tensors& x) { return addmm(x[0], x[1], x[2]); }},
      {"baddbmm", {{2, 2, 4}, {2, 2, 3}, {2, 3, 4}}, [](const Tensors& x) { return baddbmm(x[0], x[1], x[2]); }},
      {"addbmm", {{2, 4}, {2, 2, 3}, {2, 3, 4}}, [](const Tensors& x) { return addbmm(x[0], x[1], x[2]); }},
      {"addmv", {{2}, {2, 3}, {3}}, [](const Tensors& x) { return addmv(x[0], x[1], x[2]); }},
      {"addr", {{2, 3}, {2}, {3}}, [](const Tensors& x) { return addr(x[0], x[1], x[2]); }},
      {"dot", {{3}, {3}}, [](const Tensors& x) { return dot(x[0], x[1]); }},
      {"vdot", {{3}, {3}}, [](const Tensors& x) { return vdot(x[0], x[1]); }},
      {"outer", {{3}, {2}}, [](const Tensors& x) { return outer(x[0], x[1]); }},
      {"inner", {{2, 3}, {2, 3}}, [](const Tensors& x) { return inner(x[0], x[1]); }},
      {"kron", {{2, 3}, {2, 3}}, [](const Tensors& x) { return kron(x[0], x[1]); }},
      {"tensordot", {{2, 3}, {3, 2}}, [](const Tensors& x) { return tensordot(x[0], x[1], 1); }},
      {"linalg_multi_dot", {{2, 3}, {3, 2}, {2, 2}}, [](const Tensors& x) { return linalg_multi_dot(x); }},
      {"linalg_vecdot", {{2, 3}, {2, 3}}, [](const Tensors& x) { return linalg_vecdot(x[0], x[1]); }},
      {"matrix_power", {{2, 2}}, [](const Tensors& x) { return matrix_power(x[0], 3); }},
      {"cross", {{2, 3}, {2, 3}}, [](const Tensors& x) { return cross(x[0], x[1], 1); }},
      {"cdist", {{2, 3}, {4, 3}}, [](const Tensors& x) { return cdist(x[0], x[1]); }},
      {"pairwise_distance", {{2, 3}, {2, 3}}, [](const Tensors& x) { return F::pairwise_distance(x[0], x[1]); }},
      {"cosine_similarity", {{2, 3}, {2, 3}}, [](const Tensors& x) { return cosine_similarity(x[0], x[1]); }},
      {"mse_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return mse_loss(x[0], x[1]); }},
      {"l1_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return l1_loss(x[0], x[1]); }},
      {"smooth_l1_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return smooth_l1_loss(x[0], x[1]); }},
      {"huber_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return huber_loss(x[0], x[1]); }},
      {"binary_cross_entropy", {{2, 3}, {2, 3}}, [](const Tensors& x) { return binary_cross_entropy(x[0], x[1]); }},
      {"binary_cross_entropy_with_logits",
       {{2, 3}, {2, 3}},
       [](const Tensors& x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"kl_div", {{2, 3}, {2, 3}}, [](const Tensors& x) { return kl_div(x[0], x[1]); }},
      {"nll_loss", {{2, 3}, {3}}, [](const Tensors& x) { return nll_loss(x[0], classes(), x[1]); }},
      {"cross_entropy",
       {{2, 3}, {3}},
       [](const Tensors& x) { return F::cross_entropy(x[0], classes(), F::CrossEntropyFuncOptions().weight(x[1])); }},
      {"cross_entropy_of_probabilities", {{2, 3}, {2, 3}}, [](const Tensors& x) { return cross_entropy(x[0], x[1]); }},
      {"cosine_embedding_loss",
       {{2, 3}, {2, 3}, {2}},
       [](const Tensors& x) { return cosine_embedding_loss(x[0], x[1], x[2]); }},
      {"hinge_embedding_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return hinge_embedding_loss(x[0], x[1]); }},
      {"margin_ranking_loss", {{2}, {2}, {2}}, [](const Tensors& x) { return margin_ranking_loss(x[0], x[1], x[2]); }},
      {"triplet_margin_loss",
       {{2, 3}, {2, 3}, {2, 3}},
       [](const Tensors& x) { return triplet_margin_loss(x[0], x[1], x[2]); }},
      {"gaussian_nll_loss",
       {{2, 3}, {2, 3}, {2, 3}},
       [](const Tensors& x) { return gaussian_nll_loss(x[0], x[1], x[2]); }},
      {"poisson_nll_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return F::poisson_nll_loss(x[0], x[1]); }},
      {"soft_margin_loss", {{2, 3}, {2, 3}}, [](const Tensors& x) { return soft_margin_loss(x[0], x[1]); }},
      {"multi_margin_loss",
       {{2, 3}, {3}},
       [](const Tensors& x) {
         return F::multi_margin_loss(x[0], classes(), F::MultiMarginLossFuncOptions().weight(x[1]));
       }},
      {"multilabel_soft_margin_loss",
       {{2, 3}, {2, 3}, {3}},
       [](const Tensors& x) {
         return F::multilabel_soft_margin_loss(x[0], x[1], F::MultilabelSoftMarginLossFuncOptions().weight(x[2]));
       }},
      {"layer_norm", {{2, 3}, {3}, {3}}, [](const Tensors& x) { return layer_norm(x[0], {3}, x[1], x[2]); }},
      {"rms_norm", {{2, 3}, {3}}, [](const Tensors& x) { return rms_norm(x[0], {3}, x[1]); }},
      {"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Tensors& x) { return group_norm(x[0], 2, x[1], x[2]); }},
      {"instance_norm",
       {{2, 3, 4}, {3}},
       [](const Tensors& x) { return F::instance_norm(x[0], F::InstanceNormFuncOptions().weight(x[1]).bias(x[1])); }},
      {"local_response_norm",
       {{2, 3, 4}},
       [](const Tensors& x) { return F::local_response_norm(x[0], F::LocalResponseNormFuncOptions(2)); }},
      {"normalize", {{2, 3}}, [](const Tensors& x) { return F::normalize(x[0]); }},
      {"embedding_bag",
       {{4, 3}, {2, 2}},
       [](const Tensors& x) {
         return F::embedding_bag(tensor({0, 1, 2, 3}, kLong).view({2, 2}), x[0],
                                 F::EmbeddingBagFuncOptions().mode(kSum).per_sample_weights(x[1]));
       }},
      {"prelu", {{2, 3}, {3}}, [](const Tensors& x) { return prelu(x[0], x[1]); }},
      {"grid_sample",
       {{1, 2, 3, 3}, {1, 2, 2, 2}},
       [](const Tensors& x) { return F::grid_sample(x[0], x[1], F::GridSampleFuncOptions().align_corners(false)); }},
      {"gumbel_softmax", {{2, 3}}, [](const Tensors& x) { return F::gumbel_softmax(x[0]); }},
      {"lerp", {{2, 3}, {2, 3}, {2, 3}}, [](const Tensors& x) { return lerp(x[0], x[1], x[2]); }},
      {"addcmul", {{2, 3}, {2, 3}, {2, 3}}, [](const Tensors& x) { return addcmul(x[0], x[1], x[2]); }},
      {"addcdiv", {{2, 3}, {2, 3}, {2, 3}}, [](const Tensors& x) { return addcdiv(x[0], x[1], x[2]); }},
      {"atan2", {{2, 3}, {2, 3}}, [](const Tensors& x) { return atan2(x[0], x[1]); }},
      {"cat", {{2, 3}, {2, 3}}, [](const Tensors& x) { return cat(x); }},
      {"stack", {{2, 3}, {2, 3}}, [](const Tensors& x) { return stack(x); }},
      {"index_copy", {{2, 3}, {2, 3}}, [](const Tensors& x) { return index_copy(x[0], 0, classes(), x[1]); }},
      {"index_add", {{2, 3}, {2, 3}}, [](const Tensors& x) { return index_add(x[0], 0, classes(), x[1]); }},
      {"index_put", {{2, 3}, {2, 3}}, [](const Tensors& x) { return index_put(x[0], {classes()}, x[1]); }},
      {"scatter_add",
       {{2, 3}, {2, 3}},
       [](const Tensors& x) { return scatter_add(x[0], 0, zeros({2, 3}, kLong), x[1]); }},
      {"masked_scatter",
       {{2, 3}, {2, 3}},
       [](const Tensors& x) { return masked_scatter(x[0], ones({2, 3}, kBool), x[1]); }},
  };
  return all;
}

constexpr DType kDTypes[] = {kHalf, kBFloat16, kFloat, kDouble};

/// Calls f(operands, their dtypes' names) for every choice of the operands' dtypes, the last one's fastest.
void for_each_choice(const Composite& op, const std::function<void(const Tensors&, const std::string&)>& f) {
  size_t choices = 1;
  for (size_t i = 0; i < op.sizes.size(); ++i) choices *= std::size(kDTypes);
  for (size_t choice = 0; choice < choices; ++choice) {
    Tensors operands;
    std::string names;
    for (size_t i = 0, rest = choices; i < op.sizes.size(); ++i) {
      rest /= std::size(kDTypes);
      const DType dtype = kDTypes[choice / rest % std::size(kDTypes)];
      operands.push_back(add(mul(rand(op.sizes[i], Generator(i + 1)), 0.5), 0.25).to(dtype));
      names.append(" ").append(tandem::name(dtype));
    }
    f(operands, names);
  }
}

/// The letter of autocast_cpu.inc for a call, and the error of a refused one.
char letter_of(const Composite& op, const Tensors& operands, std::string& error) {
  try {
    const DType t = op.call(operands).dtype();
    return t == kHalf ? 'h' : t == kBFloat16 ? 'b' : t == kFloat ? 'f' : t == kDouble ? 'd' : '?';
  } catch (const Error& e) {
    error = e.what();
    return '-';
  }
}

struct Golden {
  std::string_view name, letters;
};
constexpr Golden kGolden[] = {
#define X(NAME, LETTERS) {#NAME, LETTERS},
#include "golden/autocast_cpu.inc"
#undef X
};

/// Ops that PyTorch refuses for some dtypes that tandem takes.
const std::set<std::string_view> kTakeMore = {"binary_cross_entropy",
                                              "cat",
                                              "cross",
                                              "cross_entropy",
                                              "group_norm",
                                              "index_copy",
                                              "inner",
                                              "layer_norm",
                                              "linalg_multi_dot",
                                              "multi_margin_loss",
                                              "nll_loss",
                                              "prelu",
                                              "sdpa_mask",
                                              "stack",
                                              "tensordot"};
/// Ops whose results have another dtype than in PyTorch: for elementwise einsum the policy of CUDA; for lstm, PyTorch
/// leaves oneDNN if the input is f16.
const std::set<std::string_view> kOtherDType = {"einsum_elementwise", "lstm", "multilabel_soft_margin_loss"};
/// PyTorch takes f64 with a bias of another dtype here, and nowhere else.
const std::set<std::string_view> kTakeLess = {"conv_transpose2d"};

bool agrees(std::string_view op, char got, char want, const std::string& dtypes) {
  if (got == want) return true;
  if (want == '-') return kTakeMore.contains(op);
  if (got == '-') return kTakeLess.contains(op);
  // Losses of f64 and a narrower dtype are f64 here.
  return kOtherDType.contains(op) || (got == 'd' && dtypes.find("f64") != std::string::npos);
}

TEST(CompositeOps, RunOrAreRefusedAsInPyTorchOnTheCpu) {
  const AutocastGuard region(device_type(), kBFloat16);
  const PolicyGuard policy(torch_cpu_policy());
  size_t seen = 0;
  for (const Composite& op : composites()) {
    for (const Golden& golden : kGolden) {
      if (golden.name != op.name) continue;
      ++seen;
      size_t i = 0;
      for_each_choice(op, [&](const Tensors& operands, const std::string& dtypes) {
        const char want = golden.letters[i++];
        std::string error;
        const char got = letter_of(op, operands, error);
        EXPECT_TRUE(agrees(op.name, got, want, dtypes))
            << op.name << dtypes << ": " << got << ", PyTorch " << want << ' ' << error;
      });
    }
  }
  EXPECT_EQ(seen, composites().size());
}

// If an error outside of regions advises one, it helps, unless a further operand is f64; an error inside never does.
TEST(CompositeOps, AdviceOfARegionHelps) {
  constexpr std::string_view kAdvice = "AutocastGuard";
  int advised = 0;
  for (const bool torch_cpu : {false, true}) {
    const PolicyGuard policy(torch_cpu ? torch_cpu_policy() : PolicyChanges());
    for (const Composite& op : composites()) {
      for_each_choice(op, [&](const Tensors& operands, const std::string& dtypes) {
        std::string outside, inside;
        letter_of(op, operands, outside);
        const AutocastGuard region(device_type(), kBFloat16);
        letter_of(op, operands, inside);
        const bool advises = outside.find(kAdvice) != std::string::npos && dtypes.find("f64") == std::string::npos;
        advised += advises;
        EXPECT_TRUE(!advises || inside.empty()) << op.name << dtypes << ": " << outside << "; in a region: " << inside;
        EXPECT_EQ(inside.find(kAdvice), std::string::npos) << op.name << dtypes << ": " << inside;
      });
    }
  }
  EXPECT_GT(advised, 0);
}

TEST(CompositeOps, InPlaceCallsAreNotAdvisedToUseARegion) {
  const Tensor x = rand({2, 3}), y = rand({2, 3}, kHalf), row = zeros({2, 3}, kLong), w = rand({3, 3}, kHalf);
  const std::function<void()> calls[] = {
      [&] { x.index_put_({classes()}, y); },
      [&] { x.scatter_add_(0, row, y); },
      [&] { x.index_add_(0, classes(), y); },
      [&] { x.lerp_(y, 0.5); },
      [&] { x.addmm_(y, w); },
      [&] {
        x.masked_scatter_(ones({2, 3}, kBool), y);
      },
      [&] { x.index_copy_(0, classes(), y); },
      [&] { index_add(x, 0, classes(), y); },
      [&] { x.scatter_(0, row, y); },
      [&] { x.put_(classes(), y.select(0, 0).slice(0, 0, 2)); },
  };
  for (const bool inside : {false, true}) {
    const AutocastGuard region(device_type(), kBFloat16, inside);
    int refused = 0;
    for (const auto& call : calls) {
      try {
        call();
      } catch (const DTypeError& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find("AutocastGuard"), std::string::npos) << error.what();
      }
    }
    EXPECT_GT(refused, 0);
  }
}

}  // namespace
}  // namespace tandem::amp
