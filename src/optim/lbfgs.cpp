#include "tandem/optim/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/optim/multi_tensor.h"
#include "src/optim/strong_wolfe.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/products.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

constexpr const char* kStrongWolfe = "strong_wolfe";

const LBFGSOptions& lbfgs_options(const OptimizerOptions& options) {
  const auto* own = dynamic_cast<const LBFGSOptions*>(&options);
  TANDEM_CHECK(own, StateError, "a parameter group has the options of another optimizer; give it LBFGSOptions");
  return *own;
}

int64_t max_eval_of(const LBFGSOptions& o) { return o.max_eval().value_or(o.max_iter() * 5 / 4); }

/// An undefined vector is of the form of all parameters of a group.
Tensor empty_vector(const std::vector<Tensor>& params) {
  int64_t numel = 0;
  bool f64 = !params.empty();
  for (const Tensor& p : params) {
    numel += p.numel();
    f64 = f64 && p.dtype() == kDouble;
  }
  return zeros({numel},
               TensorOptions(f64 ? kDouble : kFloat).device(params.empty() ? Device(kCPU) : params[0].device()));
}

/// Numbers that the host has to wait for.
double number(const Tensor& x) { return x.item<double>(); }
double largest(const Tensor& x) { return x.numel() == 0 ? 0 : number(x.abs().max()); }

void visit_list(StateVisitor& visitor, const char* name, std::vector<Tensor>& list, const Tensor& like) {
  for (size_t i = 0;; ++i) {
    Tensor entry = i < list.size() ? list[i] : Tensor();
    visitor.optional_tensor(fmt::format("{}.{}", name, i), entry, like);
    if (!entry.defined()) return;
    if (i == list.size()) list.push_back(entry);
    list[i] = entry;
  }
}

}  // namespace

LBFGSOptions::LBFGSOptions(double lr) : lr_(lr) {}

void LBFGSOptions::visit_fields(StateVisitor& visitor) {
  int64_t evaluations = max_eval_of(*this);
  bool wolfe = line_search_fn_.has_value();
  visitor.number("lr", lr_);
  visitor.number("max_iter", max_iter_);
  visitor.number("max_eval", evaluations);
  visitor.number("tolerance_grad", tolerance_grad_);
  visitor.number("tolerance_change", tolerance_change_);
  visitor.number("history_size", history_size_);
  visitor.number("line_search_fn", wolfe);
  visitor.number("maximize", maximize_);
  if (evaluations != max_eval_of(*this)) max_eval_ = evaluations;
  if (wolfe != line_search_fn_.has_value())
    line_search_fn_ = wolfe ? std::optional<std::string>(kStrongWolfe) : std::nullopt;
}

void LBFGSParamState::visit_fields(StateVisitor& visitor) {
  const Tensor vector = d_.defined() ? d_ : like_;
  const Tensor scalar = vector.defined() ? zeros({}, vector.options()) : Tensor();
  // PyTorch adds these at the first iteration, and also saves what the two loops over the history share.
  std::optional<double> t = t_, prev_loss = prev_loss_;
  std::vector<Tensor> al;
  visitor.number("func_evals", func_evals_);
  visitor.number("n_iter", n_iter_);
  visitor.number("t", t);
  visitor.number("prev_loss", prev_loss);
  t_ = t.value_or(0);
  prev_loss_ = prev_loss.value_or(0);
  visitor.optional_tensor("d", d_, vector);
  visitor.optional_tensor("H_diag", H_diag_, scalar);
  visitor.optional_tensor("prev_flat_grad", prev_flat_grad_, vector);
  visit_list(visitor, "old_dirs", old_dirs_, vector);
  visit_list(visitor, "old_stps", old_stps_, vector);
  visit_list(visitor, "ro", ro_, scalar);
  visit_list(visitor, "al", al, scalar);
}

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults)
    : Optimizer(param_groups, std::make_unique<LBFGSOptions>(std::move(defaults))) {
  const OpScope op("LBFGS");
  TANDEM_CHECK(this->param_groups().size() == 1, StateError,
               "{} parameter groups; LBFGS treats all parameters as one vector, so pass them in one group",
               this->param_groups().size());
  check_all_options();
}

LBFGS::LBFGS(std::vector<Tensor> params, LBFGSOptions defaults)
    : LBFGS(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, std::move(defaults)) {}

void LBFGS::check_options(const OptimizerOptions& options) const {
  const OpScope op("LBFGS");
  const LBFGSOptions& o = lbfgs_options(options);
  checks::not_negative("lr", o.lr());
  checks::not_negative("tolerance_grad", o.tolerance_grad());
  checks::not_negative("tolerance_change", o.tolerance_change());
  for (const auto& [name, value] :
       {std::pair{"max_iter", o.max_iter()}, {"max_eval", max_eval_of(o)}, {"history_size", o.history_size()}}) {
    TANDEM_CHECK(value >= 0, StateError, "{} = {}; it must not be negative", name, value);
  }
  TANDEM_CHECK(!o.line_search_fn() || *o.line_search_fn() == kStrongWolfe, StateError,
               "line_search_fn = \"{}\"; it must be \"strong_wolfe\" or empty", *o.line_search_fn());
}

