#include "networks/picture.h"

#include <png.h>

namespace networks {

void write_grid(const std::string& file, const torch::Tensor& images) {
  const int64_t height = images.size(0) * images.size(2), width = images.size(1) * images.size(3);
  const auto pixels = (images.detach().to(torch::kCPU, torch::kFloat).clamp(0, 1) * 255)
                          .round()
                          .to(torch::kByte)
                          .permute({0, 2, 1, 3})
                          .reshape({height, width})
                          .contiguous();
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  picture.width = static_cast<png_uint_32>(width);
  picture.height = static_cast<png_uint_32>(height);
  picture.format = PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&picture, file.c_str(), 0, pixels.const_data_ptr<uint8_t>(), 0, nullptr)) {
    throw tandem::IoError("cannot write " + file + ": " + picture.message);
  }
}

}  // namespace networks
