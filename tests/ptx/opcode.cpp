#include "ptx/opcode.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tandem::ptx {
namespace {

constexpr std::pair<const char*, Type> kTypes[] = {
    {"pred", Type::pred},   {"b8", Type::b8},   {"b16", Type::b16}, {"b32", Type::b32},      {"b64", Type::b64},
    {"u8", Type::u8},       {"u16", Type::u16}, {"u32", Type::u32}, {"u64", Type::u64},      {"s8", Type::s8},
    {"s16", Type::s16},     {"s32", Type::s32}, {"s64", Type::s64}, {"f16", Type::f16},      {"bf16", Type::bf16},
    {"f16x2", Type::f16x2}, {"f32", Type::f32}, {"f64", Type::f64}, {"bf16x2", Type::bf16x2}};

}  // namespace

int bytes_of(Type type) {
  switch (type) {
    case Type::none:
      return 0;
    case Type::pred:
    case Type::b8:
    case Type::u8:
    case Type::s8:
      return 1;
    case Type::b16:
    case Type::u16:
    case Type::s16:
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 8;
    default:
      return 4;
  }
}

Opcode::Opcode(const std::string& text) {
  std::istringstream parts(text);
  std::getline(parts, mnemonic_, '.');
  for (std::string part; std::getline(parts, part, '.');) modifiers_.push_back(part);
}

bool Opcode::take(const std::string& modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

std::string Opcode::left() const {
  std::string all;
  for (const std::string& m : modifiers_) all += "." + m;
  return all;
}

Type Opcode::take_type() {
  for (auto m = modifiers_.begin(); m != modifiers_.end(); ++m) {
    for (const auto& [name, type] : kTypes) {
      if (*m != name) continue;
      modifiers_.erase(m);
      return type;
    }
  }
  return Type::none;
}

Space Opcode::take_space() {
  constexpr std::pair<const char*, Space> spaces[] = {
      {"global", Space::global}, {"shared", Space::shared}, {"local", Space::local}, {"param", Space::param}};
  for (const auto& [name, space] : spaces) {
    if (take(name)) return space;
  }
  return Space::generic;
}

void Opcode::take_rounding(Instruction& i) {
  constexpr std::pair<const char*, Rounding> modes[] = {
      {"rn", Rounding::nearest}, {"rz", Rounding::zero}, {"rm", Rounding::down}, {"rp", Rounding::up}};
  for (const auto& [name, mode] : modes) {
    if (take(name)) i.rounding = mode;
    if (take(std::string(name) + "i")) {
      i.rounding = mode;
      i.integral = true;
    }
  }
}

bool has_result(const std::string& opcode) {
  constexpr const char* without[] = {"st", "bra", "ret", "trap", "cp", "bar", "red"};
  const Opcode op(opcode);
  if (opcode.starts_with("bar.red")) return true;
  return std::ranges::find(without, op.mnemonic()) == std::end(without);
}

}  // namespace tandem::ptx
