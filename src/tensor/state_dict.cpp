#include "tandem/tensor/state_dict.h"

#include <fmt/ranges.h>

#include <limits>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>

#include "src/tensor/float8_blocks.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {

StateDict state_below(const StateDict& state, const std::string& prefix) {
  const std::string start = prefix + ".";
  StateDict below;
  for (const auto& item : state) {
    if (item.key().starts_with(start)) below.insert(item.key().substr(start.size()), item.value());
  }
  return below;
}

void add_below(StateDict& state, const std::string& prefix, const StateDict& part) {
  for (const auto& item : part) state.insert(prefix + "." + item.key(), item.value());
}

namespace {
constexpr const char* kScaleSuffix = "_scale";
}

// ---- writing

void StateWriter::number(const std::string& name, double& value) {
  state_.insert(prefix_ + name, scalar_tensor(value, TensorOptions(kDouble).device(kCPU)));
}
void StateWriter::number(const std::string& name, int64_t& value) {
  state_.insert(prefix_ + name, scalar_tensor(value, TensorOptions(kLong).device(kCPU)));
}
void StateWriter::number(const std::string& name, bool& value) {
  state_.insert(prefix_ + name, scalar_tensor(value, TensorOptions(kBool).device(kCPU)));
}
void StateWriter::number(const std::string& name, std::optional<double>& value) {
  if (value) number(name, *value);
}
void StateWriter::tensor(const std::string& name, Tensor& value) { state_.insert(prefix_ + name, value); }
void StateWriter::optional_tensor(const std::string& name, Tensor& value, const Tensor&) {
  if (value.defined()) tensor(name, value);
}
void StateWriter::scaled_tensor(const std::string& name, Tensor& value, Tensor& scale) {
  tensor(name, value);
  if (value.dtype() == kFloat8_e4m3fn) tensor(name + kScaleSuffix, scale);
}

// ---- reading

namespace {
/// The text of a key in messages; the key is empty if the whole object is one number or tensor.
std::string shown(const std::string& key) { return key.empty() ? "it" : "'" + key + "'"; }
}  // namespace

const Tensor* StateReader::find(const std::string& name) {
  const std::string key = prefix_ + name;
  const Tensor* given = state_.find(key);
  if (!given) {
    missing_.push_back(key);
  } else if (!asked_.contains(key)) {
    asked_.insert(key, true);
  }
  return given;
}

const Tensor* StateReader::fitting(const std::string& name, const Tensor& like) {
  const Tensor* given = find(name);
  if (!given) return nullptr;
  const auto show = [](const Tensor& t) { return fmt::format("{} {}", to_string(t.sizes()), tandem::name(t.dtype())); };
  if (!given->defined()) {
    add_fault(fmt::format("{} is an undefined tensor", shown(prefix_ + name)));
  } else if (given->sizes() != like.sizes() ||
             (given->dtype() != like.dtype() && !(given->is_floating_point() && like.is_floating_point()))) {
    add_fault(fmt::format("{} is {} in the state, but {} here", shown(prefix_ + name), show(*given), show(like)));
  } else if (is_expanded(like.sizes(), like.strides())) {
    add_fault(fmt::format("several elements of {} {} share memory here (expanded); clone() it first",
                          shown(prefix_ + name), show(like)));
  } else {
    return given;
  }
  return nullptr;
}

template <class T>
void StateReader::read(const std::string& name, T& value) {
  const Tensor* given = find(name);
  if (!given) return;
  constexpr bool is_bool = std::is_same_v<T, bool>;
  const bool fits = given->defined() && given->numel() == 1 &&
                    (std::is_same_v<T, double> ? given->dtype() != kBool
                     : is_bool                 ? given->dtype() == kBool
                                               : is_integral(given->dtype(), /*include_bool=*/false));
  if (fits) {
    value = given->item<T>();
    return;
  }
  add_fault(fmt::format("{} is {}; it must be one {}", shown(prefix_ + name),
                        given->defined() ? fmt::format("{} {}", to_string(given->sizes()), tandem::name(given->dtype()))
                                         : std::string("an undefined tensor"),
                        std::is_same_v<T, double> ? "number"
                        : is_bool                 ? "bool"
                                                  : "integer"));
}

