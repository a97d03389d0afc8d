#include "tandem/autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tandem/amp/custom_op.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/convert.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {
namespace {

using Tensors = std::vector<Tensor>;

struct Limits {
  double eps, atol, rtol, nondet_tol;
  bool check_undefined_grad, fast_mode;
};

/// The elements of an f64 tensor in row-major order.
std::vector<double> values(const Tensor& x) {
  const Tensor dense = contiguous(x.detach().to(kCPU));
  const double* p = dense.const_data_ptr<double>();
  return {p, p + dense.numel()};
}

/// Converts the row-major index `flat` to one index per dimension.
Dims unravel(IntArrayRef sizes, int64_t flat) {
  Dims index(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return index;
}

/// Writes element `flat`, in row-major order, of a tensor created here.
void set_element(const Tensor& x, int64_t flat, double value) {
  const Dims index = unravel(x.sizes(), flat);
  int64_t offset = x.storage_offset();
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * x.impl().strides[d];
  x.impl().storage->bump_version();
  backend(x).fill(make_view(x, {}, {}, offset), value);
}

/// Writes all elements, in row-major order, of a tensor created here.
void set_values(const Tensor& x, const std::vector<double>& numbers) {
  x.impl().storage->bump_version();
  backend(x).copy(x.detach(), tensor(numbers, TensorOptions(kDouble).device(kCPU)).view(x.sizes()));
}

/// Leaves with the values and strides of `inputs`; inputs that need no gradient are returned as they are.
Tensors working_copies(const Tensors& inputs) {
  Tensors copies;
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.defined() || !x.requires_grad()) {
      copies.push_back(x);
      continue;
    }
    TANDEM_CHECK(x.dtype() == kDouble, DTypeError,
                 "input {} {} is {}: finite differences need f64; convert it with .to(kDouble)", i,
                 to_string(x.sizes()), name(x.dtype()));
    any = true;
    NoGradGuard no_grad;
    copies.push_back(clone(x));
    copies.back().requires_grad_();
  }
  TANDEM_CHECK(any, StateError, "no input requires grad, so there is nothing to check; call requires_grad_()");
  return copies;
}

/// The outputs whose derivatives are checked, with their indices among all outputs.
struct Outputs {
  Tensors tensors;
  std::vector<size_t> numbers;
};

Outputs differentiable(const Tensors& all) {
  Outputs result;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined() || !all[i].requires_grad()) continue;
    TANDEM_CHECK(all[i].dtype() == kDouble, DTypeError,
                 "output {} {} is {}: the function must compute in f64; does it use casts or autocast?", i,
                 to_string(all[i].sizes()), name(all[i].dtype()));
    result.tensors.push_back(all[i]);
    result.numbers.push_back(i);
  }
  return result;
}

/// Row k: the gradients of element k of `output` with respect to each input, row-major; zeros for undefined gradients.
using Jacobian = std::vector<std::vector<std::vector<double>>>;

Jacobian analytic_jacobian(const Tensor& output, const Tensors& wanted) {
  Jacobian rows;
  for (int64_t k = 0; k < output.numel(); ++k) {
    Tensor one_hot = zeros(output.sizes(), output.options());
    set_element(one_hot, k, 1);
    const Tensors grads = grad({output}, wanted, {one_hot}, /*retain_graph=*/true, false, /*allow_unused=*/true);
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < wanted.size(); ++i) {
      row.push_back(grads[i].defined() ? values(grads[i])
                                       : std::vector<double>(static_cast<size_t>(wanted[i].numel()), 0.0));
    }
  }
  return rows;
}

/// An identity op whose backward returns an undefined gradient.
Tensor stop_gradient(const Tensor& x) {
  return amp::custom_op<"gradcheck_undefined">(
      amp::Cast::keep,
      [](const Tensor& x) {
        return Result{clone(x), save(), [](const Backward&) -> Grads { return {Tensor()}; }};
      },
      x);
}

