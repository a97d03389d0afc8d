#pragma once
// Exchange of tensors with other libraries in the same process, without copying: DLPack. Names are those of libtorch's
// ATen/DLConvertor.h.
#include "tandem/tensor/dlpack_abi.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns a description of the tensor's memory, which stays valid until its deleter is called. The memory is shared:
/// the consumer may write to it. On CUDA, work that is queued on the current stream has not finished: the consumer uses
/// the same stream, or the caller synchronizes. Throws StateError for an undefined tensor and for one that requires
/// grad: export x.detach().
DLManagedTensor* toDLPack(const Tensor& x);
/// The same in the form of DLPack 1.0, which has a version and flags.
DLManagedTensorVersioned* toDLPackVersioned(const Tensor& x);

/// Returns a tensor over the memory of another library, and takes over `managed`: its deleter is called when the last
/// view of the tensor is destroyed. If the function throws, the caller keeps `managed`. The version check of autograd
/// does not see writes by the other library.
///
/// Throws StateError for a null pointer, a null data pointer, and memory that is not aligned to the element size,
/// DeviceError for a device other than the CPU (page-locked or not) and CUDA, DTypeError for a dtype that tandem does
/// not have, ShapeError for more than 12 dimensions and for negative sizes or strides.
Tensor fromDLPack(DLManagedTensor* managed);
/// The same in the form of DLPack 1.0. Memory that is flagged read-only is copied, because any tensor can be written.
/// Throws StateError for another major version of DLPack.
Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed);

}  // namespace tandem
#pragma GCC visibility pop
