#pragma once
// The child process of the kill test.

namespace tandem::testing {

/// Writes checkpoints to `path` without end, numbered on from the existing one. The file `counters` holds the numbers
/// of the last checkpoint started and the last finished.
int write_forever(const char* path, const char* counters);

}  // namespace tandem::testing
