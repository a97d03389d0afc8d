#pragma once
// What is on the stack of the pickle reader: values, containers that are still being filled, and names and storages,
// which are not values.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/io/pickle_globals.h"
#include "src/io/pickle_limits.h"
#include "tandem/io/ivalue.h"

namespace tandem::io {

/// A value that does not change any more.
struct FinishedItem {
  IValue value;
  TreeSize size;
};

/// A list, dictionary or object that is being filled. It is finished when it is put into another container. Python's
/// pickles fill a container completely before that, unless it contains itself; so the reader refuses later changes, and
/// no value can contain itself.
struct OpenItem {
  enum class Kind { list, set, dict, ordered_dict, object };
  Kind kind = Kind::list;
  std::vector<IValue> list;
  GenericDict dict;
  std::string class_name;
  OrderedDict<std::string, IValue> attributes;
  TreeSize size;
  std::optional<IValue> finished;

  const IValue& finish() {
    if (finished) return *finished;
    if (kind == Kind::object) {
      finished = IValue(ivalue::Object(std::move(class_name), std::move(attributes)));
    } else if (kind == Kind::dict || kind == Kind::ordered_dict) {
      finished = IValue(std::move(dict));
    } else {
      finished = IValue(std::move(list));
    }
    return *finished;
  }
};

/// All elements of a storage, as a tensor of rank 1.
struct StorageItem {
  Tensor elements;
};

struct ArgumentsItem;

/// Where the reader is, for messages.
struct PickleFault {
  std::string where;  ///< the path and ": ", or nothing
  size_t at = 0;      ///< of the opcode, in bytes

  [[noreturn]] void fail(const std::string& fault) const;
  void check(bool ok, const char* fault) const {
    if (!ok) [[unlikely]]
      fail(fault);
  }
};

using PickleItem = std::variant<FinishedItem, std::shared_ptr<OpenItem>, std::shared_ptr<const PickleGlobal>,
                                StorageItem, std::shared_ptr<const ArgumentsItem>>;

/// A tuple that contains names or storages, and so is no value: the arguments of a call. It contains no other such
/// tuple.
struct ArgumentsItem {
  std::vector<PickleItem> items;
};

/// The value of an item; finishes an open container. Throws IoError for a name or a storage.
FinishedItem finished_item(const PickleItem& item, const PickleFault& fault);
/// A tuple of items: a value if all of them are.
PickleItem tuple_item(const std::vector<PickleItem>& items, const PickleFault& fault);
/// The result of REDUCE: one of the calls that PyTorch's files contain, such as that which makes a tensor of a storage.
PickleItem call(const PickleItem& function, const PickleItem& arguments, const PickleFault& fault);

}  // namespace tandem::io
