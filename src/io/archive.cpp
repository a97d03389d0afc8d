#include "tandem/io/archive.h"

#include <filesystem>
#include <unordered_set>

#include "src/io/file_kind.h"
#include "src/io/path.h"
#include "src/io/source.h"
#include "tandem/base/check.h"
#include "tandem/io/pickle.h"
#include "tandem/io/serialize.h"

namespace tandem::serialize {
namespace {

std::string first_name(const std::string& key) { return key.substr(0, key.find('.')); }

/// The value with this name, or those whose names begin with it and a dot, as a dictionary.
std::optional<IValue> find(const IValue& value, const std::string& key) {
  if (value.isObject()) {
    const ivalue::Object& object = value.toObjectRef();
    if (object.hasattr(key)) return object.getAttr(key);
  } else if (value.isGenericDict()) {
    const GenericDict& dict = value.toGenericDict();
    if (dict.contains(key)) return dict.at(key);
    GenericDict below;
    for (const auto& entry : dict) {
      if (!entry.key().isString() || !entry.key().toStringRef().starts_with(key + ".")) continue;
      below.insert(entry.key().toStringRef().substr(key.size() + 1), entry.value());
    }
    if (!below.empty()) return below;
  }
  const size_t dot = key.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::optional<IValue> outer = find(value, key.substr(0, dot));
  return outer ? find(*outer, key.substr(dot + 1)) : std::nullopt;
}

bool is_pickle(const io::Source& source) {
  const io::FileKind kind = io::kind_of(source);
  return kind == io::FileKind::torch || kind == io::FileKind::legacy_torch;
}

/// The tensors on the device, if one is given.
IValue moved(StateDict state, std::optional<Device> device) {
  if (device) {
    for (auto& item : state) item.value() = item.value().to(*device);
  }
  return state;
}

}  // namespace

OutputArchive::OutputArchive() : values_(std::make_shared<GenericDict>()) {}

void OutputArchive::write(const std::string& key, const IValue& value) {
  is_state_ = false;
  values_->insert_or_assign(key, value);
}
void OutputArchive::write(const std::string& key, const Tensor& tensor, bool /*is_buffer*/) {
  const OpScope op("write");
  TANDEM_CHECK(tensor.defined(), StateError, "the tensor '{}' is undefined; omit it", key);
  write(key, IValue(tensor.detach()));
}
void OutputArchive::write(const std::string& key, const OutputArchive& nested) {
  if (nested.values_->empty()) return write(key, IValue(GenericDict()));
  for (const auto& entry : *nested.values_) write(key + "." + entry.key().toStringRef(), entry.value());
}
void OutputArchive::write(const StateDict& state) {
  const bool is_state = values_->empty();
  for (const auto& item : state) write(item.key(), item.value());
  is_state_ = is_state;
}

void OutputArchive::note_state(bool is_state) { is_state_ = is_state && values_->empty(); }

std::optional<StateDict> OutputArchive::tensors() const {
  StateDict state;
  for (const auto& entry : *values_) {
    if (!entry.value().isTensor()) return std::nullopt;
    state.insert(entry.key().toStringRef(), entry.value().toTensor());
  }
  return state;
}

void OutputArchive::save_to(const std::string& path) const {
  const OpScope op("save_to");
  if (const auto state = tensors()) return io::save_state(*state, path);
  io::is_torch_path(path);  // throws for NumPy's
  io::save_pickle(*values_, path);
}

void OutputArchive::save_to(std::ostream& stream) const {
  const OpScope op("save_to");
  const std::vector<char> bytes = pickle_save(*values_);
  io::write_stream(stream, {bytes.data(), bytes.size()});
}

void OutputArchive::save_to(const std::function<size_t(const void* data, size_t bytes)>& write) const {
  const OpScope op("save_to");
  const std::vector<char> bytes = pickle_save(*values_);
  const size_t written = write(bytes.data(), bytes.size());
  TANDEM_CHECK(written == bytes.size(), IoError, "the function wrote {} of {} bytes", written, bytes.size());
}

InputArchive::InputArchive() { set(GenericDict(), "the archive", {}); }

void InputArchive::set(IValue value, std::string where, std::optional<Device> device) {
  value_ = std::make_shared<const IValue>(std::move(value));
  where_ = std::move(where);
  device_ = device;
}

void InputArchive::load_from(const std::string& path, std::optional<Device> device) {
  const OpScope op("load_from");
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);  // of a checkpoint in several files
  set(!is_folder && is_pickle(io::file_source(path)) ? io::load_pickle(path, device.value_or(Device(kCPU)))
                                                     : moved(io::load_state(path), device),
      path, device);
}

void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  const OpScope op("load_from");
  const std::string bytes = io::read_stream(stream);
  load_from(bytes.data(), bytes.size(), device);
}

void InputArchive::load_from(const char* data, size_t bytes, std::optional<Device> device) {
  const OpScope op("load_from");
  if (is_pickle(io::memory_source({data, bytes}))) {
    return set(pickle_load({data, data + bytes}, device.value_or(Device(kCPU))), "the stream", device);
  }
  set(moved(io::deserialize({data, bytes}).tensors, device), "the stream", device);
}

void InputArchive::load_from(const std::function<size_t(uint64_t position, void* to, size_t bytes)>& read,
                             const std::function<size_t()>& size, std::optional<Device> device) {
  const OpScope op("load_from");
  std::string bytes(size(), '\0');
  const size_t got = read(0, bytes.data(), bytes.size());
  TANDEM_CHECK(got == bytes.size(), IoError, "the function read {} of {} bytes", got, bytes.size());
  load_from(bytes.data(), bytes.size(), device);
}

