// States as PyTorch nests them, and by tandem's names.
#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "src/io/libtorch_optimizer.h"
#include "src/io/pickle_limits.h"
#include "src/io/pickle_reader.h"
#include "src/io/pickle_writer.h"
#include "tandem/base/check.h"
#include "tandem/io/pickle.h"
#include "tandem/tensor/factories.h"

namespace tandem::io {
namespace {

constexpr const char* kState = "state";
constexpr const char* kGroups = "param_groups";
constexpr const char* kParams = "params";

/// LBFGS has this option as a bool: whether it is kStrongWolfe or None.
constexpr const char *kLineSearch = "line_search_fn", *kStrongWolfe = "strong_wolfe";

constexpr const char* kSchedulers = "_schedulers";
constexpr const char* kMilestones = "milestones";
/// The end of the names of values that are neither tensors nor numbers: their pickles, as u8 tensors.
constexpr std::string_view kPickled = "._pickle";

/// Whether this is the dictionary of a schedule of torch.optim.
bool is_schedule(const GenericDict& dict) {
  return dict.contains("_last_lr") && (dict.contains("last_epoch") || dict.contains(kSchedulers));
}

std::string key_text(const IValue& key) {
  if (key.isString()) return key.toStringRef();
  return key.isNone() ? "None" : key.toScalar().str();
}

Tensor number_tensor(Scalar number, DType dtype) { return scalar_tensor(number, TensorOptions(dtype).device(kCPU)); }

/// A number, which may be a tensor, as a floating tensor; other values as they are.
IValue floating(const IValue& value) {
  if (value.isScalar()) return number_tensor(value.toScalar(), kFloat);
  const bool is_integer = value.isTensor() && is_integral(value.toTensor().dtype(), /*include_bool=*/true);
  return is_integer ? value.toTensor().to(kFloat) : value;
}

/// The items of a list or tuple; none for other values.
const std::vector<IValue>& items_of(const IValue& value) {
  static const std::vector<IValue> none;
  return value.isList() ? value.toListRef() : value.isTuple() ? value.toTupleRef().elements() : none;
}

/// Collects the tensors and numbers of a value. The place of a value within the whole is its name and a dot, or nothing
/// for the whole.
class StateCollector {
 public:
  StateDict state;

  void add(const std::string& place, const IValue& value) {
    if (value.isTensor()) {
      insert(place, value.toTensor());
    } else if (value.isScalar()) {
      insert(place, number_tensor(value.toScalar(), value.toScalar().kind()));
    } else if (value.isGenericDict()) {
      add_dict(place, value.toGenericDict());
    } else if (value.isIntList() && !value.toListRef().empty()) {
      insert(place, tensor(value.toIntVector(), TensorOptions(kLong).device(kCPU)));
    } else if (value.isObject()) {
      add_object(place, value.toObjectRef());
    } else {
      const std::vector<IValue>& items = items_of(value);
      for (size_t i = 0; i < items.size(); ++i) add(join(place, std::to_string(i)), items[i]);
    }
  }

 private:
  static std::string join(const std::string& place, const std::string& name) { return place + name + "."; }

  void insert(const std::string& place, const Tensor& value) {
    const std::string key = place.empty() ? "0" : place.substr(0, place.size() - 1);
    TANDEM_CHECK(
        names_.include(key), StateError,
        "more than {} tensors and numbers, or their names have more than {} bytes; use load_pickle and its nested "
        "values",
        NamesSize::kMostNames, NamesSize::kMostBytes);
    TANDEM_CHECK(!state.contains(key), StateError,
                 "two values get the name '{}'; use load_pickle and its nested values", key);
    state.insert(key, value);
  }

  /// Adds the parameters and buffers of a module and of those in it. Its other attributes are not part of a
  /// state_dict(): options such as `training`, lists, tensors that are not registered.
  void add_object(const std::string& place, const ivalue::Object& object) {
    if (const std::optional<GenericDict> optimizer = optimizer_dict(object)) return add_dict(place, *optimizer);
    for (const auto& item : object.attributes()) {
      const IValue& value = item.value();
      if (value.isObject() || object.is_state(item.key())) add(join(place, item.key()), value);
    }
  }

