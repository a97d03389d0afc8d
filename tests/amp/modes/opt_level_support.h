#pragma once
// Shared by the tests of Apex's levels.
#include <gtest/gtest.h>

#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/modes/opt_level.h"
#include "tandem/nn/nn.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

inline amp::InitializeOptions silent() { return amp::InitializeOptions().verbosity(0); }

/// Undoes O1, which leaves autocast enabled in this thread and in new threads.
inline void end_o1() {
  amp::set_autocast_enabled(device_type(), false);
  amp::set_autocast_dtype(device_type(), kBFloat16);
  set_initial_autocast(device_type(), {false, kBFloat16});
}

/// Resets autocast after every test.
struct OptLevels : ::testing::Test {
  ~OptLevels() override { end_o1(); }
};

struct OneParameter : nn::Module {
  explicit OneParameter(double value) { p = register_parameter("p", full({4}, value)); }
  Tensor p;
};

}  // namespace tandem::testing
