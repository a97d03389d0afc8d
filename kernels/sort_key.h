#pragma once
// Keys: the elements of a row as unsigned integers in the order of a sort, equal on all backends.
#include <cstdint>
#include <type_traits>

#include "tandem/base/half.h"
#include "tandem/base/macros.h"

namespace tandem::kernels {

template <class T>
inline constexpr bool kIsFloatingElement =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The bits of an element.
template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class T>
inline constexpr BitsOf<T> kSignBit = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));

/// +inf, as bits.
template <class T>
TANDEM_MATH constexpr BitsOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, double>) return static_cast<BitsOf<T>>(0x7ff0000000000000u);
  if constexpr (std::is_same_v<T, float>) return static_cast<BitsOf<T>>(0x7f800000u);
  if constexpr (std::is_same_v<T, Half>) return static_cast<BitsOf<T>>(0x7c00u);
  return static_cast<BitsOf<T>>(0x7f80u);
}

/// The bits of a floating element. Loops that read the member of a 16-bit type are vectorised; GCC 12 does not
/// vectorise those that copy the struct.
template <class T>
TANDEM_MATH BitsOf<T> bits_of(const T& x) {
  if constexpr (sizeof(T) == 2) {
    return x.bits;
  } else {
    return __builtin_bit_cast(BitsOf<T>, x);
  }
}

/// The key of x: in ascending order, all NaN have the largest key; -0 and 0 have the same.
template <class T>
TANDEM_MATH BitsOf<T> sort_key(const T& x) {
  using B = BitsOf<T>;
  if constexpr (kIsFloatingElement<T>) {
    const B bits = bits_of(x), magnitude = static_cast<B>(bits & static_cast<B>(~kSignBit<T>));
    const B negative = static_cast<B>(-static_cast<B>(bits >> (8 * sizeof(T) - 1)));  // all ones or 0
    const B ordered = static_cast<B>(bits ^ static_cast<B>(negative | kSignBit<T>));
    const B number = magnitude == 0 ? kSignBit<T> : ordered;
    return magnitude > infinity_bits<T>() ? static_cast<B>(~B{0}) : number;
  } else if constexpr (std::is_same_v<T, bool>) {
    return static_cast<B>(x);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<B>(static_cast<B>(x) ^ kSignBit<T>);
  } else {
    return x;
  }
}

/// True for the key of NaN.
template <class T>
TANDEM_HOST_DEVICE inline bool is_nan_key(BitsOf<T> key) {
  return kIsFloatingElement<T> && key == static_cast<BitsOf<T>>(~BitsOf<T>{0});
}

/// The key and the position of an element, for keys of 64 bits.
struct WideEntry {
  uint64_t key, position;
  TANDEM_HOST_DEVICE friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
  }
};

/// An element of a row that is sorted: its key, then its position (less than 2^32), so that all entries differ and
/// equal elements keep their order. Smaller keys are packed with the position into one integer.
template <class T>
using SortEntry = std::conditional_t<sizeof(T) == 8, WideEntry, uint64_t>;

/// The entry of element x at `position`; `descending` reverses the order of keys.
template <class T>
TANDEM_HOST_DEVICE inline SortEntry<T> make_entry(T x, int64_t position, bool descending) {
  using B = BitsOf<T>;
  const B key = sort_key(x), ordered = descending ? static_cast<B>(~key) : key;
  if constexpr (sizeof(T) == 8) {
    return {ordered, static_cast<uint64_t>(position)};
  } else {
    return uint64_t{ordered} << 32 | static_cast<uint64_t>(position);
  }
}
/// An entry after all others.
template <class E>
TANDEM_HOST_DEVICE inline E last_entry() {
  if constexpr (std::is_same_v<E, WideEntry>) {
    return {~uint64_t{0}, ~uint64_t{0}};
  } else {
    return ~E{0};
  }
}
/// An entry not before any entry with this key.
template <class T>
TANDEM_HOST_DEVICE inline SortEntry<T> last_entry_of(BitsOf<T> key) {
  if constexpr (sizeof(T) == 8) {
    return {key, ~uint64_t{0}};
  } else {
    return uint64_t{key} << 32 | 0xffffffffu;
  }
}
TANDEM_HOST_DEVICE inline int64_t position_of(const WideEntry& e) { return static_cast<int64_t>(e.position); }
TANDEM_HOST_DEVICE inline int64_t position_of(uint64_t e) { return static_cast<int64_t>(e & 0xffffffffu); }
/// The key as it was sorted.
TANDEM_HOST_DEVICE inline uint64_t key_of(const WideEntry& e) { return e.key; }
TANDEM_HOST_DEVICE inline uint64_t key_of(uint64_t e) { return e >> 32; }

}  // namespace tandem::kernels
