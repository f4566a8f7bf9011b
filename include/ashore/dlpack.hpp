// DLPack's structs, declared after its specification (version 1.3), and the ways in and out of
// them. A test compares their layout with PyTorch's installed copy.
#pragma once

#include <cstdint>

namespace ashore::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 3;

/// Where memory is. Values are the specification's; unknown ones may arrive.
enum DeviceType : std::int32_t {
  kCPU = 1,
  kCUDA = 2,
  kCUDAHost = 3,
  kOpenCL = 4,
  kVulkan = 7,
  kMetal = 8,
  kVPI = 9,
  kROCM = 10,
  kROCMHost = 11,
  kExtDev = 12,
  kCUDAManaged = 13,
  kOneAPI = 14,
  kWebGPU = 15,
  kHexagon = 16,
  kMAIA = 17,
  kTrn = 18,
};

struct Device {
  std::int32_t type;  ///< a DeviceType
  std::int32_t id;
};

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kOpaqueHandle = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E3M4 = 7,
  kFloat8E4M3 = 8,
  kFloat8E4M3B11FNUZ = 9,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
  kFloat6E2M3FN = 15,
  kFloat6E3M2FN = 16,
  kFloat4E2M1FN = 17,
};

struct DataType {
  std::uint8_t code;  ///< a TypeCode
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null means row-major (before 1.2)
  std::uint64_t byte_offset;
};

/// The unversioned struct, capsule name "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

enum Flags : std::uint64_t {
  kReadOnly = 1,
  kIsCopied = 2,
  kSubBytePadded = 4,
};

/// The versioned struct, capsule name "dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

/// The C exchange API of DLPack 1.3 (`__dlpack_c_exchange_api__`), the part that ashore calls.
struct ExchangeAPI {
  Version version;
  ExchangeAPI* prev_api;
  int (*managed_tensor_allocator)(Tensor* prototype, ManagedTensorVersioned** out, void* error_ctx,
                                  void (*set_error)(void* error_ctx, const char* kind,
                                                    const char* message));
  int (*managed_tensor_from_py_object_no_sync)(void* py_object, ManagedTensorVersioned** out);
  int (*managed_tensor_to_py_object_no_sync)(ManagedTensorVersioned* tensor, void** out_py_object);
  int (*dltensor_from_py_object_no_sync)(void* py_object, Tensor* out);
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** out_stream);
};

}  // namespace ashore::dlpack