std::unique_ptr<OptimizerParamState> LBFGS::new_param_state(const Tensor&) const {
  return std::make_unique<LBFGSParamState>(empty_vector(param_groups()[0].params()));
}

/// One call of step().
class LBFGS::Step {
 public:
  Step(LBFGS& optimizer, LossClosure closure)
      : params_(optimizer.param_groups()[0].params()),
        o_(lbfgs_options(optimizer.param_groups()[0].options())),
        closure_(std::move(closure)),
        state_(optimizer.state_of<LBFGSParamState>(
            params_[0], [&](const Tensor&) { return LBFGSParamState(empty_vector(params_)); })),
        like_(empty_vector(params_)) {
    check_state();
  }

  Tensor run();

 private:
  void check_state() const;
  /// Evaluates the closure.
  Tensor evaluate();
  double loss_of(const Tensor& loss) const;
  Tensor flat_gradient() const;
  /// Adds t d to the parameters.
  void move(double t, const Tensor& d) const;
  /// Updates the history with the last update, and returns the new direction.
  Tensor direction(const Tensor& gradient);
  void remember(const Tensor& gradient);
  Tensor search(double& t, const Tensor& d, double slope, double& loss, const Tensor& gradient, int64_t& evaluations);

  const std::vector<Tensor>& params_;
  const LBFGSOptions& o_;
  LossClosure closure_;
  LBFGSParamState& state_;
  Tensor like_;
};

void LBFGS::Step::check_state() const {
  const LBFGSParamState& s = state_;
  const auto fits = [&](const Tensor& x) {
    return x.defined() && x.sizes() == like_.sizes() && x.dtype() == like_.dtype() && x.device() == like_.device();
  };
  bool good = s.old_dirs().size() == s.old_stps().size() && s.old_dirs().size() == s.ro().size();
  if (s.n_iter() > 0) good = good && fits(s.d()) && fits(s.prev_flat_grad()) && s.H_diag().defined();
  for (const auto* list : {&s.old_dirs(), &s.old_stps()}) good = good && std::all_of(list->begin(), list->end(), fits);
  TANDEM_CHECK(good, StateError,
               "the state does not fit the parameters, which have {} elements in {}; erase the state, or create a new "
               "optimizer after moving or replacing parameters",
               like_.numel(), name(like_.dtype()));
}

Tensor LBFGS::Step::evaluate() {
  ++state_.func_evals();
  Tensor loss = Optimizer::evaluate(closure_);
  TANDEM_CHECK(loss.defined() && loss.numel() == 1, StateError, "the closure returned {}; return the loss, one number",
               loss.defined() ? to_string(loss.sizes()) : "an undefined tensor");
  return loss;
}

double LBFGS::Step::loss_of(const Tensor& loss) const {
  const double value = number(loss.detach());
  return o_.maximize() ? -value : value;
}

Tensor LBFGS::Step::flat_gradient() const {
  std::vector<Tensor> parts;
  for (const Tensor& p : params_) {
    const Tensor& grad = p.grad();
    TANDEM_CHECK(!grad.defined() || grad.sizes() == p.sizes(), ShapeError,
                 "a {} parameter has a gradient of {}; sizes must be equal: drop it with zero_grad()",
                 to_string(p.sizes()), to_string(grad.sizes()));
    check_unscaled(p);
    parts.push_back(grad.defined() ? to(grad.detach(), like_.dtype()).reshape({-1})
                                   : zeros({p.numel()}, like_.options()));
  }
  Tensor flat = cat(parts);
  return o_.maximize() ? flat.neg() : flat;
}

void LBFGS::Step::move(double t, const Tensor& d) const {
  int64_t at = 0;
  for (const Tensor& p : params_) {
    p.add_(to(d.narrow(0, at, p.numel()).view(p.sizes()), p.dtype()), t);
    at += p.numel();
  }
}

void LBFGS::Step::remember(const Tensor& gradient) {
  const Tensor y = gradient.sub(state_.prev_flat_grad()), s = state_.d().mul(state_.t());
  const Tensor ys = dot(y, s);
  if (!(number(ys) > 1e-10)) return;  // the approximation must remain positive definite
  auto &dirs = state_.old_dirs(), &steps = state_.old_stps(), &ro = state_.ro();
  while (!dirs.empty() && static_cast<int64_t>(dirs.size()) >= o_.history_size()) {
    dirs.erase(dirs.begin());
    steps.erase(steps.begin());
    ro.erase(ro.begin());
  }
  state_.H_diag(ys.div(dot(y, y)));
  if (o_.history_size() == 0) return;
  dirs.push_back(y);
  steps.push_back(s);
  ro.push_back(ys.reciprocal());
}

