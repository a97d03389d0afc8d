// MNIST: file locations and formats, errors, and Debian's package if installed.
#include "tandem/data/datasets/mnist.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "data/idx_files.h"
#include "support/throws.h"
#include "tandem/base/error.h"
#include "tandem/data/transforms.h"

namespace tandem::data::datasets {
namespace {

using namespace tandem::testing;

void write_set(const TemporaryFolder& folder, const std::string& prefix, uint32_t count, bool packed) {
  const Bytes images = idx_file({count, 28, 28}, 3), labels = idx_file({count});
  const std::string ending = packed ? ".gz" : "";
  folder.write(prefix + "-images-idx3-ubyte" + ending, packed ? gzip(images) : images);
  folder.write(prefix + "-labels-idx1-ubyte" + ending, packed ? gzip(labels) : labels);
}

TEST(MNIST, ReadsPicturesAndClasses) {
  const TemporaryFolder folder;
  write_set(folder, "train", 5, true);
  write_set(folder, "t10k", 3, false);
  MNIST train(folder.path()), test(folder.path(), MNIST::Mode::kTest);
  EXPECT_TRUE(train.is_train());
  EXPECT_FALSE(test.is_train());
  EXPECT_EQ(train.size(), 5U);
  EXPECT_EQ(test.size(), 3U);
  EXPECT_EQ(to_string(train.images().sizes()), "[5, 1, 28, 28]");
  EXPECT_EQ(train.images().dtype(), kFloat);
  EXPECT_EQ(train.targets().dtype(), kLong);

  const Example<> e = train.get(4);
  EXPECT_EQ(to_string(e.data.sizes()), "[1, 28, 28]");
  EXPECT_EQ(e.target.dim(), 0);
  EXPECT_EQ(e.target.item<int64_t>(), 4);
  for (int64_t i : {0, 1, 783}) {
    EXPECT_EQ(e.data.const_data_ptr<float>()[i], static_cast<float>((4 * 784 + i) * 3 % 256) / 255.0f);
  }
  EXPECT_THROWS(train.get(5), IndexError, "index 5", "5 pictures");
}

TEST(MNIST, FindsTorchvisionsFolders) {
  for (const char* place : {"raw/", "MNIST/raw/", "FashionMNIST/raw/"}) {
    const TemporaryFolder folder;
    write_set(folder, std::string(place) + "train", 2, false);
    EXPECT_EQ(MNIST(folder.path()).size(), 2U) << place;
  }
}

TEST(MNIST, RefusesMismatchedFiles) {
  const TemporaryFolder folder;
  EXPECT_THROWS(MNIST(folder.path()), IoError, "train-images-idx3-ubyte", folder.path(), "dataset-fashion-mnist");
  write_set(folder, "train", 4, false);
  folder.write("train-labels-idx1-ubyte", idx_file({3}));
  EXPECT_THROWS(MNIST(folder.path()), IoError, "train-labels-idx1-ubyte", "3 labels", "4 pictures");
  folder.write("train-images-idx3-ubyte", idx_file({4, 28, 27}));
  EXPECT_THROWS(MNIST(folder.path()), IoError, "train-images-idx3-ubyte", "[4, 28, 27]", "28 x 28");
  folder.write("train-images-idx3-ubyte", idx_file({4}));
  EXPECT_THROWS(MNIST(folder.path()), IoError, "not an IDX file of rank 3");
}

TEST(MNIST, StackedBatchesEqualStackedItems) {
  const TemporaryFolder folder;
  write_set(folder, "train", 6, false);
  MNIST mnist(folder.path());
  const std::vector<size_t> indices = {5, 0, 5, 3};
  StackedDataset stacked = mnist.stacked();
  EXPECT_EQ(stacked.size(), 6U);
  const Example<> fast = stacked.get_batch(indices);
  const Example<> slow = mnist.map(transforms::Stack<>()).get_batch(indices);
  EXPECT_EQ(to_string(fast.data.sizes()), "[4, 1, 28, 28]");
  EXPECT_TRUE(fast.data.sizes() == slow.data.sizes());
  for (int64_t i = 0; i < fast.data.numel(); ++i) {
    ASSERT_EQ(fast.data.const_data_ptr<float>()[i], slow.data.const_data_ptr<float>()[i]);
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(fast.target.const_data_ptr<int64_t>()[i], static_cast<int64_t>(indices[i]));
    EXPECT_EQ(slow.target.const_data_ptr<int64_t>()[i], static_cast<int64_t>(indices[i]));
  }
  const std::vector<size_t> outside = {6};
  EXPECT_THROWS(stacked.get_batch(outside), IndexError, "6");
}

TEST(MNIST, ReadsDebiansFashionMnist) {
  const std::string root = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  MNIST test(root, MNIST::Mode::kTest);
  EXPECT_EQ(test.size(), 10000U);
  std::vector<int64_t> count(10);
  for (size_t i = 0; i < 10000; ++i) ++count.at(static_cast<size_t>(test.get(i).target.item<int64_t>()));
  EXPECT_EQ(count, std::vector<int64_t>(10, 1000));
  float least = 1, most = 0;
  const float* x = test.images().const_data_ptr<float>();
  for (int64_t i = 0; i < test.images().numel(); ++i) least = std::min(least, x[i]), most = std::max(most, x[i]);
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace tandem::data::datasets
