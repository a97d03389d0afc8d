// NumPy's files: those that NumPy wrote (tests/golden/torch_files.py), round trips, and damaged files.
#include "tandem/io/numpy.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "io/byte_mutator.h"
#include "io/torch_files.h"
#include "src/io/npy.h"
#include "src/io/zip.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(Numpy, ReadsArchivesOfNumpy) {
  const StateDict expected = expected_tensors("arrays");
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const StateDict arrays = io::load_npz(torch_file(name));
    EXPECT_EQ(difference(arrays, expected), "") << name;
    EXPECT_EQ(arrays.keys(), expected.keys()) << name;
    EXPECT_EQ(arrays["fortran cube"].strides(), IntArrayRef({1, 2, 6})) << name;
    EXPECT_EQ(arrays["empty"].sizes(), IntArrayRef({0, 4})) << name;
  }
}

TEST(Numpy, ReadsEveryVersion) {
  for (const char* name : {"array.npy", "version2.npy", "version3.npy"}) {
    EXPECT_EQ(difference(io::load_npy(torch_file(name)), expected_tensors("arrays")["fortran cube"]), "") << name;
  }
}

/// Tensors of every dtype that NumPy has, and of several geometries.
StateDict numpy_tensors() {
  StateDict tensors;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != kBFloat16 && !is_float8(dtype))
      tensors.insert(std::string(name(dtype)), arange(6).to(dtype).reshape({2, 3}));
  }
  tensors.insert("transposed", arange(24.0).reshape({2, 3, 4}).transpose(0, 2));
  tensors.insert("scalar", full({}, 2.5));
  tensors.insert("vector", arange(3.0));
  tensors.insert("a/b \u00fc", ones({1, 0, 2}));
  tensors.insert("gradient", ones({2}).requires_grad_());
  return tensors;
}

TEST(Numpy, RoundTrip) {
  const char* const kept = std::getenv("TANDEM_REWRITTEN");  // for tests/golden/torch_check.py
  const TemporaryFolder folder;
  const StateDict tensors = numpy_tensors();
  for (const bool compressed : {false, true}) {
    io::save_npz(tensors, folder.path("a.npz"), compressed);
    EXPECT_EQ(difference(io::load_npz(folder.path("a.npz")), tensors), "");
    EXPECT_EQ(io::load_npz(folder.path("a.npz")).keys(), tensors.keys());
  }
  for (const auto& item : tensors) {
    io::save_npy(item.value(), folder.path("a.npy"));
    EXPECT_EQ(file_bytes(folder.path("a.npy")).find('\n') % 64, 63u) << "the data are not aligned";
    EXPECT_EQ(difference(io::load_npy(folder.path("a.npy")), item.value()), "") << item.key();
  }
  const std::string to = kept ? kept : folder.path();
  io::save_npz(io::load_npz(torch_file("stored.npz")), to + "/stored.npz");
  io::save_npz(io::load_npz(torch_file("stored.npz")), to + "/deflated.npz", /*compressed=*/true);
  io::save_npy(io::load_npy(torch_file("array.npy")), to + "/array.npy");
}

TEST(Numpy, RecordsThatAreNoArraysAreLeftOut) {
  const TemporaryFolder folder;
  const std::string bytes = io::written_bytes([](const io::Write& write) {
    io::ZipWriter zip(write);
    zip.add_stored("x.npy", {file_bytes(torch_file("array.npy"))});
    zip.add_stored("readme.txt", {"text"});
    zip.finish();
  });
  const StateDict arrays = io::load_npz(folder.write("a.npz", Bytes(bytes.begin(), bytes.end())));
  EXPECT_EQ(difference(arrays, {{"x", io::load_npy(torch_file("array.npy"))}}), "");
}

