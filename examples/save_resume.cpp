// Saving a training run and resuming it with bitwise equal results. One run trains without interruption. A second run
// is saved in the middle of an epoch and destroyed; a third is built from scratch, loads the file and continues. It
// ends with the same state as the first: weights, statistics, optimizer state, loss scale, random numbers and order of
// the batches.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <tandem/tandem.h>
#include <CLI/CLI.hpp>

using namespace tandem;

namespace {

/// Random points in a square; the class is the quadrant.
struct Points : data::datasets::Dataset<Points> {
  explicit Points(size_t count) : points(rand({static_cast<int64_t>(count), 2}, Generator(7)).sub(0.5)) {}
  data::Example<> get(size_t index) override {
    const Tensor point = points[static_cast<int64_t>(index)];
    const int64_t quadrant = 2 * (point[0].item<float>() > 0) + (point[1].item<float>() > 0);
    return {point, tensor(quadrant)};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(points.size(0)); }
  Tensor points;
};

nn::Sequential make_model() {
  return nn::Sequential(nn::Linear(2, 32), nn::BatchNorm1d(32), nn::ReLU(), nn::Dropout(0.2), nn::Linear(32, 4));
}

/// All objects of a training run, and the checkpoint that saves them.
struct TrainingRun {
  explicit TrainingRun(Device where) : device(where) {
    model->to(device);
    checkpoint.add("model", model)
        .add("optimizer", optimizer)
        .add("schedule", schedule)
        .add("scaler", scaler)
        .add("rng", default_generator())
        .add("loader", loader)
        .add("iteration", iteration);
  }

  void train_until(int64_t end) {
    while (iteration < end) {
      for (auto& batch : *loader) {
        optimizer.zero_grad();
        Tensor loss;
        {
          amp::AutocastGuard autocast(device.type(), kHalf);
          loss = nn::functional::cross_entropy(model->forward(batch.data.to(device)), batch.target.to(device));
        }
        scaler.scale(loss).backward();
        scaler.step(optimizer);
        scaler.update();
        schedule.step();
        if (++iteration == end) return;
      }
    }
  }

  Device device;
  nn::Sequential model = make_model();
  optim::AdamW optimizer{model->parameters(), optim::AdamWOptions(1e-2)};
  // A linear warm-up, then half a cosine.
  optim::SequentialLR schedule{optimizer,
                               {std::make_shared<optim::LinearLR>(optimizer, 0.1, 1.0, 10),
                                std::make_shared<optim::CosineAnnealingLR>(optimizer, 1000)},
                               {10}};
  amp::GradScaler scaler{amp::GradScalerOptions().init_scale(0x1p20).growth_interval(20)};
  std::unique_ptr<
      data::DataLoader<data::datasets::MapDataset<Points, data::transforms::Stack<>>, data::samplers::RandomSampler>>
      loader =
          data::make_data_loader(Points(300).map(data::transforms::Stack<>()), data::DataLoaderOptions(32).workers(2));
  int64_t iteration = 0;
  io::Checkpoint checkpoint;
};

/// Prints the names of the tensors whose bits differ, and returns their number.
int compare(const StateDict& a, const StateDict& b) {
  int differing = 0;
  for (const auto& item : a) {
    const Tensor x = item.value().cpu().contiguous(), y = b[item.key()].cpu().contiguous();
    if (x.nbytes() == y.nbytes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) continue;
    std::printf("differs: %s\n", item.key().c_str());
    ++differing;
  }
  return differing;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t iterations = 200, stop = 73;
  std::string device_name = cuda::is_available() ? "cuda" : "cpu";
  std::string path = (std::filesystem::temp_directory_path() / "tandem_save_resume.safetensors").string();
  bool quick = false;
  CLI::App app("Saves a training run, resumes it, and compares it with an uninterrupted run");
  app.add_option("--iterations", iterations)->capture_default_str();
  app.add_option("--stop", stop, "iteration after which the second run is saved")->capture_default_str();
  app.add_option("--file", path)->capture_default_str();
  app.add_option("--device", device_name)->capture_default_str();
  app.add_flag("--quick", quick, "40 iterations, saved after 17");
  CLI11_PARSE(app, argc, argv);
  if (quick) iterations = 40, stop = 17;
  const Device device(device_name);

  manual_seed(0);
  TrainingRun whole(device);
  whole.train_until(iterations);

  {
    manual_seed(0);
    TrainingRun first(device);
    first.train_until(stop);
    first.checkpoint.save(path);
  }
  manual_seed(12345);  // a resumed process may start with any seed
  TrainingRun second(device);
  second.checkpoint.load(path);
  std::printf("resumed at iteration %lld, in the middle of an epoch; scale %g, learning rate %.6f\n",
              static_cast<long long>(second.iteration), second.scaler.get_scale(), second.schedule.get_last_lr()[0]);
  second.train_until(iterations);
  std::filesystem::remove(path);

  const StateDict expected = whole.checkpoint.state_dict(), found = second.checkpoint.state_dict();
  const int differing = compare(expected, found);
  std::printf("%zu tensors after %lld iterations: %d differ from the uninterrupted run\n", expected.size(),
              static_cast<long long>(iterations), differing);
  return differing == 0 ? 0 : 1;
}
