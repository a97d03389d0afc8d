#pragma once
// Pictures of tensors.
#include <string>

#include <torch/torch.h>

namespace networks {

/// Writes a PNG file: images [rows, columns, height, width] with values in [0, 1], as a grid. Throws IoError.
void write_grid(const std::string& file, const torch::Tensor& images);

}  // namespace networks