  void add_dict(const std::string& place, const GenericDict& dict) {
    if (is_schedule(dict)) return add_schedule(place, dict);
    const bool is_optimizer =
        dict.contains(kState) && dict.contains(kGroups) && dict.at(kGroups).isList() && dict.at(kState).isGenericDict();
    const std::vector<IValue> groups = is_optimizer ? dict.at(kGroups).toListRef() : std::vector<IValue>{};
    const ParamNumbers numbers = numbers_in(groups);
    for (const auto& entry : dict) {
      const std::string key = key_text(entry.key()), path = join(place, key);
      if (is_optimizer && key == kGroups) {
        for (size_t g = 0; g < groups.size(); ++g) add_group(join(path, std::to_string(g)), groups[g], numbers);
      } else if (is_optimizer && key == kState) {
        for (const auto& of_one : entry.value().toGenericDict()) {
          const std::string param = key_text(of_one.key());
          const auto number = numbers.find(param);
          add_param_state(join(path, number == numbers.end() ? param : std::to_string(number->second)), of_one.value());
        }
      } else if (is_optimizer) {
        add_option(path, entry.value());
      } else {
        add(path, entry.value());
      }
    }
  }

  /// The places of parameters in the groups, which are their numbers here. PyTorch before 1.6 names them by addresses,
  /// FSDP and libtorch by texts.
  using ParamNumbers = std::unordered_map<std::string, int64_t>;

  static ParamNumbers numbers_in(const std::vector<IValue>& groups) {
    ParamNumbers numbers;
    for (const IValue& group : groups) {
      if (!group.isGenericDict() || !group.toGenericDict().contains(kParams)) continue;
      for (const IValue& param : items_of(group.toGenericDict().at(kParams))) {
        if (param.isInt() || param.isString()) numbers.emplace(key_text(param), static_cast<int64_t>(numbers.size()));
      }
    }
    return numbers;
  }

  void add_group(const std::string& place, const IValue& group, const ParamNumbers& numbers) {
    if (!group.isGenericDict()) return add(place, group);
    const GenericDict& dict = group.toGenericDict();
    for (const auto& entry : dict) {
      const std::string key = key_text(entry.key());
      const IValue& value = entry.value();
      const std::vector<IValue>& items = items_of(value);
      if (key == "betas" && items.size() == 2) {
        add(join(place, "beta1"), items[0]);
        add(join(place, "beta2"), items[1]);
      } else if (key == kParams) {
        std::vector<int64_t> own;
        for (const IValue& param : items) {
          if (param.isInt() || param.isString()) own.push_back(numbers.at(key_text(param)));
        }
        insert(join(place, key), tensor(own, TensorOptions(kLong).device(kCPU)));
      } else if (key == kLineSearch && (value.isNone() || (value.isString() && value.toStringRef() == kStrongWolfe))) {
        add(join(place, key), value.isString());
      } else {
        add_option(join(place, key), value);
      }
    }
    // Not in libtorch, in PyTorch's LBFGS and in PyTorch before 1.12.
    if (!dict.contains("maximize")) add(join(place, "maximize"), false);
  }

  void add_schedule(const std::string& place, const GenericDict& dict) {
    for (const auto& entry : dict) {
      const std::string path = join(place, key_text(entry.key()));
      const IValue& value = entry.value();
      const bool is_list = entry.key().isString() && entry.key().toStringRef() == kSchedulers && value.isList();
      if (!is_list) {
        value.isGenericDict() ? add_dict(path, value.toGenericDict()) : add_option(path, value);
        continue;
      }
      for (size_t i = 0; i < value.toListRef().size(); ++i) {
        const IValue& part = value.toListRef()[i];
        const std::string part_path = join(path, std::to_string(i));
        part.isGenericDict() ? add_schedule(part_path, part.toGenericDict()) : add_option(part_path, part);
      }
    }
  }

