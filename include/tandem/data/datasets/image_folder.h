#pragma once
// ImageFolder: pictures in PNG and JPEG files, one folder for each class.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/data/dataset.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// Limits of the pictures that are decoded: a small file can hold a picture of any size.
inline constexpr int64_t kMaxImageSide = 32768, kMaxImageElements = int64_t{1} << 28;

/// Reads a picture as f32 [3, H, W] in [0, 1], red, green and blue, from a PNG or JPEG file; which of them is found
/// from its content. Grey pictures get three equal channels, transparency is dropped, 16 bits per channel become 8.
/// Throws IoError, which names the file, if it is missing, damaged, cut off, in another format or too large, and
/// NotImplementedError if the program is not linked with tandem::io, or that was built without libpng or libjpeg.
Tensor read_image(const std::string& path);
/// Returns whether this program can read PNG files, or JPEG files.
bool can_read_png();
bool can_read_jpeg();

namespace datasets {

/// Pictures in root/CLASS/.../name.png (or .jpg, .jpeg): images f32 [3, H, W] and classes i64 []. Classes are numbered
/// in the order of their names, as by torchvision. Pictures are read when they are asked for: use workers.
class ImageFolder : public Dataset<ImageFolder> {
 public:
  /// Lists the files. Throws IoError if `root` is no folder, has no folders in it, or a class has no pictures.
  explicit ImageFolder(const std::string& root);

  /// Reads a picture with read_image(). Throws IndexError unless `index` is below size().
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return files_->samples.size(); }

  /// The names of the classes.
  const std::vector<std::string>& classes() const { return files_->classes; }
  /// The path and the class of each picture.
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return files_->samples; }

 private:
  struct Files {
    std::vector<std::string> classes;
    std::vector<std::pair<std::string, int64_t>> samples;
  };
  std::shared_ptr<const Files> files_;  ///< shared by the copies of the workers
};

}  // namespace datasets
}  // namespace tandem::data
#pragma GCC visibility pop
