#include "tandem/optim/swa_lr.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "src/optim/momentum.h"
#include "tandem/base/check.h"

namespace tandem::optim {

SWALR::SWALR(Optimizer& optimizer, double swa_lr, int64_t anneal_epochs, AnnealStrategy anneal_strategy)
    : SWALR(optimizer, std::vector<double>{swa_lr}, anneal_epochs, anneal_strategy) {}

SWALR::SWALR(Optimizer& optimizer, std::vector<double> swa_lr, int64_t anneal_epochs, AnnealStrategy anneal_strategy)
    : LRScheduler(optimizer), swa_lr_(std::move(swa_lr)), anneal_epochs_(anneal_epochs), strategy_(anneal_strategy) {
  const OpScope op("SWALR");
  check_per_group("swa_lr", swa_lr_, optimizer);
  check_arguments();
  start();
}

void SWALR::visit_arguments(ScheduleArguments& arguments) { arguments.number("anneal_epochs", anneal_epochs_); }

void SWALR::check_arguments() const {
  TANDEM_CHECK(anneal_epochs_ >= 0, StateError, "anneal_epochs = {}; it must not be negative", anneal_epochs_);
}

/// The share of swa_lr in the rate.
double SWALR::share(int64_t epoch) const {
  if (epoch >= anneal_epochs_) return 1;
  if (epoch <= 0) return 0;
  const double t = static_cast<double>(epoch) / static_cast<double>(anneal_epochs_);
  return strategy_ == AnnealStrategy::linear ? t : (1 - std::cos(std::numbers::pi * t)) / 2;
}

double SWALR::group_lr_at(size_t group, double base_lr, int64_t epoch) const {
  const double a = share(epoch);
  return of_group("swa_lr", swa_lr_, group) * a + base_lr * (1 - a);
}

double SWALR::next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const {
  // The rate from which the annealing began follows from the present one, so it need not be part of the state.
  const double rate = group.options().get_lr(), before = share(epoch - 1);
  const double from = before == 1 ? rate : (rate - before * of_group("swa_lr", swa_lr_, number)) / (1 - before);
  return group_lr_at(number, from, epoch);
}

}  // namespace tandem::optim
