#pragma once
// MNIST: handwritten digits; also reads other data sets in the same file format, such as Fashion-MNIST.
#include <cstddef>
#include <optional>
#include <string>

#include "tandem/data/datasets/stacked.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Images, f32 [1, 28, 28] in [0, 1], and classes, i64 [], from the four IDX files of
/// http://yann.lecun.com/exdb/mnist, plain or gzipped. All data is held in memory (188 MB for training); copies share
/// it.
class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  /// Looks for the files in `root`, then in root/raw, root/MNIST/raw and root/FashionMNIST/raw (as torchvision stores
  /// them). Throws IoError, which names the file and the fault, and OutOfMemoryError if the data does not fit into
  /// memory.
  explicit MNIST(const std::string& root = default_root(), Mode mode = Mode::kTrain);

  /// Returns the value of the environment variable TANDEM_MNIST if it is set. Otherwise returns the first of these
  /// folders that contains the files: `data`, and those of Debian's packages, /usr/share/datasets/mnist and
  /// /usr/share/datasets/fashion-mnist. Returns "data" if none does.
  static std::string default_root();

  /// Returns views of the data: clone them before changing them in place. Throws IndexError unless `index` is below
  /// size().
  Example<> get(size_t index) override;
  std::optional<size_t> size() const override;
  bool is_train() const { return mode_ == Mode::kTrain; }

  /// All images, [n, 1, 28, 28].
  const Tensor& images() const { return images_; }
  /// All classes, [n].
  const Tensor& targets() const { return targets_; }
  /// Returns the same data as stacked batches, which is faster if images are not transformed one by one.
  StackedDataset stacked() const { return {images_, targets_}; }

 private:
  Mode mode_;
  Tensor images_, targets_;
};

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
