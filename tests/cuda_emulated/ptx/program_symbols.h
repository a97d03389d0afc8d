#pragma once
// The names of the program's functions, from its ELF symbol table: dladdr knows exported names only, and most kernels
// are local to their file.
#include <string>

namespace tandem::cuda::emulated {

/// Returns the name of the kernel at this address: its mangled name, and before it, if it is local to a file, the
/// file's name, as in "softmax.cu:_ZN...". Throws Misuse if no function of the program begins there.
std::string kernel_name(const void* address);

}  // namespace tandem::cuda::emulated
