#include "tandem/amp/fp8/recipe.h"

#include <cmath>
#include <cstdlib>

#include "src/amp/fp8/check_recipe.h"
#include "tandem/base/check.h"

namespace tandem::amp {

DType fp8_dtype(Fp8Format format, Fp8Role role) {
  if (format == Fp8Format::HYBRID) return role == Fp8Role::gradient ? kFloat8_e5m2 : kFloat8_e4m3fn;
  return format == Fp8Format::E4M3 ? kFloat8_e4m3fn : kFloat8_e5m2;
}

double fp8_max(DType dtype) {
  TANDEM_CHECK(dtype == kFloat8_e4m3fn || dtype == kFloat8_e5m2, DTypeError,
               "fp8_max: {} is neither kFloat8_e4m3fn nor kFloat8_e5m2", name(dtype));
  return dtype == kFloat8_e4m3fn ? 448 : 57344;
}

namespace {

const char* name_of(Fp8Format format) {
  return format == Fp8Format::E4M3 ? "E4M3" : format == Fp8Format::E5M2 ? "E5M2" : "HYBRID";
}
std::string show(const DelayedScaling& r) {
  return fmt::format("DelayedScaling(margin={}, fp8_format={}, amax_history_len={}, amax_compute_algo={})", r.margin(),
                     name_of(r.fp8_format()), r.amax_history_len(),
                     r.amax_compute_algo() == Fp8AmaxAlgorithm::max ? "max" : "most_recent");
}
std::string show(const Float8CurrentScaling& r) {
  return fmt::format("Float8CurrentScaling(fp8_format={}, use_power_2_scales={}, amax_epsilon={})",
                     name_of(r.fp8_format()), r.use_power_2_scales(), r.amax_epsilon());
}
std::string show(const Float8BlockScaling& r) {
  return fmt::format("Float8BlockScaling(fp8_format={}, use_power_2_scales={}, amax_epsilon={})",
                     name_of(r.fp8_format()), r.use_power_2_scales(), r.amax_epsilon());
}
std::string show(const MXFP8BlockScaling& r) {
  return fmt::format("MXFP8BlockScaling(fp8_format={})", name_of(r.fp8_format()));
}

}  // namespace

std::string to_string(const Fp8Recipe& recipe) {
  return std::visit([](const auto& r) { return show(r); }, recipe);
}

namespace {

void check(const DelayedScaling& r) {
  TANDEM_CHECK(r.amax_history_len() > 0, StateError, "amax_history_len = {}; it must be at least 1",
               r.amax_history_len());
  TANDEM_CHECK(std::abs(r.margin()) <= 64, StateError, "margin = {}; it must be between -64 and 64", r.margin());
}
void check_epsilon(double epsilon) {
  TANDEM_CHECK(epsilon >= 0 && std::isfinite(epsilon), StateError,
               "amax_epsilon = {}; it must be finite and at least 0", epsilon);
}
void check(const Float8CurrentScaling& r) { check_epsilon(r.amax_epsilon()); }
void check(const Float8BlockScaling& r) { check_epsilon(r.amax_epsilon()); }
void check(const MXFP8BlockScaling&) {}

}  // namespace

void detail::check_recipe(const Fp8Recipe& recipe) {
  std::visit([](const auto& r) { check(r); }, recipe);
}

Fp8Recipe fp8_recipe(std::string_view name) {
  const OpScope op("fp8_recipe");
  if (name == "delayed") return DelayedScaling();
  if (name == "tensorwise") return Float8CurrentScaling();
  if (name == "blockwise") return Float8BlockScaling();
  if (name == "mxfp8") return MXFP8BlockScaling();
  TANDEM_THROW(StateError, "\"{}\" is not a recipe; use \"delayed\", \"tensorwise\", \"blockwise\" or \"mxfp8\"", name);
}

DType fp8_dtype(const Fp8Recipe& recipe, Fp8Role role) {
  return std::visit([role](const auto& r) { return fp8_dtype(r.fp8_format(), role); }, recipe);
}

}  // namespace tandem::amp
