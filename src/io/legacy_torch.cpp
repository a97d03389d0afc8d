#include "src/io/legacy_torch.h"

#include <algorithm>
#include <unordered_map>

#include "src/io/pickle_limits.h"
#include "src/io/pickle_reader.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

// The pickles are the mark, the version 1001, a description of the machine, the value, and the keys of the storages.
// For each key follow the number of elements, in 8 bytes, and the elements, little-endian. Source: _legacy_load in
// torch/serialization.py.
namespace tandem::io {
namespace {

class LegacyFile {
 public:
  LegacyFile(const Source& source, Device device) : source_(source), device_(device) {
    context_.where = source.where;
    context_.storage = [this](const std::string& key, DType dtype, int64_t numel) {
      return storage(key, dtype, numel);
    };
    context_.left_out_storage = [this](const std::string& key, int64_t numel, int64_t element_size) {
      check(numel >= 0 && static_cast<uint64_t>(numel) <= source_.size / static_cast<uint64_t>(element_size), key,
            "is larger than the file");
      left_out_[key] = numel * element_size;
    };
  }

  IValue read() {
    std::string text(std::min(source_.size, kMostPickleBytes), '\0');
    source_.read(0, text.data(), text.size());
    std::string_view rest = text;
    rest.remove_prefix(std::min(rest.find(kLegacyMark) + kLegacyMark.size() + 1, rest.size()));  // and STOP
    const IValue version = read_pickle(rest, context_);
    TANDEM_CHECK(version.isInt() && version.toInt() == 1001, IoError,
                 "{}the format's version is not 1001; convert the file in Python: torch.save(torch.load(path), path)",
                 source_.where);
    read_pickle(rest, context_);
    IValue value = read_pickle(rest, context_);
    const IValue keys = read_pickle(rest, context_);
    TANDEM_CHECK(keys.isList(), IoError, "{}malformed: it has no list of storages; fetch the file again",
                 source_.where);
    read_storages(keys.toListRef(), text.size() - rest.size());
    warn_of_left_out(source_.where, context_.left_out);
    return value;
  }

 private:
  struct Storage {
    Tensor host, elements;
    bool is_read = false;
  };

  Tensor storage(const std::string& key, DType dtype, int64_t numel) {
    if (const Storage* known = storages_.find(key)) {
      check(known->host.dtype() == dtype && known->host.numel() == numel, key, "is described twice");
      return known->elements;
    }
    check(numel >= 0 && static_cast<uint64_t>(numel) <= (source_.size - bytes_) / element_size(dtype), key,
          "is larger than the file");
    bytes_ += static_cast<uint64_t>(numel) * element_size(dtype);
    const Tensor host = empty({numel}, TensorOptions(dtype).device(kCPU));
    const Tensor elements = device_.is_cpu() ? host : empty({numel}, TensorOptions(dtype).device(device_));
    return storages_.insert(key, {host, elements}).elements;
  }

  void read_storages(const std::vector<IValue>& keys, uint64_t at) {
    size_t found = 0;
    for (const IValue& item : keys) {
      const std::string key = item.isString() ? item.toStringRef() : "";
      if (const auto skipped = left_out_.find(key); skipped != left_out_.end()) {
        const uint64_t bytes = sizeof(int64_t) + static_cast<uint64_t>(skipped->second);
        check(source_.size - at >= bytes, key, "is cut off");
        at += bytes;
        continue;
      }
      const Storage* storage = storages_.find(key);
      TANDEM_CHECK(
          storage, IoError,
          "{}the storage {} is of a dtype that tandem does not have, and hides the size of the data behind it; "
          "convert the file in Python: torch.save(torch.load(path), path)",
          source_.where, shown(key));
      const Tensor& host = storage->host;
      int64_t numel = 0;
      check(source_.size - at >= sizeof numel, key, "is cut off");
      source_.read(at, &numel, sizeof numel);
      at += sizeof numel;
      check(numel == host.numel(), key, "has another size than its tensors say");
      check(source_.size - at >= host.nbytes(), key, "is cut off");
      if (host.nbytes() > 0) source_.read(at, host.raw_bytes(), host.nbytes());
      at += host.nbytes();
      check(host.dtype() != kBool || is_valid_bool(host), key, "is of dtype bool and has a byte other than 0 and 1");
      if (!device_.is_cpu()) storage->elements.copy_(host);
      check(!std::exchange(storages_[key].is_read, true), key, "is there twice");
      ++found;
    }
    TANDEM_CHECK(found == storages_.size(), IoError,
                 "{}malformed: it has the data of {} storages, but tensors of {}; fetch the file again", source_.where,
                 found, storages_.size());
  }

  void check(bool ok, const std::string& key, const char* fault) const {
    TANDEM_CHECK(ok, IoError, "{}malformed, or cut off: the storage {} {}; fetch the file again", source_.where,
                 shown(key), fault);
  }

  const Source& source_;
  Device device_;
  PickleContext context_;
  OrderedDict<std::string, Storage> storages_;
  std::unordered_map<std::string, int64_t> left_out_;  // bytes of storages whose dtypes tandem lacks
  uint64_t bytes_ = 0;                                 // of the storages
};

}  // namespace

IValue read_legacy_torch(const Source& source, Device device) { return LegacyFile(source, device).read(); }

}  // namespace tandem::io
