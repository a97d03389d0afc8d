#pragma once
// The kernels of the CPU backend, one function per slot of struct Backend. include/tandem/backend.inc documents each.
#include <type_traits>

#include "tandem/backend.h"

namespace tandem::cpu {

using kernels::Binary;
using kernels::Reduction;
using kernels::Ternary;
using kernels::Unary;

#define TANDEM_SLOT(NAME, SIGNATURE) std::type_identity_t<SIGNATURE> NAME;
#include "tandem/backend.inc"

}  // namespace tandem::cpu
