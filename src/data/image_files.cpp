// PNG and JPEG files, through libpng and libjpeg(-turbo). Either may be missing from a build.
#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>
#include <memory>

#include "src/data/files.h"
#include "tandem/base/check.h"
#include "tandem/data/datasets/image_folder.h"
#include "tandem/tensor/factories.h"

#ifdef TANDEM_PNG
#include <png.h>
#endif
#ifdef TANDEM_JPEG
#include <jpeglib.h>
#endif

namespace tandem::data {
namespace {

constexpr uint64_t kMostPictureBytes = uint64_t{1} << 30;

/// Throws IoError unless a picture has an acceptable size.
[[maybe_unused]] void check_image_size(const std::string& path, uint64_t width, uint64_t height) {
  TANDEM_CHECK(width > 0 && height > 0 && width <= kMaxImageSide && height <= kMaxImageSide &&
                   3 * width * height <= static_cast<uint64_t>(kMaxImageElements),
               IoError, "{}: the picture is {} x {}; sides of 1 to {} and up to {} elements can be read", path, width,
               height, kMaxImageSide, kMaxImageElements);
}

/// [3, H, W] in [0, 1], from height x width x 3 bytes.
[[maybe_unused]] Tensor to_planes(const std::vector<uint8_t>& pixels, size_t height, size_t width) {
  const Tensor image =
      empty({3, static_cast<int64_t>(height), static_cast<int64_t>(width)}, TensorOptions(kFloat).device(kCPU));
  float* planes = image.raw<float>();
  const size_t area = height * width;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < area; ++i) planes[c * area + i] = static_cast<float>(pixels[3 * i + c]) / 255.0f;
  }
  return image;
}

#ifdef TANDEM_PNG
Tensor decode_png(const std::string& path, const std::vector<uint8_t>& bytes) {
  struct Png {
    png_image image{};
    Png() { image.version = PNG_IMAGE_VERSION; }
    ~Png() { png_image_free(&image); }
  } png;
  TANDEM_CHECK(png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()), IoError,
               "{}: the PNG file is damaged: {}; fetch the file again", path, png.image.message);
  check_image_size(path, png.image.width, png.image.height);
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
  return to_planes(pixels, height, width);
}
#endif

#ifdef TANDEM_JPEG
struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg passes its address
  std::jmp_buf fatal;
  char text[JMSG_LENGTH_MAX];
  bool cut_off;
};

extern "C" {
static void tandem_jpeg_fatal(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text);
  std::longjmp(errors->fatal, 1);
}
/// Counts warnings as errors: libjpeg fills what is missing of a damaged picture with grey.
static void tandem_jpeg_message(j_common_ptr info, int level) {
  if (level < 0) tandem_jpeg_fatal(info);
}
}

/// The part of decoding that longjmp may leave: it has no local objects with destructors. Stage 0 reads the header,
/// stage 1 the pixels. Returns false with errors.text on a fault.
bool jpeg_stage(jpeg_decompress_struct* info, JpegErrors* errors, const uint8_t* bytes, size_t size, uint8_t* pixels) {
  if (setjmp(errors->fatal)) return false;
  if (!pixels) {
    jpeg_create_decompress(info);
    jpeg_mem_src(info, bytes, static_cast<unsigned long>(size));
    jpeg_read_header(info, TRUE);
    return true;
  }
  info->out_color_space = JCS_RGB;
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = pixels + size_t{3} * info->output_width * info->output_scanline;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

Tensor decode_jpeg(const std::string& path, const std::vector<uint8_t>& bytes) {
  struct Jpeg {
    jpeg_decompress_struct info{};
    JpegErrors errors{};
    Jpeg() {
      info.err = jpeg_std_error(&errors.base);
      errors.base.error_exit = tandem_jpeg_fatal;
      errors.base.emit_message = tandem_jpeg_message;
    }
    ~Jpeg() { jpeg_destroy_decompress(&info); }
  };
  const auto jpeg = std::make_unique<Jpeg>();
  TANDEM_CHECK(jpeg_stage(&jpeg->info, &jpeg->errors, bytes.data(), bytes.size(), nullptr), IoError,
               "{}: the JPEG file is damaged: {}; fetch the file again", path, jpeg->errors.text);
  check_image_size(path, jpeg->info.image_width, jpeg->info.image_height);
  TANDEM_CHECK(jpeg->info.num_components == 1 || jpeg->info.num_components == 3, IoError,
               "{}: the JPEG file has {} channels; only grey and RGB pictures can be read, so convert it", path,
               jpeg->info.num_components);
  const size_t height = jpeg->info.image_height, width = jpeg->info.image_width;
  std::vector<uint8_t> pixels(3 * height * width);
  TANDEM_CHECK(jpeg_stage(&jpeg->info, &jpeg->errors, bytes.data(), bytes.size(), pixels.data()), IoError,
               "{}: the JPEG file is damaged: {}; fetch the file again", path, jpeg->errors.text);
  return to_planes(pixels, height, width);
}
#endif

bool starts_with(const std::vector<uint8_t>& bytes, std::initializer_list<uint8_t> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

}  // namespace

bool can_read_png() {
#ifdef TANDEM_PNG
  return true;
#else
  return false;
#endif
}

bool can_read_jpeg() {
#ifdef TANDEM_JPEG
  return true;
#else
  return false;
#endif
}

Tensor read_image(const std::string& path) {
  const OpScope op("read_image");
  const std::vector<uint8_t> bytes = read_file(path, kMostPictureBytes);
  if (starts_with(bytes, {0x89, 'P', 'N', 'G'})) {
#ifdef TANDEM_PNG
    return decode_png(path, bytes);
#else
    TANDEM_THROW(NotImplementedError, "{}: tandem was built without libpng; install it (libpng-dev) and build again",
                 path);
#endif
  }
  TANDEM_CHECK(starts_with(bytes, {0xff, 0xd8, 0xff}), IoError, "{}: neither a PNG nor a JPEG file", path);
#ifdef TANDEM_JPEG
  return decode_jpeg(path, bytes);
#else
  TANDEM_THROW(NotImplementedError, "{}: tandem was built without libjpeg; install it (libjpeg-dev) and build again",
               path);
#endif
}

}  // namespace tandem::data
