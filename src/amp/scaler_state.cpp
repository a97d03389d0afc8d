#include "src/amp/scaler_state.h"

#include <map>

#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {

StateDict state_of(const GradScaler& scaler) {
  const ScalerState numbers = scaler.state_dict();
  StateDict state;
  for (const auto& [key, value] : std::map(numbers.begin(), numbers.end())) {
    state.insert(key, scalar_tensor(value, TensorOptions(value.kind()).device(kCPU)));
  }
  return state;
}

StateCommit prepare_state(GradScaler& scaler, const StateDict& state) {
  const OpScope op("load_state_dict");
  ScalerState numbers;
  for (const auto& item : state) {
    TANDEM_CHECK(item.value().defined() && item.value().numel() == 1, StateError,
                 "'{}' is not a number; nothing was changed", item.key());
    numbers.emplace(item.key(), item.value().item());
  }
  return scaler.prepare_load_state_dict(numbers);
}

StateCommit prepare_state_below(GradScaler& scaler, const StateDict& state, const std::string& name) {
  const StateDict own = state_below(state, name);
  return own.is_empty() || scaler.has_static_scale() ? [] {} : prepare_state(scaler, own);
}

}  // namespace tandem::amp
