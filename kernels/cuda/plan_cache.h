#pragma once
// PlanCache: plans that a library prepared for calls (descriptors, the chosen algorithm), by keys of plain numbers.
// Independent of CUDA.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tandem::cuda {

/// FNV-1a over the 64-bit words of a key without padding, with a final mix.
template <class Key>
struct KeyHash {
  static_assert(std::has_unique_object_representations_v<Key> && sizeof(Key) % 8 == 0, "a key must have no padding");
  size_t operator()(const Key& key) const {
    uint64_t words[sizeof(Key) / 8], hash = 0xcbf29ce484222325u;
    std::memcpy(words, &key, sizeof(Key));
    for (const uint64_t word : words) hash = (hash ^ word) * 0x100000001b3u;
    return static_cast<size_t>(hash ^ (hash >> 32));
  }
};

/// Keeps the `capacity` most recently used plans. Not thread-safe: each thread has its own cache, so a lookup takes no
/// lock and a plan's descriptors belong to one thread.
template <class Key, class Plan>
class PlanCache {
 public:
  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  /// Returns the plan of `key`, created by `make()` at first use. If make() throws, nothing is stored. The reference is
  /// valid until `capacity` other plans have been requested.
  template <class Make>
  Plan& find_or_make(const Key& key, Make&& make) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
      by_age_.splice(by_age_.begin(), by_age_, found->second);
      return found->second->second;
    }
    by_age_.emplace_front(key, make());
    by_key_.emplace(key, by_age_.begin());
    if (by_age_.size() > capacity_) {
      by_key_.erase(by_age_.back().first);
      by_age_.pop_back();
    }
    return by_age_.front().second;
  }
  size_t size() const { return by_age_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Plan>>;
  size_t capacity_;
  Entries by_age_;  ///< most recently used first
  std::unordered_map<Key, typename Entries::iterator, KeyHash<Key>> by_key_;
};

}  // namespace tandem::cuda
