#pragma once
// MNIST: handwritten digits; also any data set in the same files, such as Fashion-MNIST.
#include <cstddef>
#include <optional>
#include <string>

#include "tandem/data/datasets/stacked.h"

namespace tandem::data::datasets {

/// Pictures f32 [1, 28, 28] in [0, 1] and classes i64 [], from the four IDX files of http://yann.lecun.com/exdb/mnist,
/// plain or with gzip. All of it is kept in memory (188 MB for training); copies share it.
class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  /// Looks for the files in `root`, then in root/raw, root/MNIST/raw and root/FashionMNIST/raw (torchvision's places).
  /// Throws IoError, naming the file and what is wrong with it; OutOfMemoryError for more than the memory holds.
  explicit MNIST(const std::string& root = default_root(), Mode mode = Mode::kTrain);

  /// The first folder that exists of: what the environment variable TANDEM_MNIST names, data, and where Debian's
  /// packages install, /usr/share/datasets/mnist and /usr/share/datasets/fashion-mnist. "data" if none does.
  static std::string default_root();

  /// A view of the data: to change it in place, clone it first. Throws IndexError when `index` is not below size().
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const { return mode_ == Mode::kTrain; }

  /// All pictures, [n, 1, 28, 28].
  const Tensor& images() const { return images_; }
  /// All classes, [n].
  const Tensor& targets() const { return targets_; }
  /// The same data with batches that come stacked: the fast way where pictures are not transformed one by one.
  StackedDataset stacked() const { return {images_, targets_}; }

 private:
  Mode mode_;
  Tensor images_, targets_;
};

}  // namespace tandem::data::datasets
