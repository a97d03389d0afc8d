#pragma once
// Recipes for training in float8: how the scale of a tensor is chosen before it is rounded. Names and defaults are
// those of TransformerEngine.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// The float8 dtypes of a recipe.
enum class Fp8Format : uint8_t {
  E4M3,    ///< e4m3fn everywhere
  E5M2,    ///< e5m2 everywhere
  HYBRID,  ///< e4m3fn forward, e5m2 for gradients
};

/// What a tensor is in a product: an input, a weight, or the gradient of the output.
enum class Fp8Role : uint8_t { input, weight, gradient };

/// The dtype of a tensor with this role.
DType fp8_dtype(Fp8Format format, Fp8Role role);
/// The largest finite number of a float8 dtype with a sign: 448 or 57344.
double fp8_max(DType dtype);

/// How DelayedScaling chooses from the history.
enum class Fp8AmaxAlgorithm : uint8_t { max, most_recent };

/// One scale for a tensor, from the largest magnitudes of earlier iterations: (fp8_max / amax) / 2^margin. Rounding
/// takes one pass over the tensor, and a second one with the tensor's own scale where the history's does not fit
/// (DelayedScales::quantize), so that a new tensor, or one that grows, does not saturate.
struct DelayedScaling {
  friend bool operator==(const DelayedScaling&, const DelayedScaling&) = default;
  /// Leaves room for growth without a second pass: the largest number of the history becomes fp8_max / 2^margin. At
  /// most 7 is of use.
  TANDEM_ARG(int, margin) = 0;
  TANDEM_ARG(Fp8Format, fp8_format) = Fp8Format::HYBRID;
  TANDEM_ARG(int64_t, amax_history_len) = 1024;
  TANDEM_ARG(Fp8AmaxAlgorithm, amax_compute_algo) = Fp8AmaxAlgorithm::max;
};

/// One scale for a tensor, from its own largest magnitude: fp8_max / amax. Takes two passes; nothing saturates.
struct Float8CurrentScaling {
  TANDEM_ARG(Fp8Format, fp8_format) = Fp8Format::HYBRID;
  /// Rounds scales down to powers of two, so that scaling is exact.
  TANDEM_ARG(bool, use_power_2_scales) = false;
  /// The least amax from which a scale is computed.
  TANDEM_ARG(double, amax_epsilon) = 0;
};

/// One scale for each block: of 128 numbers of a row for inputs and gradients, of 128 x 128 for weights.
struct Float8BlockScaling {
  TANDEM_ARG(Fp8Format, fp8_format) = Fp8Format::E4M3;
  TANDEM_ARG(bool, use_power_2_scales) = true;
  TANDEM_ARG(double, amax_epsilon) = 0;
};

/// One scale for each 32 numbers of a row, a power of two in kFloat8_e8m0fnu: the microscaling format (MX) of the Open
/// Compute Project.
struct MXFP8BlockScaling {
  TANDEM_ARG(Fp8Format, fp8_format) = Fp8Format::E4M3;
};

using Fp8Recipe = std::variant<DelayedScaling, Float8CurrentScaling, Float8BlockScaling, MXFP8BlockScaling>;

/// "Float8CurrentScaling(fp8_format=HYBRID, use_power_2_scales=false, amax_epsilon=0)"
std::string to_string(const Fp8Recipe& recipe);
/// The recipe with this name and its defaults: "delayed" (DelayedScaling), "tensorwise" (Float8CurrentScaling),
/// "blockwise" (Float8BlockScaling) or "mxfp8" (MXFP8BlockScaling). Throws StateError for another name.
/// Source: Megatron-LM, --fp8-recipe.
Fp8Recipe fp8_recipe(std::string_view name);
/// The recipe's dtype for tensors with this role.
DType fp8_dtype(const Fp8Recipe& recipe, Fp8Role role);

}  // namespace tandem::amp
#pragma GCC visibility pop
