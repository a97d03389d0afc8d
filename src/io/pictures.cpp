#include "src/io/pictures.h"

#include "tandem/base/check.h"
#include "tandem/data/datasets/image_folder.h"

namespace tandem::io {

DecodePicture *decode_png = nullptr, *decode_jpeg = nullptr;
EncodePicture* encode_png = nullptr;

void check_picture_size(const std::string& path, uint64_t width, uint64_t height) {
  TANDEM_CHECK(width > 0 && height > 0 && width <= data::kMaxImageSide && height <= data::kMaxImageSide &&
                   3 * width * height <= static_cast<uint64_t>(data::kMaxImageElements),
               IoError, "{}: the picture is {} x {}; sides of 1 to {} and up to {} elements can be read", path, width,
               height, data::kMaxImageSide, data::kMaxImageElements);
}

}  // namespace tandem::io
