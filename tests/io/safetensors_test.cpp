// Safetensors files: round trips, exchange with Python, and every kind of invalid file.
#include "tandem/io/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "io/corpus.h"
#include "support/paths.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/base/warn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

const char* format_name(DType t) {
  constexpr const char* names[] = {"U8",   "I8",   "I16",     "I32",     "I64",     "F16", "F32", "F64",
                                   "BOOL", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "U16", "U32", "U64"};
  return names[static_cast<int>(t)];
}

/// Returns the tensors of reference.py.
StateDict reference_tensors() {
  StateDict tensors;
  for (const DType dtype : {kBool, kByte, kChar, kShort, kHalf, kBFloat16, kInt, kFloat, kLong, kDouble, kFloat8_e4m3fn,
                            kFloat8_e5m2, kFloat8_e8m0fnu, kUInt16, kUInt32, kUInt64}) {
    for (const Dims& sizes : {Dims{}, Dims{3}, Dims{2, 3}, Dims{4, 0, 2}, Dims{1, 2, 3, 4}}) {
      const std::string name = std::string(format_name(dtype)) + ".rank" + std::to_string(sizes.size());
      const Tensor t = empty(sizes, TensorOptions(dtype).device(kCPU));
      auto* bytes = static_cast<unsigned char*>(t.raw_bytes());
      for (size_t i = 0; i < t.nbytes(); ++i) {
        bytes[i] = static_cast<unsigned char>(dtype == kBool ? i % 2 : (7 * i + name.size()) % 251);
      }
      tensors.insert(name, t);
    }
  }
  return tensors;
}

const io::Metadata kMetadata = {{"format", "pt"}, {"text", "quote \" newline \n snowman \u2603"}};

/// Runs reference.py with every Python that is installed; returns "" if all succeed, "none" without Python.
std::string run_reference(const std::string& command, const std::string& path) {
  std::string result = "none";
  for (const std::string& python :
       {std::string(TANDEM_PYTHON), std::string("python3"), source_path("../.venv-torch/bin/python")}) {
    if (std::system(("command -v " + python + " >/dev/null").c_str()) != 0) continue;
    const std::string line = python + " " + source_path("io/reference.py") + " " + command + " " + path;
    if (std::system(line.c_str()) != 0) return line + " failed";
    result = "";
  }
  return result;
}

TEST(Safetensors, PythonReadsTandemsFiles) {
  const TemporaryFolder folder;
  io::save_file(reference_tensors(), folder.path("a"), kMetadata);
  const std::string result = run_reference("check", folder.path("a"));
  if (result == "none") GTEST_SKIP() << "no Python";
  EXPECT_EQ(result, "");
}

TEST(Safetensors, TandemReadsPythonsFiles) {
  const TemporaryFolder folder;
  const std::string result = run_reference("make", folder.path("a"));
  if (result == "none") GTEST_SKIP() << "no Python";
  ASSERT_EQ(result, "");
  const io::TensorFile file = io::load_file(folder.path("a"));
  const StateDict expected = reference_tensors();
  EXPECT_EQ(file.tensors.size(), expected.size());
  for (const auto& item : expected) EXPECT_EQ(difference(file.tensors[item.key()], item.value()), "") << item.key();
  EXPECT_EQ(file.metadata, kMetadata);
}

TEST(Safetensors, RoundTripKeepsOrderAndBits) {
  const TemporaryFolder folder;
  const StateDict tensors = reference_tensors();
  io::save_file(tensors, folder.path("a"), kMetadata);
  const io::TensorFile file = io::load_file(folder.path("a"));
  EXPECT_EQ(difference(file.tensors, tensors), "");
  EXPECT_EQ(file.tensors.keys(), tensors.keys());
  EXPECT_EQ(file.metadata, kMetadata);
  EXPECT_EQ(difference(io::deserialize(io::serialize(tensors)).tensors, tensors), "");
}