void StateReader::number(const std::string& name, double& value) { read(name, value); }
void StateReader::number(const std::string& name, int64_t& value) { read(name, value); }
void StateReader::number(const std::string& name, bool& value) { read(name, value); }

void StateReader::number(const std::string& name, std::optional<double>& value) {
  value.reset();
  if (contains(name)) read(name, value.emplace());
}

void StateReader::tensor(const std::string& name, Tensor& value) {
  if (const Tensor* given = fitting(name, value)) value.copy_(*given);
}

void StateReader::count(const std::string& name, Tensor& value) {
  const Tensor* given = fitting(name, value);
  if (!given) return;
  const auto steps = given->item<double>();
  if (steps >= 0 && steps <= std::numeric_limits<float>::max()) {  // counts are f32
    value.copy_(*given);
  } else {
    add_fault(fmt::format("{} is {}; a count of steps is finite and at least 0", shown(prefix_ + name), steps));
  }
}

void StateReader::optional_tensor(const std::string& name, Tensor& value, const Tensor& like) {
  value = contains(name) ? empty_like(like) : Tensor();
  if (value.defined()) tensor(name, value);
}

void StateReader::scaled_tensor(const std::string& name, Tensor& value, Tensor& scale) {
  const Tensor* given = fitting(name, value);
  if (!given) return;
  const bool scaled = value.dtype() == kFloat8_e4m3fn, given_scaled = given->dtype() == kFloat8_e4m3fn;
  if (scaled && given_scaled) {
    value.copy_(*given);
    tensor(name + kScaleSuffix, scale);
  } else if (given_scaled) {
    const Tensor codes = empty(value.sizes(), value.options().dtype(kFloat8_e4m3fn));
    Tensor inverse = zeros({detail::float8_block_count(value.numel())}, value.options().dtype(kFloat));
    codes.copy_(*given);
    tensor(name + kScaleSuffix, inverse);
    value.copy_(detail::widen_float8_blocks(codes, inverse));
  } else if (scaled) {
    detail::round_to_float8_blocks(value, scale, *given);
  } else {
    value.copy_(*given);
  }
}

bool StateReader::contains_below(const std::string& start) const {
  for (const auto& item : state_) {
    if (item.key().starts_with(prefix_ + start)) return true;
  }
  return false;
}

IncompatibleKeys StateReader::incompatible_keys() const {
  IncompatibleKeys keys{missing_, {}};
  for (const auto& item : state_) {
    if (!asked_.contains(item.key())) keys.unexpected_keys.push_back(item.key());
  }
  return keys;
}

namespace {

/// The name below which the state has the missing keys, as a file of a model in another module or of a whole run does;
/// empty if there is none.
std::string name_of_part(const IncompatibleKeys& keys) {
  const std::unordered_set<std::string> missing(keys.missing_keys.begin(), keys.missing_keys.end());
  std::unordered_map<std::string, size_t> found;
  std::string best;
  for (const std::string& key : keys.unexpected_keys) {
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      if (!missing.contains(key.substr(dot + 1))) continue;
      const std::string name = key.substr(0, dot);
      const size_t count = ++found[name];
      if (count > found[best]) best = name;
    }
  }
  return best;
}

}  // namespace

void StateReader::finish(bool strict) const {
  std::vector<std::string> all = faults_;
  std::string cure = "load it into the object that it was saved from";
  if (strict) {
    const IncompatibleKeys keys = incompatible_keys();
    const auto list = [&](const char* what, const std::vector<std::string>& names) {
      if (!names.empty()) all.push_back(fmt::format("{}: '{}'", what, fmt::join(names, "', '")));
    };
    list("missing keys", keys.missing_keys);
    list("unexpected keys", keys.unexpected_keys);
    if (const std::string part = name_of_part(keys); !part.empty()) {
      cure = fmt::format("the missing keys are below '{0}': load state_below(io::load_state(path), \"{0}\")", part);
    }
  }
  TANDEM_CHECK(all.empty(), StateError, "the state does not fit: {}; nothing was changed; {}", fmt::join(all, "; "),
               cure);
}

}  // namespace tandem
