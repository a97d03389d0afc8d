#pragma once
// What is known of each byte of memory: whether it was written, by whom, and since which barrier.
//
// Generic addresses are the host's for global memory; the other spaces have windows far above them.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "ptx/module.h"

namespace tandem::ptx {

inline constexpr uint64_t kWindow = uint64_t{1} << 60;  ///< between two windows
/// The generic address of a space's first byte; 0 for global memory.
uint64_t window_of(Space space);

struct Range {
  uint64_t begin, end;
  std::string what;
  bool contains(uint64_t address, uint64_t bytes) const { return address >= begin && address + bytes <= end; }
};
/// Which global memory a kernel may access.
struct GlobalMemory {
  virtual ~GlobalMemory() = default;
  /// The allocation that contains the address.
  virtual std::optional<Range> range(uint64_t address) = 0;
};

/// A set of the bytes of an access: bit n is byte n. A struct's padding has no value when the struct is copied.
using Bytes = uint32_t;
constexpr Bytes all_bytes(unsigned count) { return (Bytes{1} << count) - 1; }

enum class Access : uint8_t { read, write, atomic };

/// The threads, or blocks, that have accessed a byte in one way since a barrier: none, one, or several of them.
struct Accessors {
  static constexpr uint32_t kNone = ~uint32_t{0}, kSeveral = kNone - 1;
  uint32_t who = kNone, barriers = 0;
  void add(uint32_t thread, uint32_t now);
  bool has_other(uint32_t thread, uint32_t now) const { return who != kNone && who != thread && barriers == now; }
};

/// A byte of a block's shared memory. Accesses between the same two barriers are not ordered, also not within a warp.
struct SharedByte {
  std::array<Accessors, 3> accesses;  ///< by Access
  bool initialized = false;
  uint32_t copier = Accessors::kNone;  ///< the thread whose cp.async will write it
  /// Notes an access. Returns whether it races with an earlier one.
  bool races(Access access, uint32_t thread, uint32_t barriers);
};

/// Which blocks have accessed each byte of global memory in a launch; in pages, made at the first access. No two blocks
/// are ordered.
class GlobalTrace {
 public:
  /// Notes an access. Returns whether another block has accessed one of the bytes, and not both by atomic operations.
  bool races(Access access, uint64_t address, unsigned bytes, uint32_t block);

 private:
  static constexpr uint64_t kPage = 4096;
  using Page = std::array<std::array<Accessors, 3>, kPage>;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_ = ~uint64_t{0};
  Page* last_page_ = nullptr;
};

}  // namespace tandem::ptx
