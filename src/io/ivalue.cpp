#include "tandem/io/ivalue.h"

#include <algorithm>

#include "tandem/base/check.h"

namespace tandem {
namespace {

template <class T>
std::vector<IValue> values_of(const std::vector<T>& list) {
  std::vector<IValue> values;
  values.reserve(list.size());
  for (const auto& item : list) values.emplace_back(T(item));
  return values;
}

/// A key as text: its type and its value.
std::string text_of(const IValue& key) {
  if (key.isString()) return fmt::format("s{}", key.toStringRef());
  if (key.isInt()) return fmt::format("i{}", key.toInt());
  if (key.isBool()) return key.toBool() ? "bTrue" : "bFalse";
  if (key.isDouble()) return fmt::format("d{}", key.toDouble());
  if (key.isNone()) return "n";
  TANDEM_THROW(StateError, "a {} cannot be a key of a dictionary; use a string or an integer", key.tagKind());
}

}  // namespace

IValue::IValue(std::string text) : value_(std::make_shared<const std::string>(std::move(text))) {}
IValue::IValue(std::vector<IValue> list) : value_(std::make_shared<const std::vector<IValue>>(std::move(list))) {}
IValue::IValue(const std::vector<Tensor>& list) : IValue(values_of(list)) {}
IValue::IValue(const std::vector<int64_t>& list) : IValue(values_of(list)) {}
IValue::IValue(const std::vector<double>& list) : IValue(values_of(list)) {}
IValue::IValue(const std::vector<bool>& list) : IValue(values_of(list)) {}
IValue::IValue(const std::vector<std::string>& list) : IValue(values_of(list)) {}
IValue::IValue(GenericDict dict) : value_(std::make_shared<const GenericDict>(std::move(dict))) {}
IValue::IValue(ivalue::Tuple tuple) : value_(std::make_shared<const ivalue::Tuple>(std::move(tuple))) {}
IValue::IValue(ivalue::Object object) : value_(std::make_shared<const ivalue::Object>(std::move(object))) {}
IValue::IValue(const StateDict& state) {
  GenericDict dict;
  for (const auto& item : state) dict.insert(item.key(), item.value());
  *this = IValue(std::move(dict));
}

IValue::IValue(Scalar value) {
  if (value.is_boolean()) {
    value_ = value.to<bool>();
  } else if (value.is_floating_point()) {
    value_ = value.to_double();
  } else {
    value_ = value.to_int64();
  }
}

IValue IValue::bytes(std::string bytes) {
  IValue value;
  value.value_ = Bytes{std::make_shared<const std::string>(std::move(bytes))};
  return value;
}

std::string_view IValue::tagKind() const {
  constexpr std::string_view names[] = {"None",   "Bool",   "Int",  "Double", "String",      "Bytes", "ScalarType",
                                        "Device", "Tensor", "List", "Tuple",  "GenericDict", "Object"};
  static_assert(std::size(names) == std::variant_size_v<Value>);
  return names[value_.index()];
}

Scalar IValue::toScalar() const {
  const OpScope op("toScalar");
  return isBool() ? Scalar(toBool()) : isInt() ? Scalar(toInt()) : Scalar(get<double>("number"));
}

std::vector<Tensor> IValue::toTensorVector() const {
  const OpScope op("toTensorVector");
  std::vector<Tensor> tensors;
  for (const IValue& item : toListRef()) tensors.push_back(item.toTensor());
  return tensors;
}

std::vector<int64_t> IValue::toIntVector() const {
  const OpScope op("toIntVector");
  std::vector<int64_t> numbers;
  for (const IValue& item : toListRef()) numbers.push_back(item.toInt());
  return numbers;
}

std::vector<double> IValue::toDoubleVector() const {
  const OpScope op("toDoubleVector");
  std::vector<double> numbers;
  for (const IValue& item : toListRef()) numbers.push_back(item.toDouble());
  return numbers;
}

GenericDict IValue::toGenericDict() && { return static_cast<const IValue&>(*this).toGenericDict(); }

bool IValue::is_list_of(bool (IValue::*is_one)() const) const {
  const List* list = std::get_if<List>(&value_);
  if (!list) return false;
  for (const IValue& item : **list) {
    if (!(item.*is_one)()) return false;
  }
  return true;
}

void IValue::throw_other_type(const char* wanted) const {
  TANDEM_THROW(StateError, "the value is of type {}, not {}; ask tagKind() for the type first", tagKind(), wanted);
}

bool ivalue::Object::is_state(const std::string& name) const {
  const IValue* value = attributes_.find(name);
  if (!value || !value->isTensor()) return false;
  return !state_names_ || std::find(state_names_->begin(), state_names_->end(), name) != state_names_->end();
}

// ---- dictionaries

GenericDict::GenericDict(std::initializer_list<Entry> entries) {
  for (const Entry& e : entries) insert(e.key(), e.value());
}

void GenericDict::insert(IValue key, IValue value) {
  if (index_.emplace(text_of(key), entries_.size()).second) entries_.emplace_back(std::move(key), std::move(value));
}

void GenericDict::insert_or_assign(IValue key, IValue value) {
  const auto [at, added] = index_.emplace(text_of(key), entries_.size());
  if (added) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[at->second].value_ = std::move(value);
  }
}

GenericDict::const_iterator GenericDict::find(const IValue& key) const {
  const auto at = index_.find(text_of(key));
  return at == index_.end() ? end() : begin() + static_cast<std::ptrdiff_t>(at->second);
}

const IValue& GenericDict::at(const IValue& key) const {
  const auto found = find(key);
  TANDEM_CHECK(found != end(), IndexError, "the dictionary has no key {}; it has {} keys", text_of(key).substr(1),
               size());
  return found->value();
}

}  // namespace tandem
