// Norms, distances and the layers built on them reject sizes that do not fit, integers and orders out of range.
#include <cmath>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs distance_bad_input() {
  const Tensor none, m = ones({2, 3}), v = ones({3}), n = ones({2, 3}, kLong), number = scalar_tensor(1);
  const Tensor no_rows = ones({0, 3}), h = ones({2, 3}, kHalf), weight = ones({2, 3}).requires_grad_();
  const double inf = INFINITY, nan = NAN;
  return {
      UNDEFINED("linalg_vector_norm", linalg_vector_norm(none)),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(m, 2, {2}), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(m, 2, {0, 0}), IndexError, "dimension 0", "twice"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(n), DTypeError, "[2, 3] i64", "floating"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(m, 2, {}, false, kLong), DTypeError, "i64", "floating"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(m, 2, {}, false, kHalf), DTypeError, "f16", "as wide"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(m, nan), StateError, "ord = nan"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(no_rows, inf), ShapeError, "no elements", "[0, 3] f32"),
      BAD_INPUT("linalg_vector_norm", linalg_vector_norm(no_rows, -1, {0}), ShapeError, "no elements", "[0, 3] f32"),
      UNDEFINED("linalg_vector_norm_out", linalg_vector_norm_out(none, m)),
      BAD_INPUT("linalg_vector_norm_out", linalg_vector_norm_out(v, m), ShapeError, "[]", "[3]"),
      UNDEFINED("linalg_matrix_norm", linalg_matrix_norm(none)),
      UNDEFINED("linalg_matrix_norm", linalg_matrix_norm(none, 1)),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(v), ShapeError, "[3] f32", "two dimensions"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, 1, {0}), ShapeError, "dims is [0]", "two dimensions"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, 1, {0, -2}), IndexError, "dimension 0", "twice"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, 2), NotImplementedError, "ord = 2", "singular values"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, "nuc"), NotImplementedError, "nuc", "singular values"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, 3), StateError, "ord = 3"),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(m, "row"), StateError, "ord = \"row\""),
      BAD_INPUT("linalg_matrix_norm", linalg_matrix_norm(n, 1), DTypeError, "[2, 3] i64"),
      UNDEFINED("linalg_norm", linalg_norm(none)),
      UNDEFINED("linalg_norm", linalg_norm(none, "fro")),
      BAD_INPUT("linalg_norm", linalg_norm(ones({2, 2, 2}), 1), ShapeError, "[2, 2, 2] f32", "rank 1 or 2"),
      BAD_INPUT("linalg_norm", linalg_norm(v, "fro"), ShapeError, "[3] f32", "two dimensions"),
      BAD_INPUT("linalg_norm", linalg_norm(m, 2), NotImplementedError, "singular values"),
      UNDEFINED("frobenius_norm", frobenius_norm(none, {0})),
      BAD_INPUT("frobenius_norm", frobenius_norm(m, {2}), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("frobenius_norm", frobenius_norm(n, {0}), DTypeError, "[2, 3] i64"),
      UNDEFINED("normalize", normalize(none)),
      BAD_INPUT("normalize", normalize(v), IndexError, "dimension 1", "rank 1"),
      BAD_INPUT("normalize", normalize(n), DTypeError, "[2, 3] i64"),
      BAD_INPUT("normalize", normalize(m, 2, 1, -1), StateError, "eps = -1"),
      UNDEFINED("renorm", renorm(none, 2, 0, 1)),
      BAD_INPUT("renorm", renorm(v, 2, 0, 1), ShapeError, "[3] f32", "two dimensions"),
      BAD_INPUT("renorm", renorm(m, 0, 0, 1), StateError, "p = 0", "positive"),
      BAD_INPUT("renorm", renorm(m, 2, 2, 1), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("renorm", renorm(m, 2, 0, -1), StateError, "maxnorm = -1"),
      BAD_INPUT("renorm", renorm(n, 2, 0, 1), DTypeError, "[2, 3] i64"),
      UNDEFINED("renorm_", none.renorm_(2, 0, 1)),
      BAD_INPUT("renorm_", n.renorm_(2, 0, 1), DTypeError, "[2, 3] i64"),
      BAD_INPUT("renorm_", weight.renorm_(2, 0, 1), AutogradError, "leaf"),

      UNDEFINED("dist", dist(none, m)),
      UNDEFINED("dist", dist(m, none)),
      BAD_INPUT("dist", dist(m, ones({2})), ShapeError, "[2, 3]", "[2]", "do not broadcast"),
      BAD_INPUT("dist", dist(m, n), DTypeError, "b is [2, 3] i64"),
      BAD_INPUT("dist", dist(m, m, nan), StateError, "p = nan"),
      BAD_INPUT("dist", dist(no_rows, no_rows, inf), ShapeError, "no elements", "[0, 3] f32"),
      UNDEFINED("cosine_similarity", cosine_similarity(none, m)),
      BAD_INPUT("cosine_similarity", cosine_similarity(v, v), IndexError, "dimension 1", "rank 1"),
      BAD_INPUT("cosine_similarity", cosine_similarity(m, ones({2})), ShapeError, "[2, 3]", "do not broadcast"),
      BAD_INPUT("cosine_similarity", cosine_similarity(m, n), DTypeError, "x2 is [2, 3] i64"),
      BAD_INPUT("cosine_similarity", cosine_similarity(m, m, 1, -1), StateError, "eps = -1"),
      UNDEFINED("pairwise_distance", pairwise_distance(none, m)),
      BAD_INPUT("pairwise_distance", pairwise_distance(m, ones({2})), ShapeError, "[2, 3]", "do not broadcast"),
      BAD_INPUT("pairwise_distance", pairwise_distance(number, number), ShapeError, "[] f32", "one dimension"),
      BAD_INPUT("pairwise_distance", pairwise_distance(n, m), DTypeError, "x1 is [2, 3] i64"),
      UNDEFINED("cdist", cdist(none, m)),
      UNDEFINED("cdist", cdist(m, none)),
      BAD_INPUT("cdist", cdist(m, v), ShapeError, "x1 is [2, 3] f32", "x2 is [3] f32"),
      BAD_INPUT("cdist", cdist(m, ones({2, 4})), ShapeError, "[2, 3] f32", "[2, 4] f32"),
      BAD_INPUT("cdist", cdist(ones({2, 2, 3}), ones({4, 2, 3})), ShapeError, "[2]", "[4]", "do not broadcast"),
      BAD_INPUT("cdist", cdist(m, m, -1), StateError, "p = -1"),
      BAD_INPUT("cdist", cdist(m, m, nan), StateError, "p = nan"),
      BAD_INPUT("cdist", cdist(m, m, 2, 3), StateError, "compute_mode = 3"),
      BAD_INPUT("cdist", cdist(m, h), DTypeError, "f32", "f16"),
      ON_TWO_DEVICES("cdist", cdist(m, on_another_device({2, 3}))),
      UNDEFINED("pdist", pdist(none)),
      BAD_INPUT("pdist", pdist(v), ShapeError, "[3] f32", "[n, d]"),
      BAD_INPUT("pdist", pdist(m, -2), StateError, "p = -2"),
      BAD_INPUT("pdist", pdist(n), DTypeError, "[2, 3] i64"),
  };
}

