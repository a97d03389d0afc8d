#pragma once
// The structs by which libraries exchange tensors in memory: DLPack's C ABI, version 1.0.
// Source: https://dmlc.github.io/dlpack/latest/c_api.html. The guard is that of DLPack's own header, so that a program
// may include both.
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#include <cstdint>

#pragma GCC visibility push(default)
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0
/// The memory must not be written.
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/// The memory is a copy of the producer's.
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

extern "C" {

/// The version of the layout that a producer uses.
struct DLPackVersion {
  uint32_t major;  ///< changes when the layout changes
  uint32_t minor;
};

/// Kinds of devices.
enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,  ///< page-locked host memory
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
};

/// A device.
struct DLDevice {
  DLDeviceType device_type;
  int32_t device_id;
};

/// Kinds of numbers.
enum DLDataTypeCode {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e8m0fnu = 14,
};

/// The type of an element.
struct DLDataType {
  uint8_t code;  ///< a DLDataTypeCode
  uint8_t bits;
  uint16_t lanes;  ///< 1, except for vector types
};

/// A strided array in the producer's memory.
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;      ///< in elements; null for a row-major tensor
  uint64_t byte_offset;  ///< of the first element, from `data`
};

/// A tensor and the function that releases it.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;  ///< of the producer
  void (*deleter)(DLManagedTensor* self);
};

/// The same with a version and flags.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;  ///< of the producer
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"
#pragma GCC visibility pop
#endif
