#include "src/io/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "src/io/pickle_items.h"
#include "src/io/source.h"
#include "src/io/utf8.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

/// Opcodes, with the names of Python's pickle.py.
enum Opcode : unsigned char {
  MARK = '(',
  STOP = '.',
  POP = '0',
  POP_MARK = '1',
  BININT = 'J',
  BININT1 = 'K',
  BININT2 = 'M',
  NONE = 'N',
  BINPERSID = 'Q',
  REDUCE = 'R',
  BINUNICODE = 'X',
  BINSTRING = 'T',
  SHORT_BINSTRING = 'U',
  BINBYTES = 'B',
  SHORT_BINBYTES = 'C',
  APPEND = 'a',
  BUILD = 'b',
  GLOBAL = 'c',
  EMPTY_DICT = '}',
  APPENDS = 'e',
  BINGET = 'h',
  LONG_BINGET = 'j',
  EMPTY_LIST = ']',
  BINPUT = 'q',
  LONG_BINPUT = 'r',
  SETITEM = 's',
  TUPLE = 't',
  EMPTY_TUPLE = ')',
  SETITEMS = 'u',
  BINFLOAT = 'G',
  PROTO = 0x80,
  NEWOBJ = 0x81,
  TUPLE1 = 0x85,
  TUPLE2 = 0x86,
  TUPLE3 = 0x87,
  NEWTRUE = 0x88,
  NEWFALSE = 0x89,
  LONG1 = 0x8a,
  LONG4 = 0x8b,
  SHORT_BINUNICODE = 0x8c,
  BINUNICODE8 = 0x8d,
  BINBYTES8 = 0x8e,
  EMPTY_SET = 0x8f,
  ADDITEMS = 0x90,
  FROZENSET = 0x91,
  NEWOBJ_EX = 0x92,
  STACK_GLOBAL = 0x93,
  MEMOIZE = 0x94,
  FRAME = 0x95,
  BYTEARRAY8 = 0x96,
};

