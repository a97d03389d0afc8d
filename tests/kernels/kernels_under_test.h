#pragma once
// The kernels under test, those of the tests' device, called as under_test().copy(dst, src).
#include "support/device.h"
#include "tandem/backend.h"

namespace tandem::testing {

using kernels::Binary;
using kernels::Reduction;
using kernels::Ternary;
using kernels::Unary;

inline const Backend& under_test() { return backend(device_type()); }

}  // namespace tandem::testing
