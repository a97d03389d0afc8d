// What files are by their first bytes, and checkpoints in several files.
#include "tandem/io/file_kind.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/torch_files.h"
#include "src/io/utf8.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace std::string_literals;

void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

TEST(FileKind, TellsWhatTandemReads) {
  const TemporaryFolder folder;
  const auto kind = [](const std::string& name) { return io::file_kind(torch_file(name)); };
  EXPECT_EQ(kind("module.safetensors"), io::FileKind::safetensors);
  for (const char* name : {"module.pt", "deflated.pt", "libtorch_module.pt", "script.pt"}) {
    EXPECT_EQ(kind(name), io::FileKind::torch) << name;
  }
  for (const char* name : {"legacy.pt", "legacy_values.pt"}) EXPECT_EQ(kind(name), io::FileKind::legacy_torch) << name;
  for (const char* name : {"array.npy", "version2.npy"}) EXPECT_EQ(kind(name), io::FileKind::npy) << name;
  for (const char* name : {"stored.npz", "deflated.npz"}) EXPECT_EQ(kind(name), io::FileKind::npz) << name;
  write_text(folder.path("i"), R"({"metadata": {"total_size": 3}, "weight_map": {}})");
  EXPECT_EQ(io::file_kind(folder.path("i")), io::FileKind::shard_index);
}

TEST(FileKindErrors, EveryReaderNamesOtherFiles) {
  const TemporaryFolder folder;
  struct Case {
    std::string bytes, what, cure;
  };
  std::string tar(512, '\0');
  tar.replace(257, 5, "ustar");
  tar[0] = 'a';
  const Case cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "Git LFS", "git lfs pull"},
      {"<!DOCTYPE html>\n<html>", "HTML", "download it again"},
      {"\n  <?xml version=\"1.0\"?><Error>", "XML", "download it again"},
      {"Entry not found\n", "'Entry not found'", "download"},
      {"{\"model_type\": \"bert\", \"hidden_size\": 8}", "JSON", "name the file of the tensors"},
      {"\x89HDF\r\n\x1a\n\0\0\0\0"s, "HDF5", "h5py"},
      {"GGUF\3\0\0\0\0\0"s, "GGUF", "safetensors"},
      {"\x1f\x8b\x08\0\0\0\0\0\0\3"s, "gzip", "gunzip"},
      {tar, "tar archive", "torch.save(state_dict, path)"},
      {"\x80\4\x95\x0a\0\0\0\0\0\0\0}."s, "bare Python pickle", "torch.save(state_dict, path)"},
      {"\x08\x08\x12\x07pytorch\x1a\x05" + "2.1.0"s, "ONNX", "safetensors"},
      {std::string(600, '\0'), "unfinished download", "download it again"},
      {"", "empty", "again"},
  };
  const std::string path = folder.path("a");
  for (const auto& [contents, what, cure] : cases) {
    const std::string& bytes = contents;  // clang 14 does not capture bindings
    write_text(path, bytes);
    Tensor t;
    nn::Linear model(1, 1);
    const char *named = what.c_str(), *advised = cure.c_str();
    EXPECT_THROWS(io::file_kind(path), IoError, "file_kind: " + path, named, advised);
    EXPECT_THROWS(io::load_state(path), IoError, "load_state: " + path, named, advised);
    EXPECT_THROWS(io::load_file(path), IoError, "load_file: " + path, named, advised);
    EXPECT_THROWS(io::load_pt(path), IoError, "load_pt: " + path, named, advised);
    EXPECT_THROWS(io::load_npy(path), IoError, "load_npy: " + path, named, advised);
    EXPECT_THROWS(io::load_npz(path), IoError, "load_npz: " + path, named, advised);
    EXPECT_THROWS(load(model, path), IoError, "load: " + path, named, advised);
    EXPECT_THROWS(io::Checkpoint().load(path), IoError, "load: " + path, named, advised);
    std::istringstream stream(bytes);
    EXPECT_THROWS(load(t, stream), IoError, "load: ", named, advised);
    EXPECT_THROWS(io::deserialize(bytes), IoError, named, advised);
    EXPECT_THROWS(pickle_load({bytes.begin(), bytes.end()}), IoError, named, advised);
  }
  EXPECT_THROWS(io::load_file(torch_file("module.pt")), IoError, "not a safetensors file, but a zip archive",
                "load_pt");
  EXPECT_THROWS(io::load_file(torch_file("legacy.pt")), IoError, "PyTorch before 1.6", "load_pt");
  EXPECT_THROWS(io::load_npz(torch_file("array.npy")), IoError, "a NumPy array (.npy)", "load_npy");
  EXPECT_THROWS(io::load_state(torch_file("array.npy")), IoError, "a NumPy array (.npy)", "load_npy");
  EXPECT_THROWS(io::load_state(torch_file("stored.npz")), IoError, "an archive of NumPy arrays", "load_npz");
}