  /// Adds an option of a group or schedule. All are kept, also those that tandem does not know: lists of numbers as
  /// tensors of rank 1, texts, None and other values as pickles.
  void add_option(const std::string& place, const IValue& value) {
    if (value.isTensor() || value.isScalar() || (value.isIntList() && !value.toListRef().empty())) {
      return add(place, value);
    }
    const auto is_number = [](const IValue& v) { return v.isInt() || v.isDouble(); };
    if (value.isList() && !value.toListRef().empty() &&
        std::all_of(value.toListRef().begin(), value.toListRef().end(), is_number)) {
      std::vector<double> numbers;
      for (const IValue& v : value.toListRef()) numbers.push_back(v.toScalar().toDouble());
      return insert(place, tensor(numbers, TensorOptions(kDouble).device(kCPU)));
    }
    PickleStorages storages;
    const std::string bytes = write_pickle(value, storages);
    if (storages.size() > 0) return add(place, value);
    insert(place.substr(0, place.size() - 1) + std::string(kPickled) + ".",
           from_blob(const_cast<char*>(bytes.data()), {static_cast<int64_t>(bytes.size())},
                     TensorOptions(kByte).device(kCPU))
               .clone());
  }

  void add_param_state(const std::string& place, const IValue& own) {
    if (!own.isGenericDict()) return add(place, own);
    const GenericDict& dict = own.toGenericDict();
    for (const auto& entry : dict) {
      const std::string key = key_text(entry.key());
      // libtorch and older versions of PyTorch count steps in integers, and LBFGS begins with the integer 1.
      const bool is_floating = key == "step" || key == "H_diag";
      add(join(place, key), is_floating ? floating(entry.value()) : entry.value());
    }
    // SGD of PyTorch does not count steps. It matters only whether there was one: the first step fills the buffer.
    if (dict.contains("momentum_buffer") && dict.at("momentum_buffer").isTensor() && !dict.contains("step")) {
      insert(join(place, "step"), number_tensor(1, kFloat));
    }
  }

