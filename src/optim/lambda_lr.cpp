#include "tandem/optim/lambda_lr.h"

#include "tandem/base/check.h"

namespace tandem::optim {
namespace {

using Function = LambdaLR::Function;

void check_functions(const std::vector<Function>& functions, const Optimizer& optimizer) {
  const size_t groups = optimizer.param_groups().size();
  TANDEM_CHECK(functions.size() == groups, StateError,
               "{} functions for {} parameter groups; give one for each, or one function for all", functions.size(),
               groups);
  for (const Function& f : functions) {
    TANDEM_CHECK(f, StateError, "a function is empty; pass one that returns the factor of an epoch");
  }
}

/// The number of the function of a group. A single one is for all groups, also for those added later.
size_t function_of(const std::vector<Function>& functions, size_t group) {
  if (functions.size() == 1) return 0;
  TANDEM_CHECK(
      group < functions.size(), StateError,
      "{} functions, but parameter group {} was added since; create the schedule after all groups, or give one "
      "function for all",
      functions.size(), group);
  return group;
}

}  // namespace

LambdaLR::LambdaLR(Optimizer& optimizer, Function lr_lambda)
    : LRScheduler(optimizer), functions_{std::move(lr_lambda)} {
  const UserCodeScope op("LambdaLR");
  TANDEM_CHECK(functions_[0], StateError, "the function is empty; pass one that returns the factor of an epoch");
  start();
}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambda)
    : LRScheduler(optimizer), functions_(std::move(lr_lambda)) {
  const UserCodeScope op("LambdaLR");
  check_functions(functions_, optimizer);
  start();
}

double LambdaLR::group_lr_at(size_t group, double base_lr, int64_t epoch) const {
  return base_lr * functions_[function_of(functions_, group)](epoch);
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Function lr_lambda)
    : ChainableLR(optimizer), functions_{std::move(lr_lambda)}, products_(1) {
  const UserCodeScope op("MultiplicativeLR");
  TANDEM_CHECK(functions_[0], StateError, "the function is empty; pass one that returns the factor of an epoch");
  start();
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<Function> lr_lambda)
    : ChainableLR(optimizer), functions_(std::move(lr_lambda)), products_(functions_.size()) {
  const UserCodeScope op("MultiplicativeLR");
  check_functions(functions_, optimizer);
  start();
}

double MultiplicativeLR::group_lr_at(size_t group, double base_lr, int64_t epoch) const {
  const size_t number = function_of(functions_, group);
  Product product = products_[number];
  if (epoch == product.epoch - 1) return base_lr * product.before;
  if (product.epoch > epoch) product = {};
  while (product.epoch < epoch) {
    product.before = product.value;
    product.value *= functions_[number](++product.epoch);
  }
  products_[number] = product;  // only now: a function may throw
  return base_lr * product.value;
}

}  // namespace tandem::optim
