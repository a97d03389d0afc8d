// The archives of PyTorch: a zip file with data.pkl, one record per storage in data/, and a version.
#include "tandem/io/pickle.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "src/io/file_kind.h"
#include "src/io/legacy_torch.h"
#include "src/io/pickle_limits.h"
#include "src/io/pickle_reader.h"
#include "src/io/pickle_writer.h"
#include "src/io/zip.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::io {
namespace {

constexpr std::string_view kPickle = "/data.pkl";
constexpr int kNewestVersion = 10;
constexpr uint64_t kAlignment = 64;  // of storages, as in PyTorch

// ---- reading

/// The archive's records and its storages.
class Archive {
 public:
  Archive(Source source, Device device) : zip_(std::move(source)), device_(device) {
    for (const ZipEntry& e : zip_.entries()) {
      const size_t end = e.name.find('/');
      if (end == std::string::npos || std::string_view(e.name).substr(end) != kPickle) continue;
      TANDEM_CHECK(!pickle_, IoError, "{}malformed: {} and {} are both there", zip_.where(), shown(pickle_->name),
                   shown(e.name));
      pickle_ = &e;
      root_ = e.name.substr(0, end + 1);
    }
    TANDEM_CHECK(pickle_, IoError,
                 "{}not a file of PyTorch: the archive has no data.pkl, but begins with {}; write it with torch.save",
                 zip_.where(), zip_.entries().empty() ? "nothing" : shown(zip_.entries()[0].name));
    check_version();
    const std::string order = text_of("byteorder");
    TANDEM_CHECK(order.empty() || order == "little" || order == "big", IoError, "{}malformed: its byte order is {}",
                 zip_.where(), shown(order));
    big_endian_ = order == "big";
  }

  IValue read() {
    const std::string text = zip_.read_text(*pickle_, pickle_->deflated ? kMostDeflatedPickleBytes : kMostPickleBytes);
    const PickleContext context{
        zip_.where(),
        [this](const std::string& key, DType dtype, int64_t numel) { return storage(key, dtype, numel); },
        nullptr,
        [this](const std::string& class_name) { return state_names(class_name); },
        {}};
    std::string_view rest = text;
    IValue value = read_pickle(rest, context);
    TANDEM_CHECK(rest.empty(), IoError, "{}the pickle is malformed: bytes follow its end; fetch the file again",
                 zip_.where());
    warn_of_left_out(zip_.where(), context.left_out);
    check_not_frozen(value);
    return value;
  }

 private:
  /// torch.jit.freeze and optimize_for_inference make constants of parameters and buffers, without their names.
  void check_not_frozen(const IValue& value) const {
    const std::string constants = root_ + "constants/";
    const auto count = std::count_if(zip_.entries().begin(), zip_.entries().end(),
                                     [&](const ZipEntry& e) { return e.name.starts_with(constants); });
    TANDEM_CHECK(count == 0 || !value.isObject() || !to_state_dict(value).is_empty(), IoError,
                 "{}a TorchScript module without parameters, but with {} constants, which have no names, as "
                 "torch.jit.freeze and optimize_for_inference make; save the module as it was before: "
                 "torch.save(module.state_dict(), path)",
                 zip_.where(), count);
  }

  std::string text_of(const std::string& name) const {
    constexpr uint64_t most = 64;
    const ZipEntry* entry = zip_.find(root_ + name);
    return entry ? zip_.read_text(*entry, most) : "";
  }

  void check_version() const {
    std::string text = text_of("version");
    if (text.empty()) text = text_of(".data/version");
    if (text.empty()) return;
    int version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    TANDEM_CHECK(error == std::errc() && version >= 1 && version <= kNewestVersion, IoError,
                 "{}the format's version is {}; tandem reads 1 to {}: save it with torch.save", zip_.where(),
                 shown(text), kNewestVersion);
  }

  /// The names of the parameters and buffers of a class, from its code: the class __torch__.a.B is in code/__torch__/
  /// a.py, and lists them as __parameters__ = ["weight", "bias", ].
  std::optional<std::vector<std::string>> state_names(const std::string& class_name) {
    const size_t dot = class_name.rfind('.');
    std::string module = class_name.substr(0, dot);
    std::replace(module.begin(), module.end(), '.', '/');
    const ZipEntry* entry = zip_.find(root_ + "code/" + module + ".py");
    if (!entry) return std::nullopt;
    const auto [code, added] = code_.try_emplace(module);
    if (added) code->second = zip_.read_text(*entry, kMostDeflatedPickleBytes);
    std::string_view text = code->second;
    const size_t begin = text.find(fmt::format("class {}(", class_name.substr(dot + 1)));
    if (begin == text.npos) return std::nullopt;
    text = text.substr(begin);
    text = text.substr(0, text.find("\nclass "));
    std::vector<std::string> names;
    for (const char* list : {"__parameters__ = [", "__buffers__ = ["}) {
      const size_t at = text.find(list);
      if (at == text.npos) return std::nullopt;
      std::string_view items = text.substr(at, text.find(']', at) - at);
      for (size_t quote = items.find('"'); quote != items.npos; quote = items.find('"')) {
        items.remove_prefix(quote + 1);
        const size_t end = std::min(items.find('"'), items.size());
        names.emplace_back(items.substr(0, end));
        items.remove_prefix(std::min(end + 1, items.size()));
      }
    }
    return names;
  }

