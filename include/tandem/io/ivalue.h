#pragma once
// IValue: a value of any type that PyTorch's files can contain, with the accessors of libtorch's c10::IValue.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/base/device.h"
#include "tandem/base/dtype.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem {

class GenericDict;

namespace ivalue {
struct Tuple;
struct Object;
}  // namespace ivalue

/// None, a bool, integer, double, string, dtype, device or tensor, or a list, tuple, dictionary or object of such
/// values. Copies share their contents, which do not change. The accessors throw StateError if the value is of another
/// type.
///
///   GenericDict weights = pickle_load(bytes).toGenericDict();
///   for (const auto& entry : weights) std::cout << entry.key().toStringRef() << entry.value().toTensor().sizes();
class IValue {
 public:
  IValue() = default;
  IValue(bool value) : value_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) IValue(T value) : value_(static_cast<int64_t>(value)) {}
  IValue(double value) : value_(value) {}
  IValue(const char* text) : IValue(std::string(text)) {}
  IValue(std::string text);
  IValue(DType dtype) : value_(dtype) {}
  IValue(Device device) : value_(device) {}
  IValue(Tensor tensor) : value_(std::move(tensor)) {}
  IValue(std::vector<IValue> list);
  IValue(const std::vector<Tensor>& list);
  IValue(const std::vector<int64_t>& list);
  IValue(const std::vector<double>& list);
  IValue(const std::vector<bool>& list);
  IValue(const std::vector<std::string>& list);
  IValue(GenericDict dict);
  IValue(ivalue::Tuple tuple);
  IValue(ivalue::Object object);
  /// A dictionary of tensors.
  IValue(const StateDict& state);
  IValue(std::nullopt_t) {}
  IValue(Scalar value);
  IValue(IntArrayRef list) : IValue(list.vec()) {}
  template <class T>
  IValue(const std::optional<T>& value) {
    if (value) *this = IValue(*value);
  }
  template <class... T>
  IValue(const std::tuple<T...>& values);
  /// Bytes, which are not text: Python's `bytes`.
  static IValue bytes(std::string bytes);

  bool isNone() const { return is<std::monostate>(); }
  bool isBool() const { return is<bool>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isScalar() const { return isBool() || isInt() || isDouble(); }
  bool isString() const { return is<Text>(); }
  bool isBytes() const { return is<Bytes>(); }
  bool isScalarType() const { return is<DType>(); }
  bool isDevice() const { return is<Device>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isList() const { return is<List>(); }
  /// A list of tensors only; the empty list is a list of any type.
  bool isTensorList() const { return is_list_of(&IValue::isTensor); }
  bool isIntList() const { return is_list_of(&IValue::isInt); }
  bool isDoubleList() const { return is_list_of(&IValue::isDouble); }
  bool isBoolList() const { return is_list_of(&IValue::isBool); }
  bool isTuple() const { return is<std::shared_ptr<const ivalue::Tuple>>(); }
  bool isGenericDict() const { return is<std::shared_ptr<const GenericDict>>(); }
  bool isObject() const { return is<std::shared_ptr<const ivalue::Object>>(); }
  /// The type as text: "Tensor", "List", "Int", ...
  std::string_view tagKind() const;

  bool toBool() const { return get<bool>("Bool"); }
  int64_t toInt() const { return get<int64_t>("Int"); }
  double toDouble() const { return get<double>("Double"); }
  /// A bool, integer or double as a Scalar.
  Scalar toScalar() const;
  const std::string& toStringRef() const { return *get<Text>("String"); }
  const std::string& toBytes() const { return *get<Bytes>("Bytes").bytes; }
  DType toScalarType() const { return get<DType>("ScalarType"); }
  Device toDevice() const { return get<Device>("Device"); }
  const Tensor& toTensor() const { return get<Tensor>("Tensor"); }
  const std::vector<IValue>& toListRef() const { return *get<List>("List"); }
  std::vector<Tensor> toTensorVector() const;
  std::vector<Tensor> toTensorList() const { return toTensorVector(); }
  std::vector<int64_t> toIntVector() const;
  std::vector<int64_t> toIntList() const { return toIntVector(); }
  std::vector<double> toDoubleList() const { return toDoubleVector(); }
  std::vector<double> toDoubleVector() const;
  /// `value.toTuple()->elements()`
  std::shared_ptr<const ivalue::Tuple> toTuple() const { return get<std::shared_ptr<const ivalue::Tuple>>("Tuple"); }
  const ivalue::Tuple& toTupleRef() const { return *get<std::shared_ptr<const ivalue::Tuple>>("Tuple"); }
  const GenericDict& toGenericDict() const& { return *get<std::shared_ptr<const GenericDict>>("GenericDict"); }
  /// Throws StateError unless the value is a dictionary.
  GenericDict toGenericDict() &&;
  /// `value.toObject()->getAttr("weight")`
  std::shared_ptr<const ivalue::Object> toObject() const {
    return get<std::shared_ptr<const ivalue::Object>>("Object");
  }
  const ivalue::Object& toObjectRef() const { return *get<std::shared_ptr<const ivalue::Object>>("Object"); }
  /// The value as a number, string, tensor, vector or tuple of these, or as an IValue.
  template <class T>
  T to() const;
  /// The same, or nothing for None.
  template <class T>
  std::optional<T> toOptional() const {
    return isNone() ? std::nullopt : std::optional<T>(to<T>());
  }

 private:
  using Text = std::shared_ptr<const std::string>;
  using List = std::shared_ptr<const std::vector<IValue>>;
  struct Bytes {
    std::shared_ptr<const std::string> bytes;
  };
  using Value = std::variant<std::monostate, bool, int64_t, double, Text, Bytes, DType, Device, Tensor, List,
                             std::shared_ptr<const ivalue::Tuple>, std::shared_ptr<const GenericDict>,
                             std::shared_ptr<const ivalue::Object>>;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& get(const char* wanted) const {
    if (const T* value = std::get_if<T>(&value_)) return *value;
    throw_other_type(wanted);
  }
  bool is_list_of(bool (IValue::*is_one)() const) const;
  [[noreturn]] void throw_other_type(const char* wanted) const;

  Value value_;
};

/// A dictionary in insertion order, like libtorch's c10::impl::GenericDict. Keys are strings, integers, doubles, bools
/// or None.
class GenericDict {
 public:
  /// A key and its value.
  class Entry {
   public:
    Entry(IValue key, IValue value) : key_(std::move(key)), value_(std::move(value)) {}
    const IValue& key() const { return key_; }
    const IValue& value() const { return value_; }

   private:
    friend class GenericDict;
    IValue key_, value_;
  };
  using const_iterator = std::vector<Entry>::const_iterator;

  GenericDict() = default;
  GenericDict(std::initializer_list<Entry> entries);

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  /// Adds an entry unless the key exists. Throws StateError if the key is of a type that cannot be one.
  void insert(IValue key, IValue value);
  /// Adds an entry, or replaces the value of the key.
  void insert_or_assign(IValue key, IValue value);
  /// Whether there is an entry with this key.
  bool contains(const IValue& key) const { return find(key) != end(); }
  /// The entry of `key`, or end().
  const_iterator find(const IValue& key) const;
  /// The value of `key`. Throws IndexError if there is none.
  const IValue& at(const IValue& key) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;  // by the key as text
};

namespace ivalue {

/// Values of a fixed number.
struct Tuple {
  explicit Tuple(std::vector<IValue> elements) : elements_(std::move(elements)) {}
  const std::vector<IValue>& elements() const { return elements_; }
  size_t size() const { return elements_.size(); }

 private:
  std::vector<IValue> elements_;
};

/// An instance of a TorchScript class: the attributes by name. Its code is not part of it.
struct Object {
  Object(std::string name, OrderedDict<std::string, IValue> attributes,
         std::optional<std::vector<std::string>> state_names = std::nullopt)
      : name_(std::move(name)), attributes_(std::move(attributes)), state_names_(std::move(state_names)) {}
  /// The qualified name of the class: "__torch__.Module".
  const std::string& name() const { return name_; }
  const OrderedDict<std::string, IValue>& attributes() const { return attributes_; }
  /// Whether there is an attribute with this name.
  bool hasattr(const std::string& name) const { return attributes_.contains(name); }
  /// Throws IndexError if there is no such attribute.
  const IValue& getAttr(const std::string& name) const { return attributes_[name]; }
  /// Whether the class declares this attribute as a parameter or buffer, so that PyTorch's state_dict() has it. If the
  /// file lacks the class's code, whether the attribute is a tensor.
  bool is_state(const std::string& name) const;

 private:
  std::string name_;
  OrderedDict<std::string, IValue> attributes_;
  std::optional<std::vector<std::string>> state_names_;
};

}  // namespace ivalue

template <class... T>
IValue::IValue(const std::tuple<T...>& values)
    : IValue(std::apply([](const T&... v) { return ivalue::Tuple({IValue(v)...}); }, values)) {}

namespace detail {
template <class... T, size_t... I>
void set_tuple(std::tuple<T...>& values, const IValue& value, std::index_sequence<I...>) {
  ((std::get<I>(values) = value.toTupleRef().elements().at(I).to<T>()), ...);
}
template <class... T>
void convert(const IValue& value, std::tuple<T...>& result) {
  set_tuple(result, value, std::index_sequence_for<T...>());
}
template <class T>
void convert(const IValue& value, std::vector<T>& result) {
  for (const IValue& item : value.toListRef()) result.push_back(item.to<T>());
}
template <class T>
void convert(const IValue& value, std::optional<T>& result) {
  result = value.toOptional<T>();
}
inline void convert(const IValue& value, IValue& result) { result = value; }
inline void convert(const IValue& value, std::string& result) { result = value.toStringRef(); }
inline void convert(const IValue& value, Tensor& result) { result = value.toTensor(); }
inline void convert(const IValue& value, Scalar& result) { result = value.toScalar(); }
template <class T>
requires std::is_arithmetic_v<T>
void convert(const IValue& value, T& result) {
  if constexpr (std::same_as<T, bool>) {
    result = value.toBool();
  } else if constexpr (std::integral<T>) {
    result = static_cast<T>(value.toInt());
  } else {
    result = static_cast<T>(value.toDouble());
  }
}
}  // namespace detail
template <class T>
T IValue::to() const {
  T result{};
  detail::convert(*this, result);
  return result;
}

namespace jit {
using tandem::IValue;
}

}  // namespace tandem
#pragma GCC visibility pop
