#include "src/io/pickle_globals.h"

#include <utility>

namespace tandem::io {
namespace {

struct NamedGlobal {
  std::string_view name;
  GlobalKind kind;
};

constexpr NamedGlobal kGlobals[] = {
    {"collections.OrderedDict", GlobalKind::ordered_dict},
    {"collections.Counter", GlobalKind::counter},
    {"collections.defaultdict", GlobalKind::default_dict},
    {"builtins.set", GlobalKind::set},
    {"builtins.frozenset", GlobalKind::set},
    {"builtins.bytearray", GlobalKind::bytearray},
    {"_codecs.encode", GlobalKind::encode},
    {"torch.Size", GlobalKind::size},
    {"torch.device", GlobalKind::device},
    {"torch._utils._rebuild_tensor", GlobalKind::rebuild_tensor},
    {"torch._utils._rebuild_tensor_v2", GlobalKind::rebuild_tensor_v2},
    {"torch._utils._rebuild_tensor_v3", GlobalKind::rebuild_tensor_v3},
    {"torch._utils._rebuild_parameter", GlobalKind::rebuild_parameter},
    {"torch._utils._rebuild_parameter_with_state", GlobalKind::rebuild_parameter_with_state},
    {"torch._tensor._rebuild_from_type_v2", GlobalKind::rebuild_from_type},
    {"torch.Tensor", GlobalKind::tensor_type},
    {"torch.nn.parameter.Parameter", GlobalKind::tensor_type},
    {"torch.jit._pickle.build_intlist", GlobalKind::typed_list},
    {"torch.jit._pickle.build_doublelist", GlobalKind::typed_list},
    {"torch.jit._pickle.build_boollist", GlobalKind::typed_list},
    {"torch.jit._pickle.build_tensorlist", GlobalKind::typed_list},
    {"torch.jit._pickle.restore_type_tag", GlobalKind::type_tag},
};

/// Storages of dtypes that tandem lacks, and the sizes of their elements.
constexpr std::pair<std::string_view, int64_t> kOtherStorages[] = {
    {"torch.ComplexFloatStorage", 8}, {"torch.ComplexDoubleStorage", 16}, {"torch.QInt8Storage", 1},
    {"torch.QUInt8Storage", 1},       {"torch.QInt32Storage", 4},         {"torch.QUInt4x2Storage", 1},
    {"torch.QUInt2x4Storage", 1},
};

}  // namespace

std::string_view storage_name(DType dtype) {
  constexpr std::string_view names[kNumDTypes] = {"ByteStorage",
                                                  "CharStorage",
                                                  "ShortStorage",
                                                  "IntStorage",
                                                  "LongStorage",
                                                  "HalfStorage",
                                                  "FloatStorage",
                                                  "DoubleStorage",
                                                  "BoolStorage",
                                                  "BFloat16Storage",
                                                  "",
                                                  "",
                                                  "",
                                                  "",
                                                  "",
                                                  ""};
  return names[static_cast<int>(dtype)];
}

std::string_view torch_name(DType dtype) {
  constexpr std::string_view names[kNumDTypes] = {
      "uint8", "int8",     "int16",         "int32",       "int64",          "float16", "float32", "float64",
      "bool",  "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16",  "uint32",  "uint64"};
  return names[static_cast<int>(dtype)];
}

PickleGlobal find_global(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";  // the name in Python 2, which protocol 2 uses
  PickleGlobal found;
  found.name = std::string(module) + "." + std::string(name);
  for (const NamedGlobal& g : kGlobals) {
    if (g.name == found.name) found.kind = g.kind;
  }
  for (const auto& [storage, size] : kOtherStorages) {
    if (storage != found.name) continue;
    found.kind = GlobalKind::other_storage;
    found.element_size = size;
  }
  if (found.name == "torch.storage.UntypedStorage") {
    found.kind = GlobalKind::storage;
    found.dtype = kByte;
  }
  for (int i = 0; i < kNumDTypes && module == "torch"; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (name.empty() || (name != storage_name(dtype) && name != torch_name(dtype))) continue;
    found.kind = name == storage_name(dtype) ? GlobalKind::storage : GlobalKind::dtype;
    found.dtype = dtype;
  }
  if (module == "__torch__" || module.starts_with("__torch__.")) found.kind = GlobalKind::script_class;
  return found;
}

}  // namespace tandem::io
