#pragma once
// The names that a pickle may refer to.
#include <string>
#include <string_view>

#include "tandem/base/dtype.h"

namespace tandem::io {

/// What a name in a pickle means. Nothing is looked up or called by name: each meaning is one case in the reader.
enum class GlobalKind {
  not_allowed,
  ordered_dict,                  ///< collections.OrderedDict
  counter,                       ///< collections.Counter
  default_dict,                  ///< collections.defaultdict
  set,                           ///< builtins.set, builtins.frozenset
  bytearray,                     ///< builtins.bytearray
  encode,                        ///< _codecs.encode, of bytes
  size,                          ///< torch.Size
  device,                        ///< torch.device
  dtype,                         ///< torch.float32, ...
  storage,                       ///< torch.FloatStorage, ...; torch.storage.UntypedStorage, whose elements are bytes
  other_storage,                 ///< torch.ComplexFloatStorage, torch.QInt8Storage, ...
  tensor_type,                   ///< torch.Tensor, torch.nn.Parameter
  rebuild_tensor,                ///< torch._utils._rebuild_tensor
  rebuild_tensor_v2,             ///< torch._utils._rebuild_tensor_v2
  rebuild_tensor_v3,             ///< torch._utils._rebuild_tensor_v3, of an untyped storage
  rebuild_parameter,             ///< torch._utils._rebuild_parameter
  rebuild_parameter_with_state,  ///< torch._utils._rebuild_parameter_with_state
  rebuild_from_type,             ///< torch._tensor._rebuild_from_type_v2, of one of the calls above
  typed_list,                    ///< torch.jit._pickle.build_intlist, ..., of libtorch
  type_tag,                      ///< torch.jit._pickle.restore_type_tag, of libtorch
  script_class,                  ///< __torch__..., a TorchScript class: an object with attributes
};

struct PickleGlobal {
  GlobalKind kind = GlobalKind::not_allowed;
  DType dtype = kFloat;      ///< of a dtype or storage
  int64_t element_size = 0;  ///< of another storage, in bytes
  std::string name;          ///< for messages: "torch.FloatStorage"
};

/// Finds a name in the list of those that torch.load(weights_only=True) allows, without what tandem has no counterpart
/// of (complex numbers, quantized and sparse tensors), and with those of libtorch's archives. Source:
/// _get_allowed_globals in torch/_weights_only_unpickler.py; libtorch's serialization/pickler.cpp.
PickleGlobal find_global(std::string_view module, std::string_view name);

/// PyTorch's name of a dtype's storage: "FloatStorage". Empty for float8, whose storages have no type.
std::string_view storage_name(DType dtype);
/// PyTorch's name of a dtype: "float32".
std::string_view torch_name(DType dtype);

}  // namespace tandem::io