/// Feeds undefined gradients to outputs [blocked_from, blocked_to) and zeros to the others. All resulting gradients
/// must be undefined or zero.
std::optional<std::string> check_undefined(const Outputs& outputs, size_t blocked_from, size_t blocked_to,
                                           const Tensors& wanted) {
  Tensors roots, grads;
  for (size_t j = 0; j < outputs.tensors.size(); ++j) {
    const Tensor& y = outputs.tensors[j];
    const bool is_blocked = j >= blocked_from && j < blocked_to;
    roots.push_back(is_blocked ? stop_gradient(y) : y);
    grads.push_back(is_blocked ? ones(y.sizes(), y.options()) : zeros(y.sizes(), y.options()));
  }
  const size_t blocked = blocked_to - blocked_from;
  const std::string which = blocked == 0   ? std::string("no output")
                            : blocked == 1 ? fmt::format("output {}", outputs.numbers[blocked_from])
                                           : std::string("every output");
  Tensors results;
  try {
    results = grad(roots, wanted, grads, /*retain_graph=*/true, false, /*allow_unused=*/true);
  } catch (const Error& error) {
    return fmt::format("backward fails when the gradient of {} is undefined, which stands for zeros: {}", which,
                       error.what());
  }
  for (const Tensor& g : results) {
    if (!g.defined()) continue;
    for (double v : values(g)) {
      if (v != 0) {
        return fmt::format("backward gives {} from zero gradients, with {} undefined; it must give zeros", v, which);
      }
    }
  }
  return std::nullopt;
}

/// Initial gradients that do not cancel: distinct, of both signs, with magnitudes around 1.
Tensor made_up_gradient(const Tensor& y, int64_t salt) {
  std::vector<double> numbers;
  for (int64_t k = 0; k < y.numel(); ++k) {
    const double phase = static_cast<double>(7 * salt + 3 * k) * 0.618033988749895;
    numbers.push_back(((k + salt) % 2 == 0 ? 1 : -1) * (0.5 + phase - std::floor(phase)));
  }
  return tensor(numbers, y.options()).view(y.sizes());
}

/// A check of one function: copies of its inputs, and its outputs for them.
class Check {
 public:
  Check(const TensorFunction& f, const Tensors& inputs, const Limits& limits)
      : f_(f), limits_(limits), copies_(working_copies(inputs)) {
    for (size_t i = 0; i < copies_.size(); ++i) {
      if (!copies_[i].defined() || !copies_[i].requires_grad()) continue;
      wanted_.push_back(copies_[i]);
      input_numbers_.push_back(i);
    }
    const Tensors all = f_(copies_);
    TANDEM_CHECK(std::any_of(all.begin(), all.end(), [](const Tensor& y) { return y.defined(); }), StateError,
                 "the function returns {} outputs, none of them defined; return the outputs to check", all.size());
    outputs_ = differentiable(all);
    compared_ = outputs_;
    if (!outputs_.tensors.empty()) return;
    for (size_t j = 0; j < all.size(); ++j) {  // none of these may change
      if (!all[j].defined() || all[j].dtype() != kDouble) continue;
      compared_.tensors.push_back(all[j]);
      compared_.numbers.push_back(j);
    }
  }

  /// Returns a message for the first disagreement.
  std::optional<std::string> find_fault() {
    if (auto fault = limits_.fast_mode ? project_gradients() : compute_jacobians()) return fault;
    if (auto fault = check_undefined_gradients()) return fault;
    return limits_.fast_mode ? compare_projections() : compare_elements();
  }

