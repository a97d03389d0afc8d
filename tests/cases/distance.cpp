// Norms of vectors and matrices, distances and similarities.
#include "tandem/ops/distance.h"

#include "cases/shared.h"
#include "tandem/ops/vector_norm.h"

namespace tandem::testing {
namespace {

void norms(Cases& c) {
  const std::string f = "torch.linalg.vector_norm";
  c.push_back({.op = "linalg_vector_norm",
               .name = "orders",
               .torch = "(" + f + "(a), " + f + "(a, 1), " + f + "(a, 3, dim=1), " + f + "(a, 0.5, dim=(0, 2)), " + f +
                        "(a, inf, dim=-1, keepdim=True), " + f + "(a, -inf, dim=0), " + f + "(a, 0, dim=1), " + f +
                        "(a, -1.5, dim=2))",
               .inputs = {normal({2, 3, 5})},
               .run = [](In x) -> Out {
                 return {linalg_vector_norm(x[0]),
                         linalg_vector_norm(x[0], 1),
                         linalg_vector_norm(x[0], 3, {1}),
                         linalg_vector_norm(x[0], 0.5, {0, 2}),
                         linalg_vector_norm(x[0], inf, {-1}, true),
                         linalg_vector_norm(x[0], -inf, {0}),
                         linalg_vector_norm(x[0], 0, {1}),
                         linalg_vector_norm(x[0], -1.5, {2})};
               },
               .sum = 60,
               .roundings = 3,
               .grad_roundings = 16});
  for (size_t at = c.back().torch.find("inf"); at != std::string::npos; at = c.back().torch.find("inf", at + 12)) {
    c.back().torch.replace(at, 3, "float('inf')");
  }
  c.push_back({.op = "linalg_vector_norm",
               .name = "of_zeros",
               .torch = "(" + f + "(a), " + f + "(a, 0.5, dim=0), " + f + "(a, 3), " + f + "(b, 2), " + f + "(b, 0), " +
                        f + "(c, 2))",
               .inputs = {values({2, 2}, {0, 0, 0, 1}), normal({0}), normal({})},
               .run = [](In x) -> Out {
                 return {linalg_vector_norm(x[0]),    linalg_vector_norm(x[0], 0.5, {0}), linalg_vector_norm(x[0], 3),
                         linalg_vector_norm(x[1], 2), linalg_vector_norm(x[1], 0),        linalg_vector_norm(x[2], 2)};
               },
               .no_gradcheck = "the norm has a kink at zero"});
  c.push_back({.op = "linalg_vector_norm",
               .name = "dtype_given",
               .torch = f + "(a, 2, dtype=torch.float64)",
               .inputs = {normal({9})},
               .run = [](In x) -> Out { return {linalg_vector_norm(x[0], 2, {}, false, kDouble)}; },
               .sum = 9,
               .bypasses_autocast = true});
  c.push_back({.op = "linalg_vector_norm",
               .name = "linalg_norm",
               .torch = "(torch.linalg.norm(a), torch.linalg.norm(a, dim=(0, 1)), torch.linalg.norm(b, 3), "
                        "torch.linalg.norm(a, 1, dim=2), torch.linalg.norm(b, 0))",
               .inputs = {normal({2, 3, 4}), normal({5})},
               .run = [](In x) -> Out {
                 return {linalg_norm(x[0]), linalg_norm(x[0], {}, {0, 1}), linalg_norm(x[1], 3),
                         linalg_norm(x[0], 1, {2}), linalg_norm(x[1], 0)};
               },
               .sum = 24,
               .roundings = 2,
               .grad_roundings = 12});
  c.push_back({.op = "linalg_vector_norm",
               .name = "normalize",
               .torch = "(F.normalize(a), F.normalize(a, 1, -1), F.normalize(a, 3.0, 0))",
               .inputs = {normal({4, 7})},
               .run = [](In x) -> Out {
                 return {normalize(x[0]), normalize(x[0], 1, -1), normalize(x[0], 3, 0)};
               },
               .sum = 28,
               .roundings = 3,
               .grad_roundings = 16});
  c.push_back({.op = "linalg_matrix_norm",
               .name = "orders",
               .torch = "(torch.linalg.matrix_norm(a), torch.linalg.matrix_norm(a, 1), torch.linalg.matrix_norm(a, -1, "
                        "keepdim=True), torch.linalg.matrix_norm(a, float('inf'), dim=(0, 2)), "
                        "torch.linalg.matrix_norm(a, -float('inf'), dim=(2, 0)), torch.linalg.norm(b, 'fro'), "
                        "torch.linalg.norm(b, 1))",
               .inputs = {normal({2, 3, 5}), normal({3, 4})},
               .run = [](In x) -> Out {
                 return {linalg_matrix_norm(x[0]),
                         linalg_matrix_norm(x[0], 1),
                         linalg_matrix_norm(x[0], -1, {-2, -1}, true),
                         linalg_matrix_norm(x[0], inf, {0, 2}),
                         linalg_matrix_norm(x[0], -inf, {2, 0}),
                         linalg_norm(x[1], "fro"),
                         linalg_norm(x[1], 1)};
               },
               .sum = 40,
               .roundings = 4,
               .grad_roundings = 16,
               .no_low = "rounding can make two sums equal, which then share the gradient"});
  c.push_back({.op = "linalg_matrix_norm",
               .name = "low",
               .torch = "(torch.linalg.matrix_norm(a), torch.linalg.matrix_norm(a, 1))",
               .inputs = {values({2, 3}, {1, -2, 3, 4, 5, -6})},
               .run = [](In x) -> Out {
                 return {linalg_matrix_norm(x[0]), linalg_matrix_norm(x[0], 1)};
               },
               .sum = 6,
               .roundings = 3});
  c.push_back({.op = "frobenius_norm",
               .name = "dims",
               .torch = "(torch.linalg.vector_norm(a, 2, dim=(1, 2)), torch.linalg.vector_norm(a, 2, 0, keepdim=True))",
               .inputs = {normal({2, 3, 4})},
               .run = [](In x) -> Out {
                 return {frobenius_norm(x[0], {1, 2}), frobenius_norm(x[0], {0}, true)};
               },
               .sum = 12});
  c.push_back({.op = "renorm",
               .name = "orders",
               .torch = "(torch.renorm(a, 2, 0, 1.5), torch.renorm(a, 1, 1, 4), torch.renorm(b, 3, -1, 2))",
               .inputs = {normal({4, 5}), normal({2, 3, 4})},
               .run = [](In x) -> Out {
                 return {renorm(x[0], 2, 0, 1.5), renorm(x[0], 1, 1, 4), x[1].renorm(3, -1, 2)};
               },
               .sum = 40,
               .roundings = 2,
               .grad_roundings = 16});
  c.push_back({.op = "renorm",
               .name = "in_place",
               .torch = "a.clone().renorm_(2, 0, 1.5)",
               .inputs = {normal({4, 5})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone();
                 return {y.renorm_(2, 0, 1.5)};
               },
               .sum = 20,
               .roundings = 2,
               .grad_roundings = 16,
               .bypasses_autocast = true});
}

void distances(Cases& c) {
  c.push_back({.op = "dist",
               .name = "orders",
               .torch = "(torch.dist(a, b), torch.dist(a, c, 1), torch.dist(a, b, 3), torch.dist(a, a, 2))",
               .inputs = {normal({3, 4}), normal({3, 4}), normal({4})},
               .run = [](In x) -> Out {
                 return {dist(x[0], x[1]), dist(x[0], x[2], 1), x[0].dist(x[1], 3), dist(x[0], x[0], 2)};
               },
               .sum = 40,
               .roundings = 4,
               .grad_roundings = 16,
               .no_gradcheck = "the norm has a kink at zero"});
  c.push_back({.op = "dist",
               .name = "smooth",
               .torch = "(torch.dist(a, b), torch.dist(a, b, 3))",
               .inputs = {normal({3, 4}), normal({3, 4})},
               .run = [](In x) -> Out {
                 return {dist(x[0], x[1]), dist(x[0], x[1], 3)};
               },
               .sum = 40,
               .roundings = 4,
               .grad_roundings = 16});
  c.push_back({.op = "cosine_similarity",
               .name = "dims",
               .torch = "(F.cosine_similarity(a, b), F.cosine_similarity(a, b, 0), F.cosine_similarity(a, c, -1, 0.5))",
               .inputs = {normal({3, 7}), normal({3, 7}).laid_out(MemoryLayout::transposed), normal({7})},
               .run = [](In x) -> Out {
                 return {cosine_similarity(x[0], x[1]), cosine_similarity(x[0], x[1], 0),
                         cosine_similarity(x[0], x[2], -1, 0.5)};
               },
               .sum = 40,
               .grad_roundings = 10});
  c.push_back({.op = "cosine_similarity",
               .name = "of_zeros",
               .torch = "F.cosine_similarity(a, b)",
               .inputs = {values({2, 2}, {0, 0, 1, 2}), normal({2, 2})},
               .run = [](In x) -> Out { return {cosine_similarity(x[0], x[1])}; },
               .sum = 4,
               .no_gradcheck = "the norm has a kink at zero",
               .no_low = "the gradient is divided by eps, which overflows f16"});
  c.push_back({.op = "linalg_vector_norm",
               .name = "pairwise_distance",
               .torch = "(F.pairwise_distance(a, b), F.pairwise_distance(a, c, 1.0, 1e-6, True), "
                        "F.pairwise_distance(a, b, 3.0, 0.125))",
               .inputs = {normal({3, 7}), normal({3, 7}), normal({7})},
               .run = [](In x) -> Out {
                 return {pairwise_distance(x[0], x[1]), pairwise_distance(x[0], x[2], 1, 1e-6, true),
                         pairwise_distance(x[0], x[1], 3, 0.125)};
               },
               .sum = 40});
  const auto cdist_case = [&](const std::string& name, const std::string& arguments, std::vector<Input> inputs,
                              Callable<Tensor(In)> run) {
    c.push_back({.op = "cdist",
                 .name = name,
                 .torch = "torch.cdist(a, b, " + arguments + ")",
                 .inputs = std::move(inputs),
                 .run = [run](In x) -> Out { return {run(x)}; },
                 .sum = 40,
                 .grad_roundings = 8});
  };
  const Input x1 = normal({5, 7}), x2 = normal({4, 7});
  cdist_case("p0", "0.0", {x1, x2}, [](In x) { return cdist(x[0], x[1], 0); });
  cdist_case("p1", "1.0", {x1, x2}, [](In x) { return cdist(x[0], x[1], 1); });
  cdist_case("p2", "2.0", {x1, x2}, [](In x) { return cdist(x[0], x[1]); });
  cdist_case("p3", "3.0", {x1, x2}, [](In x) { return cdist(x[0], x[1], 3); });
  cdist_case("p_half", "0.5", {x1, x2}, [](In x) { return cdist(x[0], x[1], 0.5); });
  cdist_case("p_inf", "float('inf')", {x1, x2}, [](In x) { return cdist(x[0], x[1], inf); });
  cdist_case("p2_by_product", "2.0, 'use_mm_for_euclid_dist'", {x1, x2}, [](In x) { return cdist(x[0], x[1], 2, 1); });
  cdist_case("batches", "1.5", {normal({2, 1, 3, 5}), normal({3, 4, 5})}, [](In x) { return cdist(x[0], x[1], 1.5); });
  cdist_case("batches_by_product", "2.0, 'use_mm_for_euclid_dist'",
             {normal({2, 3, 5}).laid_out(MemoryLayout::transposed), normal({4, 5})},
             [](In x) { return cdist(x[0], x[1], 2, 1); });
  cdist_case("many_rows", "2.0", {normal({27, 3}), normal({2, 3})}, [](In x) { return cdist(x[0], x[1]); });
  cdist_case("no_columns", "2.0", {normal({3, 0}), normal({2, 0})}, [](In x) { return cdist(x[0], x[1], 2, 2); });
  cdist_case("no_rows", "1.0", {normal({0, 3}), normal({2, 3})}, [](In x) { return cdist(x[0], x[1], 1); });
  c.push_back({.op = "pdist",
               .name = "orders",
               .torch = "(F.pdist(a), F.pdist(a, 1.0), F.pdist(a, 3.0), F.pdist(a, float('inf')), F.pdist(a, 0.0), "
                        "F.pdist(b))",
               .inputs = {normal({5, 4}), normal({1, 4})},
               .run = [](In x) -> Out {
                 return {pdist(x[0]), pdist(x[0], 1), pdist(x[0], 3), pdist(x[0], inf), pdist(x[0], 0), pdist(x[1])};
               },
               .sum = 40,
               .grad_roundings = 10,
               .no_gradgradcheck = "the distance of a row to itself has no derivative"});
}

}  // namespace

Cases distance_cases() {
  Cases c;
  norms(c);
  distances(c);
  return c;
}

}  // namespace tandem::testing
