// Paths with a NUL byte, at which the system would cut them.
#include "src/io/path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/amp/tools/train_log.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(PathErrors, NulBytes) {
  const TemporaryFolder folder;
  const std::string cut = folder.path("a"), path = cut + std::string("\0.safetensors", 13);
  Tensor x = ones({2});
  nn::Linear model(2, 3);
  io::Checkpoint run;
  run.add("model", model);
  save(x, cut);
  const auto time = std::filesystem::last_write_time(cut);
  EXPECT_THROWS(io::check_path(path), IoError, "a?.safetensors", "the path has a NUL byte", "remove the byte");
  EXPECT_NO_THROW(io::check_path(cut));
  EXPECT_THROWS(save(x, path), IoError, "save: ", "NUL byte");
  EXPECT_THROWS(load(x, path), IoError, "load: ", "NUL byte");
  EXPECT_THROWS(run.save(path), IoError, "save: ", "NUL byte");
  EXPECT_THROWS(run.load(path), IoError, "load: ", "NUL byte");
  EXPECT_THROWS(io::save_file({{"x", x}}, path), IoError, "NUL byte");
  EXPECT_THROWS(io::load_file(path), IoError, "NUL byte");
  EXPECT_THROWS(io::save_pt({{"x", x}}, path), IoError, "NUL byte");
  EXPECT_THROWS(io::load_pt(path), IoError, "NUL byte");
  EXPECT_THROWS(io::save_npy(x, path), IoError, "NUL byte");
  EXPECT_THROWS(io::load_npy(path), IoError, "NUL byte");
  EXPECT_THROWS(io::save_npz({{"x", x}}, path), IoError, "NUL byte");
  EXPECT_THROWS(io::load_npz(path), IoError, "NUL byte");
  EXPECT_THROWS(amp::TrainLog(cut + std::string("\0.csv", 5)), IoError, "NUL byte");
  EXPECT_THROWS(io::SummaryWriter(folder.path("run") + std::string(1, '\0')), Error, "");
  EXPECT_EQ(std::filesystem::last_write_time(cut), time);
  EXPECT_FALSE(std::filesystem::exists(folder.path("run")));
}

}  // namespace
}  // namespace tandem::testing
