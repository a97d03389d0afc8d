#include "tandem/amp/tools/explain.h"

#include <ostream>
#include <thread>

#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/apply.h"
#include "tandem/autograd/observer.h"
#include "tandem/base/check.h"
#include "tandem/ops/weight_products.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

using autograd::ObservedOp;

std::string rule_of(const char* op, Cast policy, bool in_place, const autograd::Node* backward_of) {
  if (in_place) return "autocast does not apply to in-place calls";
  const std::string of =
      backward_of ? fmt::format("in the backward of {}, which runs outside of every region; ", backward_of->op) : "";
  const int row = policy_row(op);
  if (row < 0) return fmt::format("{}policy {}, given by the op itself", of, name(policy));
  const Cast table = policy_table[static_cast<size_t>(row)].cast, process = detail::process_policy(row);
  if (policy != process) {
    return fmt::format("{}policy {} by the PolicyGuard of this region (otherwise {})", of, name(policy), name(process));
  }
  if (process != table)
    return fmt::format("{}policy {} by set_policy (the table says {})", of, name(policy), name(table));
  return fmt::format("{}policy {} by the table", of, name(policy));
}

/// Explains why input `i`, which was not cast, keeps its dtype.
std::string reason_to_stay(const ObservedOp& op, const Tensor& x) {
  const AutocastState& region = op.autocast[static_cast<int>(x.device().type())];
  if (op.in_place) return "in-place calls keep their dtypes";
  if (!region.enabled) return fmt::format("autocast is off for {}", name(x.device().type()));
  if (!x.is_floating_point()) return "only floating tensors are cast";
  if (is_float8(x.dtype())) return "float8 is never cast";
  if (x.dtype() == kDouble) return "f64 is never cast";
  switch (op.policy) {
    case Cast::keep:
      return "keep does not cast; the op promotes by its own rule";
    case Cast::f32_dtype:
      return "f32_dtype does not cast inputs; it sets the op's dtype argument";
    case Cast::promote:
      return "promote: it has the widest dtype among the inputs already";
    default:
      return fmt::format("it is {} already", name(x.dtype()));
  }
}

std::string reason_to_cast(const ObservedOp& op, const Tensor& x, DType to) {
  switch (op.policy) {
    case Cast::lower:
      return fmt::format("lower: {} is the dtype of the region for {}", name(to), name(x.device().type()));
    case Cast::promote:
      return fmt::format("promote: {} is the widest dtype among the inputs", name(to));
    default:
      return "f32: the op needs its range or precision";
  }
}

std::string explain_input(const ObservedOp& op, size_t i) {
  const Tensor& x = *op.inputs[i];
  if (!x.defined()) return fmt::format("input {}: not given", i);
  if (op.float8 && i < 2) {  // the operands of a product
    return fmt::format("input {}: {} -> {}: a product with a weight in a region of float8", i, name(x.dtype()),
                       name(*op.float8));
  }
  const DType from = x.dtype(), to = op.input(i).dtype();
  if (from == to) return fmt::format("input {}: {} stays: {}", i, name(from), reason_to_stay(op, x));
  return fmt::format("input {}: {} -> {}: {}", i, name(from), name(to), reason_to_cast(op, x, to));
}

std::string computes_in(const ObservedOp& op) {
  if (op.float8) return fmt::format("from operands of {}, with f32 sums", name(*op.float8));
  if (op.dtype_from_policy) return fmt::format("by its dtype argument, which f32_dtype sets to {}", name(*op.dtype));
  if (op.dtype) return fmt::format("by its dtype argument, which the caller set to {}", name(*op.dtype));
  std::optional<DType> widest;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& x = op.input(i);
    if (x.defined()) widest = widest ? promote_types(*widest, x.dtype()) : x.dtype();
  }
  return widest ? fmt::format("from inputs of {}", name(*widest)) : "created without inputs";
}

Explanation begin(const ObservedOp& op) {
  Explanation e{
      .op = op.name, .rule = rule_of(op.name, op.policy, op.in_place, op.backward_of), .inputs = {}, .result = {}};
  for (size_t i = 0; i < op.inputs.size(); ++i) e.inputs.push_back(explain_input(op, i));
  return e;
}