Tensor LBFGS::Step::direction(const Tensor& gradient) {
  if (++state_.n_iter() == 1) {
    state_.H_diag(ones({}, like_.options()));
    return gradient.neg();
  }
  remember(gradient);
  const auto &dirs = state_.old_dirs(), &steps = state_.old_stps(), &ro = state_.ro();
  std::vector<Tensor> al(dirs.size());
  Tensor q = gradient.neg();
  for (size_t i = dirs.size(); i-- > 0;) {
    al[i] = dot(steps[i], q).mul(ro[i]);
    q.sub_(dirs[i].mul(al[i]));
  }
  q.mul_(state_.H_diag());
  for (size_t i = 0; i < dirs.size(); ++i) {
    const Tensor be = dot(dirs[i], q).mul(ro[i]);
    q.add_(steps[i].mul(al[i].sub(be)));
  }
  return q;
}

Tensor LBFGS::Step::search(double& t, const Tensor& d, double slope, double& loss, const Tensor& gradient,
                           int64_t& evaluations) {
  std::vector<Tensor> start;
  for (const Tensor& p : params_) start.push_back(p.detach().clone());
  const auto restore = [&] {
    for (size_t i = 0; i < params_.size(); ++i) params_[i].copy_(start[i]);
  };
  const auto found = strong_wolfe({0, loss, gradient, slope}, t, largest(d), o_.tolerance_change(),
                                  max_eval_of(o_) - evaluations, [&](double at) {
                                    move(at, d);
                                    try {
                                      LinePoint point{at, loss_of(evaluate()), flat_gradient(), 0};
                                      point.slope = number(dot(point.gradient, d));
                                      restore();
                                      return point;
                                    } catch (...) {
                                      restore();
                                      throw;
                                    }
                                  });
  t = found.point.t;
  loss = found.point.loss;
  evaluations += found.evaluations;
  move(t, d);
  return found.point.gradient;
}

Tensor LBFGS::Step::run() {
  const Tensor first = evaluate();
  double loss = loss_of(first);
  int64_t evaluations = 1;
  Tensor gradient = flat_gradient();
  if (largest(gradient) <= o_.tolerance_grad()) return first;
  for (int64_t iteration = 1; iteration <= o_.max_iter(); ++iteration) {
    const Tensor d = direction(gradient);
    const double before = loss;
    state_.d(d).prev_flat_grad(gradient).prev_loss(loss);
    double t = state_.n_iter() == 1 ? std::min(1.0, 1 / number(gradient.abs().sum())) * o_.lr() : o_.lr();
    state_.t(t);
    const double slope = number(dot(gradient, d));
    if (slope > -o_.tolerance_change()) break;
    if (o_.line_search_fn()) {
      gradient = search(t, d, slope, loss, gradient, evaluations);
      state_.t(t);
    } else {
      move(t, d);
      if (iteration < o_.max_iter()) {  // the next step evaluates it again, maybe with another batch
        loss = loss_of(evaluate());
        gradient = flat_gradient();
        ++evaluations;
      }
    }
    if (evaluations >= max_eval_of(o_) || largest(gradient) <= o_.tolerance_grad() ||
        largest(d) * std::abs(t) <= o_.tolerance_change() || std::abs(loss - before) < o_.tolerance_change()) {
      break;
    }
  }
  return first;
}

Tensor LBFGS::step(LossClosure closure) {
  const UserCodeScope op("LBFGS");
  TANDEM_CHECK(
      closure, StateError,
      "step() without a closure; pass a function that clears the gradients, computes the loss, calls backward() "
      "and returns the loss");
  NoGradGuard no_grad;
  TANDEM_CHECK(param_groups().size() == 1, StateError,
               "{} parameter groups; LBFGS treats all parameters as one vector, so pass them in one group",
               param_groups().size());
  const std::vector<Tensor>& params = param_groups()[0].params();
  check_options(param_groups()[0].options());
  if (params.empty()) return evaluate(closure);
  for (const Tensor& p : params) {
    checks::defined("a parameter", p);
    TANDEM_CHECK(p.dtype() == kFloat || p.dtype() == kDouble, DTypeError,
                 "a parameter is {} {}; LBFGS needs f32 or f64: convert it with .to(kFloat)", to_string(p.sizes()),
                 name(p.dtype()));
    TANDEM_CHECK(p.device() == params[0].device(), DeviceError,
                 "parameters are on {} and {}; LBFGS needs them on one device", params[0].device().str(),
                 p.device().str());
  }
  return Step(*this, std::move(closure)).run();
}

}  // namespace tandem::optim
