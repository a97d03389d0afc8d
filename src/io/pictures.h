#pragma once
// PNG and JPEG files, which the component tandem::io decodes and encodes. Internal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/component.h"

namespace tandem::io {

/// height x width x channels bytes.
struct Picture {
  size_t height = 0, width = 0, channels = 3;
  std::vector<uint8_t> bytes;
};

/// Return the RGB picture of a file's bytes. Throw IoError, which names the file, if it is damaged or too large.
using DecodePicture = Picture(const std::string& path, const std::vector<uint8_t>& bytes);
/// Returns the bytes of a PNG file of a picture with 1, 3 or 4 channels.
using EncodePicture = std::string(const Picture& picture);

TANDEM_FOR_COMPONENTS extern DecodePicture *decode_png, *decode_jpeg;
TANDEM_FOR_COMPONENTS extern EncodePicture* encode_png;

/// Throws IoError unless a picture has an acceptable size.
TANDEM_FOR_COMPONENTS void check_picture_size(const std::string& path, uint64_t width, uint64_t height);

}  // namespace tandem::io
