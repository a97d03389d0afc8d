#include "ptx/parser.h"

#include <fmt/format.h>

#include <cstring>

#include "ptx/body.h"
#include "ptx/opcode.h"

namespace tandem::ptx {

Declaration take_declaration(Tokens& tokens) {
  Declaration d;
  size_t elements = 1, alignment = 0, element = 0;
  while (tokens.peek().starts_with('.')) {
    const std::string_view word = tokens.next();
    if (word == ".align") {
      alignment = static_cast<size_t>(tokens.next_integer());
    } else if (word == ".v2" || word == ".v4") {
      elements = static_cast<size_t>(word[2] - '0');
    } else {
      element = static_cast<size_t>(bytes_of(Opcode(std::string(word)).take_type()));
      if (element == 0) tokens.fail(fmt::format("unknown type {}", word));
    }
  }
  d.name = tokens.next();
  while (tokens.take("[")) {
    elements *= static_cast<size_t>(tokens.next_integer());
    tokens.expect("]");
  }
  d.bytes = elements * element;
  d.alignment = alignment ? alignment : d.bytes;
  return d;
}

namespace {

/// (.param .u64 a, .param .align 8 .b8 b[24])
std::vector<Declaration> take_parameters(Tokens& tokens) {
  std::vector<Declaration> all;
  if (!tokens.take("(")) return all;
  while (!tokens.take(")")) {
    tokens.expect(".param");
    all.push_back(take_declaration(tokens));
    tokens.take(",");
  }
  return all;
}

}  // namespace

Module::Module(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {
  Tokens tokens(text_, file_, 1);
  while (!tokens.peek().empty()) {
    if (tokens.take(".visible") || tokens.take(".weak")) continue;
    if (tokens.take(".version") || tokens.take(".address_size")) {
      tokens.next();
    } else if (tokens.take(".target")) {
      target_ = tokens.next();
    } else if (tokens.take(".entry")) {
      take_routine(tokens, true);
    } else if (tokens.take(".func")) {
      take_routine(tokens, false);
    } else if (tokens.take(".shared")) {
      const Declaration d = take_declaration(tokens);
      shared_[d.name] = d;
      tokens.expect(";");
    } else if (tokens.take(".global")) {
      take_global(tokens);
    } else {
      tokens.fail(fmt::format("unknown statement {}", tokens.peek()));
    }
  }
}

void Module::take_routine(Tokens& tokens, bool is_kernel) {
  Routine r{is_kernel, take_parameters(tokens), {}, {}, 0};
  const std::string name(tokens.next());
  r.parameters = take_parameters(tokens);
  while (tokens.peek() != "{" && tokens.peek() != ";") tokens.next();  // .maxntid 256, 1, 1
  if (tokens.take(";")) return;                                        // the body comes later
  const size_t begin = tokens.position();
  r.line = tokens.line();
  tokens.skip_block();
  r.body = std::string_view(text_).substr(begin, tokens.position() - begin);
  routines_[name] = std::move(r);
}

/// .global .align 4 .b8 table[24] = {65, 144, ...};
void Module::take_global(Tokens& tokens) {
  const Declaration d = take_declaration(tokens);
  std::vector<std::byte>& bytes = globals_[d.name];
  bytes.resize(d.bytes);
  if (tokens.take("=")) {
    tokens.expect("{");
    size_t at = 0;
    while (!tokens.take("}")) {
      const int64_t value = tokens.next_integer();
      if (value < 0 || value > 255 || at == d.bytes) tokens.fail("only initial values by bytes are known");
      bytes[at++] = static_cast<std::byte>(value);
      tokens.take(",");
    }
  }
  tokens.expect(";");
}

std::vector<std::string> Module::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, routine] : routines_) {
    if (routine.is_kernel) names.push_back(name);
  }
  return names;
}

const Kernel& Module::kernel(const std::string& name) {
  if (const Kernel* const known = find(kernels_, name)) return *known;
  const Routine* const r = find(routines_, name);
  if (!r || !r->is_kernel) throw SyntaxError(fmt::format("{} has no kernel {}", file_, name));
  return kernels_[name] = parse_kernel(*this, name, *r);
}

}  // namespace tandem::ptx
