#pragma once
// OptimizerKind: what distinguishes the optimizers derived from MultiTensorOptimizer.
#include <array>
#include <memory>
#include <tuple>
#include <typeinfo>

#include "tandem/ops/checks.h"
#include "tandem/optim/multi_tensor_optimizer.h"
#include "tandem/tensor/optimizer_call.h"

namespace tandem::optim {

/// Whether a parameter has a state tensor: always, with the present options, or not with them.
enum class Use : uint8_t { required, optional, absent };
inline Use optional_if(bool used) { return used ? Use::optional : Use::absent; }

/// A state tensor of a parameter, of the parameter's shape.
struct StateField {
  const char* name = nullptr;
  Tensor* tensor = nullptr;
  Use use = Use::absent;
  double initial = 0;
};

/// The state of one parameter.
struct StateFields {
  std::array<StateField, 3> tensors;  ///< in the order of the rule's states
  Tensor* step = nullptr;             ///< null: without step count
  Tensor* scalar = nullptr;           ///< NAdam's mu_product; null in others
};

struct OptimizerKind {
  const char* name;
  const std::type_info& type;
  /// Throws StateError for options of another optimizer, or outside their domains.
  void (*check)(const OptimizerOptions& options);
  /// Sets the rule, lr and maximize.
  void (*configure)(OptimizerCall& call, const OptimizerOptions& options);
  /// A state without tensors.
  std::unique_ptr<OptimizerParamState> (*new_state)();
  /// The tensors of a state that steps with `options` use; null: with the default options.
  StateFields (*fields)(OptimizerParamState& state, const OptimizerOptions* options);
};

/// Throws StateError unless both betas are in [0, 1).
void check_betas(const std::tuple<double, double>& betas);
/// Throws StateError for the options of another optimizer.
[[noreturn]] void throw_other_options(const char* name);

/// Makes an OptimizerKind from a struct with the types Class, Options and ParamState, `name`, and the functions
/// check(options), rule(options) and fields(state, options).
template <class Description>
const OptimizerKind& kind_of() {
  using Options = typename Description::Options;
  using ParamState = typename Description::ParamState;
  static const OptimizerKind kind{
      Description::name,
      typeid(typename Description::Class),
      [](const OptimizerOptions& options) {
        const auto* own = dynamic_cast<const Options*>(&options);
        if (!own) throw_other_options(Description::name);
        checks::not_negative("lr", own->lr());
        checks::not_negative("weight_decay", own->weight_decay());
        Description::check(*own);
      },
      [](OptimizerCall& call, const OptimizerOptions& options) {
        const auto& own = static_cast<const Options&>(options);
        call.rule = Description::rule(own);
        call.lr = own.lr();
        call.maximize = own.maximize();
      },
      []() -> std::unique_ptr<OptimizerParamState> { return std::make_unique<ParamState>(); },
      [](OptimizerParamState& state, const OptimizerOptions* options) {
        return Description::fields(static_cast<ParamState&>(state),
                                   options ? static_cast<const Options&>(*options) : Options());
      }};
  return kind;
}

}  // namespace tandem::optim
