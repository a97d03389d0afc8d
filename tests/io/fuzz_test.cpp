// Mutations of a corpus of files. Whatever the bytes, loading gives tensors no larger than the file, or an IoError.
// Whatever the tensors, a run loads them all or stays unchanged. Every execution uses the same inputs.
//
// TANDEM_FUZZ_COUNT sets the number of inputs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "io/corpus.h"
#include "io/mutator.h"
#include "support/state.h"
#include "tandem/data/data.h"
#include "tandem/io/checkpoint.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

uint64_t input_count(uint64_t otherwise) {
  const char* text = std::getenv("TANDEM_FUZZ_COUNT");
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Returns the corpus: first the files that load, repeated to be as many as those that do not.
std::vector<std::string> corpus_bytes() {
  std::vector<std::string> all = {io::serialize({{"w", ones({3, 2})}, {"m", ones({3}, kBool)}}, {{"note", "own"}})},
                           bad;
  for (auto& [name, bytes] : corpus()) (name.starts_with("valid_") ? all : bad).push_back(bytes);
  for (size_t i = 0; all.size() < bad.size(); ++i) all.push_back(all[i]);
  all.insert(all.end(), bad.begin(), bad.end());
  return all;
}

TEST(Fuzz, FilesLoadOrAreRefused) {
  const std::vector<std::string> files = corpus_bytes();
  const uint64_t count = input_count(20'000);
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string input = Mutator(i, files).mutate(files[i % files.size()]);
    cpu::reset_peak_memory_stats();
    const auto before = cpu::memory_allocated();
    try {
      const io::TensorFile file = io::deserialize(input);
      size_t bytes = 0;
      for (const auto& item : file.tensors) bytes += item.value().nbytes();
      ASSERT_LE(bytes, input.size()) << "input " << i;
      // Loaded tensors can be written and loaded again.
      ASSERT_EQ(difference(io::deserialize(io::serialize(file.tensors)).tensors, file.tensors), "") << "input " << i;
      ++loaded;
    } catch (const IoError&) {  // any other exception fails the test
    }
    // Blocks are rounded up to a few hundred bytes per tensor, and each tensor takes about 50 bytes of the header.
    ASSERT_LE(cpu::max_memory_allocated() - before, 4096 + 64 * static_cast<int64_t>(input.size())) << "input " << i;
  }
  std::printf("%llu inputs, %llu loaded\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(loaded));
  EXPECT_GT(loaded, count / 200);
}

struct FuzzedRun {
  FuzzedRun() {
    checkpoint.add("model", model)
        .add("adam", adam)
        .add("schedule", schedule)
        .add("scaler", scaler)
        .add("rng", rng)
        .add("sampler", sampler)
        .add("epoch", epoch);
    const Tensor loss = model(ones({2, 3})).sum();
    scaler.scale(loss).backward();
    scaler.step(adam);
    scaler.update();
    sampler.next(2);
  }
  nn::Linear model{3, 2};
  optim::Adam adam{model->parameters(), optim::AdamOptions(0.1).amsgrad(true)};
  optim::StepLR schedule{adam, 3};
  amp::GradScaler scaler;
  Generator rng;
  data::samplers::RandomSampler sampler{5};
  int64_t epoch = 4;
  io::Checkpoint checkpoint;
};

/// Returns the same tensors with one of them missing, renamed, of another form or with random bits.
StateDict changed(const StateDict& state, std::mt19937_64& random) {
  const size_t chosen = random() % state.size();
  StateDict result;
  for (size_t i = 0; i < state.size(); ++i) {
    std::string key = state[i].key();
    Tensor value = state[i].value();
    if (i == chosen) {
      const uint64_t kind = random() % 5;
      if (kind == 0) continue;
      if (kind == 1) key += "x";
      if (kind == 2) value = value.to(static_cast<DType>(random() % kNumDTypes));
      if (kind == 3) value = value.flatten();
      if (kind == 4 && value.dtype() != kBool) {
        value = value.cpu().clone();
        auto* bytes = static_cast<unsigned char*>(value.data_ptr());
        for (size_t b = 0; b < value.nbytes(); ++b) bytes[b] = static_cast<unsigned char>(random());
      }
    }
    result.insert(key, value);
  }
  return result;
}

TEST(Fuzz, RunsLoadAStateOrStayUnchanged) {
  FuzzedRun run;
  const StateDict good = clone(run.checkpoint.state_dict());
  const uint64_t count = input_count(20'000) / 20;
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::mt19937_64 random(i);
    const StateDict before = clone(run.checkpoint.state_dict());
    try {
      run.checkpoint.load_state_dict(changed(good, random));
      ++loaded;
    } catch (const Error&) {
      ASSERT_EQ(difference(run.checkpoint.state_dict(), before), "") << "input " << i;
    }
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_LT(loaded, count);
  EXPECT_NO_THROW(run.checkpoint.load_state_dict(good));
  EXPECT_EQ(difference(run.checkpoint.state_dict(), good), "");
}

}  // namespace
}  // namespace tandem::testing
