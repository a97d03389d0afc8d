#pragma once
// Tensors as PNG files. Internal.
#include <string>

#include "tandem/tensor/tensor.h"

namespace tandem::io {

/// The PNG file of a picture [C, H, W] as SummaryWriter::add_image describes it, and its size.
struct EncodedImage {
  int height, width, channels;
  std::string png;
};
EncodedImage encode_image(const Tensor& image);

}  // namespace tandem::io
