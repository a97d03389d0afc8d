#pragma once
// CIFAR10 and CIFAR100: small colour pictures of 10 or 100 classes, in the binary version of the files.
#include <cstddef>
#include <optional>
#include <string>

#include "tandem/data/datasets/stacked.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// Images, f32 [3, 32, 32] in [0, 1], and classes, i64 [], from the files of the "binary version" on
/// https://www.cs.toronto.edu/~kriz/cifar.html: data_batch_1.bin ... data_batch_5.bin and test_batch.bin. All data is
/// held in memory (614 MB for training); copies share it. A file may hold any number of pictures.
class CIFAR10 : public Dataset<CIFAR10> {
 public:
  enum class Mode { kTrain, kTest };

  /// Looks for the files in `root`, then in root/cifar-10-batches-bin. Throws IoError, which names the file and the
  /// fault, and OutOfMemoryError if the data does not fit into memory.
  explicit CIFAR10(const std::string& root = "data", Mode mode = Mode::kTrain);

  /// Returns views of the data: clone them before changing them in place. Throws IndexError unless `index` is below
  /// size().
  Example<> get(size_t index) override { return data_.row(index); }
  std::optional<size_t> size() const override { return data_.size(); }
  bool is_train() const { return mode_ == Mode::kTrain; }

  /// All images, [n, 3, 32, 32].
  const Tensor& images() const { return data_.data(); }
  /// All classes, [n].
  const Tensor& targets() const { return data_.targets(); }
  /// Returns the same data as stacked batches.
  StackedDataset stacked() const { return data_; }

 private:
  Mode mode_;
  StackedDataset data_;
};

/// Like CIFAR10, from train.bin and test.bin in `root` or root/cifar-100-binary. A picture has one of 100 fine classes
/// and one of 20 coarse ones.
class CIFAR100 : public Dataset<CIFAR100> {
 public:
  enum class Mode { kTrain, kTest };
  enum class Labels { kFine, kCoarse };

  explicit CIFAR100(const std::string& root = "data", Mode mode = Mode::kTrain, Labels labels = Labels::kFine);

  Example<> get(size_t index) override { return data_.row(index); }
  std::optional<size_t> size() const override { return data_.size(); }
  bool is_train() const { return mode_ == Mode::kTrain; }

  const Tensor& images() const { return data_.data(); }
  const Tensor& targets() const { return data_.targets(); }
  StackedDataset stacked() const { return data_; }

 private:
  Mode mode_;
  StackedDataset data_;
};

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
