#pragma once
// torch::special's functions that tandem has, under their names there.
#include "tandem/ops/activation.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/softmax.h"
#include "tandem/ops/statistics.h"

#pragma GCC visibility push(default)
namespace tandem::special {

using tandem::digamma;
using tandem::erf;
using tandem::erfc;
using tandem::erfinv;
using tandem::exp2;
using tandem::expm1;
using tandem::log1p;
using tandem::log_softmax;
using tandem::logit;
using tandem::logsumexp;
using tandem::round;
using tandem::sinc;
using tandem::softmax;
using tandem::xlogy;

/// 1 / (1 + e^-x).
inline Tensor expit(const Tensor& x) { return sigmoid(x); }
/// log |Gamma(x)|.
inline Tensor gammaln(const Tensor& x) { return lgamma(x); }
/// The derivative of log Gamma(x).
inline Tensor psi(const Tensor& x) { return digamma(x); }

}  // namespace tandem::special
#pragma GCC visibility pop
