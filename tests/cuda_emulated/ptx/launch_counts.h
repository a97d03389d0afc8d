#pragma once
// How often each kernel was launched on the emulated devices, from g++'s code or from PTX.

namespace tandem::cuda::emulated {

/// Counts a launch of the kernel at this address if TANDEM_EMULATED_LAUNCHES is set. At its end, the program appends a
/// line `<number> <kernel_name()>` for each kernel to the file that the variable names.
void count_launch(const void* kernel);

}  // namespace tandem::cuda::emulated
