// Optimizer steps over lists of tensors, in one launch for the whole list (two if it has both f64 and other
// parameters). f64 parameters are updated in f64, all others in f32. 16-bit parameters and shadows are rounded once, to
// nearest even; a bf16 parameter with a remainder represents its f32 value exactly. States in bf16 or e4m3fn are
// rounded stochastically. Gradients are multiplied by inverse_scale as they are read, and rounded to the compute type.
// found_inf and the step counts are on the device. If found_inf is not 0, nothing is written.
//
// Before the update, a launch of one block reads and increments the step counts and stores each tensor's constants in
// temporary memory, so that no block of the update reads a count that another has incremented.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/optim_compact.h"

namespace tandem::cuda {

void sgd(ArrayRef<SgdCall> calls) {
  steps::Launches launches;
  for (const SgdCall& call : calls) {
    steps::add_step(launches, call, math::Sgd{call.momentum, call.dampening, call.weight_decay, call.nesterov},
                    {&call.momentum_buffers}, call.steps, {}, call.lr, call.captured_lr, call.maximize);
  }
  launches.run();
}

void adam(ArrayRef<AdamCall> calls) {
  steps::Launches launches;
  for (const AdamCall& call : calls) {
    const math::Adam rule{call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled};
    const steps::StateLists states = {&call.exp_avgs, &call.exp_avg_sqs, &call.max_exp_avg_sqs};
    if (kernels::any_compact(states)) {
      steps::add_compact_step(launches, call, rule, states, call.steps, call.exp_avg_scales, call.lr, call.captured_lr,
                              call.maximize);
    } else {
      steps::add_step(launches, call, rule, states, call.steps, {}, call.lr, call.captured_lr, call.maximize);
    }
  }
  launches.run();
}

}  // namespace tandem::cuda
