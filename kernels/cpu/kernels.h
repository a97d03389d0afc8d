#pragma once
// The kernels of the CPU backend, one function per slot of struct Backend. include/tandem/backend.h documents each.
#include "kernels/slots.h"

namespace tandem::cpu {

using kernels::Binary;
using kernels::Reduction;
using kernels::Unary;

TANDEM_SLOTS(TANDEM_DECLARE_SLOT)

}  // namespace tandem::cpu