TEST(Safetensors, ViewsAreWrittenRowMajor) {
  const Tensor x = arange(24.0).reshape({2, 3, 4});
  const Tensor saved = x.requires_grad_().transpose(0, 2);
  const StateDict back = io::deserialize(io::serialize({{"x", saved}, {"y", ones({1}).expand({5})}})).tensors;
  EXPECT_EQ(difference(back["x"], saved.detach().contiguous()), "");
  EXPECT_EQ(difference(back["y"], ones({5})), "");
  EXPECT_FALSE(back["x"].requires_grad());
}

TEST(Safetensors, CorpusLoadsOrIsRefused) {
  int valid = 0, bad = 0;
  for (const auto& file : corpus()) {
    if (file.first.starts_with("valid_")) {
      EXPECT_NO_THROW(io::deserialize(file.second)) << file.first;
      ++valid;
    } else {
      EXPECT_THROWS(io::deserialize(file.second), IoError, "deserialize: ");
      ++bad;
    }
  }
  EXPECT_GE(valid, 5);
  EXPECT_GE(bad, 30);
}

TEST(Safetensors, DtypesThatTandemLacksAreLeftOut) {
  const std::string header = R"({"a":{"dtype":"F8_E4M3FNUZ","shape":[4],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                             R"("c":{"dtype":"F4","shape":[3],"data_offsets":[8,10]}})";
  const uint64_t length = header.size();
  const std::string bytes =
      std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(10, '\0');
  std::string warned;
  const auto before = set_warning_handler([&](const std::string& text) { warned = text; });
  const StateDict state = io::deserialize(bytes).tensors;
  set_warning_handler(before);
  EXPECT_EQ(difference(state, {{"b", zeros({1})}}), "");
  EXPECT_EQ(state.size(), 1U);
  EXPECT_EQ(warned, "deserialize: left out, since tandem has no counterpart: 'a' (F8_E4M3FNUZ), 'c' (F4)");
}

TEST(Safetensors, FaultsAreNamed) {
  const auto load = [](const std::string& name) {
    for (const auto& [file, bytes] : corpus()) {
      if (file == name + ".safetensors") return io::deserialize(bytes);
    }
    throw std::runtime_error("no such file");
  };
  EXPECT_THROWS(load("bad_no_bytes"), IoError, "an empty file (0 bytes)");
  EXPECT_THROWS(load("bad_length"), IoError, "header of 9223372036854775813 bytes");
  EXPECT_THROWS(load("bad_cut"), IoError, "cut off", "'m' ends at byte 27", "there are only 26");
  EXPECT_THROWS(load("bad_longer"), IoError, "need 27 bytes", "there are 28");
  EXPECT_THROWS(load("bad_json"), IoError, "byte 54 is not valid JSON");
  EXPECT_THROWS(load("bad_utf8"), IoError, "not valid JSON");
  EXPECT_THROWS(load("bad_twice"), IoError, "'a' appears twice");
  EXPECT_THROWS(load("bad_field_twice"), IoError, "'a' has dtype twice");
  EXPECT_THROWS(load("bad_deep"), IoError, "'a' has an array out of place");
  EXPECT_THROWS(load("bad_overlap"), IoError, "'b' begins at byte 4", "8 are taken");
  EXPECT_THROWS(load("bad_hole"), IoError, "'b' begins at byte 12", "8 would be next");
  EXPECT_THROWS(load("bad_outside"), IoError, "'a' ends at byte 16", "there are only 8");
  EXPECT_THROWS(load("bad_backwards"), IoError, "data_offsets are [8, 0]");
  EXPECT_THROWS(load("bad_dtype"), IoError, "'a' has dtype 'F5', which the format does not have");
  EXPECT_THROWS(load("bad_shape"), IoError, "'a' of [3] f32 needs 12 bytes");
  EXPECT_THROWS(load("bad_negative"), IoError, "'a' has a negative number");
  EXPECT_THROWS(load("bad_product"), IoError, "impossibly large");
  EXPECT_THROWS(load("bad_product_zero"), IoError, "impossibly large");
  EXPECT_THROWS(load("bad_rank"), IoError, "more than 12 dimensions");
  EXPECT_THROWS(load("bad_three_offsets"), IoError, "does not have two data_offsets");
  EXPECT_THROWS(load("bad_missing_field"), IoError, "'a' lacks one of");
  EXPECT_THROWS(load("bad_extra_field"), IoError, "'a' has a field 'more'");
  EXPECT_THROWS(load("bad_bool"), IoError, "'a' is of dtype bool", "other than 0 and 1");
  EXPECT_THROWS(load("bad_header_checksum"), IoError, "header is corrupt", "'12345678'");
}