 private:
  std::string pair_name(size_t j, const std::string& at, size_t i, const std::string& input_at) const {
    return fmt::format("output {} {}{} with respect to input {} {}{}", compared_.numbers[j],
                       to_string(compared_.tensors[j].sizes()), at, input_numbers_[i], to_string(wanted_[i].sizes()),
                       input_at);
  }
  static std::string place(const Tensor& x, int64_t element) { return " at " + to_string(unravel(x.sizes(), element)); }
  std::string element_name(size_t j, int64_t k, size_t i, int64_t n) const {
    return pair_name(j, place(compared_.tensors[j], k), i, place(wanted_[i], n));
  }

  /// The values of the compared outputs for the current inputs.
  std::vector<std::vector<double>> evaluate() const {
    const Tensors now = f_(copies_);
    std::vector<std::vector<double>> result;
    for (size_t j = 0; j < compared_.tensors.size(); ++j) {
      const size_t number = compared_.numbers[j];
      const Tensor& before = compared_.tensors[j];
      const Tensor y = number < now.size() ? now[number] : Tensor();
      TANDEM_CHECK(y.defined() && y.sizes() == before.sizes() && y.dtype() == kDouble, StateError,
                   "output {} is {} f64 at first, then {}; the function must return outputs of the same sizes and "
                   "dtype each time",
                   number, to_string(before.sizes()),
                   y.defined() ? fmt::format("{} {}", to_string(y.sizes()), name(y.dtype())) : "undefined");
      result.push_back(values(y));
    }
    return result;
  }

  std::optional<std::string> check_undefined_gradients() const {
    const size_t count = outputs_.tensors.size();
    if (!limits_.check_undefined_grad || count == 0) return std::nullopt;
    if (auto fault = check_undefined(outputs_, 0, 0, wanted_)) return fault;
    if (auto fault = check_undefined(outputs_, 0, count, wanted_)) return fault;
    for (size_t j = 0; count > 1 && j < count; ++j) {
      if (auto fault = check_undefined(outputs_, j, j + 1, wanted_)) return fault;
    }
    return std::nullopt;
  }

