#pragma once
// The case table: one row per op and variant. A row serves the comparison with PyTorch (forward, gradients), gradcheck
// and gradgradcheck in f64, f16 and bf16 against f64, autocast, CPU against CUDA, and the benchmarks.
//
// To add a case: a row in tests/cases/<family>.cpp, then `python tests/golden/generate.py` with PyTorch at hand.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/amp/policy.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// How an input's numbers are made.
enum class Fill : uint8_t {
  normal,    ///< near normal, variance 4/3
  uniform,   ///< in [low, high)
  integers,  ///< i64, low <= x < high
  boolean,   ///< true and false alike
  values     ///< as listed
};

/// How an input lies in memory.
enum class Layout : uint8_t {
  contiguous,
  transposed,     ///< the last two dimensions swapped
  channels_last,  ///< N, H, W, C
  gaps            ///< every second element of a larger block
};

/// One input: sizes and a way to fill them. Made by the functions below, refined by its members.
struct Input {
  std::vector<int64_t> sizes = {};
  Fill fill = Fill::normal;
  double low = 0, high = 0;
  std::vector<double> list = {};          ///< for Fill::values
  std::optional<DType> fixed_dtype = {};  ///< empty: the dtype under test
  Layout layout = Layout::contiguous;
  bool requires_grad = true;    ///< if its dtype can
  bool f32_beside_low = false;  ///< f32 where f16 or bf16 is under test

  Input as(DType dtype) const;
  Input laid_out(Layout l) const;
  Input constant() const;   ///< gets no gradient
  Input parameter() const;  ///< stays f32 beside f16 and bf16
  bool is_floating() const;
  bool wants_grad() const { return requires_grad && is_floating(); }
};

Input normal(std::vector<int64_t> sizes);
/// Keep low and high small dyadic fractions: the numbers are then the same in every language.
Input uniform(std::vector<int64_t> sizes, double low, double high);
Input integers(std::vector<int64_t> sizes, int64_t low, int64_t high);
Input boolean(std::vector<int64_t> sizes);
/// Listed numbers, of the dtype under test.
Input values(std::vector<int64_t> sizes, std::vector<double> list);

using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

struct Case {
  std::string family = {};  ///< set by all_cases(): the file with the golden values
  std::string op = {};      ///< a row of amp/policy.h
  std::string name = {};    ///< unique among the op's cases
  std::string torch = {};   ///< Python expression over the inputs a, b, c, ...: a tensor or a tuple of them
  std::vector<Input> inputs = {};
  std::function<Out(In)> run = {};

  int64_t sum = 1;                    ///< length of the longest sum; 0: no arithmetic at all, results are exact
  int roundings = 1;                  ///< roundings to a low dtype in the forward pass
  int grad_roundings = 0;             ///< the same up to the gradients; 0: roundings + 4
  std::string no_golden = {};         ///< the reason why PyTorch cannot be compared (random numbers)
  std::string no_gradcheck = {};      ///< the reason why differences do not give the derivative (kinks, poles)
  std::string no_gradgradcheck = {};  ///< likewise for the second derivative only
  std::string no_low = {};            ///< the reason why f16 and bf16 are not run
  std::string autocast_as = {};       ///< for ops built from others: the op whose policy decides
  bool bypasses_autocast = false;     ///< in place, or the dtype argument is given
};

/// All cases, family by family, each in the order of its file.
const std::vector<Case>& all_cases();

/// "op/name".
std::string full_name(const Case& c);
/// The case as one line of JSON: all that golden values depend on.
std::string to_json(const Case& c);
/// The inputs in memory: those without a fixed dtype in `dtype`. Fresh tensors on every call.
std::vector<Tensor> make_inputs(const Case& c, DType dtype);
/// The fixed weights that stand for dL/d(output number `output`), in the output's dtype.
Tensor make_output_gradient(const Tensor& output, size_t index);
/// The policy that decides about a case.
amp::Cast policy_of(const Case& c);

// ---- the families
using Cases = std::vector<Case>;
Cases elementwise_cases();
Cases comparison_cases();
Cases in_place_cases();
Cases shape_cases();
Cases matmul_cases();
Cases reduce_cases();
Cases softmax_cases();
Cases norm_cases();
Cases conv_cases();
Cases pool_cases();
Cases loss_cases();
Cases index_cases();
Cases dropout_cases();

}  // namespace tandem::testing