bool InputArchive::try_read(const std::string& key, IValue& value) const {
  std::optional<IValue> found = find(*value_, key);
  if (found) value = std::move(*found);
  return found.has_value();
}

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool /*is_buffer*/) const {
  const std::optional<IValue> found = find(*value_, key);
  if (!found || !found->isTensor()) return false;
  tensor.defined() ? tensor.set_data(found->toTensor()) : void(tensor = found->toTensor());
  return true;
}

bool InputArchive::try_read(const std::string& key, InputArchive& nested) const {
  std::optional<IValue> found = find(*value_, key);
  if (!found || !(found->isGenericDict() || found->isObject())) return false;
  nested.set(std::move(*found), fmt::format("'{}' of {}", key, where_), device_);
  return true;
}

void InputArchive::throw_missing(const char* what, const std::string& key) const {
  const OpScope op("read");
  TANDEM_THROW(StateError, "{} has no {} '{}'; it has: {}", where_, what, key, fmt::join(keys(), ", "));
}

void InputArchive::read(const std::string& key, IValue& value) const {
  if (!try_read(key, value)) throw_missing("value", key);
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) const {
  if (!try_read(key, tensor, is_buffer)) throw_missing("tensor", key);
}
void InputArchive::read(const std::string& key, InputArchive& nested) const {
  if (!try_read(key, nested)) throw_missing("nested archive", key);
}

std::vector<std::string> InputArchive::keys() const {
  OrderedDict<std::string, bool> names;
  const auto add = [&](const std::string& name) {
    if (const std::string first = first_name(name); !names.contains(first)) names.insert(first, true);
  };
  if (value_->isObject()) {
    for (const auto& item : value_->toObjectRef().attributes()) add(item.key());
  } else if (value_->isGenericDict()) {
    for (const auto& entry : value_->toGenericDict()) {
      if (entry.key().isString()) add(entry.key().toStringRef());
    }
  }
  return names.keys();
}

StateDict InputArchive::state_dict() const { return io::to_state_dict(*value_); }

StateDict InputArchive::part_of(const StateDict& state, std::initializer_list<std::string> others) const {
  const OpScope op("load");
  std::unordered_set<std::string> names(others);
  for (const auto& item : state) names.insert(first_name(item.key()));
  StateDict part;
  for (const auto& item : state_dict()) {
    if (names.contains(first_name(item.key()))) part.insert(item.key(), item.value());
  }
  return part;
}

std::vector<Tensor> InputArchive::tensors() const {
  const StateDict state = state_dict();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < state.size(); ++i) {
    const Tensor* t = state.find(std::to_string(i));
    TANDEM_CHECK(
        t, StateError,
        "{} has the tensor '{}' and is not a vector of tensors; use io::load_state, or load it into the object "
        "that it was saved from",
        where_, state[0].key());
    tensors.push_back(*t);
  }
  return tensors;
}

Tensor InputArchive::tensor() const {
  const std::vector<Tensor> all = tensors();
  TANDEM_CHECK(all.size() == 1, StateError,
               "{} has {} tensors, not one; load a vector of tensors, or use io::load_state", where_, all.size());
  return all[0];
}

}  // namespace tandem::serialize

// ---- save() and load() of the classes below io/ ----

namespace tandem::nn {

void Module::save(serialize::OutputArchive& archive) const {
  OrderedDict<std::string, serialize::OutputArchive> parts;  // of submodules that override save()
  for (const auto& child : children_) {
    serialize::OutputArchive part;
    part.is_probe_ = archive.is_probe_;
    child.value()->save(part);
    if (!part.is_state_) parts.insert(child.key(), std::move(part));
  }
  if (archive.is_probe_) return archive.note_state(parts.is_empty());
  if (parts.is_empty()) return archive.write(state_dict());
  for (const auto& item : state_dict()) {
    if (!parts.contains(serialize::first_name(item.key()))) archive.write(item.key(), item.value());
  }
  for (const auto& part : parts) {
    if (!part.value().values_->empty()) archive.write(part.key(), part.value());
  }
}

void Module::load(serialize::InputArchive& archive) {
  std::unordered_set<std::string> others;  // submodules that override save()
  if (!archive.is_loaded_) {
    for (const auto& child : children_) {
      if (!archive.saves_state(*child.value())) others.insert(child.key());
    }
    const StateDict own = state_dict();
    StateDict state;
    for (const auto& item : archive.is_whole_ ? archive.state_dict() : archive.part_of(own, {})) {
      if (!others.contains(serialize::first_name(item.key()))) state.insert(item.key(), item.value());
    }
    for (const auto& item : own) {  // their values remain
      if (others.contains(serialize::first_name(item.key()))) state.insert(item.key(), item.value());
    }
    load_state_dict(state);
    archive.move(*this);
  }
  for (const auto& child : children_) {
    serialize::InputArchive part;
    archive.try_read(child.key(), part);
    part.is_loaded_ = !others.contains(child.key());
    child.value()->load(part);
  }
}

}  // namespace tandem::nn

namespace tandem::optim {

void Optimizer::save(serialize::OutputArchive& archive) const {
  archive.is_probe_ ? archive.note_state(true) : archive.write(state_dict());
}

void Optimizer::load(serialize::InputArchive& archive) {
  archive.load_into(*this, {"state", "master_weights", "step_scaler"});
}

}  // namespace tandem::optim
