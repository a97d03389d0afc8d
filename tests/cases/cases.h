#pragma once
// The case table: one row per op and variant. Each row is used for the comparison with PyTorch (forward, gradients),
// gradcheck and gradgradcheck in f64, f16 and bf16 against f64, autocast, CPU against CUDA, and the benchmarks.
//
// To add a case, add a row to tests/cases/<family>.cpp, then, with PyTorch installed, run `python
// tests/golden/generate.py`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/callable.h"
#include "tandem/amp/policy.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// How the numbers of an input are made.
enum class Fill : uint8_t {
  normal,    ///< near normal, variance 4/3
  uniform,   ///< in [low, high)
  integers,  ///< i64, low <= x < high
  boolean,   ///< true and false alike
  values     ///< as listed
};

/// Memory layout of an input.
enum class MemoryLayout : uint8_t {
  contiguous,
  transposed,     ///< the last two dimensions swapped
  channels_last,  ///< N, H, W, C
  gaps            ///< every second element of a larger block
};

/// One input: sizes and a way to fill them. Made by the functions below and modified by its members.
struct Input {
  std::vector<int64_t> sizes = {};
  Fill fill = Fill::normal;
  double low = 0, high = 0;
  std::vector<double> list = {};          ///< for Fill::values
  std::optional<DType> fixed_dtype = {};  ///< empty: the dtype under test
  MemoryLayout layout = MemoryLayout::contiguous;
  bool requires_grad = true;    ///< if its dtype allows it
  bool f32_beside_low = false;  ///< f32 while f16 or bf16 is under test

  Input as(DType dtype) const;
  Input laid_out(MemoryLayout l) const;
  Input constant() const;   ///< without a gradient
  Input parameter() const;  ///< stays f32 while f16 or bf16 is under test
  bool is_floating() const;
  bool wants_grad() const { return requires_grad && is_floating(); }
};

Input normal(std::vector<int64_t> sizes);
/// Use small dyadic fractions for low and high: the numbers are then the same in every language.
Input uniform(std::vector<int64_t> sizes, double low, double high);
Input integers(std::vector<int64_t> sizes, int64_t low, int64_t high);
Input boolean(std::vector<int64_t> sizes);
/// The listed numbers, in the dtype under test.
Input values(std::vector<int64_t> sizes, std::vector<double> list);

using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

struct Case {
  std::string family = {};  ///< set by all_cases(): the file with the golden values
  std::string op = {};      ///< a row of amp/policy.h
  std::string name = {};    ///< unique among the op's cases
  std::string torch = {};   ///< Python expression over the inputs a, b, c, ...: a tensor or a tuple of them
  std::vector<Input> inputs = {};
  Callable<Out(In)> run = {};

  int64_t sum = 1;                    ///< length of the longest sum; 0: no arithmetic, results are exact
  int roundings = 1;                  ///< roundings to a low dtype in the forward pass
  int grad_roundings = 0;             ///< roundings to a low dtype in forward and backward together; 0: roundings + 4
  std::string no_golden = {};         ///< why the case is not compared with PyTorch (random numbers)
  std::string no_gradcheck = {};      ///< why finite differences do not give the derivative (kinks, poles)
  std::string no_gradgradcheck = {};  ///< likewise for the second derivative only
  std::string no_low = {};            ///< why f16 and bf16 are not run
  std::string autocast_as = {};       ///< for composite ops: the op whose policy applies
  Callable<Out(In)> apart = {};       ///< for an op that fuses others: those ops, which autocast treats in the same way
  bool bypasses_autocast = false;     ///< in place, or with an explicit dtype argument
};

/// Returns all cases, family by family, each in the order of its file.
const std::vector<Case>& all_cases();

/// Returns "op/name".
std::string full_name(const Case& c);
/// Returns the case as one line of JSON, with everything that golden values depend on.
std::string to_json(const Case& c);
/// Allocates and fills the inputs; those without a fixed dtype are in `dtype`. Returns new tensors on every call.
std::vector<Tensor> make_inputs(const Case& c, DType dtype);
/// Returns the fixed weights used as dL/d(output number `output`), in the output's dtype.
Tensor make_output_gradient(const Tensor& output, size_t index);
/// Returns the autocast policy that applies to a case.
amp::Cast policy_of(const Case& c);

// ---- the families
using Cases = std::vector<Case>;
Cases elementwise_cases();
Cases functions_cases();
Cases arithmetic_cases();
Cases statistics_cases();
Cases comparison_cases();
Cases in_place_cases();
Cases shape_cases();
Cases rearrange_cases();
Cases pad_cases();
Cases matmul_cases();
Cases reduce_cases();
Cases attention_cases();
Cases softmax_cases();
Cases norm_cases();
Cases conv_cases();
Cases pool_cases();
Cases loss_cases();
Cases pointwise_loss_cases();
Cases margin_loss_cases();
Cases pool_nd_cases();
Cases interpolate_cases();
Cases index_cases();
Cases advanced_index_cases();
Cases scatter_cases();
Cases dropout_cases();
Cases sort_cases();
Cases search_cases();
Cases products_cases();
Cases distance_cases();
Cases group_norm_cases();
Cases sampling_cases();
Cases rnn_cases();

}  // namespace tandem::testing
