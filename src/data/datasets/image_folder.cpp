// ImageFolder: lists the files of a folder.
#include "tandem/data/datasets/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "src/io/path.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::datasets {
namespace {

bool is_picture(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

}  // namespace

ImageFolder::ImageFolder(const std::string& root) {
  const OpScope op("ImageFolder");
  namespace fs = std::filesystem;
  io::check_path(root);
  auto files = std::make_shared<Files>();
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      if (entry.is_directory()) files->classes.push_back(entry.path().filename().string());
    }
    std::sort(files->classes.begin(), files->classes.end());
    TANDEM_CHECK(!files->classes.empty(), IoError,
                 "{}: there are no folders in it; put the pictures of each class into a folder of its own", root);
    for (size_t c = 0; c < files->classes.size(); ++c) {
      const size_t before = files->samples.size();
      const fs::path folder = fs::path(root) / files->classes[c];
      for (const fs::directory_entry& entry :
           fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink)) {
        if (entry.is_regular_file() && is_picture(entry.path())) {
          files->samples.emplace_back(entry.path().string(), static_cast<int64_t>(c));
        }
      }
      TANDEM_CHECK(files->samples.size() > before, IoError, "{}: there are no .png, .jpg or .jpeg files in this folder",
                   folder.string());
      std::sort(files->samples.begin() + static_cast<std::ptrdiff_t>(before), files->samples.end());
    }
  } catch (const fs::filesystem_error& e) {
    TANDEM_THROW(IoError, "{}: cannot list the folder: {}", e.path1().string(), e.code().message());
  }
  files_ = std::move(files);
}

Example<> ImageFolder::get(size_t index) {
  const OpScope op("ImageFolder");
  TANDEM_CHECK(index < *size(), IndexError, "index {} is out of range for {} pictures; use a lower one", index,
               *size());
  const auto& [path, number] = files_->samples[index];
  return {read_image(path), scalar_tensor(number, TensorOptions(kLong).device(kCPU))};
}

}  // namespace tandem::data::datasets
