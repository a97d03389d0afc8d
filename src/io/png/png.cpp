// PNG files, through libpng.
#include <png.h>

#include <cstring>
#include <utility>

#include "src/io/pictures.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

Picture decode(const std::string& path, const std::vector<uint8_t>& bytes) {
  struct Png {
    png_image image{};
    Png() { image.version = PNG_IMAGE_VERSION; }
    ~Png() { png_image_free(&image); }
  } png;
  TANDEM_CHECK(png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()), IoError,
               "{}: the PNG file is damaged: {}; fetch the file again", path, png.image.message);
  check_picture_size(path, png.image.width, png.image.height);
  png.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // otherwise it takes pictures of 16 bits for linear ones
  // libpng would blend RGB with a background; alpha is read and dropped instead. It would also take indices beyond the
  // palette for black, so pictures with a palette are read as indices.
  const bool has_palette = (png.image.format & PNG_FORMAT_FLAG_COLORMAP) != 0;
  png.image.format = has_palette ? PNG_FORMAT_RGBA_COLORMAP : PNG_FORMAT_RGBA;
  const size_t height = png.image.height, width = png.image.width;
  std::vector<uint8_t> values(PNG_IMAGE_SIZE(png.image)), palette(PNG_IMAGE_COLORMAP_SIZE(png.image));
  TANDEM_CHECK(png_image_finish_read(&png.image, nullptr, values.data(), 0, palette.data()), IoError,
               "{}: the PNG file is damaged: {}; fetch the file again", path, png.image.message);
  std::vector<uint8_t> pixels(3 * height * width);
  for (size_t i = 0; i < height * width; ++i) {
    TANDEM_CHECK(!has_palette || values[i] < png.image.colormap_entries, IoError,
                 "{}: the PNG file is damaged: a pixel has colour {} of a palette of {}; fetch the file again", path,
                 values[i], png.image.colormap_entries);
    std::memcpy(&pixels[3 * i], has_palette ? &palette[4 * size_t{values[i]}] : &values[4 * i], 3);
  }
  return {height, width, 3, std::move(pixels)};
}

std::string encode(const Picture& picture) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.height = static_cast<png_uint_32>(picture.height);
  info.width = static_cast<png_uint_32>(picture.width);
  info.format = picture.channels == 1 ? PNG_FORMAT_GRAY : picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(info);
  std::string file(size, 0);
  const bool done = png_image_write_to_memory(&info, file.data(), &size, 0, picture.bytes.data(), 0, nullptr) != 0;
  TANDEM_CHECK(done, IoError, "libpng cannot encode the picture: {}", info.message);
  file.resize(size);
  return file;
}

const Provide decoder(decode_png, decode);
const Provide encoder(encode_png, encode);

}  // namespace
}  // namespace tandem::io
