// Parses bodies: declarations in nested blocks, operands, labels, and calls, in whose place it parses the function.
#include "ptx/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ptx/opcode.h"
#include "ptx/special_registers.h"

namespace tandem::ptx {
namespace {

/// %r<100>: registers %r0 to %r99
struct Registers {
  Operand first;
  uint32_t count;
};

struct Variable {
  Space space;
  uint64_t address;
};

struct Scope {
  ByName<Operand> registers;
  ByName<Registers> families;
  ByName<Variable> variables;
};

/// A routine being parsed: its blocks, from the outermost, and its labels.
struct Frame {
  std::vector<Scope> scopes = std::vector<Scope>(1);
  std::unordered_map<std::string, uint32_t> labels;
  std::vector<std::pair<size_t, std::string>> branches;  ///< instructions whose target is a label
  bool is_kernel = true;
};
constexpr const char* kEnd = "(end)";  // the label behind a function

uint64_t reserve(size_t& end, const Declaration& d) {
  const size_t address = (end + d.alignment - 1) / d.alignment * d.alignment;
  end = address + d.bytes;
  return address;
}

class Body {
 public:
  Body(const Module& module, const std::string& name) : module_(module) {
    kernel_.name = name;
    kernel_.file = module.file();
  }

  Kernel parse(const Routine& routine) {
    Frame frame;
    for (const Declaration& d : routine.parameters) {
      const uint64_t at = reserve(kernel_.parameter_bytes, d);
      frame.scopes[0].variables[d.name] = {Space::param, at};
      kernel_.parameters.push_back({d.name, at, d.bytes});
    }
    take_body(routine, std::move(frame));
    return std::move(kernel_);
  }

 private:
  void take_body(const Routine& routine, Frame frame);
  void take_statement();
  void take_registers();
  void take_variable(Space space);
  void take_instruction();
  void take_call();
  /// Returns the memory's space if the operand names a variable.
  std::optional<Space> take_operand(std::vector<Operand>& into, int64_t& offset);
  Operand take_value();
  void decode(const std::string& text, Instruction& i);

  /// Searches the scopes from the innermost.
  template <class T>
  const T* find_in_scope(std::string_view name, ByName<T> Scope::*where) const {
    for (auto s = frame_->scopes.rbegin(); s != frame_->scopes.rend(); ++s) {
      if (const T* const found = find((*s).*where, name)) return found;
    }
    return nullptr;
  }
  std::optional<Operand> find_register(std::string_view name) const;
  std::optional<Variable> find_variable(std::string_view name);
  Operand constant(uint64_t value);

