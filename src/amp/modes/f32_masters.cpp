#include "src/amp/modes/f32_masters.h"

namespace tandem::amp {

void cast_to_masters(const std::vector<optim::Optimizer*>& optimizers, const std::function<void()>& cast) {
  // detach() keeps the old values alive when the parameters get new storage.
  std::vector<std::vector<Tensor>> values;
  for (const optim::Optimizer* optimizer : optimizers) {
    values.emplace_back();
    for (const Tensor& p : optimizer->parameters()) values.back().push_back(p.detach());
  }
  cast();
  for (size_t i = 0; i < optimizers.size(); ++i) {
    optimizers[i]->keep_master_weights();
    const std::vector<Tensor> parameters = optimizers[i]->parameters();
    for (size_t k = 0; k < parameters.size(); ++k) {
      if (is_reduced_floating_point(parameters[k].dtype())) optimizers[i]->set_master(parameters[k], values[i][k]);
    }
  }
}

}  // namespace tandem::amp
