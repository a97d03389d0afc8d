// JPEG files, through libjpeg(-turbo).
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <memory>
#include <utility>

#include <jpeglib.h>

#include "src/io/pictures.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

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

Picture decode(const std::string& path, const std::vector<uint8_t>& bytes) {
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
  check_picture_size(path, jpeg->info.image_width, jpeg->info.image_height);
  TANDEM_CHECK(jpeg->info.num_components == 1 || jpeg->info.num_components == 3, IoError,
               "{}: the JPEG file has {} channels; only grey and RGB pictures can be read, so convert it", path,
               jpeg->info.num_components);
  const size_t height = jpeg->info.image_height, width = jpeg->info.image_width;
  std::vector<uint8_t> pixels(3 * height * width);
  TANDEM_CHECK(jpeg_stage(&jpeg->info, &jpeg->errors, bytes.data(), bytes.size(), pixels.data()), IoError,
               "{}: the JPEG file is damaged: {}; fetch the file again", path, jpeg->errors.text);
  return {height, width, 3, std::move(pixels)};
}

const Provide decoder(decode_jpeg, decode);

}  // namespace
}  // namespace tandem::io
