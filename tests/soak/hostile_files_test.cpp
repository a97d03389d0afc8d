// Damaged files of every format that tandem reads, and paths that are not regular files. Reading and writing succeed or
// throw tandem::Error. After an error, the objects to load into and the file at the path are unchanged.
// tests/io/fuzz_test.cpp, torch_fuzz_test.cpp and numpy_test.cpp also fuzz the bytes of each format.
#include <sys/stat.h>
#include <unistd.h>

#include "data/idx_files.h"
#include "io/mutator.h"
#include "soak/soak.h"
#include "src/data/idx.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using Report = std::function<void(const std::string&)>;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
Bytes to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string idx(uint64_t seed, bool packed, const Report& report) {
  report(std::string("a damaged IDX file") + (packed ? ", compressed" : ""));
  static const TemporaryFolder folder;
  const std::vector<std::vector<uint32_t>> shapes{{3, 5, 7}, {0, 2, 2}, {40, 10, 3}};
  Bytes good = idx_file(shapes[seed % shapes.size()], static_cast<uint32_t>(seed % 251));
  if (packed) good = gzip(good);
  const std::vector<std::string> others{std::string(good.begin(), good.end())};
  const std::string path = folder.write("images", to_bytes(Mutator(seed, others).mutate(others[0])));
  try {
    const data::IdxArray array = data::read_idx(path, 3);
    uint64_t numel = 1;
    for (int64_t s : array.sizes) numel *= static_cast<uint64_t>(s);
    if (array.sizes.size() != 3 || numel != array.values.size()) return "the sizes do not fit the values";
  } catch (const IoError&) {
  }
  return "";
}

/// A training run whose parts are saved separately and together.
struct Run {
  Run() {
    all.add("net", net).add("adam", adam).add("scaler", scaler).add("epoch", epoch);
    for (const Tensor& p : net->parameters()) p.mutable_grad() = ones_like(p);
    adam.step();
  }
  nn::Linear net{3, 2};
  optim::Adam adam{net->parameters(), optim::AdamOptions(0.1).amsgrad(true)};
  amp::GradScaler scaler;
  int64_t epoch = 4;
  io::Checkpoint all;
};

std::string load_state(uint64_t seed, const Report& report) {
  static const TemporaryFolder folder;
  static Run run;
  const uint64_t part = seed / 4 % 3;
  const std::string name = part < 2 && seed / 12 % 2 == 1 ? "state.pt" : "state", path = folder.path(name);
  report("a damaged " + name + " of " + (part == 0 ? "a module" : part == 1 ? "an optimizer" : "a checkpoint"));
  part == 0 ? save(run.net, path) : part == 1 ? save(run.adam, path) : run.all.save(path);
  std::string bytes = read(path);
  // Under another key the checksums are not checked, so the damage reaches later checks.
  const size_t checksums = bytes.find("tandem.crc32");
  if (seed % 8 < 6 && checksums != std::string::npos) bytes[checksums] = 'T';
  const std::vector<std::string> others{bytes};
  folder.write(name, to_bytes(Mutator(seed, others).mutate(bytes)));
  const StateDict before = clone(run.all.state_dict());
  try {
    part == 0 ? load(run.net, path) : part == 1 ? load(run.adam, path) : static_cast<void>(run.all.load(path));
  } catch (const Error&) {
    return difference(run.all.state_dict(), before);
  }
  run.all.load_state_dict(before);
  return difference(run.all.state_dict(), before);
}

/// The kinds of files at a path. No devices: a wrong save would replace them.
const char* const kKinds[] = {"nothing",          "a file",           "an empty file",    "a folder",
                              "a FIFO",           "a dangling link",  "a link to itself", "a name that is too long",
                              "a missing folder", "a link to a file", "a private file"};

std::string paths(uint64_t seed, const Report& report) {
  const TemporaryFolder folder;
  const size_t kind = seed % std::size(kKinds), beside = seed / std::size(kKinds) % std::size(kKinds);
  const bool saves = seed / std::size(kKinds) / std::size(kKinds) % 2 == 0;
  report(std::string(saves ? "save to " : "load from ") + kKinds[kind] + ", with " + kKinds[beside] + " at PATH.tmp");
  const auto make = [&](size_t k, std::string path) {
    if (k == 1 || k == 9 || k == 10)
      save(ones({3}), k == 9 ? folder.path("target" + std::to_string(path.size())) : path);
    if (k == 2) std::ofstream(path, std::ios::binary);
    if (k == 3) fs::create_directory(path);
    if (k == 4 && mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    if (k == 5) fs::create_symlink(folder.path("absent"), path);
    if (k == 6) fs::create_symlink(path, path);
    if (k == 7) path = folder.path(std::string(300, 'x'));
    if (k == 8) path = folder.path("absent/file");
    if (k == 9) fs::create_symlink(folder.path("target" + std::to_string(path.size())), path);
    if (k == 10) chmod(path.c_str(), 0600);
    return path;
  };
  const std::string path = make(kind, folder.path("x"));
  if (saves && beside != 7 && beside != 8) make(beside, folder.path("x.tmp"));
  const std::string target = read(folder.path("target" + std::to_string(folder.path("x.tmp").size())));
  Tensor x = full({5}, 2);
  try {
    saves ? save(x, path) : load(x, path);
  } catch (const Error& e) {
    const bool ordinary = kind <= 1 || kind >= 9;
    if (!saves && ordinary && kind != 0) return std::string("refused: ") + e.what();
    return saves && kind == 4 && fs::status(path).type() != fs::file_type::fifo ? "the FIFO is gone" : "";
  }
  if (beside == 9 && saves && read(folder.path("target" + std::to_string(folder.path("x.tmp").size()))) != target) {
    return "the target of the link at PATH.tmp was overwritten";
  }
  if (saves && kind == 4) return "a FIFO was replaced";
  if (saves && kind == 10) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || (info.st_mode & 077) != 0) return "a private file became readable to others";
  }
  if (saves && kind == 9 && !fs::is_symlink(path)) return "the link was replaced";
  if (saves) load(x, path);
  return x.numel() == (saves ? 5 : 3) ? "" : "the tensor is different";
}

std::string hostile_file(uint64_t seed, const Report& report) {
  switch (seed % 4) {
    case 0:
    case 1:
      return idx(seed, seed % 4 == 1, report);
    case 2:
      return load_state(seed, report);
    default:
      return paths(seed / 4, report);
  }
}

const ChildTaskRegistration hostile_files("HostileFiles", hostile_file);

TEST(HostileFiles, AreReadOrRefused) {
  expect_good_outcomes("HostileFiles", kSlowRun ? 600 : 2000, {.processor_seconds = 4, .memory_mib = 1024});
}

}  // namespace
}  // namespace tandem::testing
