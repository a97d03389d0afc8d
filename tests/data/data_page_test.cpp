// The code of docs/data_loading.md.
#include <gtest/gtest.h>

#include "data/pictures.h"
#include "support/device.h"
#include "tandem/data/data.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

/// The lines of a log, one after another.
class Log : public data::datasets::StatefulDataset<Log, std::vector<std::string>> {
 public:
  explicit Log(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  void reset() override { at_ = 0; }
  std::optional<std::vector<std::string>> get_batch(size_t batch_size) override {
    std::vector<std::string> batch;
    while (batch.size() < batch_size && at_ < static_cast<int64_t>(lines_.size())) batch.push_back(lines_[at_++]);
    if (batch.empty()) return std::nullopt;  // the end of the epoch
    return batch;
  }
  std::optional<size_t> size() const override { return std::nullopt; }
  StateDict state_dict() const override {
    StateDict state;
    state.insert("at", tensor(at_));
    return state;
  }
  StateCommit prepare_load_state_dict(const StateDict& state) override {
    StateReader reader(state);
    int64_t at = 0;
    reader.number("at", at);
    reader.finish();
    return [this, at] { at_ = at; };
  }

 private:
  std::vector<std::string> lines_;
  int64_t at_ = 0;
};

struct Picture {
  Tensor pixels, boxes;
  std::string name;
  void for_each_tensor(const data::TensorVisitor& visit) {
    visit(pixels);
    visit(boxes);
  }
};

TEST(DataPage, BatchesOnTheDevice) {
  auto dataset = data::datasets::StackedDataset(zeros({3, 2}), zeros({3}, kLong));
  const Device device = get_default_device();
  size_t batches = 0;
  const auto train = [&](const Tensor& x, const Tensor& y) { batches += x.device() == y.device(); };
  auto loader = data::make_data_loader(std::move(dataset), data::DataLoaderOptions(128).workers(2).prefetch_to(device));
  for (auto& batch : *loader) {
    train(batch.data, batch.target);  // already on `device`
  }
  EXPECT_EQ(batches, 1U);
  EXPECT_TRUE(data::detail::has_tensors<Picture>());
}

TEST(DataPage, DatasetsAndSamplers) {
  const Tensor images = zeros({10, 1, 4, 4}), labels = zeros({10}, kLong);
  const std::vector<double> weights(8, 1.0);
  const size_t world_size = 2, rank = 0;
  auto dataset = data::datasets::StackedDataset(images, labels);
  auto parts = data::datasets::random_split(dataset, {0.8, 0.2});
  auto train = data::make_data_loader(parts[0], data::DataLoaderOptions(64).workers(2));
  auto test = data::make_data_loader<data::samplers::SequentialSampler>(parts[1], 64);

  auto balanced = data::make_data_loader(parts[0], data::samplers::WeightedRandomSampler(weights, 1000), 64);

  data::samplers::DistributedRandomSampler sampler(*parts[0].size(), world_size, rank);
  sampler.set_epoch(3);
  auto share = data::make_data_loader(parts[0], sampler, 64);
  EXPECT_EQ(train->begin()->data.size(0), 8);
  EXPECT_EQ(test->begin()->data.size(0), 2);
  EXPECT_EQ(balanced->begin()->data.size(0), 64);
  EXPECT_EQ(share->begin()->data.size(0), 4);
}

TEST(DataPage, Transforms) {
  TANDEM_TEST_ON_HOST();
  namespace transforms = data::transforms;
  auto pictures = data::datasets::StackedDataset(rand({3, 3, 32, 32}), zeros({3}, kLong));
  auto loader = data::make_data_loader(std::move(pictures)
                                           .map(transforms::RandomCrop<>(32, 4))
                                           .map(transforms::RandomHorizontalFlip<>())
                                           .map(transforms::ColorJitter<>(0.2, 0.2, 0.2))
                                           .map(transforms::Normalize<>(0.5, 0.25))
                                           .map(transforms::CutMix(1.0, 10)),
                                       data::DataLoaderOptions(128).workers(2));
  EXPECT_EQ(loader->begin()->target.size(1), 10);
}

TEST(DataPage, Files) {
  if (!data::can_read_png()) GTEST_SKIP() << "built without libpng";
  namespace transforms = data::transforms;
  const testing::TemporaryFolder folder;
  folder.write("images/cat/a.png", testing::png_file(testing::colours(20, 30), 2));
  const std::string root = folder.path("images"), csv_path = folder.write("a.csv", {'a', '\n', '1', '\n'});
  auto pictures = data::datasets::ImageFolder(root)
                      .map(transforms::Resize<>(256))
                      .map(transforms::RandomCrop<>(224))
                      .map(transforms::Stack<>());
  auto loader = data::make_data_loader(std::move(pictures), data::DataLoaderOptions(64).workers(4));

  auto table = data::read_csv(csv_path, data::CSVOptions().header(true));
  auto rows = data::datasets::TensorDataset(table.values);
  EXPECT_EQ(loader->begin()->data.size(3), 224);
  EXPECT_EQ(rows.size(), 1U);
}

TEST(DataPage, Streams) {
  auto loader = data::make_data_loader(Log({"a", "b", "c"}), data::DataLoaderOptions(2).workers(1));
  size_t lines = 0;
  for (const auto& batch : *loader) lines += batch.size();
  EXPECT_EQ(lines, 3U);
}

}  // namespace
}  // namespace tandem
