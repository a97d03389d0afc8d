#pragma once
// Learning rate schedules by functions of the program.
#include <functional>
#include <utility>
#include <vector>

#include "tandem/optim/lr_scheduler.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// base_lr f(epoch). Source: torch.optim.lr_scheduler.LambdaLR.
class LambdaLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t epoch)>;
  /// One function for all groups, also those added later, or one for each group. Throws StateError for an empty
  /// function, or unless there are as many functions as groups.
  LambdaLR(Optimizer& optimizer, Function lr_lambda);
  LambdaLR(Optimizer& optimizer, std::vector<Function> lr_lambda);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;

 private:
  std::vector<Function> functions_;
};

/// base_lr f(1) f(2) ... f(epoch). Calls f once for each epoch, and again for all epochs if the schedule goes back.
/// Source: torch.optim.lr_scheduler.MultiplicativeLR.
class MultiplicativeLR : public ChainableLR {
 public:
  using Function = LambdaLR::Function;
  /// As for LambdaLR.
  MultiplicativeLR(Optimizer& optimizer, Function lr_lambda);
  MultiplicativeLR(Optimizer& optimizer, std::vector<Function> lr_lambda);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;

 private:
  struct Product {
    int64_t epoch = 0;
    double value = 1, before = 1;  // of this epoch and of the one before
  };
  std::vector<Function> functions_;
  mutable std::vector<Product> products_;  // by function: that of the latest epoch that was asked for
};

}  // namespace tandem::optim
#pragma GCC visibility pop
