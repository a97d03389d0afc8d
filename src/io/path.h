#pragma once
// Checks of the paths that programs give, and the formats that they name.
#include <string>

namespace tandem::io {

/// Throws IoError for a path with a NUL byte, at which the system would cut it. To be called before a path's c_str() is
/// used.
void check_path(const std::string& path);

/// Returns whether a path names PyTorch's format, .pt or .pth; all other names get safetensors. Throws IoError for .npy
/// and .npz, which io/numpy.h writes.
bool is_torch_path(const std::string& path);

}  // namespace tandem::io