std::string explain_result(const ObservedOp& op) {
  std::string dtypes;
  for (const Tensor& y : op.outputs) {
    if (y.defined()) dtypes += fmt::format("{}{}", dtypes.empty() ? "" : ", ", name(y.dtype()));
  }
  return fmt::format("result: {}, {}", dtypes, op.in_place ? "the dtype of self" : computes_in(op));
}

/// Explains the ops of the thread that created it.
class Listener : public autograd::Observer {
 public:
  void before(const ObservedOp& op) override {
    if (std::this_thread::get_id() != thread_) return;
    ops_.push_back(begin(op));
    computes_ = computes_in(op);
  }
  void after(const ObservedOp& op) override {
    if (std::this_thread::get_id() == thread_) ops_.back().result = explain_result(op);
  }
  std::vector<Explanation> take() { return std::move(ops_); }
  const std::string& computes() const { return computes_; }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<Explanation> ops_;
  std::string computes_;
};

}  // namespace

std::string_view name(Cast policy) {
  switch (policy) {
    case Cast::lower:
      return "lower";
    case Cast::f32:
      return "f32";
    case Cast::f32_dtype:
      return "f32_dtype";
    case Cast::promote:
      return "promote";
    case Cast::keep:
      return "keep";
    case Cast::banned:
      return "banned";
  }
  return "?";
}

namespace {

/// What a region of float8 does with this op; "" for other ops and regions.
std::string region_of_float8(std::string_view op, Device device) {
  const WeightProducts* products = thread_state().weight_products[static_cast<int>(device.type())].get();
  const bool asks = op == "linear" || op == "linear_relu" || op == "mm" || op == "matmul" || op == "addmm";
  if (!products || !asks || !is_autocast_enabled(device.type())) return "";
  return fmt::format("; with a weight {}", products->text());
}

}  // namespace

Explanation explain(std::string_view op, const std::vector<DType>& inputs, Device device) {
  const OpScope scope("explain");
  const int row = policy_row(op);
  TANDEM_CHECK(row >= 0, StateError, "there is no op named '{}'; include/tandem/amp/policy.h lists the names", op);
  std::vector<Tensor> tensors;
  for (const DType dtype : inputs) tensors.push_back(empty({0}, TensorOptions(dtype).device(device)));
  const std::string name(op);
  auto listener = std::make_shared<Listener>();
  const autograd::ObserverGuard guard(listener);
  try {
    const UserCodeScope explained(name.c_str());  // a refusal names the op itself
    tandem::detail::DispatchCall call(name.c_str(), row);
    call.add(tensors);
    call.enter();
  } catch (const StateError& refused) {
    return {.op = name,
            .rule = rule_of(name.c_str(), detail::current_policy(row), false, nullptr),
            .inputs = {},
            .result = fmt::format("refused: {}", refused.what())};
  }
  Explanation e = listener->take().front();
  e.result = fmt::format("result: {}", listener->computes());
  e.rule += region_of_float8(op, device);
  return e;
}

Explanations explain(const std::function<void()>& run) {
  const UserCodeScope op("explain");
  TANDEM_CHECK(run, StateError, "the function is empty; pass the code to explain");
  auto listener = std::make_shared<Listener>();
  std::string error;
  {
    const autograd::ObserverGuard guard(listener);
    try {
      run();
    } catch (const Error& e) {
      error = e.what();
    }
  }
  Explanations all{.ops = listener->take(), .error = error};
  if (!error.empty() && !all.ops.empty() && all.ops.back().result.empty()) all.ops.back().result = "no result";
  return all;
}

std::string Explanation::str() const {
  std::string text = fmt::format("{}: {}\n", op, rule);
  for (const std::string& line : inputs) text += fmt::format("  {}\n", line);
  return text + fmt::format("  {}\n", result);
}

std::string Explanations::str() const {
  std::string text;
  for (const Explanation& e : ops) text += e.str();
  return error.empty() ? text : text + fmt::format("refused: {}\n", error);
}

std::ostream& operator<<(std::ostream& stream, const Explanation& explanation) { return stream << explanation.str(); }
std::ostream& operator<<(std::ostream& stream, const Explanations& explanations) {
  return stream << explanations.str();
}

}  // namespace tandem::amp
