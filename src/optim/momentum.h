#pragma once
// What the schedules need of a group's options besides the learning rate.
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Sets `momentum` or, for options without one, beta1. Returns whether the options have either: a field of that name.
bool set_momentum(OptimizerOptions& options, double momentum);
/// Throws StateError unless all groups of the optimizer have a momentum or beta1.
void check_has_momentum(const Optimizer& optimizer);

/// Throws StateError unless there are one or as many values as groups, all finite and not negative.
void check_per_group(const char* name, const std::vector<double>& values, const Optimizer& optimizer);
/// The value of a group. Throws StateError for a group that was added after the check.
double of_group(const char* name, const std::vector<double>& values, size_t group);

}  // namespace tandem::optim
