#pragma once
// Checks of the paths that programs give.
#include <string>

namespace tandem::io {

/// Throws IoError for a path with a NUL byte, at which the system would cut it. To be called before a path's c_str() is
/// used.
void check_path(const std::string& path);

}  // namespace tandem::io