/// The most values that are noted as left out: one more than a warning names.
constexpr size_t kMostNotes = 17;

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const PickleContext& context)
      : bytes_(bytes), context_(context), fault_{context} {}

  /// The number of bytes that have been read.
  size_t at() const { return at_; }

  IValue read() {
    check(number<uint8_t>() == PROTO, "it is of protocol 0 or 1, or does not begin as a pickle");
    const auto protocol = number<uint8_t>();
    check(protocol >= 2 && protocol <= 5, fmt::format("its protocol is {}, not 2 to 5", protocol));
    for (;;) {
      fault_.at = at_;
      const auto code = number<uint8_t>();
      if (code == STOP) break;
      if (!read_value(code) && !read_container(code)) step(code);
    }
    check(stack_.size() == 1 && marks_.empty(), "it does not end with one value");
    return finished(stack_.back()).value;
  }

 private:
  // ---- bytes
  template <class Text>
  void check(bool ok, const Text& fault) const {
    if (!ok) [[unlikely]]
      fault_.fail(fault);
  }
  std::string_view take(uint64_t count) {
    check(count <= bytes_.size() - at_, "it is cut off");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    check(end != std::string_view::npos, "a name is cut off");
    const std::string_view text = take(end - at_);
    ++at_;
    return text;
  }

  // ---- the stack
  void push(PickleItem item) {
    if (stack_.size() == kMostStackItems) {
      fault_.fail(fmt::format("its stack has more than {} items", kMostStackItems));
    }
    stack_.push_back(std::move(item));
  }
  void push_value(IValue value) { push(FinishedItem{std::move(value), {}}); }
  void push_text(uint64_t count) {
    const std::string_view bytes = take(count);
    is_utf8(bytes) ? push_value(std::string(bytes)) : push(LeftOutItem{"a text that is not UTF-8"});
  }
  void push_open(OpenItem::Kind kind) {
    const auto open = std::make_shared<OpenItem>();
    open->kind = kind;
    push(open);
  }
  size_t base() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleItem& top() {
    check(stack_.size() > base(), "its stack is empty");
    return stack_.back();
  }
  PickleItem pop() {
    PickleItem item = std::move(top());
    stack_.pop_back();
    return item;
  }
  std::vector<PickleItem> pop_to_mark() {
    check(!marks_.empty(), "there is no mark on its stack");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleItem> items(std::make_move_iterator(from), std::make_move_iterator(stack_.end()));
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<PickleItem> pop_many(size_t count) {
    std::vector<PickleItem> items(count);
    while (count > 0) items[--count] = pop();
    return items;
  }

  FinishedItem finished(const PickleItem& item) const { return finished_item(item, fault_); }

  /// The container at the top, which must be open and of one of these kinds.
  OpenItem& open_top(std::initializer_list<OpenItem::Kind> kinds, const char* otherwise) {
    auto* open = std::get_if<std::shared_ptr<OpenItem>>(&top());
    check(open && std::find(kinds.begin(), kinds.end(), (*open)->kind) != kinds.end(), otherwise);
    if ((*open)->finished) fault_.refuse("a value that contains itself");
    return **open;
  }
  void include(OpenItem& container, const FinishedItem& child) const {
    check(container.size.include(child.size), "it nests too deep or has too many values");
  }

  // ---- opcodes
  /// Handles an opcode that pushes a plain value. Returns false if it is another one.
  bool read_value(uint8_t code) {
    switch (code) {
      case NONE:
        push_value({});
        return true;
      case NEWTRUE:
      case NEWFALSE:
        push_value(code == NEWTRUE);
        return true;
      case BININT:
        push_value(number<int32_t>());
        return true;
      case BININT1:
        push_value(number<uint8_t>());
        return true;
      case BININT2:
        push_value(number<uint16_t>());
        return true;
      case LONG1:
        push(long_integer(number<uint8_t>()));
        return true;
      case LONG4:
        push(long_integer(number<uint32_t>()));
        return true;
      case BINFLOAT:
        push_value(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));  // big-endian
        return true;
      case SHORT_BINUNICODE:
        push_text(number<uint8_t>());
        return true;
      case BINUNICODE:
        push_text(number<uint32_t>());
        return true;
      case BINUNICODE8:
        push_text(number<uint64_t>());
        return true;
      case SHORT_BINSTRING:  // Python 2's str, which held text and bytes
        push_text(number<uint8_t>());
        return true;
      case BINSTRING:
        push_text(number<uint32_t>());
        return true;
      case SHORT_BINBYTES:
        push_value(IValue::bytes(std::string(take(number<uint8_t>()))));
        return true;
      case BINBYTES:
        push_value(IValue::bytes(std::string(take(number<uint32_t>()))));
        return true;
      case BINBYTES8:
      case BYTEARRAY8:
        push_value(IValue::bytes(std::string(take(number<uint64_t>()))));
        return true;
      default:
        return false;
    }
  }

  PickleItem long_integer(size_t count) {
    const std::string_view bytes = take(count);
    if (count > sizeof(int64_t)) return LeftOutItem{"an integer of more than 64 bits"};
    uint64_t value = count > 0 && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;  // two's complement
    std::memcpy(&value, bytes.data(), count);
    return FinishedItem{std::bit_cast<int64_t>(value), {}};
  }

  /// Handles an opcode that makes or fills a container. Returns false if it is another one.
  bool read_container(uint8_t code) {
    using Kind = OpenItem::Kind;
    switch (code) {
      case EMPTY_LIST:
        push_open(Kind::list);
        return true;
      case EMPTY_SET:
        push_open(Kind::set);
        return true;
      case EMPTY_DICT:
        push_open(Kind::dict);
        return true;
      case EMPTY_TUPLE:
        push(tuple({}));
        return true;
      case TUPLE1:
      case TUPLE2:
      case TUPLE3:
        push(tuple(pop_many(static_cast<size_t>(code - TUPLE1 + 1))));
        return true;
      case TUPLE:
        push(tuple(pop_to_mark()));
        return true;
      case FROZENSET: {
        const std::vector<PickleItem> items = pop_to_mark();
        push_open(Kind::set);
        append(items, Kind::set);
        return true;
      }
      case APPEND:
        append(pop_many(1), Kind::list);
        return true;
      case APPENDS:
        append(pop_to_mark(), Kind::list);
        return true;
      case ADDITEMS:
        append(pop_to_mark(), Kind::set);
        return true;
      case SETITEM:
        set_items(pop_many(2));
        return true;
      case SETITEMS:
        set_items(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  PickleItem tuple(const std::vector<PickleItem>& items) const { return tuple_item(items, fault_); }

  // ---- what is left out

  static const LeftOutItem* left_out(const PickleItem& item) { return std::get_if<LeftOutItem>(&item); }
  /// The value of an item in a list: None in place of what is left out.
  FinishedItem list_value(const PickleItem& item) const {
    const std::string what = no_value(item);
    if (what.empty()) return finished(item);
    note(fmt::format("an item of a list ({})", what));
    return {};
  }
  void note(std::string what) const {
    if (context_.left_out.size() < kMostNotes) context_.left_out.push_back(std::move(what));
  }

  void append(const std::vector<PickleItem>& items, OpenItem::Kind kind) {
    std::vector<FinishedItem> values;
    for (const PickleItem& item : items) values.push_back(list_value(item));
    if (left_out(top())) return;  // a list of a class that is left out
    OpenItem& list = open_top({kind}, "it appends to something else than a list");
    for (FinishedItem& value : values) {
      include(list, value);
      list.list.push_back(std::move(value.value));
    }
  }

  void set_items(const std::vector<PickleItem>& items) {
    check(items.size() % 2 == 0, "a key has no value");
    std::vector<std::pair<FinishedItem, FinishedItem>> entries;
    for (size_t i = 0; i < items.size(); i += 2) {
      if (const std::string what = no_value(items[i]); !what.empty()) {
        note(fmt::format("an entry with the key {}", what));
        continue;
      }
      const FinishedItem key = finished(items[i]);
      if (!is_key(key.value)) {
        note(fmt::format("an entry with a {} as its key", key.value.tagKind()));
      } else if (const std::string what = no_value(items[i + 1]); !what.empty()) {
        note(fmt::format("{} ({})", key.value.isString() ? shown(key.value.toStringRef()) : "a numbered entry", what));
      } else {
        entries.emplace_back(key, finished(items[i + 1]));
      }
    }
    if (left_out(top())) return;  // a dictionary of a class that is left out
    OpenItem& dict = open_top({OpenItem::Kind::dict, OpenItem::Kind::ordered_dict},
                              "it sets items of something else than a dictionary");
    for (auto& [key, value] : entries) {
      include(dict, key);
      include(dict, value);
      dict.dict.insert_or_assign(std::move(key.value), std::move(value.value));
    }
  }

  /// Handles all other opcodes.
  void step(uint8_t code) {
    switch (code) {
      case MARK:
        marks_.push_back(stack_.size());
        return;
      case POP:
        pop();
        return;
      case POP_MARK:
        pop_to_mark();
        return;
      case FRAME:  // a hint for buffering
        take(sizeof(uint64_t));
        return;
      case BINPUT:
        memo_[number<uint8_t>()] = top();
        return;
      case LONG_BINPUT:
        memo_[number<uint32_t>()] = top();
        return;
      case MEMOIZE:
        memo_[static_cast<uint32_t>(memo_.size())] = top();
        return;
      case BINGET:
        push(memo(number<uint8_t>()));
        return;
      case LONG_BINGET:
        push(memo(number<uint32_t>()));
        return;
      case GLOBAL: {
        const std::string_view module = line();
        push_global(module, line());
        return;
      }
      case STACK_GLOBAL: {
        const FinishedItem name = finished(pop()), module = finished(pop());
        check(name.value.isString() && module.value.isString(), "a name is not a text");
        push_global(module.value.toStringRef(), name.value.toStringRef());
        return;
      }
      case BINPERSID:
        push(storage(pop()));
        return;
      case REDUCE: {
        const PickleItem arguments = pop(), function = pop();
        push(call(function, arguments, fault_));
        return;
      }
      case NEWOBJ:
        new_object();
        return;
      case NEWOBJ_EX: {
        pop_many(2);
        check(left_out(top()), "it makes an object with arguments");
        return;
      }
      case BUILD:
        build();
        return;
      default:
        fault_.fail(fmt::format("it has the opcode {:#04x}, which PyTorch does not write", code));
    }
  }

  const PickleItem& memo(uint32_t index) const {
    const auto found = memo_.find(index);
    check(found != memo_.end(), "it refers to a value that it does not have");
    return found->second;
  }

  void push_global(std::string_view module, std::string_view name) {
    auto global = std::make_shared<PickleGlobal>(find_global(module, name));
    if (global->kind == GlobalKind::not_allowed) return push(LeftOutItem{shown(global->name)});
    if (global->kind == GlobalKind::dtype) return push_value(global->dtype);
    push(std::shared_ptr<const PickleGlobal>(std::move(global)));
  }

  /// The storage that a persistent id names: ('storage', torch.FloatStorage, key, location, numel). The legacy format
  /// adds the part of the storage that is meant; None stands for all.
  PickleItem storage(const PickleItem& id) {
    if (left_out(id)) return id;
    check(static_cast<bool>(context_.storage), "it has a tensor, and no storages");
    const auto* arguments = std::get_if<std::shared_ptr<const ArgumentsItem>>(&id);
    const size_t fields = arguments ? (*arguments)->items.size() : 0;
    check(fields == 5 || fields == 6, "a persistent id is not that of a storage");
    const std::vector<PickleItem>& items = (*arguments)->items;
    const auto* type = std::get_if<std::shared_ptr<const PickleGlobal>>(&items[1]);
    const GlobalKind type_kind = type ? (*type)->kind : GlobalKind::not_allowed;
    check(type_kind == GlobalKind::storage || type_kind == GlobalKind::other_storage, "a storage has no type");
    const auto plain = [&](size_t i) { return finished(items[i]).value; };
    const IValue kind = plain(0), key = plain(2), location = plain(3), numel = plain(4);
    check(kind.isString() && kind.toStringRef() == "storage" && key.isString() && location.isString() && numel.isInt(),
          "a persistent id is not that of a storage");
    if (type_kind == GlobalKind::other_storage) {
      if (context_.left_out_storage) {
        context_.left_out_storage(key.toStringRef(), numel.toInt(), (*type)->element_size);
      }
      return LeftOutItem{shown((*type)->name)};
    }
    Tensor elements = context_.storage(key.toStringRef(), (*type)->dtype, numel.toInt());
    if (fields == 6 && !plain(5).isNone()) return LeftOutItem{"a part of a storage"};
    return StorageItem{elements};
  }

  void new_object() {
    const PickleItem arguments = pop(), type = pop();
    if (left_out(type)) return push(type);
    const auto* global = std::get_if<std::shared_ptr<const PickleGlobal>>(&type);
    const auto* none = std::get_if<FinishedItem>(&arguments);
    check(global && (*global)->kind == GlobalKind::script_class, "it makes an object of something that is not a class");
    check(none && none->value.isTuple() && none->value.toTupleRef().size() == 0, "it makes an object with arguments");
    push_open(OpenItem::Kind::object);
    OpenItem& object = *std::get<std::shared_ptr<OpenItem>>(top());
    object.class_name = (*global)->name;
    if (context_.state_names) object.state_names = context_.state_names(object.class_name);
  }

  void build() {
    const PickleItem item = pop();
    if (left_out(top())) return;
    OpenItem& object = open_top({OpenItem::Kind::ordered_dict, OpenItem::Kind::object},
                                "it sets attributes of something else than an object");
    if (object.kind == OpenItem::Kind::ordered_dict) return;  // a state_dict()'s _metadata, with versions of modules
    const FinishedItem state = finished(item);
    check(state.value.isGenericDict(), "the state of an object is not a dictionary");
    check(object.attributes.is_empty(), "it sets the attributes of an object twice");
    include(object, state);
    for (const auto& entry : state.value.toGenericDict()) {
      check(entry.key().isString(), "the name of an attribute is not a text");
      object.attributes.insert(entry.key().toStringRef(), entry.value());
    }
  }

  std::string_view bytes_;
  const PickleContext& context_;
  size_t at_ = 0;
  PickleFault fault_;
  std::vector<PickleItem> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, PickleItem> memo_;
};

}  // namespace

IValue read_pickle(std::string_view& bytes, const PickleContext& context) {
  PickleReader reader(bytes, context);
  IValue value = reader.read();
  bytes.remove_prefix(reader.at());
  return value;
}

}  // namespace tandem::io