  const Module& module_;
  Kernel kernel_;
  Tokens* tokens_ = nullptr;
  Frame* frame_ = nullptr;
  std::unordered_map<uint64_t, uint32_t> constants_;
  ByName<Operand> special_;
  ByName<Variable> shared_;  ///< the module's, which several kernels may use
};

void Body::take_body(const Routine& routine, Frame frame) {
  Tokens tokens(routine.body, kernel_.file, routine.line);
  Tokens* const outer_tokens = std::exchange(tokens_, &tokens);
  Frame* const outer_frame = std::exchange(frame_, &frame);
  tokens.expect("{");
  while (!(frame.scopes.size() == 1 && tokens.peek() == "}")) take_statement();
  frame.labels[kEnd] = static_cast<uint32_t>(kernel_.code.size());
  for (const auto& [at, label] : frame.branches) {
    const auto found = frame.labels.find(label);
    if (found == frame.labels.end()) tokens.fail(fmt::format("there is no label {}", label));
    kernel_.code[at].target = found->second;
  }
  tokens_ = outer_tokens;
  frame_ = outer_frame;
}

void Body::take_statement() {
  if (tokens_->take("{")) return frame_->scopes.push_back({});
  if (tokens_->take("}")) return frame_->scopes.pop_back();
  if (tokens_->take(".reg")) return take_registers();
  if (tokens_->take(".shared")) return take_variable(Space::shared);
  if (tokens_->take(".local") || tokens_->take(".param")) return take_variable(Space::local);
  if (tokens_->take(".pragma")) {
    tokens_->next();
    return tokens_->expect(";");
  }
  take_instruction();
}

void Body::take_registers() {
  const std::string type(tokens_->next());
  const Type t = Opcode(type).take_type();
  if (t == Type::none) tokens_->fail(fmt::format("unknown type {}", type));
  const bool is_predicate = t == Type::pred;
  do {
    const std::string name(tokens_->next());
    uint32_t& end = is_predicate ? kernel_.predicates : kernel_.values;
    const Operand first{is_predicate ? Operand::predicate : Operand::value, false, static_cast<uint8_t>(bytes_of(t)),
                        end};
    if (tokens_->take("<")) {
      const auto count = static_cast<uint32_t>(tokens_->next_integer());
      tokens_->expect(">");
      frame_->scopes.back().families[name] = {first, count};
      end += count;
    } else {
      frame_->scopes.back().registers[name] = first;
      ++end;
    }
  } while (tokens_->take(","));
  tokens_->expect(";");
}

void Body::take_variable(Space space) {
  const Declaration d = take_declaration(*tokens_);
  tokens_->expect(";");
  const uint64_t at = reserve(space == Space::shared ? kernel_.shared_bytes : kernel_.local_bytes, d);
  frame_->scopes.back().variables[d.name] = {space, at};
}

std::optional<Operand> Body::find_register(std::string_view name) const {
  if (const Operand* const one = find_in_scope(name, &Scope::registers)) return *one;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const Registers* const family = find_in_scope(name.substr(0, digits), &Scope::families);
  uint32_t n = 0;
  if (!family || std::from_chars(name.data() + digits, name.data() + name.size(), n).ec != std::errc()) return {};
  if (n >= family->count) tokens_->fail(fmt::format("register {} of {}", n, family->count));
  Operand o = family->first;
  o.index += n;
  return o;
}

std::optional<Variable> Body::find_variable(std::string_view name) {
  if (const Variable* const v = find_in_scope(name, &Scope::variables)) return *v;
  if (const std::vector<std::byte>* const data = find(module_.global_variables(), name)) {
    kernel_.variables[std::string(name)] = *data;
    return Variable{Space::global, reinterpret_cast<uint64_t>(data->data())};
  }
  const Declaration* const d = find(module_.shared_variables(), name);
  if (!d) return {};
  auto [at, is_new] = shared_.try_emplace(d->name);
  if (is_new) at->second = {Space::shared, reserve(kernel_.shared_bytes, *d)};
  return at->second;
}

Operand Body::constant(uint64_t value) {
  const auto [at, is_new] = constants_.try_emplace(value, static_cast<uint32_t>(kernel_.constants.size()));
  if (is_new) kernel_.constants.emplace_back().fill(value);
  return {Operand::constant, false, 8, at->second};
}

/// A register, number, address or special register; none for the sink _.
Operand Body::take_value() {
  if (tokens_->take("_")) return {};
  if (tokens_->take("!")) {
    Operand o = take_value();
    o.negated = true;
    return o;
  }
  const std::string_view word = tokens_->peek();
  if (word.starts_with("0f") || word.starts_with("0d")) {
    uint64_t bits = 0;
    std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16);
    tokens_->next();
    return constant(bits);
  }
  if (word == "-" || (word[0] >= '0' && word[0] <= '9'))
    return constant(static_cast<uint64_t>(tokens_->next_integer()));
  if (const std::optional<Operand> r = find_register(word)) {
    tokens_->next();
    return *r;
  }
  if (const std::optional<Variable> v = find_variable(word)) {
    tokens_->next();
    return constant(v->address);
  }
  if (!is_special_register(word)) tokens_->fail(fmt::format("unknown operand {}", word));
  const auto [at, is_new] = special_.try_emplace(std::string(tokens_->next()));
  if (is_new) {
    at->second = {Operand::value, false, 4, kernel_.values++};
    kernel_.special.push_back({at->first, at->second.index});
  }
  return at->second;
}

std::optional<Space> Body::take_operand(std::vector<Operand>& into, int64_t& offset) {
  if (tokens_->take("{")) {
    do into.push_back(take_value());
    while (tokens_->take(","));
    tokens_->expect("}");
    return {};
  }
  if (!tokens_->take("[")) {
    into.push_back(take_value());
    while (tokens_->take("|")) into.push_back(take_value());
    return {};
  }
  const std::optional<Variable> variable = find_variable(tokens_->peek());
  into.push_back(take_value());
  if (tokens_->take("+")) offset = tokens_->next_integer();
  tokens_->expect("]");
  return variable ? std::optional(variable->space) : std::nullopt;
}

void Body::decode(const std::string& text, Instruction& i) {
  Opcode op(text);
  constexpr bool (*families[])(Opcode&, Instruction&) = {
      decode_carry,  decode_integer, decode_float,      decode_compare, decode_convert,  decode_move,
      decode_memory, decode_atomic,  decode_async_copy, decode_matrix,  decode_exchange, decode_control};
  const bool known = std::ranges::any_of(families, [&](auto* family) { return family(op, i); });
  if (!known || !op.left().empty() || (!i.run && i.control == Control::none)) {
    tokens_->fail(fmt::format("the instruction {} is not known", text));
  }
}

void Body::take_instruction() {
  Instruction i;
  i.line = tokens_->line();
  const char* const begin = tokens_->peek().data();
  if (tokens_->take("@")) i.guard = take_value();
  const std::string opcode(tokens_->next());
  if (tokens_->take(":")) {  // a label
    frame_->labels[opcode] = static_cast<uint32_t>(kernel_.code.size());
    return;
  }
  if (opcode.starts_with("call.")) return take_call();
  const bool returns = opcode == "ret" && !frame_->is_kernel;
  if (returns || opcode.starts_with("bra")) {
    frame_->branches.emplace_back(kernel_.code.size(), returns ? kEnd : std::string(tokens_->next()));
  }
  std::optional<Space> space;
  if (tokens_->peek() != ";") {
    if (has_result(opcode)) {
      space = take_operand(i.to, i.offset);
      if (tokens_->peek() != ";") tokens_->expect(",");
    }
    while (tokens_->peek() != ";") {
      if (const std::optional<Space> s = take_operand(i.from, i.offset)) space = s;
      if (tokens_->peek() != ";") tokens_->expect(",");
    }
  }
  i.text = {begin, static_cast<size_t>(tokens_->peek().data() - begin)};
  decode(returns ? "bra" : opcode, i);
  tokens_->expect(";");
  if (space) i.space = *space;  // a function's .param is local memory
  kernel_.code.push_back(std::move(i));
}

/// call.uni (result), function, (a, b);
void Body::take_call() {
  const auto take_names = [&] {
    std::vector<Variable> variables;
    tokens_->expect("(");
    while (!tokens_->take(")")) {
      const std::optional<Variable> v = find_variable(tokens_->peek());
      if (!v) tokens_->fail(fmt::format("{} is no variable", tokens_->peek()));
      variables.push_back(*v);
      tokens_->next();
      tokens_->take(",");
    }
    return variables;
  };
  std::vector<Variable> results, arguments;
  if (tokens_->peek() == "(") {
    results = take_names();
    tokens_->expect(",");
  }
  const std::string_view name = tokens_->next();
  const Routine* const function = find(module_.routines(), name);
  if (!function || function->is_kernel) tokens_->fail(fmt::format("the function {} has no body", name));
  if (tokens_->take(",")) arguments = take_names();
  tokens_->expect(";");
  if (results.size() != function->results.size() || arguments.size() != function->parameters.size()) {
    tokens_->fail(fmt::format("a call of {} with other parameters than it has", name));
  }
  Frame frame;
  frame.is_kernel = false;
  ByName<Variable>& variables = frame.scopes[0].variables;
  for (size_t n = 0; n < results.size(); ++n) variables[function->results[n].name] = results[n];
  for (size_t n = 0; n < arguments.size(); ++n) variables[function->parameters[n].name] = arguments[n];
  take_body(*function, std::move(frame));
}

}  // namespace

Kernel parse_kernel(const Module& module, const std::string& name, const Routine& routine) {
  return Body(module, name).parse(routine);
}

}  // namespace tandem::ptx
