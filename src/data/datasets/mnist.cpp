// MNIST: finds the files and converts them to tensors.
#include "tandem/data/datasets/mnist.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/data/idx.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::datasets {
namespace {

constexpr int64_t kSide = 28;
constexpr const char* kTrainImages = "train-images";

/// The path of `name` ("train-images") with the given rank, plain or compressed, in the first folder that contains it;
/// "" if none does.
std::string find(const std::string& root, const char* name, int rank) {
  namespace fs = std::filesystem;
  for (const char* folder : {"", "raw", "MNIST/raw", "FashionMNIST/raw"}) {
    for (const char* separator : {"-", "."}) {
      for (const char* ending : {"", ".gz"}) {
        const fs::path path = fs::path(root) / folder / fmt::format("{}{}idx{}-ubyte{}", name, separator, rank, ending);
        std::error_code error;
        if (fs::is_regular_file(path, error)) return path.string();
      }
    }
  }
  return "";
}

std::string find_or_throw(const std::string& root, const char* name, int rank) {
  std::string path = find(root, name, rank);
  TANDEM_CHECK(!path.empty(), IoError,
               "no file {0}-idx{1}-ubyte or {0}-idx{1}-ubyte.gz in {2}, {2}/raw, {2}/MNIST/raw or "
               "{2}/FashionMNIST/raw; fetch it, or on Debian install the package dataset-fashion-mnist",
               name, rank, root);
  return path;
}

}  // namespace

std::string MNIST::default_root() {
  const char* named = std::getenv("TANDEM_MNIST");
  if (named && *named) return named;
  for (const char* folder : {"data", "/usr/share/datasets/mnist", "/usr/share/datasets/fashion-mnist"}) {
    if (!find(folder, kTrainImages, 3).empty()) return folder;
  }
  return "data";
}

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  const OpScope op("MNIST");
  const std::string images_path = find_or_throw(root, mode == Mode::kTrain ? kTrainImages : "t10k-images", 3);
  const std::string labels_path = find_or_throw(root, mode == Mode::kTrain ? "train-labels" : "t10k-labels", 1);
  const IdxArray images = read_idx(images_path, 3), labels = read_idx(labels_path, 1);
  const int64_t n = images.sizes[0];
  TANDEM_CHECK(images.sizes[1] == kSide && images.sizes[2] == kSide, IoError,
               "{}: sizes are {}, expected pictures of {} x {}; fetch the file again", images_path,
               to_string(images.sizes), kSide, kSide);
  TANDEM_CHECK(labels.sizes[0] == n, IoError, "{}: {} labels, but {} holds {} pictures; fetch both files again",
               labels_path, labels.sizes[0], images_path, n);

  images_ = empty({n, 1, kSide, kSide}, TensorOptions(kFloat).device(kCPU));
  float* x = images_.raw<float>();
  for (size_t i = 0; i < images.values.size(); ++i) x[i] = static_cast<float>(images.values[i]) / 255.0f;
  targets_ = empty({n}, TensorOptions(kLong).device(kCPU));
  int64_t* t = targets_.raw<int64_t>();
  for (size_t i = 0; i < labels.values.size(); ++i) t[i] = labels.values[i];
}

Example<> MNIST::get(size_t index) {
  const OpScope op("MNIST");
  TANDEM_CHECK(index < *size(), IndexError, "index {} is out of range for {} pictures; use a lower one", index,
               *size());
  const auto i = static_cast<int64_t>(index);
  return {make_view(images_, {1, kSide, kSide}, {kSide * kSide, kSide, 1}, i * kSide * kSide),
          make_view(targets_, {}, {}, i)};
}

std::optional<size_t> MNIST::size() const { return static_cast<size_t>(images_.size(0)); }

}  // namespace tandem::data::datasets
