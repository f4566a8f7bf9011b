// Our declarations of DLPack against PyTorch's installed copy of the header, where there is one.
#include <gtest/gtest.h>
#include <ashore/dlpack.hpp>

#include <cstddef>
#include <type_traits>

#ifdef ASHORE_TORCH_DLPACK_H

#include ASHORE_TORCH_DLPACK_H

namespace ashore::dlpack {
namespace {

#define EXPECT_SAME_STRUCT(ours, theirs)   \
  EXPECT_EQ(sizeof(ours), sizeof(theirs)); \
  EXPECT_EQ(alignof(ours), alignof(theirs))

#define EXPECT_SAME_MEMBER(ours, our_member, theirs, their_member)       \
  EXPECT_EQ(offsetof(ours, our_member), offsetof(theirs, their_member)); \
  EXPECT_EQ(sizeof(std::declval<ours>().our_member), sizeof(std::declval<theirs>().their_member))

TEST(DlpackStruct, SameLayoutAsPyTorchs) {
  EXPECT_EQ(kMajorVersion, static_cast<std::uint32_t>(DLPACK_MAJOR_VERSION));
  EXPECT_GE(static_cast<std::uint32_t>(DLPACK_MINOR_VERSION), kMinorVersion);

  EXPECT_SAME_STRUCT(Device, DLDevice);
  EXPECT_SAME_MEMBER(Device, type, DLDevice, device_type);
  EXPECT_SAME_MEMBER(Device, id, DLDevice, device_id);

  EXPECT_SAME_STRUCT(DataType, DLDataType);
  EXPECT_SAME_MEMBER(DataType, code, DLDataType, code);
  EXPECT_SAME_MEMBER(DataType, bits, DLDataType, bits);
  EXPECT_SAME_MEMBER(DataType, lanes, DLDataType, lanes);

  EXPECT_SAME_STRUCT(Tensor, DLTensor);
  EXPECT_SAME_MEMBER(Tensor, data, DLTensor, data);
  EXPECT_SAME_MEMBER(Tensor, device, DLTensor, device);
  EXPECT_SAME_MEMBER(Tensor, ndim, DLTensor, ndim);
  EXPECT_SAME_MEMBER(Tensor, dtype, DLTensor, dtype);
  EXPECT_SAME_MEMBER(Tensor, shape, DLTensor, shape);
  EXPECT_SAME_MEMBER(Tensor, strides, DLTensor, strides);
  EXPECT_SAME_MEMBER(Tensor, byte_offset, DLTensor, byte_offset);

  EXPECT_SAME_STRUCT(ManagedTensor, DLManagedTensor);
  EXPECT_SAME_MEMBER(ManagedTensor, tensor, DLManagedTensor, dl_tensor);
  EXPECT_SAME_MEMBER(ManagedTensor, manager_ctx, DLManagedTensor, manager_ctx);
  EXPECT_SAME_MEMBER(ManagedTensor, deleter, DLManagedTensor, deleter);

  EXPECT_SAME_STRUCT(Version, DLPackVersion);
  EXPECT_SAME_MEMBER(Version, major, DLPackVersion, major);
  EXPECT_SAME_MEMBER(Version, minor, DLPackVersion, minor);

  using Ours = ManagedTensorVersioned;
  EXPECT_SAME_STRUCT(Ours, DLManagedTensorVersioned);
  EXPECT_SAME_MEMBER(Ours, version, DLManagedTensorVersioned, version);
  EXPECT_SAME_MEMBER(Ours, manager_ctx, DLManagedTensorVersioned, manager_ctx);
  EXPECT_SAME_MEMBER(Ours, deleter, DLManagedTensorVersioned, deleter);
  EXPECT_SAME_MEMBER(Ours, flags, DLManagedTensorVersioned, flags);
  EXPECT_SAME_MEMBER(Ours, tensor, DLManagedTensorVersioned, dl_tensor);
}

TEST(DlpackStruct, SameExchangeApiAsPyTorchs) {
  EXPECT_SAME_STRUCT(ExchangeAPI, DLPackExchangeAPI);
  EXPECT_SAME_MEMBER(ExchangeAPI, version, DLPackExchangeAPI, header.version);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the size of a pointer is meant
  EXPECT_SAME_MEMBER(ExchangeAPI, prev_api, DLPackExchangeAPI, header.prev_api);
  EXPECT_SAME_MEMBER(ExchangeAPI, managed_tensor_allocator, DLPackExchangeAPI,
                     managed_tensor_allocator);
  EXPECT_SAME_MEMBER(ExchangeAPI, managed_tensor_from_py_object_no_sync, DLPackExchangeAPI,
                     managed_tensor_from_py_object_no_sync);
  EXPECT_SAME_MEMBER(ExchangeAPI, managed_tensor_to_py_object_no_sync, DLPackExchangeAPI,
                     managed_tensor_to_py_object_no_sync);
  EXPECT_SAME_MEMBER(ExchangeAPI, dltensor_from_py_object_no_sync, DLPackExchangeAPI,
                     dltensor_from_py_object_no_sync);
  EXPECT_SAME_MEMBER(ExchangeAPI, current_work_stream, DLPackExchangeAPI, current_work_stream);
}

#define EXPECT_SAME_VALUE(ours, theirs) EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs))

TEST(DlpackStruct, SameConstantsAsPyTorchs) {
  EXPECT_SAME_VALUE(kCPU, kDLCPU);
  EXPECT_SAME_VALUE(kCUDA, kDLCUDA);
  EXPECT_SAME_VALUE(kCUDAHost, kDLCUDAHost);
  EXPECT_SAME_VALUE(kOpenCL, kDLOpenCL);
  EXPECT_SAME_VALUE(kVulkan, kDLVulkan);
  EXPECT_SAME_VALUE(kMetal, kDLMetal);
  EXPECT_SAME_VALUE(kVPI, kDLVPI);
  EXPECT_SAME_VALUE(kROCM, kDLROCM);
  EXPECT_SAME_VALUE(kROCMHost, kDLROCMHost);
  EXPECT_SAME_VALUE(kExtDev, kDLExtDev);
  EXPECT_SAME_VALUE(kCUDAManaged, kDLCUDAManaged);
  EXPECT_SAME_VALUE(kOneAPI, kDLOneAPI);
  EXPECT_SAME_VALUE(kWebGPU, kDLWebGPU);
  EXPECT_SAME_VALUE(kHexagon, kDLHexagon);
  EXPECT_SAME_VALUE(kMAIA, kDLMAIA);
  EXPECT_SAME_VALUE(kTrn, kDLTrn);

  EXPECT_SAME_VALUE(kInt, kDLInt);
  EXPECT_SAME_VALUE(kUInt, kDLUInt);
  EXPECT_SAME_VALUE(kFloat, kDLFloat);
  EXPECT_SAME_VALUE(kOpaqueHandle, kDLOpaqueHandle);
  EXPECT_SAME_VALUE(kBfloat, kDLBfloat);
  EXPECT_SAME_VALUE(kComplex, kDLComplex);
  EXPECT_SAME_VALUE(kBool, kDLBool);
  EXPECT_SAME_VALUE(kFloat8E3M4, kDLFloat8_e3m4);
  EXPECT_SAME_VALUE(kFloat8E4M3, kDLFloat8_e4m3);
  EXPECT_SAME_VALUE(kFloat8E4M3B11FNUZ, kDLFloat8_e4m3b11fnuz);
  EXPECT_SAME_VALUE(kFloat8E4M3FN, kDLFloat8_e4m3fn);
  EXPECT_SAME_VALUE(kFloat8E4M3FNUZ, kDLFloat8_e4m3fnuz);
  EXPECT_SAME_VALUE(kFloat8E5M2, kDLFloat8_e5m2);
  EXPECT_SAME_VALUE(kFloat8E5M2FNUZ, kDLFloat8_e5m2fnuz);
  EXPECT_SAME_VALUE(kFloat8E8M0FNU, kDLFloat8_e8m0fnu);
  EXPECT_SAME_VALUE(kFloat6E2M3FN, kDLFloat6_e2m3fn);
  EXPECT_SAME_VALUE(kFloat6E3M2FN, kDLFloat6_e3m2fn);
  EXPECT_SAME_VALUE(kFloat4E2M1FN, kDLFloat4_e2m1fn);

  EXPECT_SAME_VALUE(kReadOnly, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_SAME_VALUE(kIsCopied, DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_SAME_VALUE(kSubBytePadded, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
}

}  // namespace
}  // namespace ashore::dlpack

#else

TEST(DlpackStruct, SameLayoutAsPyTorchs) {
  GTEST_SKIP()
      << "PyTorch's ATen/dlpack.h was not found: set ASHORE_TORCH_DLPACK_H in CMake to its path";
}

#endif
