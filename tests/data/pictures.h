#pragma once
// Small pictures as PNG files, written with zlib alone, and as JPEG files, written with libjpeg.
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

#ifdef TANDEM_JPEG
#include <jpeglib.h>
#endif

namespace tandem::testing {

struct ColourPicture {
  size_t height, width;
  Bytes rgb;
  /// The values in [0, 1], channel by channel.
  std::vector<float> planes() const {
    std::vector<float> values;
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = c; i < rgb.size(); i += 3) values.push_back(static_cast<float>(rgb[i]) / 255.0f);
    }
    return values;
  }
};

/// A picture whose colours change slowly, so that JPEG keeps them.
inline ColourPicture colours(size_t height, size_t width) {
  ColourPicture picture{height, width, {}};
  for (size_t i = 0; i < height; ++i) {
    for (size_t j = 0; j < width; ++j) {
      for (const size_t v : {40 + 5 * i + 2 * j, 200 - 3 * i, 90 + 4 * j}) {
        picture.rgb.push_back(static_cast<uint8_t>(v));
      }
    }
  }
  return picture;
}

inline void append_u32(Bytes& bytes, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
}
inline void append_chunk(Bytes& file, const std::string& type, const Bytes& content) {
  append_u32(file, content.size());
  Bytes body(type.begin(), type.end());
  body.insert(body.end(), content.begin(), content.end());
  file.insert(file.end(), body.begin(), body.end());
  append_u32(file, crc32(0, body.data(), static_cast<unsigned>(body.size())));
}
/// A PNG file that ends after its header.
inline Bytes png_header(size_t width, size_t height, uint8_t colour_type = 2, uint8_t bits = 8) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, header;
  append_u32(header, width);
  append_u32(header, height);
  header.insert(header.end(), {bits, colour_type, 0, 0, 0});
  append_chunk(file, "IHDR", header);
  return file;
}
inline void append_rows(Bytes& file, const Bytes& rows) {
  Bytes packed(compressBound(rows.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, rows.data(), rows.size());
  packed.resize(size);
  append_chunk(file, "IDAT", packed);
  append_chunk(file, "IEND", {});
}
/// `colour_type`: 0 grey (the red channel), 2 RGB, 6 RGB with transparency. With 16 bits, each byte is there twice.
inline Bytes png_file(const ColourPicture& picture, uint8_t colour_type, uint8_t bits = 8) {
  Bytes rows;
  for (size_t i = 0; i < picture.height * picture.width; ++i) {
    if (i % picture.width == 0) rows.push_back(0);  // no filter
    for (size_t c = 0; c < (colour_type == 0 ? 1 : 3); ++c) rows.insert(rows.end(), bits / 8, picture.rgb[3 * i + c]);
    if (colour_type == 6) rows.push_back(static_cast<uint8_t>(i));
  }
  Bytes file = png_header(picture.width, picture.height, colour_type, bits);
  append_rows(file, rows);
  return file;
}
/// A row of pixels, each the index of a colour of three bytes in `palette`. `alpha` has the transparency of the
/// colours.
inline Bytes palette_png(const Bytes& palette, const Bytes& alpha, size_t width, uint8_t bits, const Bytes& packed) {
  Bytes file = png_header(width, 1, 3, bits);
  append_chunk(file, "PLTE", palette);
  if (!alpha.empty()) append_chunk(file, "tRNS", alpha);
  Bytes rows = {0};  // no filter
  rows.insert(rows.end(), packed.begin(), packed.end());
  append_rows(file, rows);
  return file;
}

#ifdef TANDEM_JPEG
inline Bytes jpeg_file(const ColourPicture& picture) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(&picture.rgb[3 * picture.width * info.next_scanline]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes file(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}
#else
inline Bytes jpeg_file(const ColourPicture&) { return {}; }
#endif

}  // namespace tandem::testing