BadInputs group_norm_bad_input() {
  const Tensor none, x = ones({2, 4, 3}), m = ones({2, 3}), n = ones({2, 4, 3}, kLong), w = ones({4}), v = ones({3});
  const Tensor s = ones({4}), r = ones({8}), wrong = ones({5}), image = ones({1, 4, 4, 6});
  const std::array<bool, 3> all{true, true, true};
  const std::array<bool, 2> both{true, true};
  return {
      UNDEFINED("rms_norm", rms_norm(none, {3})),
      BAD_INPUT("rms_norm", rms_norm(x, {}), ShapeError, "empty", "[2, 4, 3] f32"),
      BAD_INPUT("rms_norm", rms_norm(x, {4}), ShapeError, "[4]", "[2, 4, 3] f32"),
      BAD_INPUT("rms_norm", rms_norm(x, {3}, w), ShapeError, "weight", "[4] f32", "[3]"),
      BAD_INPUT("rms_norm", rms_norm(x, {3}, v, -1), StateError, "eps = -1"),
      BAD_INPUT("rms_norm", rms_norm(n, {3}), DTypeError, "[2, 4, 3] i64"),
      UNDEFINED("rms_norm_backward", rms_norm_backward(x, none, {3}, r, v, 1e-5, both)),
      BAD_INPUT("rms_norm_backward", rms_norm_backward(m, x, {3}, r, v, 1e-5, both), ShapeError, "gy", "[2, 3] f32"),
      BAD_INPUT("rms_norm_backward", rms_norm_backward(x, x, {3}, wrong, v, 1e-5, both), ShapeError, "[5] f32", "[8]"),
      UNDEFINED("group_norm", group_norm(none, 2)),
      BAD_INPUT("group_norm", group_norm(v, 1), ShapeError, "[3] f32", "[N, C, ...]"),
      BAD_INPUT("group_norm", group_norm(x, 3), ShapeError, "num_groups = 3", "[2, 4, 3] f32"),
      BAD_INPUT("group_norm", group_norm(x, 0), ShapeError, "num_groups = 0", "[2, 4, 3] f32"),
      BAD_INPUT("group_norm", group_norm(x, 2, v), ShapeError, "weight", "[3] f32", "[4]"),
      BAD_INPUT("group_norm", group_norm(x, 2, w, v), ShapeError, "bias", "[3] f32", "[4]"),
      BAD_INPUT("group_norm", group_norm(x, 2, w, w, -1), StateError, "eps = -1"),
      BAD_INPUT("group_norm", group_norm(n, 2), DTypeError, "[2, 4, 3] i64"),
      BAD_INPUT("group_norm", group_norm(x, 2, ones({4}, kHalf)), DTypeError, "weight", "f16"),
      UNDEFINED("group_norm_backward", group_norm_backward(none, x, 2, s, s, w, 1e-5, all)),
      BAD_INPUT("group_norm_backward", group_norm_backward(m, x, 2, s, s, w, 1e-5, all), ShapeError, "gy",
                "[2, 3] f32"),
      BAD_INPUT("group_norm_backward", group_norm_backward(x, x, 2, s, wrong, w, 1e-5, all), ShapeError, "rstd",
                "[5] f32"),
      UNDEFINED("instance_norm", instance_norm(none)),
      BAD_INPUT("instance_norm", instance_norm(v), ShapeError, "[3] f32", "[N, C, ...]"),
      BAD_INPUT("instance_norm", instance_norm(x, v), ShapeError, "weight", "[3] f32", "[4]"),
      BAD_INPUT("instance_norm", instance_norm(x, {}, {}, w, none), StateError, "running_mean is [4] f32",
                "give both or neither"),
      BAD_INPUT("instance_norm", instance_norm(x, {}, {}, {}, {}, false), StateError, "no running statistics"),
      BAD_INPUT("instance_norm", instance_norm(n), DTypeError, "[2, 4, 3] i64"),
      UNDEFINED("local_response_norm", local_response_norm(none, 2)),
      BAD_INPUT("local_response_norm", local_response_norm(m, 2), ShapeError, "[2, 3] f32", "rank 3"),
      BAD_INPUT("local_response_norm", local_response_norm(x, 0), StateError, "size = 0"),
      BAD_INPUT("local_response_norm", local_response_norm(n, 2), DTypeError, "[2, 4, 3] i64"),
      UNDEFINED("pixel_shuffle", pixel_shuffle(none, 2)),
      BAD_INPUT("pixel_shuffle", pixel_shuffle(m, 1), ShapeError, "[2, 3] f32", "[..., C, H, W]"),
      BAD_INPUT("pixel_shuffle", pixel_shuffle(image, 3), ShapeError, "upscale_factor = 3", "[1, 4, 4, 6] f32"),
      BAD_INPUT("pixel_shuffle", pixel_shuffle(image, 0), ShapeError, "upscale_factor = 0"),
      BAD_INPUT("pixel_shuffle", pixel_shuffle(image, INT64_MAX), ShapeError, "upscale_factor = 9223372036854775807"),
      UNDEFINED("pixel_unshuffle", pixel_unshuffle(none, 2)),
      BAD_INPUT("pixel_unshuffle", pixel_unshuffle(image, 3), ShapeError, "downscale_factor = 3", "[1, 4, 4, 6] f32"),
      BAD_INPUT("pixel_unshuffle", pixel_unshuffle(image, -1), ShapeError, "downscale_factor = -1"),
      UNDEFINED("channel_shuffle", channel_shuffle(none, 2)),
      BAD_INPUT("channel_shuffle", channel_shuffle(m, 1), ShapeError, "[2, 3] f32", "rank 3"),
      BAD_INPUT("channel_shuffle", channel_shuffle(image, 3), ShapeError, "groups = 3", "[1, 4, 4, 6] f32"),

      UNDEFINED("feature_dropout", feature_dropout(none, 0.5, true)),
      BAD_INPUT("feature_dropout", feature_dropout(x, 2, true), StateError, "p = 2", "[0, 1]"),
      BAD_INPUT("feature_dropout", feature_dropout(v, 0.5, true), ShapeError, "[3] f32", "[N, C, ...]"),
      BAD_INPUT("feature_dropout", feature_dropout(n, 0.5, true), DTypeError, "[2, 4, 3] i64"),
      UNDEFINED("alpha_dropout", alpha_dropout(none, 0.5, true)),
      BAD_INPUT("alpha_dropout", alpha_dropout(x, -1, true), StateError, "p = -1", "[0, 1]"),
      BAD_INPUT("alpha_dropout", alpha_dropout(n, 0.5, true), DTypeError, "[2, 4, 3] i64"),
      UNDEFINED("feature_alpha_dropout", feature_alpha_dropout(none, 0.5, true)),
      BAD_INPUT("feature_alpha_dropout", feature_alpha_dropout(v, 0.5, true), ShapeError, "[3] f32", "[N, C, ...]"),
  };
}

TEST(DistanceErrors, BadInputIsRefused) { expect_refused(distance_bad_input()); }
TEST(GroupNormErrors, BadInputIsRefused) { expect_refused(group_norm_bad_input()); }

}  // namespace tandem::testing
