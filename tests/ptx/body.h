#pragma once
// The instructions of a kernel, from its text.
#include "ptx/parser.h"

namespace tandem::ptx {

Kernel parse_kernel(const Module& module, const std::string& name, const Routine& routine);

}  // namespace tandem::ptx
