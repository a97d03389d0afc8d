#pragma once
// throw_if_failed: after a failed communication between GPUs, results on them are undefined; see Accelerator::fail.

namespace tandem::cuda {

/// Called after the host has waited for a device. Throws what Accelerator::fail() was called with, if it was.
void throw_if_failed();

}  // namespace tandem::cuda
