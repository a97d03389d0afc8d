// More products of vectors and matrices, and einsum.
#include "tandem/ops/products.h"

#include "cases/cases.h"
#include "tandem/ops/einsum.h"

namespace tandem::testing {
namespace {

void product_case(Cases& cases, const std::string& op, const std::string& name, const std::string& torch,
                  std::vector<Input> inputs, int64_t sum, Callable<Out(In)> run, int roundings = 1) {
  cases.push_back({.op = op,
                   .name = name,
                   .torch = torch,
                   .inputs = std::move(inputs),
                   .run = std::move(run),
                   .sum = sum,
                   .roundings = roundings});
}

void vectors(Cases& c) {
  product_case(c, "dot", "vectors", "(torch.dot(a, b), torch.dot(c, d), a.dot(a))",
               {normal({17}), normal({17}).laid_out(MemoryLayout::gaps), normal({0}), normal({0})}, 34,
               [](In x) -> Out {
                 return {dot(x[0], x[1]), dot(x[2], x[3]), x[0].dot(x[0])};
               });
  product_case(c, "vdot", "vectors", "torch.vdot(a, b)", {normal({9}), normal({9})}, 9,
               [](In x) -> Out { return {vdot(x[0], x[1])}; });
  product_case(c, "tensordot", "inner", "(torch.inner(a, b), torch.inner(c, c))",
               {normal({2, 3, 5}), normal({4, 5}), normal({7})}, 14, [](In x) -> Out {
                 return {inner(x[0], x[1]), inner(x[2], x[2])};
               });
  product_case(c, "mul", "inner_of_a_number", "torch.inner(a, b)", {normal({2, 3}), normal({})}, 6,
               [](In x) -> Out { return {inner(x[0], x[1])}; });
  product_case(c, "mul", "outer", "(torch.outer(a, b), torch.ger(b, a))", {normal({4}), normal({5})}, 10,
               [](In x) -> Out {
                 return {outer(x[0], x[1]), ger(x[1], x[0])};
               });
  product_case(c, "mv", "matrices", "(torch.mv(a, b), torch.mv(c, b), torch.mv(d, b))",
               {normal({4, 7}), normal({7}), normal({3, 7}).laid_out(MemoryLayout::transposed), normal({0, 7})}, 14,
               [](In x) -> Out {
                 return {mv(x[0], x[1]), mv(x[2], x[1]), mv(x[3], x[1])};
               });
  product_case(c, "linalg_vecdot", "dims", "(torch.linalg.vecdot(a, b), torch.linalg.vecdot(a, b, dim=0))",
               {normal({3, 4, 17}), normal({3, 4, 17}).laid_out(MemoryLayout::transposed)}, 17, [](In x) -> Out {
                 return {linalg_vecdot(x[0], x[1]), linalg_vecdot(x[0], x[1], 0)};
               });
  product_case(c, "linalg_vecdot", "broadcast", "(torch.linalg.vecdot(a, b), torch.linalg.vecdot(c, c))",
               {normal({3, 1, 9}), normal({4, 9}), normal({2, 0})}, 36, [](In x) -> Out {
                 return {linalg_vecdot(x[0], x[1]), linalg_vecdot(x[2], x[2])};
               });
  product_case(c, "cross", "dims", "(torch.cross(a, b, 1), torch.cross(b, c), a.cross(b, dim=-1))",
               {normal({4, 3, 3}), normal({1, 3, 3}), normal({2, 3, 3}).laid_out(MemoryLayout::transposed)}, 8,
               [](In x) -> Out {
                 return {cross(x[0], x[1], 1), cross(x[1], x[2], 1), x[0].cross(x[1], -1)};
               });
  c.back().torch = "(torch.cross(a, b, 1), torch.cross(b, c, 1), a.cross(b, dim=-1))";
  product_case(c, "cross", "default_dim", "torch.cross(a, b)", {normal({2, 3, 3}), normal({2, 3, 3})}, 4,
               [](In x) -> Out { return {cross(x[0], x[1])}; });
  product_case(c, "linalg_cross", "rows", "(torch.linalg.cross(a, b), torch.linalg.cross(c, d, dim=0))",
               {normal({5, 3}), normal({5, 3}), integers({3, 2}, -9, 9), integers({3, 2}, -9, 9)}, 4, [](In x) -> Out {
                 return {linalg_cross(x[0], x[1]), linalg_cross(x[2], x[3], 0)};
               });
}

void sums(Cases& c) {
  product_case(
      c, "addmv", "factors", "(torch.addmv(a, b, c, beta=0.5, alpha=2), torch.addmv(d, b, c))",
      {normal({4}), normal({4, 6}), normal({6}), normal({})}, 12,
      [](In x) -> Out {
        return {addmv(x[0], x[1], x[2], 0.5, 2), x[3].addmv(x[1], x[2])};
      },
      3);
  product_case(c, "addmv", "beta_zero", "torch.addmv(a, b, c, beta=0)", {normal({1}), normal({4, 6}), normal({6})}, 6,
               [](In x) -> Out { return {addmv(x[0], x[1], x[2], 0)}; });
  product_case(
      c, "addr", "factors", "(torch.addr(a, b, c, beta=2, alpha=0.5), torch.addr(c, b, c))",
      {normal({4, 5}), normal({4}), normal({5})}, 12,
      [](In x) -> Out {
        return {addr(x[0], x[1], x[2], 2, 0.5), x[2].addr(x[1], x[2])};
      },
      3);
  product_case(
      c, "addbmm", "factors", "(torch.addbmm(a, b, c, beta=0.5, alpha=2), torch.addbmm(a, b, c))",
      {normal({3, 5}), normal({2, 3, 4}), normal({2, 4, 5})}, 20,
      [](In x) -> Out {
        return {addbmm(x[0], x[1], x[2], 0.5, 2), x[0].addbmm(x[1], x[2])};
      },
      3);
  product_case(
      c, "baddbmm", "factors",
      "(torch.baddbmm(a, b, c, beta=0.5, alpha=2), torch.baddbmm(d, b, c), torch.baddbmm(a, b, c, beta=0))",
      {normal({2, 3, 5}), normal({2, 3, 4}).laid_out(MemoryLayout::transposed), normal({2, 4, 5}), normal({5})}, 20,
      [](In x) -> Out {
        return {baddbmm(x[0], x[1], x[2], 0.5, 2), x[3].baddbmm(x[1], x[2]), baddbmm(x[0], x[1], x[2], 0)};
      },
      3);
  const auto in_place = [&](const std::string& op, const std::string& torch, std::vector<Input> inputs,
                            Callable<const Tensor&(const Tensor&, In)> change) {
    product_case(
        c, op, "in_place", "a.clone()." + torch, std::move(inputs), 12,
        [change](In x) -> Out {
          const Tensor y = x[0].clone();
          return {change(y, x)};
        },
        3);
    c.back().bypasses_autocast = true;
  };
  in_place(
      "addmv", "addmv_(b, c, beta=0.5, alpha=2)", {normal({4}), normal({4, 6}), normal({6})},
      [](const Tensor& y, In x) -> auto& { return y.addmv_(x[1], x[2], 0.5, 2); });
  in_place(
      "addr", "addr_(b, c, beta=0.5, alpha=2)", {normal({4, 5}), normal({4}), normal({5})},
      [](const Tensor& y, In x) -> auto& { return y.addr_(x[1], x[2], 0.5, 2); });
  in_place(
      "addbmm", "addbmm_(b, c, beta=0.5, alpha=2)", {normal({3, 5}), normal({2, 3, 4}), normal({2, 4, 5})},
      [](const Tensor& y, In x) -> auto& { return y.addbmm_(x[1], x[2], 0.5, 2); });
  in_place(
      "baddbmm", "baddbmm_(b, c, beta=0.5, alpha=2)", {normal({2, 3, 5}), normal({2, 3, 4}), normal({2, 4, 5})},
      [](const Tensor& y, In x) -> auto& { return y.baddbmm_(x[1], x[2], 0.5, 2); });
}

void chains(Cases& c) {
  product_case(
      c, "tensordot", "dims",
      "(torch.tensordot(a, b, ([2, 0], [0, 1])), torch.tensordot(a, c, dims=1), torch.tensordot(c, d, dims=0))",
      {normal({3, 2, 4}), normal({4, 3, 2}), normal({4, 2}), normal({2})}, 24, [](In x) -> Out {
        return {tensordot(x[0], x[1], {2, 0}, {0, 1}), tensordot(x[0], x[2], 1), tensordot(x[2], x[3], 0)};
      });
  product_case(c, "tensordot", "broadcast", "torch.tensordot(a, b, ([1], [0]))", {normal({3, 1}), normal({4, 2})}, 8,
               [](In x) -> Out { return {tensordot(x[0], x[1], {1}, {0})}; });
  product_case(
      c, "chain_matmul", "order", "(torch.chain_matmul(a, b, c), torch.chain_matmul(a))",
      {normal({6, 3}), normal({3, 7}), normal({7, 2})}, 60,
      [](In x) -> Out {
        return {chain_matmul({x[0], x[1], x[2]}), chain_matmul({x[0]})};
      },
      4);
  product_case(
      c, "linalg_multi_dot", "order", "(torch.linalg.multi_dot([a, b, c, d]), torch.linalg.multi_dot([b, c]))",
      {normal({5}), normal({5, 3}), normal({3, 4}), normal({4})}, 100,
      [](In x) -> Out {
        return {linalg_multi_dot({x[0], x[1], x[2], x[3]}), linalg_multi_dot({x[1], x[2]})};
      },
      8);
  product_case(
      c, "matmul", "matrix_power", "(torch.matrix_power(a, 2), torch.linalg.matrix_power(b, 5))",
      {normal({3, 3}), uniform({2, 3, 3}, -0.5, 0.5)}, 60,
      [](In x) -> Out {
        return {matrix_power(x[0], 2), linalg_matrix_power(x[1], 5)};
      },
      6);
  product_case(c, "clone", "matrix_power", "(torch.matrix_power(a, 1), torch.matrix_power(b, 0))",
               {normal({2, 3, 3}), normal({2, 3, 3}).constant()}, 0, [](In x) -> Out {
                 return {x[0].matrix_power(1), matrix_power(x[1], 0)};
               });
  product_case(c, "mul", "kron", "(torch.kron(a, b), torch.kron(b, a), torch.kron(c, c), torch.kron(d, a))",
               {normal({2, 3}), normal({2, 1, 2}), integers({2}, -5, 5), normal({})}, 24, [](In x) -> Out {
                 return {kron(x[0], x[1]), x[1].kron(x[0]), kron(x[2], x[2]), kron(x[3], x[0])};
               });
  product_case(
      c, "bilinear", "bias", "F.bilinear(a, b, c, d)", {normal({4, 3}), normal({4, 5}), normal({2, 3, 5}), normal({2})},
      100, [](In x) -> Out { return {bilinear(x[0], x[1], x[2], x[3])}; }, 6);
  product_case(
      c, "bilinear", "ranks", "(F.bilinear(a, b, c), F.bilinear(d, e, c))",
      {normal({2, 2, 3}), normal({2, 2, 5}), normal({2, 3, 5}), normal({3}), normal({5})}, 150,
      [](In x) -> Out {
        return {bilinear(x[0], x[1], x[2]), bilinear(x[3], x[4], x[2])};
      },
      6);
}

void einsums(Cases& c) {
  const auto add = [&](const std::string& name, const std::string& equation, std::vector<Input> inputs, int64_t sum,
                       int roundings = 1) {
    std::string torch = "torch.einsum('" + equation + "'";
    for (size_t i = 0; i < inputs.size(); ++i) torch += std::string(", ") + static_cast<char>('a' + i);
    product_case(
        c, "einsum", name, torch + ")", std::move(inputs), sum,
        [equation](In x) -> Out { return {einsum(equation, x)}; }, roundings);
  };
  const Input m = normal({3, 4}), batch = normal({2, 3, 4});
  add("matrices", "ij,jk->ik", {m, normal({4, 5})}, 5);
  add("implicit", "ij,jk", {m, normal({4, 5})}, 5);
  add("implicit_order", "ba", {m}, 0);
  add("transposed", "ij->ji", {m}, 0);
  add("diagonal", "ii->i", {normal({4, 4})}, 0);
  add("trace", "ii", {normal({4, 4})}, 4);
  add("diagonal_of_batches", "...ii->...i", {normal({2, 3, 3})}, 0);
  add("sum_all", "ij->", {m}, 12);
  add("sum_some", "bij->i", {batch}, 8);
  add("batches", "bij,bkj->bik", {batch, normal({2, 5, 4})}, 5);
  add("attention", "bhid,bhjd->bhij", {normal({2, 2, 3, 4}), normal({2, 2, 5, 4})}, 5);
  add("output_order", "bij,bjk->kbi", {batch, normal({2, 4, 5})}, 5);
  add("outer", "i,jk->kij", {normal({2}), m}, 12);
  add("element_wise", "ij,ij->ij", {m, m}, 1);
  add("vectors", "i,i->", {normal({9}), normal({9})}, 9);
  add("rows", "ij,ij->i", {m, m}, 4);
  add("all_of_two", "ij,ij", {m, m}, 12);
  add("ellipsis", "...ij,...jk->...ik", {normal({2, 1, 3, 4}), normal({5, 4, 2})}, 40);
  add("ellipsis_implicit", "...i,i", {batch, normal({4})}, 24);
  add("ellipsis_dropped", "...ij->ij", {batch}, 2);
  add("ellipsis_in_the_middle", "i...j,j->...i", {batch, normal({4})}, 24);
  add("broadcast_ones", "ij,jk->ik", {normal({3, 1}), normal({4, 5})}, 12, 2);
  add("three", "ij,jk,kl->il", {m, normal({4, 2}), normal({2, 5})}, 60, 4);
  add("bilinear", "bn,anm,bm->ba", {normal({2, 3}), normal({4, 3, 5}), normal({2, 5})}, 80, 5);
  add("sum_and_product", "ij,kl->i", {m, normal({2, 3})}, 30, 5);
  add("shared_by_three", "ij,ij,ij->j", {m, m, m}, 12, 4);
  add("capitals", "aB, Ba", {m, normal({4, 3})}, 12);
  add("number", ",ij->ij", {normal({}), m}, 12);
  add("empty", "ij,jk->ik", {normal({2, 0}), normal({0, 3})}, 1);
  add("nine", "a,ab,bc,cd,de,ef,fg,gh,h->",
      {normal({2}), normal({2, 2}), normal({2, 2}), normal({2, 2}), normal({2, 2}), normal({2, 2}), normal({2, 2}),
       normal({2, 2}), normal({2})},
      200, 60);
}

}  // namespace

Cases products_cases() {
  Cases c;
  vectors(c);
  sums(c);
  chains(c);
  einsums(c);
  return c;
}

}  // namespace tandem::testing