TEST(Safetensors, ImpossibleSizesAreFileErrors) {
  for (const auto& [size, is_good] :
       {std::pair(int64_t{1} << 62, true), std::pair((int64_t{1} << 62) + 1, false), std::pair(INT64_MAX, false)}) {
    const std::string header =
        R"({"a":{"dtype":"U8","shape":[0,)" + std::to_string(size) + R"(],"data_offsets":[0,0]}})";
    const uint64_t length = header.size();
    const std::string bytes = std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
    if (is_good) {
      EXPECT_EQ(io::deserialize(bytes).tensors["a"].size(1), size);
    } else {
      EXPECT_THROWS(io::deserialize(bytes), IoError, "deserialize: ", "impossibly large");
    }
  }
}

TEST(Safetensors, FlippedBitsNeverChangeATensor) {
  const StateDict tensors = {{"weight", arange(10.0)}, {"mask", ones({3}, kBool)}};
  const std::string good = io::serialize(tensors, {{"note", "hello"}});
  int loaded = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_EQ(difference(io::deserialize(bad).tensors, tensors), "") << "bit " << bit;
      ++loaded;
    } catch (const IoError&) {
    }
  }
  EXPECT_LE(loaded, 8 * 12);  // bits in the name of the checksums: then there are none to compare with
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(io::deserialize(std::string_view(good).substr(0, size)), IoError) << size;
  }
  std::string bad = good;
  bad.back() = 0;
  EXPECT_THROWS(io::deserialize(bad), IoError, "the data of the tensors are corrupt", "CRC-32");
}

TEST(SafetensorsErrors, Saving) {
  const TemporaryFolder folder;
  const Tensor x = ones({2}), none;
  const std::string path = folder.path("a");
  EXPECT_THROWS(io::save_file({{"x", none}}, path), StateError, "save_file: ", "'x' is an undefined tensor", "omit it");
  EXPECT_THROWS(io::save_file({{"__metadata__", x}}, path), StateError, "save_file: ", "reserved");
  EXPECT_THROWS(io::save_file({{"\xff", x}}, path), StateError, "save_file: ", "UTF-8");
  EXPECT_THROWS(io::save_file({{"x", x}}, path, {{"a", "\xff"}}), StateError, "save_file: ", "UTF-8");
  EXPECT_THROWS(io::save_file({{"x", x}}, path, {{"tandem.a", ""}}), StateError, "save_file: ", "'tandem.a'", "rename");
  EXPECT_THROWS(io::save_file({{"x", x}}, folder.path("no/such/folder")), IoError, "no/such/folder", "does not exist",
                "create it first");
  EXPECT_THROWS(io::save_file({{"x", x}}, folder.path()), IoError, "is a folder");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsErrors, Loading) {
  const TemporaryFolder folder;
  EXPECT_THROWS(io::load_file(folder.path("none")), IoError, "load_file: ", "none", "No such file");
  EXPECT_THROWS(io::load_file(folder.path()), IoError, "load_file: ", "a folder, not a regular file");
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROWS(io::load_file(fifo), IoError, "load_file: " + fifo, "a FIFO", "give the path of a regular file");
  EXPECT_THROWS(io::load_file(folder.write("short", {1, 2, 3})), IoError, "load_file: ", "short: has 3 bytes");
}

TEST(SafetensorsErrors, FullDiskKeepsThePreviousFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  io::save_file({{"x", full({4}, 1.0)}}, path);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string refused = mismatch<IoError>(
      [&] {
        io::save_file({{"x", full({1000, 1000}, 2.0)}}, path);
      },
      {"cannot write", "is unchanged"});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(refused, "");
  EXPECT_EQ(difference(io::load_file(path).tensors["x"], full({4}, 1.0)), "");
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(files, {}), 1) << "a temporary file is left";
}

}  // namespace
}  // namespace tandem::testing
