// CIFAR10 and CIFAR100. A file is a sequence of records: one label byte (CIFAR-100: the coarse one, then the fine one),
// and 3 x 32 x 32 bytes of red, green and blue.
#include "tandem/data/datasets/cifar.h"

#include <filesystem>
#include <vector>

#include "src/data/files.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::datasets {
namespace {

constexpr size_t kPictureBytes = 3 * 32 * 32;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

struct CifarFormat {
  const char* name;
  const char* folder;
  size_t label_bytes, label;  ///< the number of label bytes, and which of them counts
  int classes;
};

std::string find_cifar(const std::string& root, const CifarFormat& format, const std::string& name) {
  namespace fs = std::filesystem;
  for (const fs::path& folder : {fs::path(root), fs::path(root) / format.folder}) {
    std::error_code error;
    if (fs::is_regular_file(folder / name, error)) return (folder / name).string();
  }
  TANDEM_THROW(IoError, "no file {0} in {1} or {1}/{2}; fetch the binary version of the data set and unpack it there",
               name, root, format.folder);
}

StackedDataset read_cifar(const std::string& root, const CifarFormat& format, const std::vector<std::string>& names) {
  const OpScope op(format.name);
  const size_t record = format.label_bytes + kPictureBytes;
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(find_cifar(root, format, name));
  std::vector<std::vector<uint8_t>> files;
  size_t count = 0;
  for (const std::string& path : paths) {
    files.push_back(read_file(path, kMostBytes));
    TANDEM_CHECK(files.back().size() % record == 0, IoError,
                 "{}: {} bytes, which is not a multiple of the {} bytes of a picture; fetch the file again", path,
                 files.back().size(), record);
    count += files.back().size() / record;
  }
  const Tensor images = empty({static_cast<int64_t>(count), 3, 32, 32}, TensorOptions(kFloat).device(kCPU));
  const Tensor targets = empty({static_cast<int64_t>(count)}, TensorOptions(kLong).device(kCPU));
  float* x = images.raw<float>();
  int64_t* t = targets.raw<int64_t>();
  for (size_t f = 0; f < files.size(); ++f) {
    for (size_t at = 0; at < files[f].size(); at += record) {
      const uint8_t* bytes = files[f].data() + at;
      TANDEM_CHECK(bytes[format.label] < format.classes, IoError,
                   "{}: picture {} has class {}, but there are {}; fetch the file again", paths[f], at / record,
                   bytes[format.label], format.classes);
      *t++ = bytes[format.label];
      for (size_t i = 0; i < kPictureBytes; ++i) *x++ = static_cast<float>(bytes[format.label_bytes + i]) / 255.0f;
    }
    files[f] = {};  // frees memory
  }
  return {images, targets};
}

}  // namespace

CIFAR10::CIFAR10(const std::string& root, Mode mode)
    : mode_(mode),
      data_(read_cifar(root, {"CIFAR10", "cifar-10-batches-bin", 1, 0, 10},
                       mode == Mode::kTest
                           ? std::vector<std::string>{"test_batch.bin"}
                           : std::vector<std::string>{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                      "data_batch_4.bin", "data_batch_5.bin"})) {}

CIFAR100::CIFAR100(const std::string& root, Mode mode, Labels labels)
    : mode_(mode),
      data_(read_cifar(root,
                       labels == Labels::kFine ? CifarFormat{"CIFAR100", "cifar-100-binary", 2, 1, 100}
                                               : CifarFormat{"CIFAR100", "cifar-100-binary", 2, 0, 20},
                       {mode == Mode::kTest ? "test.bin" : "train.bin"})) {}

}  // namespace tandem::data::datasets
