// Splits, joins, rearrangements and diagonals: values are moved, not changed.
#include "tandem/ops/rearrange.h"

#include "cases/cases.h"
#include "tandem/ops/diagonal.h"
#include "tandem/ops/join.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/split.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// `sum`: the largest number of gradients that one element receives.
void rearranged(Cases& cases, const std::string& op, const std::string& name, const std::string& torch,
                std::vector<Input> inputs, Callable<Out(In)> run, int64_t sum = 0) {
  cases.push_back(
      {.op = op, .name = name, .torch = torch, .inputs = std::move(inputs), .run = std::move(run), .sum = sum});
}

Out joined(std::initializer_list<Out> lists) {
  Out all;
  for (const Out& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

void splits(Cases& c) {
  rearranged(c, "split", "sizes", "(*a.split(3), *a.split(2, -1), *b.split(4, 1), *a.split([1, 0, 6]))",
             {normal({7, 4}), normal({2, 4, 3}).laid_out(MemoryLayout::transposed)}, [](In x) -> Out {
               return joined({split(x[0], 3), split(x[0], 2, -1), split(x[1], 4, 1), split(x[0], {1, 0, 6})});
             });
  rearranged(c, "split", "with_sizes", "(*a.split_with_sizes([2, 1], 1), *b.split(5), *b.split([], 0))",
             {normal({2, 3}), normal({0, 2})}, [](In x) -> Out {
               return joined({split_with_sizes(x[0], {2, 1}, 1), split(x[1], 5), split(x[1], IntArrayRef(), 0)});
             });
  rearranged(c, "split", "unused_parts", "a.split(2, 1)[1]", {normal({2, 5})},
             [](In x) -> Out { return {split(x[0], 2, 1)[1]}; });
  rearranged(c, "split", "sections", "(*a.tensor_split(3), *a.tensor_split(5, 1), *b.tensor_split(2))",
             {normal({7, 4}), normal({2, 3})}, [](In x) -> Out {
               return joined({tensor_split(x[0], 3), tensor_split(x[0], 5, 1), tensor_split(x[1], 2)});
             });
  rearranged(c, "slice", "tensor_split", "(*a.tensor_split([2, 5, 3]), *a.tensor_split((1, -1), 1))", {normal({7, 4})},
             [](In x) -> Out {
               return joined({tensor_split(x[0], {2, 5, 3}), tensor_split(x[0], {1, -1}, 1)});
             });
  rearranged(c, "slice", "tensor_split_by_tensor",
             "(*a.tensor_split(torch.tensor([2, 5])), *a.tensor_split(torch.tensor(2), 1))", {normal({7, 4})},
             [](In x) -> Out {
               const TensorOptions host = TensorOptions(kLong).device(kCPU);
               return joined({tensor_split(x[0], tensor({2, 5}, host)), tensor_split(x[0], tensor(2, host), 1)});
             });
  rearranged(
      c, "split", "by_direction",
      "(*a.hsplit(2), *a.vsplit(3), *a.dsplit(2), *b.hsplit(2), *a.hsplit([1]), *a.vsplit([1, 2]), *a.dsplit([1]))",
      {normal({3, 4, 2}), normal({6})}, [](In x) -> Out {
        return joined({hsplit(x[0], 2), vsplit(x[0], 3), dsplit(x[0], 2), hsplit(x[1], 2), hsplit(x[0], IntArrayRef{1}),
                       vsplit(x[0], {1, 2}), dsplit(x[0], IntArrayRef{1})});
      });
  rearranged(c, "unbind", "dims", "(*a.unbind(), *a.unbind(-1), *b.unbind(1), *c.unbind())",
             {normal({2, 3}), normal({2, 3, 2}).laid_out(MemoryLayout::transposed), normal({2})}, [](In x) -> Out {
               return joined({unbind(x[0]), unbind(x[0], -1), unbind(x[1], 1), unbind(x[2])});
             });
}

void joins(Cases& c) {
  rearranged(c, "cat", "aliases", "(torch.concat([a, b], 1), torch.concatenate([a, a]))",
             {normal({2, 3}), normal({2, 1})}, [](In x) -> Out {
               return {concat(Out{x[0], x[1]}, 1), concatenate(Out{x[0], x[0]})};
             });
  rearranged(c, "cat", "by_direction",
             "(torch.hstack([a, b]), torch.hstack([c, d]), torch.vstack([a, c]), torch.row_stack([c, c]), "
             "torch.dstack([a, a]), torch.dstack([c, c]), torch.dstack([d, e]))",
             {normal({2, 3}), normal({2, 1}), normal({3}), normal({}), normal({})}, [](In x) -> Out {
               return {hstack(Out{x[0], x[1]}),    hstack(Out{x[2], x[3]}), vstack(Out{x[0], x[2]}),
                       row_stack(Out{x[2], x[2]}), dstack(Out{x[0], x[0]}), dstack(Out{x[2], x[2]}),
                       dstack(Out{x[3], x[4]})};
             });
  rearranged(c, "cat", "columns", "(torch.column_stack([a, b, a]), torch.column_stack([c, c]))",
             {normal({3}), normal({3, 2}), normal({})}, [](In x) -> Out {
               return {column_stack(Out{x[0], x[1], x[0]}), column_stack(Out{x[2], x[2]})};
             });
  rearranged(c, "cat", "block_diag", "(torch.block_diag(a, b, c, d), torch.block_diag(a))",
             {normal({2, 3}), normal({4}), normal({}), normal({0, 2})}, [](In x) -> Out {
               return {block_diag(x), block_diag(Out{x[0]})};
             });
  rearranged(c, "unsqueeze", "atleast",
             "(*torch.atleast_1d([a, b]), *torch.atleast_2d([a, b, c]), *torch.atleast_3d([a, b, c, d]))",
             {normal({}), normal({3}), normal({2, 3}), normal({2, 3, 2})}, [](In x) -> Out {
               return joined({atleast_1d(Out{x[0], x[1]}), atleast_2d(Out{x[0], x[1], x[2]}), atleast_3d(x)});
             });
  rearranged(
      c, "expand", "broadcast", "(a.broadcast_to(2, 3, 4), *torch.broadcast_tensors(a, b, c))",
      {normal({3, 1}), normal({2, 1, 4}), normal({})},
      [](In x) -> Out {
        return joined({{broadcast_to(x[0], {2, 3, 4})}, broadcast_tensors(x)});
      },
      48);
  rearranged(
      c, "expand", "meshgrid",
      "(*torch.meshgrid(a, b, c, indexing='ij'), *torch.meshgrid(a, b, indexing='xy'), "
      "*torch.meshgrid(b, indexing='xy'))",
      {normal({3}), normal({2}), normal({})},
      [](In x) -> Out {
        return joined({meshgrid(x), meshgrid(Out{x[0], x[1]}, "xy"), meshgrid(Out{x[1]}, "xy")});
      },
      12);
  rearranged(
      c, "stack", "cartesian_prod", "(torch.cartesian_prod(a, a, a[:2]), torch.cartesian_prod(a))", {normal({3})},
      [](In x) -> Out {
        return {cartesian_prod(Out{x[0], x[0], slice(x[0], 0, {}, 2)}), cartesian_prod(x)};
      },
      32);
  rearranged(
      c, "index_select", "combinations",
      "(torch.combinations(a), torch.combinations(a, 3), torch.combinations(a, 2, True), "
      "torch.combinations(b, 2), torch.combinations(a, 1), torch.combinations(a[:0], 2))",
      {normal({4}), normal({1})},
      [](In x) -> Out {
        return {combinations(x[0]),    combinations(x[0], 3), combinations(x[0], 2, true),
                combinations(x[1], 2), combinations(x[0], 1), combinations(x[0].narrow(0, 0, 0), 2)};
      },
      16);
}

void moves(Cases& c) {
  rearranged(c, "flip", "dims", "(a.flip(0), a.flip([-1, 0]), a.flip([]), b.flip([1, 2]), c.flip([]), d.flip(0, 1))",
             {normal({3, 4, 2}), normal({2, 3, 5}).laid_out(MemoryLayout::transposed), normal({}), normal({0, 3})},
             [](In x) -> Out {
               return {flip(x[0], {0}),    flip(x[0], {-1, 0}), flip(x[0], IntArrayRef()),
                       flip(x[1], {1, 2}), flip(x[2], {}),      flip(x[3], {0, 1})};
             });
  rearranged(c, "flip", "by_direction",
             "(a.fliplr(), a.flipud(), b.flipud(), *(torch.rot90(a, k, [0, 1]) for k in range(-1, 4)), "
             "torch.rot90(c, 1, [1, 2]))",
             {normal({3, 4}), normal({5}), normal({2, 3, 4})}, [](In x) -> Out {
               Out all = {fliplr(x[0]), flipud(x[0]), flipud(x[1])};
               for (int64_t k = -1; k < 4; ++k) all.push_back(rot90(x[0], k));
               all.push_back(rot90(x[2], 1, {1, 2}));
               return all;
             });
  rearranged(c, "roll", "dims",
             "(a.roll(1), a.roll(-2, 0), a.roll([1, 2], [0, 1]), a.roll([7, 1], [-1, -1]), b.roll([1, -1], [1, 2]), "
             "c.roll(2), d.roll(1, 0))",
             {normal({3, 4}), normal({2, 3, 4}).laid_out(MemoryLayout::transposed), normal({}), normal({0, 3})},
             [](In x) -> Out {
               return {roll(x[0], 1),
                       roll(x[0], {-2}, {0}),
                       roll(x[0], {1, 2}, {0, 1}),
                       roll(x[0], {7, 1}, {-1, -1}),
                       roll(x[1], {1, -1}, {1, 2}),
                       roll(x[2], 2),
                       roll(x[3], 1, 0)};
             });
  rearranged(c, "roll", "integers", "(a.roll(1, 0), a.flip(0), b.flip(0))", {integers({5}, -9, 9), boolean({6})},
             [](In x) -> Out {
               return {roll(x[0], 1, 0), flip(x[0], {0}), flip(x[1], {0})};
             });
  rearranged(
      c, "expand", "repeat",
      "(a.repeat(2, 3), a.repeat(2, 1, 2), b.repeat(3), a.repeat(1, 1), c.repeat(2, 2), a.repeat(0, 2))",
      {normal({2, 3}), normal({}), normal({3, 1}).laid_out(MemoryLayout::gaps)},
      [](In x) -> Out {
        return {repeat(x[0], {2, 3}), repeat(x[0], {2, 1, 2}), repeat(x[1], {3}),
                repeat(x[0], {1, 1}), repeat(x[2], {2, 2}),    repeat(x[0], {0, 2})};
      },
      16);
  rearranged(
      c, "expand", "repeat_of_high_rank", "a.repeat(2, 2, 1, 2, 2, 2, 2)", {normal({2, 2, 1, 1, 2, 2, 2})},
      [](In x) -> Out {
        return {repeat(x[0], {2, 2, 1, 2, 2, 2, 2})};
      },
      64);
  rearranged(
      c, "expand", "tile", "(a.tile(2), a.tile(2, 1, 2), b.tile(2, 2))", {normal({2, 3}), normal({})},
      [](In x) -> Out {
        return {tile(x[0], 2), tile(x[0], {2, 1, 2}), tile(x[1], {2, 2})};
      },
      16);
  rearranged(
      c, "expand", "repeat_interleave",
      "(a.repeat_interleave(2), a.repeat_interleave(3, 0), a.repeat_interleave(2, -1), b.repeat_interleave(2), "
      "a.repeat_interleave(1, 1), a.repeat_interleave(0, 1))",
      {normal({2, 3}).laid_out(MemoryLayout::transposed), normal({})},
      [](In x) -> Out {
        return {repeat_interleave(x[0], 2), repeat_interleave(x[0], 3, 0), repeat_interleave(x[0], 2, -1),
                repeat_interleave(x[1], 2), repeat_interleave(x[0], 1, 1), repeat_interleave(x[0], 0, 1)};
      },
      16);
  rearranged(
      c, "index_select", "repeat_interleave",
      "(a.repeat_interleave(torch.tensor([2, 0, 1]), 1), a.repeat_interleave(torch.tensor([3]), 0), "
      "torch.repeat_interleave(torch.tensor([2, 0, 3])))",
      {normal({2, 3})},
      [](In x) -> Out {
        const TensorOptions there = TensorOptions(kLong).device(x[0].device());
        return {repeat_interleave(x[0], tensor({2, 0, 1}, there), 1), repeat_interleave(x[0], tensor({3}, there), 0),
                repeat_interleave(tensor({2, 0, 3}, there))};
      },
      8);
}

void views(Cases& c) {
  rearranged(c, "permute", "movedim",
             "(a.movedim(0, 2), a.movedim([0, 1], [-1, 0]), a.moveaxis(2, 0), a.moveaxis([2], [1]), b.movedim(0, -1))",
             {normal({2, 3, 4}), normal({})}, [](In x) -> Out {
               return {movedim(x[0], 0, 2), movedim(x[0], {0, 1}, {-1, 0}), moveaxis(x[0], 2, 0),
                       moveaxis(x[0], IntArrayRef{2}, IntArrayRef{1}), movedim(x[1], 0, -1)};
             });
  rearranged(c, "transpose", "swaps", "(a.swapaxes(0, 2), a.swapdims(-1, 1))", {normal({2, 3, 4})}, [](In x) -> Out {
    return {swapaxes(x[0], 0, 2), swapdims(x[0], -1, 1)};
  });
  rearranged(c, "view", "unflatten_and_ravel",
             "(a.unflatten(1, (2, 3)), a.unflatten(-1, (-1, 2, 1)), a.ravel(), b.ravel(), c.unflatten(0, (2, 0)))",
             {normal({2, 6}), normal({3, 4}).laid_out(MemoryLayout::transposed), normal({0, 2})}, [](In x) -> Out {
               return {unflatten(x[0], 1, {2, 3}), unflatten(x[0], -1, {-1, 2, 1}), ravel(x[0]), ravel(x[1]),
                       unflatten(x[2], 0, {2, 0})};
             });
  rearranged(c, "slice", "narrow_copy", "(a.narrow_copy(1, 1, 2), a.narrow_copy(0, 0, 3))", {normal({3, 4})},
             [](In x) -> Out {
               return {narrow_copy(x[0], 1, 1, 2), narrow_copy(x[0], 0, 0, 3)};
             });
  rearranged(c, "squeeze", "lists", "(a.squeeze((0, 2)), a.squeeze((1, -1)), a.squeeze(()))", {normal({1, 3, 1, 2})},
             [](In x) -> Out {
               return {squeeze(x[0], {0, 2}), squeeze(x[0], {1, -1}), squeeze(x[0], IntArrayRef())};
             });
  rearranged(
      c, "unfold", "windows",
      "(a.unfold(0, 3, 1), a.unfold(0, 2, 3), a.unfold(0, 3, 2), b.unfold(1, 2, 1), c.unfold(0, 1, 1), "
      "a.unfold(0, 0, 1), a.unfold(0, 7, 9))",
      {normal({7}), normal({2, 4, 3}).laid_out(MemoryLayout::transposed), normal({})},
      [](In x) -> Out {
        return {unfold(x[0], 0, 3, 1), unfold(x[0], 0, 2, 3), unfold(x[0], 0, 3, 2), unfold(x[1], 1, 2, 1),
                unfold(x[2], 0, 1, 1), unfold(x[0], 0, 0, 1), unfold(x[0], 0, 7, 9)};
      },
      8);
  rearranged(
      c, "unfold", "patches", "a.unfold(2, 2, 1).unfold(3, 3, 2)", {normal({1, 2, 3, 5})},
      [](In x) -> Out { return {unfold(unfold(x[0], 2, 2, 1), 3, 3, 2)}; }, 8);
  rearranged(c, "select_scatter", "dims", "(a.select_scatter(b, 0, 1), a.select_scatter(c, -1, -2))",
             {normal({2, 3}), normal({3}), normal({2})}, [](In x) -> Out {
               return {select_scatter(x[0], x[1], 0, 1), select_scatter(x[0], x[2], -1, -2)};
             });
  rearranged(c, "slice_scatter", "bounds",
             "(a.slice_scatter(b, 0, 1, 3), a.slice_scatter(c, 1, None, None, 2), a.slice_scatter(a, 0))",
             {normal({4, 3}).laid_out(MemoryLayout::transposed), normal({2, 3}), normal({4, 2})}, [](In x) -> Out {
               return {slice_scatter(x[0], x[1], 0, 1, 3), slice_scatter(x[0], x[2], 1, {}, {}, 2),
                       slice_scatter(x[0], x[0], 0)};
             });
}

void diagonals(Cases& c) {
  rearranged(c, "tril", "offsets",
             "(a.tril(), a.tril(1), a.tril(-2), a.tril(9), a.tril(-9), b.tril(), c.tril(), d.tril())",
             {normal({3, 4}), normal({2, 4, 3}).laid_out(MemoryLayout::transposed), normal({0, 3}),
              values({2, 2}, {1, NAN, INFINITY, 2})},
             [](In x) -> Out {
               return {tril(x[0]),     tril(x[0], 1), tril(x[0], -2), tril(x[0], 9),
                       tril(x[0], -9), tril(x[1]),    tril(x[2]),     tril(x[3])};
             });
  c.back().no_gradcheck = "an input is NaN";
  rearranged(
      c, "triu", "offsets", "(a.triu(), a.triu(1), a.triu(-2), a.triu(9), a.triu(-9), b.triu(-1), c.triu(), d.triu())",
      {normal({4, 3}), normal({2, 3, 4}).laid_out(MemoryLayout::transposed), integers({3, 3}, -9, 9), boolean({3, 3})},
      [](In x) -> Out {
        return {triu(x[0]),     triu(x[0], 1),  triu(x[0], -2), triu(x[0], 9),
                triu(x[0], -9), triu(x[1], -1), triu(x[2]),     triu(x[3])};
      });
  rearranged(c, "tril", "matrix", "a.tril(1)", {normal({3, 4})}, [](In x) -> Out { return {tril(x[0], 1)}; });
  rearranged(c, "tril", "indices",
             "(torch.tril_indices(3, 4), torch.tril_indices(3, 4, 1), torch.tril_indices(4, 3, -1, dtype=torch.int32), "
             "torch.triu_indices(3, 4), torch.triu_indices(3, 4, -1), torch.triu_indices(4, 3, 2), "
             "torch.tril_indices(0, 2), torch.triu_indices(2, 0))",
             {normal({1}).constant()}, [](In x) -> Out {
               const Device there = x[0].device();
               const TensorOptions o = TensorOptions(kLong).device(there), narrow = TensorOptions(kInt).device(there);
               return {tril_indices(3, 4, 0, o), tril_indices(3, 4, 1, o),  tril_indices(4, 3, -1, narrow),
                       triu_indices(3, 4, 0, o), triu_indices(3, 4, -1, o), triu_indices(4, 3, 2, o),
                       tril_indices(0, 2, 0, o), triu_indices(2, 0, 0, o)};
             });
  c.back().bypasses_autocast = true;
  rearranged(c, "diagonal", "offsets",
             "(a.diagonal(), a.diagonal(1), a.diagonal(-1), a.diagonal(5), b.diagonal(0, -1, 0), b.diagonal(1, 1, 2))",
             {normal({3, 4}), normal({2, 4, 3}).laid_out(MemoryLayout::transposed)}, [](In x) -> Out {
               return {diagonal(x[0]),    diagonal(x[0], 1),        diagonal(x[0], -1),
                       diagonal(x[0], 5), diagonal(x[1], 0, -1, 0), diagonal(x[1], 1, 1, 2)};
             });
  rearranged(c, "diagonal", "diag", "(a.diag(), a.diag(-1), b.diag(), b.diag(1), b.diag(-2))",
             {normal({3, 4}), normal({3})}, [](In x) -> Out {
               return {diag(x[0]), diag(x[0], -1), diag(x[1]), diag(x[1], 1), diag(x[1], -2)};
             });
  rearranged(
      c, "diagonal_scatter", "offsets",
      "(a.diagonal_scatter(b), a.diagonal_scatter(c, -1), d.diagonal_scatter(e, 0, 0, 2))",
      {normal({3, 4}), normal({3}), normal({2}), normal({2, 3, 2}), normal({3, 2})}, [](In x) -> Out {
        return {diagonal_scatter(x[0], x[1]), diagonal_scatter(x[0], x[2], -1), diagonal_scatter(x[3], x[4], 0, 0, 2)};
      });
  rearranged(
      c, "diagonal_scatter", "diag_embed",
      "(torch.diag_embed(a), torch.diag_embed(a, 1), torch.diag_embed(a, -1, 0, 2), torch.diagflat(a), "
      "torch.diagflat(b, 1))",
      {normal({2, 3}), normal({})}, [](In x) -> Out {
        return {diag_embed(x[0]), diag_embed(x[0], 1), diag_embed(x[0], -1, 0, 2), diagflat(x[0]), diagflat(x[1], 1)};
      });
  rearranged(
      c, "trace", "matrices", "(a.trace(), b.trace(), c.trace(), d.trace())",
      {normal({3, 4}), normal({5, 3}).laid_out(MemoryLayout::transposed), integers({2, 2}, -9, 9), normal({0, 3})},
      [](In x) -> Out {
        return {trace(x[0]), trace(x[1]), trace(x[2]), trace(x[3])};
      },
      3);
}

void in_place(Cases& c, const std::string& op, const std::string& name, const std::string& torch,
              std::vector<Input> inputs, Callable<void(const Tensor&)> change) {
  c.push_back({.op = op,
               .name = "in_place" + name,
               .torch = "(a * 1)." + torch,
               .inputs = std::move(inputs),
               .run = [change](In x) -> Out {
                 const Tensor y = x[0].clone();
                 change(y);
                 return {y};
               },
               .sum = 0,
               .bypasses_autocast = true});
}

void changes(Cases& c) {
  in_place(c, "tril", "", "tril_(1)", {normal({3, 4})}, [](const Tensor& y) { y.tril_(1); });
  in_place(c, "triu", "", "triu_(-1)", {normal({2, 4, 3})}, [](const Tensor& y) { y.triu_(-1); });
  in_place(c, "where", "_fill_diagonal", "fill_diagonal_(2)", {normal({3, 4})},
           [](const Tensor& y) { y.fill_diagonal_(2); });
  in_place(c, "where", "_fill_diagonal_of_cube", "fill_diagonal_(2)", {normal({3, 3, 3})},
           [](const Tensor& y) { y.fill_diagonal_(2); });
  in_place(c, "where", "_fill_diagonal_wraps", "fill_diagonal_(2, wrap=True)", {normal({8, 3})},
           [](const Tensor& y) { y.fill_diagonal_(2, true); });
  in_place(c, "where", "_fill_diagonal_of_tall_matrix", "fill_diagonal_(2)", {normal({8, 3})},
           [](const Tensor& y) { y.fill_diagonal_(2); });
  in_place(c, "squeeze", "", "squeeze_()", {normal({1, 3, 1})}, [](const Tensor& y) { y.squeeze_(); });
  in_place(c, "squeeze", "_dim", "squeeze_(-1).squeeze_((0,))", {normal({1, 3, 1})},
           [](const Tensor& y) { y.squeeze_(-1).squeeze_(IntArrayRef{0}); });
  in_place(c, "unsqueeze", "", "unsqueeze_(1)", {normal({2, 3})}, [](const Tensor& y) { y.unsqueeze_(1); });
  in_place(c, "transpose", "", "transpose_(0, 2).swapaxes_(1, 2).swapdims_(0, 1)", {normal({2, 3, 4})},
           [](const Tensor& y) { y.transpose_(0, 2).swapaxes_(1, 2).swapdims_(0, 1); });
  in_place(c, "transpose", "_t", "t_()", {normal({2, 3})}, [](const Tensor& y) { y.t_(); });
  in_place(c, "transpose", "_then_multiplied", "t_().mul_(2)", {normal({2, 3})},
           [](const Tensor& y) { y.t_().mul_(2); });
}

}  // namespace

Cases rearrange_cases() {
  Cases c;
  splits(c);
  joins(c);
  moves(c);
  views(c);
  diagonals(c);
  changes(c);
  return c;
}

}  // namespace tandem::testing
