#include "ptx/special_registers.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace tandem::ptx {
namespace {

using Value = unsigned (*)(const Position& at, unsigned lane, size_t axis);
unsigned thread(const Position& at, unsigned lane, size_t axis) {
  return coordinates(at.first_thread + lane, at.block_size)[axis];
}
unsigned threads(const Position& at, unsigned, size_t axis) { return at.block_size[axis]; }
unsigned block(const Position& at, unsigned, size_t axis) { return at.block[axis]; }
unsigned blocks(const Position& at, unsigned, size_t axis) { return at.blocks[axis]; }

struct Special {
  std::string_view name;
  Value value;
};
constexpr Special kSpecial[] = {{"%tid", thread}, {"%ntid", threads}, {"%ctaid", block}, {"%nctaid", blocks}};

/// The register of a name such as %tid.x, without its axis; null if there is none.
const Special* find(std::string_view name) {
  if (name.size() < 2 || name[name.size() - 2] != '.' || name.back() < 'x' || name.back() > 'z') return nullptr;
  const auto* const found = std::ranges::find(kSpecial, name.substr(0, name.size() - 2), &Special::name);
  return found == std::end(kSpecial) ? nullptr : found;
}

}  // namespace

bool is_special_register(std::string_view name) { return find(name) != nullptr; }

Row special_register(std::string_view name, const Position& at) {
  const Value value = find(name)->value;
  Row row;
  for (unsigned lane = 0; lane < kLanes; ++lane) row[lane] = value(at, lane, static_cast<size_t>(name.back() - 'x'));
  return row;
}

Dim coordinates(uint64_t number, const Dim& size) {
  return {static_cast<unsigned>(number % size[0]), static_cast<unsigned>(number / size[0] % size[1]),
          static_cast<unsigned>(number / size[0] / size[1])};
}

}  // namespace tandem::ptx