  // ---- all elements
  std::optional<std::string> compute_jacobians() {
    for (size_t j = 0; j < outputs_.tensors.size(); ++j) {
      jacobians_.push_back(analytic_jacobian(outputs_.tensors[j], wanted_));
      const Jacobian again = analytic_jacobian(outputs_.tensors[j], wanted_);
      for (size_t k = 0; k < again.size(); ++k) {
        for (size_t i = 0; i < wanted_.size(); ++i) {
          for (size_t n = 0; n < again[k][i].size(); ++n) {
            const double first = jacobians_[j][k][i][n], second = again[k][i][n];
            if (std::abs(first - second) <= limits_.nondet_tol) continue;
            return fmt::format("backward is not deterministic: {}: {} at first, then {}",
                               element_name(j, static_cast<int64_t>(k), i, static_cast<int64_t>(n)), first, second);
          }
        }
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> compare_elements() const {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const std::vector<double> originals = values(wanted_[i]);
      for (int64_t n = 0; n < wanted_[i].numel(); ++n) {
        const double original = originals[static_cast<size_t>(n)];
        set_element(wanted_[i], n, original + limits_.eps);
        const auto above = evaluate();
        set_element(wanted_[i], n, original - limits_.eps);
        const auto below = evaluate();
        set_element(wanted_[i], n, original);
        for (size_t j = 0; j < compared_.tensors.size(); ++j) {
          for (size_t k = 0; k < above[j].size(); ++k) {
            const double numeric = (above[j][k] - below[j][k]) / (2 * limits_.eps);
            const double given = outputs_.tensors.empty() ? 0.0 : jacobians_[j][k][i][static_cast<size_t>(n)];
            if (std::abs(given - numeric) <= limits_.atol + limits_.rtol * std::abs(numeric)) continue;
            const std::string where = element_name(j, static_cast<int64_t>(k), i, n);
            if (outputs_.tensors.empty()) {
              return fmt::format("no output requires grad, but {} the numeric derivative is {}", where, numeric);
            }
            return fmt::format(
                "{}: backward gives {}, central differences give {} (eps {}, atol {}, rtol {}); the op's backward is "
                "wrong, or the input is within eps of a kink",
                where, given, numeric, limits_.eps, limits_.atol, limits_.rtol);
          }
        }
      }
    }
    return std::nullopt;
  }

  // ---- projections: with a direction u of an input and v of an output, v^T J u from one backward pass and from two
  // evaluations
  std::optional<std::string> project_gradients() {
    for (size_t j = 0; j < outputs_.tensors.size(); ++j) {
      const Tensor& y = outputs_.tensors[j];
      projections_.emplace_back();
      for (const bool again : {false, true}) {
        const Tensors grads = grad({y}, wanted_, {made_up_gradient(y, static_cast<int64_t>(j))}, /*retain_graph=*/true,
                                   false, /*allow_unused=*/true);
        for (size_t i = 0; i < wanted_.size(); ++i) {
          const std::vector<double> g =
              grads[i].defined() ? values(grads[i]) : std::vector<double>(static_cast<size_t>(wanted_[i].numel()), 0.0);
          if (!again) {
            projections_[j].push_back(g);
            continue;
          }
          for (size_t n = 0; n < g.size(); ++n) {
            const double first = projections_[j][i][n];
            if (std::abs(first - g[n]) <= limits_.nondet_tol) continue;
            return fmt::format("backward is not deterministic: the sum over {}: {} at first, then {}",
                               pair_name(j, "", i, place(wanted_[i], static_cast<int64_t>(n))), first, g[n]);
          }
        }
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> compare_projections() const {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const std::vector<double> originals = values(wanted_[i]);
      const std::vector<double> direction = values(made_up_gradient(wanted_[i], static_cast<int64_t>(i) + 11));
      const auto moved = [&](double step) {
        std::vector<double> result = originals;
        for (size_t n = 0; n < result.size(); ++n) result[n] += step * direction[n];
        set_values(wanted_[i], result);
        return evaluate();
      };
      const auto above = moved(limits_.eps), below = moved(-limits_.eps);
      set_values(wanted_[i], originals);
      for (size_t j = 0; j < compared_.tensors.size(); ++j) {
        const std::vector<double> weights = values(made_up_gradient(compared_.tensors[j], static_cast<int64_t>(j)));
        double numeric = 0, given = 0, square = 0;
        for (size_t k = 0; k < weights.size(); ++k) {
          numeric += weights[k] * (above[j][k] - below[j][k]) / (2 * limits_.eps);
        }
        for (size_t n = 0; n < direction.size() && !outputs_.tensors.empty(); ++n) {
          given += direction[n] * projections_[j][i][n];
          square += projections_[j][i][n] * projections_[j][i][n];
        }
        // Errors of the elements have different signs, so that those of the projection grow with the norms.
        const double size = std::max(1.0, norm(direction));
        const double allowed =
            limits_.atol * size * std::max(1.0, norm(weights)) + limits_.rtol * size * std::sqrt(square);
        if (std::abs(given - numeric) <= allowed) continue;
        return fmt::format(
            "a projection of {}: backward gives {}, central differences give {}, which may differ by {} (eps {}, atol "
            "{}, rtol {}); without fast_mode, the message names the element",
            pair_name(j, "", i, ""), given, numeric, allowed, limits_.eps, limits_.atol, limits_.rtol);
      }
    }
    return std::nullopt;
  }

  static double norm(const std::vector<double>& x) {
    double sum = 0;
    for (double v : x) sum += v * v;
    return std::sqrt(sum);
  }

  const TensorFunction& f_;
  const Limits limits_;
  const Tensors copies_;
  Tensors wanted_;  ///< the copies that require grad
  std::vector<size_t> input_numbers_;
  Outputs outputs_;
  Outputs compared_;  ///< outputs_ or, if none requires grad, all
  std::vector<Jacobian> jacobians_;
  std::vector<std::vector<std::vector<double>>> projections_;  ///< of output j: J^T v for each wanted input
};

bool report(const std::optional<std::string>& fault, bool raise_exception) {
  if (fault && raise_exception) throw AutogradError(running_op(), *fault);
  return !fault;
}

void check_arguments(const TensorFunction& f, const Limits& limits) {
  TANDEM_CHECK(f, StateError, "the function is empty; pass one that computes outputs from the inputs");
  TANDEM_CHECK(limits.eps > 0 && std::isfinite(limits.eps), StateError, "eps = {}; it must be finite and above 0",
               limits.eps);
  TANDEM_CHECK(limits.atol >= 0 && limits.rtol >= 0 && limits.nondet_tol >= 0, StateError,
               "atol = {}, rtol = {}, nondet_tol = {}; all must be at least 0", limits.atol, limits.rtol,
               limits.nondet_tol);
}

}  // namespace

bool gradcheck(const TensorFunction& f, const Tensors& inputs, double eps, double atol, double rtol,
               bool raise_exception, double nondet_tol, bool check_undefined_grad, bool fast_mode) {
  const UserCodeScope op("gradcheck");
  const Limits limits{eps, atol, rtol, nondet_tol, check_undefined_grad, fast_mode};
  check_arguments(f, limits);
  AutoGradMode recording(true);
  return report(Check(f, inputs, limits).find_fault(), raise_exception);
}

bool gradgradcheck(const TensorFunction& f, const Tensors& inputs, const Tensors& grad_outputs, double eps, double atol,
                   double rtol, bool raise_exception, double nondet_tol, bool check_undefined_grad, bool fast_mode) {
  const UserCodeScope op("gradgradcheck");
  const Limits limits{eps, atol, rtol, nondet_tol, check_undefined_grad, fast_mode};
  check_arguments(f, limits);
  AutoGradMode recording(true);
  const Outputs outputs = differentiable(f(working_copies(inputs)));
  TANDEM_CHECK(!outputs.tensors.empty(), StateError,
               "no output of the function requires grad, so there are no gradients to check; does it use the inputs?");
  TANDEM_CHECK(grad_outputs.empty() || grad_outputs.size() == outputs.tensors.size(), StateError,
               "{} grad_outputs for {} outputs that require grad; give one for each, or none", grad_outputs.size(),
               outputs.tensors.size());
  Tensors both = inputs;
  for (size_t j = 0; j < outputs.tensors.size(); ++j) {
    const Tensor& y = outputs.tensors[j];
    const Tensor g = grad_outputs.empty() ? made_up_gradient(y, static_cast<int64_t>(j)) : grad_outputs[j];
    TANDEM_CHECK(g.defined() && g.sizes() == y.sizes() && g.dtype() == kDouble, ShapeError,
                 "grad_outputs {} is {}, but output {} is {} f64; give a gradient with its sizes and dtype", j,
                 g.defined() ? fmt::format("{} {}", to_string(g.sizes()), name(g.dtype())) : "undefined",
                 outputs.numbers[j], to_string(y.sizes()));
    both.push_back(g.detach().requires_grad_());
  }
  const size_t count = inputs.size();
  auto gradients = [&](const Tensors& x) -> Tensors {
    const Tensors arguments(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
    const Tensors grads(x.begin() + static_cast<std::ptrdiff_t>(count), x.end());
    Tensors wanted;
    for (const Tensor& a : arguments) {
      if (a.defined() && a.requires_grad()) wanted.push_back(a);
    }
    const Tensors results = grad(differentiable(f(arguments)).tensors, wanted, grads, /*retain_graph=*/true,
                                 /*create_graph=*/true, /*allow_unused=*/true);
    Tensors defined;
    for (const Tensor& g : results) {
      if (g.defined()) defined.push_back(g);
    }
    return defined;
  };
  return report(Check(gradients, both, limits).find_fault(), raise_exception);
}

}  // namespace tandem::autograd