TEST(FileKindErrors, LongTextsAreCutBetweenCharacters) {
  const TemporaryFolder folder;
  for (const std::string start : {"", "a"}) {
    std::string line = start;
    for (int i = 0; i < 99; ++i) line += "\u00fc";
    write_text(folder.path("a"), line);
    try {
      io::file_kind(folder.path("a"));
      ADD_FAILURE() << "no error";
    } catch (const IoError& error) {
      EXPECT_TRUE(io::is_utf8(error.what())) << error.what();
      EXPECT_NE(std::string(error.what()).find("\u00fc...'"), std::string::npos) << error.what();
    }
  }
}

// ---- several files

nn::Sequential two_layers() { return nn::Sequential(nn::Linear(3, 2), nn::Linear(2, 2)); }

TEST(Shards, LoadByIndexAndFolder) {
  auto model = two_layers(), other = two_layers();
  const StateDict state = model->state_dict();
  for (const std::string kind : {"model.safetensors", "pytorch_model.bin"}) {
    const TemporaryFolder folder;
    std::string map;
    for (const std::string layer : {"0", "1"}) {
      StateDict part;
      add_below(part, layer, state_below(state, layer));
      part.insert("unused", ones({1}));
      const std::string name = "part-" + layer + (kind.ends_with("bin") ? ".bin" : ".safetensors");
      kind.ends_with("bin") ? io::save_pt(part, folder.path(name)) : io::save_file(part, folder.path(name));
      for (const char* tensor : {".weight", ".bias"}) {
        map += (map.empty() ? "\"" : ", \"") + layer + tensor + "\": \"" + name + "\"";
      }
    }
    const std::string index = folder.path(kind + ".index.json");
    write_text(index, "{\"metadata\": {\"total_size\": 56}, \"weight_map\": {" + map + "}}");
    for (const std::string& path : {index, folder.path()}) {
      EXPECT_EQ(difference(io::load_state(path), state), "");
      load(other, path);
      EXPECT_EQ(difference(other->state_dict(), state), "");
    }
    EXPECT_THROWS(io::load_file(index), IoError, "the index of a checkpoint in several files", "load_state");
  }
}

TEST(ShardsErrors, AreNamed) {
  const TemporaryFolder folder;
  const std::string index = folder.path("model.safetensors.index.json");
  EXPECT_THROWS(io::load_state(folder.path()), IoError, "is a folder with 0 files named *.index.json");
  const auto refused = [&](const std::string& map, const char* text) {
    write_text(index, "{\"weight_map\": " + map + "}");
    EXPECT_THROWS(io::load_state(index), IoError, "load_state: " + folder.path(), text);
  };
  io::save_file({{"a", ones({1})}}, folder.path("x"));
  std::filesystem::create_directory(folder.path("below"));
  io::save_file({{"a", ones({1})}}, folder.path("below/x"));
  refused("3", "no JSON object with a weight_map");
  refused("{\"a\": 3}", "is '', which is no name of a file beside the index");
  refused("{\"a\": \"below/x\"}", "'below/x', which is no name of a file beside the index");
  refused("{\"a\": \"../x\"}", "'../x', which is no name");
  refused("{\"a\": \"" + folder.path("x") + "\"}", "which is no name of a file");
  refused("{\"a\": \"none\"}", "No such file");
  refused("{\"b\": \"x\"}", "'x' should have 'b', but has not");
  refused("{\"a\": \"model.safetensors.index.json\"}", "is an index itself");
  write_text(folder.path("other.safetensors.index.json"), "{}");
  EXPECT_THROWS(io::load_state(folder.path()), IoError, "a folder with 2 files", "model.safetensors.index.json");
  write_text(folder.path(".metadata"), "");
  EXPECT_THROWS(io::load_state(folder.path()), IoError, "dcp_to_torch_save(folder, path)");
}

}  // namespace
}  // namespace tandem::testing
