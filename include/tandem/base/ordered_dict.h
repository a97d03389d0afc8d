#pragma once
// OrderedDict: a dictionary that keeps insertion order, like libtorch's torch::OrderedDict.
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/base/error.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace detail {
[[noreturn]] void throw_no_key(const std::string& what, const std::string& key);
[[noreturn]] void throw_key_defined(const std::string& what, const std::string& key);
[[noreturn]] void throw_no_entry(const std::string& what, size_t index, size_t size);
inline const std::string& key_text(const std::string& key) { return key; }
template <class Key>
std::string key_text(const Key&) {
  return "(not text)";
}
}  // namespace detail

/// A key and its value, like libtorch's OrderedDict<Key, Value>::Item. Supports structured bindings:
/// `for (auto& [name, parameter] : module.named_parameters())`.
template <class Key, class Value>
class OrderedDictItem {
 public:
  OrderedDictItem(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
  Value& operator*() { return pair_.second; }
  const Value& operator*() const { return pair_.second; }
  Value* operator->() { return &pair_.second; }
  const Value* operator->() const { return &pair_.second; }
  const Key& key() const noexcept { return pair_.first; }
  /// The value.
  Value& value() noexcept { return pair_.second; }
  const Value& value() const noexcept { return pair_.second; }
  const std::pair<Key, Value>& pair() const noexcept { return pair_; }

  /// Returns the key for I = 0 and the value for I = 1.
  template <size_t I>
  auto& get() noexcept {
    static_assert(I < 2);
    if constexpr (I == 0) {
      return key();
    } else {
      return value();
    }
  }
  template <size_t I>
  const auto& get() const noexcept {
    return const_cast<OrderedDictItem&>(*this).template get<I>();
  }

 private:
  std::pair<Key, Value> pair_;
};

/// Items in insertion order, accessible by key or by position. `key_description` says in error messages what a key is.
template <class Key, class Value>
class OrderedDict {
 public:
  using Item = OrderedDictItem<Key, Value>;
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  OrderedDict() : OrderedDict(std::string("Key")) {}
  explicit OrderedDict(std::string key_description) : description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& item : items) insert(item.key(), item.value());
  }

  const std::string& key_description() const noexcept { return description_; }
  /// The first and the last item. Throw IndexError if the dictionary is empty.
  Item& front() { return item(0); }
  const Item& front() const { return const_cast<OrderedDict&>(*this).front(); }
  Item& back() { return item(items_.empty() ? 0 : items_.size() - 1); }
  const Item& back() const { return const_cast<OrderedDict&>(*this).back(); }
  Iterator begin() { return items_.begin(); }
  ConstIterator begin() const { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator end() const { return items_.end(); }
  size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }

  /// The item at position `index`. Throws IndexError if it is out of range.
  Item& operator[](size_t index) { return item(index); }
  const Item& operator[](size_t index) const { return const_cast<OrderedDict&>(*this)[index]; }
  /// The value of `key`. Throws IndexError if there is none.
  Value& operator[](const Key& key) {
    Value* value = find(key);
    if (!value) detail::throw_no_key(description_, detail::key_text(key));
    return *value;
  }
  const Value& operator[](const Key& key) const { return const_cast<OrderedDict&>(*this)[key]; }
  /// The value of `key`, or null if there is none.
  Value* find(const Key& key) noexcept {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : &items_[it->second].value();
  }
  const Value* find(const Key& key) const noexcept { return const_cast<OrderedDict&>(*this).find(key); }
  /// Whether there is an item with this key.
  bool contains(const Key& key) const noexcept { return index_.count(key) > 0; }

  /// Appends an item and returns its value. Throws StateError if the key exists.
  Value& insert(Key key, Value value) {
    if (!index_.emplace(key, items_.size()).second) detail::throw_key_defined(description_, detail::key_text(key));
    items_.emplace_back(std::move(key), std::move(value));
    return items_.back().value();
  }
  /// Appends all items of `other`. Throws StateError, and appends nothing, if one of its keys exists.
  void update(const OrderedDict& other) {
    for (const Item& added : other) {
      if (contains(added.key())) detail::throw_key_defined(description_, detail::key_text(added.key()));
    }
    for (const Item& added : other) insert(added.key(), added.value());
  }
  /// Removes an item. Throws IndexError if there is none with this key.
  void erase(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) detail::throw_no_key(description_, detail::key_text(key));
    const size_t at = it->second;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
    index_.erase(it);
    for (auto& entry : index_) entry.second -= entry.second > at ? 1 : 0;
  }
  /// Removes all items.
  void clear() {
    items_.clear();
    index_.clear();
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> all;
    all.reserve(items_.size());
    for (const Item& item : items_) all.push_back(item.key());
    return all;
  }
  std::vector<Value> values() const {
    std::vector<Value> all;
    all.reserve(items_.size());
    for (const Item& item : items_) all.push_back(item.value());
    return all;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> all;
    all.reserve(items_.size());
    for (const Item& item : items_) all.push_back(item.pair());
    return all;
  }

 private:
  Item& item(size_t index) {
    if (index >= items_.size()) detail::throw_no_entry(description_, index, items_.size());
    return items_[index];
  }

  std::unordered_map<Key, size_t> index_;
  std::vector<Item> items_;
  std::string description_;
};

}  // namespace tandem

template <class Key, class Value>
struct std::tuple_size<tandem::OrderedDictItem<Key, Value>> : std::integral_constant<std::size_t, 2> {};
template <class Key, class Value>
struct std::tuple_element<0, tandem::OrderedDictItem<Key, Value>> {
  using type = const Key;
};
template <class Key, class Value>
struct std::tuple_element<1, tandem::OrderedDictItem<Key, Value>> {
  using type = Value;
};
#pragma GCC visibility pop
