#pragma once
// The kernels that a test calls, as under_test().copy(dst, src): those of the tests' device.
#include "support/device.h"
#include "tandem/backend.h"

namespace tandem::testing {

using kernels::Binary;
using kernels::Reduction;
using kernels::Unary;

inline const Backend& under_test() { return backend(device_type()); }

}  // namespace tandem::testing
