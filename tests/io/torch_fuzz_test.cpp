// Mutations of PyTorch's files. Whatever the bytes, loading gives values that can be saved and loaded again, with
// tensors inside storages no larger than the file, or an IoError. Every execution uses the same inputs.
//
// TANDEM_FUZZ_COUNT sets the number of inputs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/byte_mutator.h"
#include "io/torch_files.h"
#include "src/io/zip.h"
#include "support/state.h"
#include "tandem/io/file_kind.h"
#include "tandem/io/pickle.h"
#include "tandem/tensor/allocator.h"

namespace tandem::testing {
namespace {

using Names = std::vector<std::string>;

uint64_t torch_input_count() {
  const char* text = std::getenv("TANDEM_FUZZ_COUNT");
  return text ? std::strtoull(text, nullptr, 10) : 20'000;
}

std::vector<std::string> all_bytes() {
  std::vector<std::string> all;
  for (const std::string& name : torch_files(".pt")) all.push_back(file_bytes(torch_file(name)));
  return all;
}

/// Loads the bytes, and saves and loads the result. Returns whether they were loaded; throws anything but an IoError.
bool loads(const std::string& input, size_t expansion) {
  cpu::reset_peak_memory_stats();
  const auto before = cpu::memory_allocated();
  bool loaded = false;
  try {
    const IValue value = pickle_load({input.begin(), input.end()});
    loaded = true;
    // Blocks are rounded up to a few hundred bytes per storage, which takes more than that in the archive.
    EXPECT_LE(cpu::max_memory_allocated() - before, 4096 + static_cast<int64_t>(expansion * 4 * input.size()));
    StateDict state;
    try {
      state = io::to_state_dict(value);
    } catch (const StateError&) {  // two values with one name
    }
    for (const auto& item : state) {
      const Tensor& t = item.value();
      const std::optional<int64_t> extent = extent_of(t.sizes(), t.strides());
      EXPECT_TRUE(t.numel() == 0 ||
                  (extent && t.storage_offset() >= 0 &&
                   static_cast<size_t>(t.storage_offset() + *extent) * t.element_size() <= t.storage().nbytes()));
    }
    const IValue again = pickle_load(pickle_save(value.isObject() ? IValue(state) : value));
  } catch (const IoError&) {
  } catch (const StateError&) {  // TorchScript objects cannot be saved
    EXPECT_TRUE(loaded);
  }
  return loaded;
}

TEST(TorchFuzz, ArchivesLoadOrAreRefused) {
  const std::vector<std::string> files = all_bytes(), tokens = {"PK\1\2",           "PK\3\4",  "PK\5\6",
                                                                "PK\6\6",           "PK\6\7",  "\xff\xff\xff\xff",
                                                                "archive/data.pkl", "/data/0", std::string(8, '\0')};
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < torch_input_count(); ++i) {
    loaded += loads(ByteMutator(i, files, tokens).mutate(files[i % files.size()]), 1032);
    ASSERT_FALSE(HasFailure()) << "input " << i;
  }
  EXPECT_GT(loaded, 0u);
}

/// An archive whose pickle is damaged and whose checksums are right.
class DamagedPickle {
 public:
  explicit DamagedPickle(const std::string& name) {
    const std::string bytes = file_bytes(torch_file(name));
    const io::ZipReader zip(io::memory_source(bytes));
    for (const io::ZipEntry& e : zip.entries()) {
      const size_t end = e.name.find('/');
      const std::string text = zip.read_text(e, 1 << 20);
      (e.name.substr(end) == "/data.pkl" ? pickle : records.emplace_back(e.name.substr(end), "").second) = text;
    }
  }
  std::string with(const std::string& changed) const {
    return io::written_bytes([&](const io::Write& write) {
      io::ZipWriter zip(write);
      zip.add_stored("a/data.pkl", {changed});
      for (const auto& [name, text] : records) zip.add_stored("a" + name, {text});
      zip.finish();
    });
  }
  std::string pickle;
  std::vector<std::pair<std::string, std::string>> records;
};

TEST(TorchFuzz, PicklesLoadOrAreRefused) {
  std::vector<DamagedPickle> files;
  Names pickles;
  for (const std::string& name : torch_files(".pt")) {
    if (io::file_kind(torch_file(name)) != io::FileKind::torch) continue;
    files.emplace_back(name);
    pickles.push_back(files.back().pickle);
  }
  const Names tokens = {"(",
                        ".",
                        "0",
                        "1",
                        "J\xff\xff\xff\x7f",
                        "K\1",
                        "N",
                        "Q",
                        "R",
                        "X\1\0\0\0x",
                        "a",
                        "b",
                        "e",
                        "}",
                        "]",
                        "h\0",
                        "h\1",
                        "q\1",
                        "s",
                        "t",
                        ")",
                        "u",
                        "\x81",
                        "\x85",
                        "\x86",
                        "\x87",
                        "\x88",
                        "\x94",
                        "\x8f",
                        "ccollections\nOrderedDict\n",
                        "ctorch._utils\n_rebuild_tensor_v2\n",
                        "ctorch\nFloatStorage\n",
                        "c__torch__\nModule\n",
                        "cos\nsystem\n",
                        "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
                        "c__builtin__\nset\n",
                        "ctorch._utils\n_rebuild_parameter\n",
                        "c_codecs\nencode\n",
                        std::string(200, ']') + std::string(200, 'a')};
  uint64_t loaded = 0;
  for (uint64_t i = 0; i < torch_input_count(); ++i) {
    const DamagedPickle& file = files[i % files.size()];
    loaded += loads(file.with(ByteMutator(i, pickles, tokens).mutate(file.pickle)), 1);
    ASSERT_FALSE(HasFailure()) << "input " << i;
  }
  EXPECT_GT(loaded, torch_input_count() / 100);
  std::printf("%llu loaded\n", static_cast<unsigned long long>(loaded));
}

TEST(TorchFuzz, NestedValuesAreBounded) {
  const DamagedPickle file("tensor.pt");
  const auto load = [&](const std::string& pickle) {
    const std::string bytes = file.with("\x80\x02" + pickle + ".");
    return pickle_load({bytes.begin(), bytes.end()});
  };
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_NO_THROW(load("N" + repeated("\x85", 99)));
  EXPECT_THROW(load("N" + repeated("\x85", 100'000)), IoError);
  EXPECT_THROW(load(repeated("]", 100'000) + repeated("a", 99'999)), IoError);
  // Each tuple has the one before it twice: 2^n values.
  EXPECT_NO_THROW(load("N" + repeated("q\1h\1\x86", 20)));
  EXPECT_THROW(load("N" + repeated("q\1h\1\x86", 60)), IoError);
  EXPECT_THROW(load(repeated("(", 1'000'000)), IoError);
  EXPECT_THROW(load(repeated("N", 5'000'000)), IoError);
  // Names that are together larger than the file.
  const std::vector<IValue> many(300, IValue(std::vector<bool>{true}));
  EXPECT_THROW(io::to_state_dict(GenericDict{{std::string(1 << 20, 'x'), many}}), StateError);
}

}  // namespace
}  // namespace tandem::testing