  Tensor storage(const std::string& key, DType dtype, int64_t numel) {
    const std::string name = root_ + "data/" + key;
    const ZipEntry* entry = zip_.find(name);
    TANDEM_CHECK(entry, IoError, "{}malformed, or cut off: the storage {} is missing; fetch the file again",
                 zip_.where(), shown(name));
    const size_t size = element_size(dtype);
    TANDEM_CHECK(numel >= 0 && entry->size % size == 0 && static_cast<uint64_t>(numel) == entry->size / size, IoError,
                 "{}malformed: the storage {} has {} bytes, not {} elements of dtype {}", zip_.where(), shown(name),
                 entry->size, numel, tandem::name(dtype));
    const Tensor* known = storages_.find(key);
    if (!known) known = &storages_.insert(key, load(*entry, dtype, numel));
    TANDEM_CHECK(known->dtype() == dtype, IoError, "{}malformed: the storage {} is of dtype {} and of dtype {}",
                 zip_.where(), shown(name), tandem::name(known->dtype()), tandem::name(dtype));
    return *known;
  }

  Tensor load(const ZipEntry& entry, DType dtype, int64_t numel) const {
    const Tensor t = empty({numel}, TensorOptions(dtype).device(kCPU));
    zip_.read(entry, t.raw_bytes());
    if (big_endian_) swap_bytes(t.raw_bytes(), static_cast<size_t>(numel), element_size(dtype));
    TANDEM_CHECK(dtype != kBool || is_valid_bool(t), IoError,
                 "{}the data are corrupt: {} is of dtype bool and has a byte other than 0 and 1", zip_.where(),
                 shown(entry.name));
    return t.to(device_);
  }

  ZipReader zip_;
  Device device_;
  const ZipEntry* pickle_ = nullptr;
  std::string root_;  ///< of all names: "archive/"
  bool big_endian_ = false;
  OrderedDict<std::string, Tensor> storages_;
  std::unordered_map<std::string, std::string> code_;  ///< by module
};

IValue read_archive(const Source& source, Device device) {
  const NoGradGuard no_grad;
  const FirstBytes first = look_at(source);
  if (first.kind == FileKind::legacy_torch) return read_legacy_torch(source, device);
  TANDEM_CHECK(
      first.kind == FileKind::torch, IoError, "{}not a file of PyTorch{}; {}", source.where,
      first.what.empty() ? fmt::format(": its {} bytes are no zip archive", source.size) : ", but " + first.what,
      first.what.empty() ? "write it with torch.save" : first.cure);
  return Archive(source, device).read();
}

// ---- writing

void write_archive(const IValue& value, const Write& write) {
  static_assert(std::endian::native == std::endian::little, "the byte order below");
  const NoGradGuard no_grad;
  PickleStorages storages;
  const std::string pickle = write_pickle(value, storages);
  ZipWriter zip(write, kAlignment);
  zip.add_stored("archive/data.pkl", {pickle});
  zip.add_stored("archive/byteorder", {"little"});
  for (size_t i = 0; i < storages.size(); ++i) {
    const Tensor host = storages.elements(i).to(Device(kCPU));
    zip.add_stored(fmt::format("archive/data/{}", i), {{static_cast<const char*>(host.raw_bytes()), host.nbytes()}});
  }
  zip.add_stored("archive/version", {"3\n"});
  zip.finish();
}

}  // namespace

void save_pickle(const IValue& value, const std::string& path) {
  const OpScope op("save_pickle");
  write_file(path, [&](const Write& write) { write_archive(value, write); });
}

IValue load_pickle(const std::string& path, Device device) {
  const OpScope op("load_pickle");
  return read_archive(file_source(path), device);
}

StateDict load_pt(const std::string& path, Device device) {
  const OpScope op("load_pt");
  return to_state_dict(load_pickle(path, device));
}

void save_pt(const StateDict& state, const std::string& path) {
  const OpScope op("save_pt");
  check_names(state);
  save_pickle(to_torch_dict(state), path);
}

}  // namespace tandem::io

namespace tandem {

std::vector<char> pickle_save(const IValue& value) {
  const OpScope op("pickle_save");
  std::vector<char> bytes;
  io::write_archive(value, [&](const void* data, size_t count) {
    const auto* from = static_cast<const char*>(data);
    bytes.insert(bytes.end(), from, from + count);
  });
  return bytes;
}

IValue pickle_load(const std::vector<char>& data, Device device) {
  const OpScope op("pickle_load");
  return io::read_archive(io::memory_source({data.data(), data.size()}), device);
}

}  // namespace tandem
