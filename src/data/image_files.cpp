#include <algorithm>

#include "src/data/files.h"
#include "src/io/pictures.h"
#include "tandem/base/check.h"
#include "tandem/data/datasets/image_folder.h"
#include "tandem/tensor/factories.h"

namespace tandem::data {
namespace {

constexpr uint64_t kMostPictureBytes = uint64_t{1} << 30;

/// [3, H, W] in [0, 1].
Tensor to_planes(const io::Picture& picture) {
  const Tensor image = empty({3, static_cast<int64_t>(picture.height), static_cast<int64_t>(picture.width)},
                             TensorOptions(kFloat).device(kCPU));
  float* planes = image.raw<float>();
  const size_t area = picture.height * picture.width;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < area; ++i) planes[c * area + i] = static_cast<float>(picture.bytes[3 * i + c]) / 255.0f;
  }
  return image;
}

bool starts_with(const std::vector<uint8_t>& bytes, std::initializer_list<uint8_t> start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

}  // namespace

bool can_read_png() { return io::decode_png != nullptr; }
bool can_read_jpeg() { return io::decode_jpeg != nullptr; }

Tensor read_image(const std::string& path) {
  const OpScope op("read_image");
  const std::vector<uint8_t> bytes = read_file(path, kMostPictureBytes);
  const bool is_png = starts_with(bytes, {0x89, 'P', 'N', 'G'});
  TANDEM_CHECK(is_png || starts_with(bytes, {0xff, 0xd8, 0xff}), IoError, "{}: neither a PNG nor a JPEG file", path);
  io::DecodePicture* const decode = is_png ? io::decode_png : io::decode_jpeg;
  TANDEM_CHECK(decode, NotImplementedError,
               "{}: the program has no {}; link tandem::io, and build tandem where {} is installed", path,
               is_png ? "libpng" : "libjpeg", is_png ? "libpng-dev" : "libjpeg-dev");
  return to_planes(decode(path, bytes));
}

}  // namespace tandem::data
