#include "tandem/io/checkpoint.h"

#include <algorithm>
#include <bit>
#include <map>

#include "src/amp/scaler_state.h"
#include "src/io/path.h"
#include "src/io/pickle_limits.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/io/pickle.h"
#include "tandem/io/serialize.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::io {
namespace {

StateDict save_number(auto value) {
  StateDict state;
  StateWriter(state).number("", value);
  return state;
}

template <class T>
T read_number(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  T value{};
  reader.number("", value);
  reader.finish();
  return value;
}

StateDict save_generator(const Generator& generator) {
  const PhiloxState philox = generator.get_state();
  auto seed = std::bit_cast<int64_t>(philox.seed), offset = std::bit_cast<int64_t>(philox.offset);
  StateDict state;
  StateWriter writer(state);
  writer.number("seed", seed);
  writer.number("offset", offset);
  return state;
}

StateCommit prepare_generator(Generator generator, const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  int64_t seed = 0, offset = 0;
  reader.number("seed", seed);
  reader.number("offset", offset);
  reader.finish();
  return [=]() mutable { generator.set_state({std::bit_cast<uint64_t>(seed), std::bit_cast<uint64_t>(offset)}); };
}

std::string part_of(const std::string& key) { return key.substr(0, key.find('.')); }

}  // namespace

Checkpoint& Checkpoint::add_part(Part part) {
  const OpScope op("Checkpoint::add");
  TANDEM_CHECK(!part.name.empty() && part.name.find('.') == std::string::npos, StateError,
               "'{}' is not a valid name for a part; use a name without dots", part.name);
  const bool taken = std::any_of(parts_.begin(), parts_.end(), [&](const Part& p) { return p.name == part.name; });
  TANDEM_CHECK(!taken, StateError, "there is already a part '{}'; choose another name", part.name);
  parts_.push_back(std::move(part));
  return *this;
}

Checkpoint& Checkpoint::add(std::string name, amp::GradScaler& scaler) {
  return add_part({std::move(name), [&scaler] { return amp::state_of(scaler); },
                   [&scaler](const StateDict& state) { return amp::prepare_state(scaler, state); }, /*optional=*/true});
}

Checkpoint& Checkpoint::add(std::string name, const Generator& generator) {
  return add_part({std::move(name), [generator] { return save_generator(generator); },
                   [generator](const StateDict& state) { return prepare_generator(generator, state); }});
}

Checkpoint& Checkpoint::add(std::string name, Tensor& tensor) {
  const OpScope op("Checkpoint::add");
  TANDEM_CHECK(tensor.defined(), StateError, "'{}' is an undefined tensor; give it a value first", name);
  return add_part({std::move(name),
                   [&tensor] {
                     return StateDict{{"", tensor.detach()}};
                   },
                   [&tensor](const StateDict& state) -> StateCommit {
                     const OpScope op("load_state_dict");
                     StateReader reader(state);
                     const Tensor* given = reader.fitting("", tensor);
                     reader.finish();
                     return [&tensor, value = *given] {
                       NoGradGuard no_grad;
                       tensor.copy_(value);
                     };
                   }});
}

Checkpoint& Checkpoint::add(std::string name, double& number) {
  return add_part({std::move(name), [&number] { return save_number(number); },
                   [&number](const StateDict& state) -> StateCommit {
                     return [&number, value = read_number<double>(state)] { number = value; };
                   }});
}

Checkpoint& Checkpoint::add(std::string name, bool& number) {
  return add_part({std::move(name), [&number] { return save_number(number); },
                   [&number](const StateDict& state) -> StateCommit {
                     return [&number, value = read_number<bool>(state)] { number = value; };
                   }});
}

Checkpoint& Checkpoint::add_integer(std::string name, std::function<int64_t()> get, std::function<void(int64_t)> set,
                                    std::function<bool(int64_t)> in_range) {
  return add_part({std::move(name), [get = std::move(get)] { return save_number(get()); },
                   [set = std::move(set), in_range = std::move(in_range)](const StateDict& state) -> StateCommit {
                     const OpScope op("load_state_dict");
                     const auto value = read_number<int64_t>(state);
                     TANDEM_CHECK(in_range(value), StateError,
                                  "{} is outside the range of the number's type here; use a wider type", value);
                     return [set, value] { set(value); };
                   }});
}

StateDict Checkpoint::state_dict() const {
  StateDict state;
  for (const Part& part : parts_) {
    for (const auto& item : part.save()) {
      state.insert(item.key().empty() ? part.name : part.name + "." + item.key(), item.value());
    }
  }
  return state;
}

void Checkpoint::save(const std::string& path, const Metadata& metadata) const {
  const StateDict state = state_dict();
  const OpScope op("save");  // not earlier: parts may be the user's
  if (!is_torch_path(path)) return save_file(state, path, metadata);
  TANDEM_CHECK(metadata.empty(), IoError,
               "{}: PyTorch's files have no metadata; end the name in .safetensors, or pass none", path);
  check_names(state);
  save_pickle(state, path);
}

IncompatibleKeys Checkpoint::load(const std::string& path) {
  StateDict state;
  {
    const OpScope op("load");
    state = load_state(path);
  }
  const UserCodeScope op("load");
  return load_parts(state, path + ": ");
}

IncompatibleKeys Checkpoint::load_state_dict(const StateDict& state) {
  const UserCodeScope op("load_state_dict");
  return load_parts(state, "");
}

IncompatibleKeys Checkpoint::load_parts(const StateDict& state, const std::string& where) {
  std::map<std::string, StateDict> by_part;
  for (const auto& item : state) {
    const std::string name = part_of(item.key());
    by_part[name].insert(item.key().substr(std::min(item.key().size(), name.size() + 1)), item.value());
  }
  IncompatibleKeys keys;
  std::vector<StateCommit> commits;
  std::string faults;
  for (const Part& part : parts_) {
    if (part.optional && !by_part.contains(part.name)) {
      keys.missing_keys.push_back(part.name);
      continue;
    }
    try {
      commits.push_back(part.prepare(by_part[part.name]));
    } catch (const Error& e) {
      const bool absent = by_part[part.name].is_empty();
      faults += fmt::format("\n  {}: {}", part.name, absent ? "the state has no part with this name" : e.what());
    }
    by_part.erase(part.name);
  }
  TANDEM_CHECK(faults.empty(), StateError, "{}nothing was loaded, because parts of the run do not fit:{}", where,
               faults);
  for (const auto& [name, unused] : by_part) keys.unexpected_keys.push_back(name);
  for (const StateCommit& commit : commits) commit();
  return keys;
}

}  // namespace tandem::io
