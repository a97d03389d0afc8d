#pragma once
// Sums of products of tensors, written with index letters.
#include <optional>
#include <string_view>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Multiplies the operands and sums over the letters that the result lacks: `einsum("bij,bjk->bik", {a, b})` is
/// bmm(a, b).
///
/// The equation names each operand's dimensions by letters (a-z and A-Z), separated by commas. Equal letters have equal
/// sizes, or size 1, which broadcasts. A letter that an operand has twice selects its diagonal. "..." stands for any
/// further dimensions of an operand; they broadcast. Without "->", the result has the dimensions of "...", then the
/// letters that occur once, A-Z before a-z. Spaces are ignored.
///
/// Operands are multiplied in pairs, each pair by one batched matrix product (element-wise if nothing is summed), in
/// the order of fewest multiplications for up to 8 operands, else by a greedy choice. Throws StateError for a bad
/// equation, ShapeError for operands that do not fit. `path`, libtorch's order of the products, is ignored. Source:
/// torch.einsum.
Tensor einsum(std::string_view equation, TensorList operands, std::optional<IntArrayRef> path = {});

}  // namespace tandem
#pragma GCC visibility pop