  NamesSize names_;
};

// ---- the other direction

template <class T>
std::vector<T> numbers_of(const Tensor& t) {
  std::vector<T> numbers;
  for (int64_t i = 0; i < t.numel(); ++i) numbers.push_back(t[i].item<T>());
  return numbers;
}

/// A number or a list of numbers of a state as Python's; other tensors as they are.
IValue option_value(const Tensor& t) {
  if (t.dim() == 1 && t.dtype() == kLong) return numbers_of<int64_t>(t);
  if (t.dim() == 1 && t.dtype() == kDouble) return numbers_of<double>(t);
  if (t.dim() != 0) return t;
  if (t.dtype() == kBool) return t.item<bool>();
  if (t.is_floating_point()) return t.item<double>();
  return t.item<int64_t>();
}

/// A number with which a name begins, and the rest after a dot; nothing if it does not.
std::optional<std::pair<int64_t, std::string>> numbered(const std::string& key, const std::string& prefix) {
  if (!key.starts_with(prefix)) return std::nullopt;
  int64_t number = 0;
  const char* const last = key.data() + key.size();
  const auto [end, error] = std::from_chars(key.data() + prefix.size(), last, number);
  if (error != std::errc() || end == last || *end != '.') return std::nullopt;
  return std::pair(number, std::string(end + 1, last));
}

/// Inserts an option, which may be a pickle.
void insert_option(GenericDict& dict, const std::string& key, const Tensor& value) {
  if (!key.ends_with(kPickled) || value.dtype() != kByte) return dict.insert(key, option_value(value));
  const Tensor bytes = value.to(Device(kCPU)).contiguous();
  std::string_view text(static_cast<const char*>(bytes.raw_bytes()), bytes.nbytes());
  dict.insert(key.substr(0, key.size() - kPickled.size()),
              read_pickle(text, {key + ": ", nullptr, nullptr, nullptr, {}}));
}

IValue group_value(const StateDict& options) {
  GenericDict group;
  for (const auto& item : options) {
    if (item.key() == "beta2") continue;
    if (item.key() == "beta1" && options.contains("beta2")) {
      group.insert("betas", ivalue::Tuple({option_value(item.value()), option_value(options["beta2"])}));
    } else if (item.key() == kLineSearch && item.value().dtype() == kBool) {
      group.insert(kLineSearch, item.value().item<bool>() ? IValue(kStrongWolfe) : IValue());
    } else {
      insert_option(group, item.key(), item.value());
    }
  }
  return group;
}

/// The state of a parameter: integers are Python's, and numbered entries are lists.
IValue param_state_value(const StateDict& own) {
  GenericDict dict;
  std::map<std::string, std::map<int64_t, Tensor>> lists;
  if (own.contains("prev_flat_grad")) lists = {{"old_dirs", {}}, {"old_stps", {}}, {"ro", {}}};  // also if empty
  for (const auto& item : own) {
    const std::string& key = item.key();
    const size_t dot = key.rfind('.');
    const auto place = dot == std::string::npos ? std::nullopt : numbered(key + ".", key.substr(0, dot + 1));
    if (place && place->second.empty()) {
      lists[key.substr(0, dot)][place->first] = item.value();
    } else {
      const bool is_integer = item.value().dim() == 0 && item.value().dtype() == kLong;
      dict.insert(key, is_integer ? option_value(item.value()) : IValue(item.value()));
    }
  }
  for (const auto& [name, list] : lists) {
    std::vector<Tensor> items;
    for (const auto& [number, tensor] : list) items.push_back(tensor);
    dict.insert(name, items);
  }
  return dict;
}

IValue schedule_value(const StateDict& state) {
  GenericDict dict, milestones;
  std::map<int64_t, StateDict> parts;
  for (const auto& item : state) {
    const auto part = numbered(item.key(), std::string(kSchedulers) + ".");
    const auto milestone = numbered(item.key() + ".", std::string(kMilestones) + ".");
    if (part) {
      parts[part->first].insert(part->second, item.value());
    } else if (milestone && milestone->second.empty()) {
      milestones.insert(milestone->first, option_value(item.value()));
    } else {
      insert_option(dict, item.key(), item.value());
    }
  }
  std::vector<IValue> list;
  for (const auto& [number, part] : parts) list.push_back(schedule_value(part));
  if (!list.empty()) dict.insert(kSchedulers, list);
  if (!milestones.empty()) dict.insert(kMilestones, milestones);
  return dict;
}

}  // namespace

void check_names(const StateDict& state) {
  NamesSize names;
  for (const auto& item : state) {
    TANDEM_CHECK(names.include(item.key()), StateError,
                 "more than {} tensors, or their names have more than {} bytes; save them in parts, or as safetensors",
                 NamesSize::kMostNames, NamesSize::kMostBytes);
  }
}

StateDict to_state_dict(const IValue& value) {
  const OpScope op("to_state_dict");
  StateCollector collector;
  collector.add("", value);
  return std::move(collector.state);
}

IValue to_torch_dict(const StateDict& state) {
  const OpScope op("to_torch_dict");
  std::map<int64_t, StateDict> groups;
  std::map<int64_t, StateDict> states;
  GenericDict result;
  for (const auto& item : state) {
    const auto in_group = numbered(item.key(), std::string(kGroups) + ".");
    const auto in_state = numbered(item.key(), std::string(kState) + ".");
    if (in_group) {
      groups[in_group->first].insert(in_group->second, item.value());
    } else if (in_state) {
      states[in_state->first].insert(in_state->second, item.value());
    }
  }
  const bool is_optimizer = !groups.empty();
  if (state.contains("last_epoch") && state.contains("_last_lr")) return schedule_value(state);
  for (const auto& item : state) {
    const bool nested = is_optimizer && (numbered(item.key(), std::string(kGroups) + ".") ||
                                         numbered(item.key(), std::string(kState) + "."));
    if (nested) continue;
    const bool is_option =
        is_optimizer && (item.key().find('.') == std::string::npos || item.key().ends_with(kPickled));
    is_option ? insert_option(result, item.key(), item.value()) : result.insert(item.key(), item.value());
  }
  if (!is_optimizer) return result;
  GenericDict by_parameter;
  for (const auto& [number, own] : states) by_parameter.insert(number, param_state_value(own));
  std::vector<IValue> list;
  for (const auto& [number, options] : groups) list.push_back(group_value(options));
  result.insert(kState, by_parameter);
  result.insert(kGroups, list);
  return result;
}

}  // namespace tandem::io