TEST(NumpyErrors, FaultsAreNamed) {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& bytes) {
    return io::load_npy(folder.write("a.npy", Bytes(bytes.begin(), bytes.end())));
  };
  const auto with_header = [&](const std::string& text, const std::string& data = std::string(24, '\0')) {
    return load("\x93NUMPY\1" + std::string(1, '\0') + static_cast<char>(text.size()) + std::string(1, '\0') + text +
                data);
  };
  EXPECT_THROWS(io::load_npy(torch_file("refused_complex.npy")), IoError, "load_npy: ", "dtype '<c8'", "astype");
  EXPECT_THROWS(io::load_npy(torch_file("refused_object.npy")), IoError, "dtype '|O'");
  EXPECT_THROWS(io::load_npy(torch_file("refused_record.npy")), IoError, "records", "save each field");
  EXPECT_THROWS(load(""), IoError, "an empty file (0 bytes)");
  EXPECT_THROWS(load("\x93NUMPY\4" + std::string(10, '\0')), IoError, "version is 4");
  EXPECT_THROWS(load("\x93NUMPY\2" + std::string(1, '\0') + "\xff\xff\xff\xff"), IoError,
                "header has 4294967295 bytes");
  EXPECT_EQ(with_header("{\"shape\":(2,3),'fortran_order':True,'descr':'=f4'}").strides(), IntArrayRef({1, 2}));
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }"), IoError,
                "[2, 4] f32 needs 32 bytes, but 24 follow");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }"), IoError, "needs 20 bytes");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), IoError, "0 or more");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }"),
                IoError, "needs too many bytes");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1), }"),
                IoError, "more than 12 dimensions");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}"), IoError, "neither True nor False");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'shape': (6,)}"), IoError, "it must have descr");
  EXPECT_THROWS(with_header("{'descr': '<f4', 'descr': '<f4'}"), IoError, "the key 'descr' is not expected");
  EXPECT_THROWS(with_header("{'descr': '<f4"), IoError, "a text does not end");
  EXPECT_THROWS(with_header("{'descr': '|b1', 'fortran_order': False, 'shape': (24,)}", std::string(24, '\2')), IoError,
                "other than 0 and 1");
  EXPECT_THROWS(io::load_npz(torch_file("array.npy")), IoError, "load_npz: ", "a NumPy array (.npy)", "io::load_npy");
  EXPECT_THROWS(io::load_npz(torch_file("module.pt")), IoError, "a zip archive, as PyTorch writes", "io::load_pt");

  const std::string path = folder.path("b");
  EXPECT_THROWS(io::save_npy(ones({2}, kBFloat16), path), DTypeError, "save_npy: NumPy has no bf16", "to(kFloat)");
  EXPECT_THROWS(io::save_npy(ones({2}, kFloat8_e5m2), path), DTypeError, "save_npy: NumPy has no f8e5m2", "to(kFloat)");
  EXPECT_THROWS(io::save_npy(Tensor(), path), StateError, "undefined");
  EXPECT_THROWS(io::save_npz({{"a", Tensor()}}, path), StateError, "save_npz: 'a' is undefined", "omit it");
  EXPECT_THROWS(io::save_npz({{"\xff", ones({1})}}, path), StateError, "not UTF-8");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(NumpyFuzz, FilesLoadOrAreRefused) {
  std::vector<std::string> files;
  for (const char* ending : {".npy", ".npz"}) {
    for (const std::string& name : torch_files(ending)) files.push_back(file_bytes(torch_file(name)));
  }
  const std::vector<std::string> tokens = {
      "'descr'", "'<f4'", "'>i8'",       "(",      ")",      "{",      "}",
      "True",    "-1",    "99999999999", "PK\1\2", "PK\3\4", "PK\5\6", "'fortran_order': True"};
  const char* const text = std::getenv("TANDEM_FUZZ_COUNT");
  const uint64_t count = text ? std::strtoull(text, nullptr, 10) : 20'000;
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string& file = files[i % files.size()];
    const std::string input = ByteMutator(i, files, tokens).mutate(file);
    cpu::reset_peak_memory_stats();
    const auto before = cpu::memory_allocated();
    try {
      const io::Source source = io::memory_source(input);
      const StateDict arrays =
          file.starts_with("PK") ? io::read_npz(source, Device(kCPU)) : StateDict{{"a", io::read_npy(source)}};
      for (const auto& item : arrays) {
        ASSERT_LE(item.value().nbytes(), 1032 * input.size());
        clone(StateDict{{"a", item.value()}});  // every element can be read
      }
      ++loaded;
    } catch (const IoError&) {  // any other exception fails the test
    }
    ASSERT_LE(cpu::max_memory_allocated() - before, 8192 + static_cast<int64_t>(4 * 1032 * input.size()))
        << "input " << i;
  }
  EXPECT_GT(loaded, 0u);
}

}  // namespace
}  // namespace tandem::testing
