#pragma once
// The child process of the kill test.

namespace tandem::testing {

/// Writes checkpoint after checkpoint to `path`, numbered on from the one that is there. The file `counters` holds two
/// numbers: of the last one begun and of the last one finished.
int write_forever(const char* path, const char* counters);

}  // namespace tandem::testing
