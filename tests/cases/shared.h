#pragma once
// Values that several families of cases use.
#include <cmath>
#include <string>
#include <tuple>

#include "cases/cases.h"
#include "tandem/ops/loss.h"

namespace tandem::testing {

constexpr double inf = HUGE_VAL, nan = NAN;
/// A reason for `no_gradcheck`.
inline const std::string at_kinks = "values at kinks, poles and the ends of the range";

constexpr LossReduction kNone = LossReduction::None, kMean = LossReduction::Mean, kSum = LossReduction::Sum;
constexpr LossReduction reductions[] = {kNone, kMean, kSum};
constexpr const char* reduction_names[] = {"none", "mean", "sum"};

inline Out pair(std::tuple<Tensor, Tensor> t) { return {std::get<0>(t), std::get<1>(t)}; }

}  // namespace tandem::testing
