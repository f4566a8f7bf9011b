// Our declarations of the driver against an installed cuda.h, where there is one.
#include <gtest/gtest.h>

#include "device/driver_table.hpp"

#ifdef ASHORE_CUDA_H
#include ASHORE_CUDA_H
#endif

namespace ashore::device {
namespace {

#ifdef ASHORE_CUDA_H

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))

SAME(Error::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(Error::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(Error::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(Error::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(Error::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(Error::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(Error::kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(Error::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(Error::kDeviceNotLicensed, CUDA_ERROR_DEVICE_NOT_LICENSED);
SAME(Error::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(Error::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(Error::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(Error::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
SAME(Error::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(Error::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME(Error::kNotFound, CUDA_ERROR_NOT_FOUND);
SAME(Error::kNotReady, CUDA_ERROR_NOT_READY);
SAME(Error::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(Error::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(Error::kPrimaryContextActive, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
SAME(Error::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(Error::kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME(Error::kHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME(Error::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(Error::kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(Error::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(Error::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(Error::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(Error::kCompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(Error::kUnknown, CUDA_ERROR_UNKNOWN);

SAME(DeviceAttribute::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DeviceAttribute::kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(DeviceAttribute::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(DeviceAttribute::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(DeviceAttribute::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(DeviceAttribute::kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(DeviceAttribute::kCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
SAME(DeviceAttribute::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(DeviceAttribute::kConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
SAME(DeviceAttribute::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
SAME(DeviceAttribute::kPciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(DeviceAttribute::kPciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(DeviceAttribute::kTccDriver, CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
SAME(DeviceAttribute::kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(DeviceAttribute::kGlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(DeviceAttribute::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(DeviceAttribute::kMaxThreadsPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::kAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
SAME(DeviceAttribute::kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(DeviceAttribute::kPciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(DeviceAttribute::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(DeviceAttribute::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(DeviceAttribute::kStreamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
SAME(DeviceAttribute::kMaxSharedMemoryPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::kMaxRegistersPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(DeviceAttribute::kManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
SAME(DeviceAttribute::kIsMultiGpuBoard, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD);
SAME(DeviceAttribute::kPageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
SAME(DeviceAttribute::kConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
SAME(DeviceAttribute::kCanUseHostPointerForRegisteredMemory,
     CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
SAME(DeviceAttribute::kPageableMemoryAccessUsesHostPageTables,
     CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);

SAME(PointerAttribute::kContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(PointerAttribute::kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(PointerAttribute::kDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(PointerAttribute::kHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(PointerAttribute::kBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME(PointerAttribute::kIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(PointerAttribute::kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(PointerAttribute::kRangeStartAddress, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(PointerAttribute::kRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(PointerAttribute::kMapped, CU_POINTER_ATTRIBUTE_MAPPED);

SAME(MemoryType::kHost, CU_MEMORYTYPE_HOST);
SAME(MemoryType::kDevice, CU_MEMORYTYPE_DEVICE);
SAME(MemoryType::kArray, CU_MEMORYTYPE_ARRAY);
SAME(MemoryType::kUnified, CU_MEMORYTYPE_UNIFIED);
SAME(SourceAccess::kInStreamOrder, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
SAME(SourceAccess::kDuringCall, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
SAME(SourceAccess::kAnyTime, CU_MEMCPY_SRC_ACCESS_ORDER_ANY);

SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(kEventInterprocess, CU_EVENT_INTERPROCESS);
SAME(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(kHostAllocWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
SAME(kHostRegisterDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(kHostRegisterIoMemory, CU_MEMHOSTREGISTER_IOMEMORY);
SAME(kHostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY);

#define SAME_PLACE(ours, our_member, theirs, their_member) \
  SAME(offsetof(ours, our_member), offsetof(theirs, their_member))

SAME(sizeof(Memcpy2D), sizeof(CUDA_MEMCPY2D));
SAME_PLACE(Memcpy2D, source_x_bytes, CUDA_MEMCPY2D, srcXInBytes);
SAME_PLACE(Memcpy2D, source_y, CUDA_MEMCPY2D, srcY);
SAME_PLACE(Memcpy2D, source_type, CUDA_MEMCPY2D, srcMemoryType);
SAME_PLACE(Memcpy2D, source_host, CUDA_MEMCPY2D, srcHost);
SAME_PLACE(Memcpy2D, source_device, CUDA_MEMCPY2D, srcDevice);
SAME_PLACE(Memcpy2D, source_array, CUDA_MEMCPY2D, srcArray);
SAME_PLACE(Memcpy2D, source_pitch_bytes, CUDA_MEMCPY2D, srcPitch);
SAME_PLACE(Memcpy2D, destination_x_bytes, CUDA_MEMCPY2D, dstXInBytes);
SAME_PLACE(Memcpy2D, destination_y, CUDA_MEMCPY2D, dstY);
SAME_PLACE(Memcpy2D, destination_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(Memcpy2D, destination_host, CUDA_MEMCPY2D, dstHost);
SAME_PLACE(Memcpy2D, destination_device, CUDA_MEMCPY2D, dstDevice);
SAME_PLACE(Memcpy2D, destination_array, CUDA_MEMCPY2D, dstArray);
SAME_PLACE(Memcpy2D, destination_pitch_bytes, CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(Memcpy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME_PLACE(Memcpy2D, height, CUDA_MEMCPY2D, Height);

#if CUDA_VERSION >= 12080
SAME(sizeof(BatchAttributes), sizeof(CUmemcpyAttributes));
SAME_PLACE(BatchAttributes, source_access, CUmemcpyAttributes, srcAccessOrder);
SAME_PLACE(BatchAttributes, source_hint, CUmemcpyAttributes, srcLocHint);
SAME_PLACE(BatchAttributes, destination_hint, CUmemcpyAttributes, dstLocHint);
SAME_PLACE(BatchAttributes, flags, CUmemcpyAttributes, flags);
SAME(sizeof(MemoryLocation), sizeof(CUmemLocation));
#endif

// A parameter of ours against one of theirs: both pointers or handles, or numbers of the same size.
template <typename Ours, typename Theirs>
constexpr bool is_same_parameter() {
  return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
}
template <typename Ours, typename Theirs>
struct SameSignature;
template <typename... Ours, typename... Theirs>
struct SameSignature<Error(Ours...), CUresult(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return (is_same_parameter<Ours, Theirs>() && ...);
    }
  }();
};

// cuda.h renames functions by macros, so that each is named here by its own spelling. The batched
// copy is missing: our list has the signature of CUDA 12.8, newer headers declare the next one.
#define SIGNATURE(member, function)                                                 \
  static_assert(SameSignature<std::remove_pointer_t<decltype(DriverTable::member)>, \
                              decltype(function)>::value)
SIGNATURE(init, cuInit);
SIGNATURE(driver_get_version, cuDriverGetVersion);
SIGNATURE(device_get_count, cuDeviceGetCount);
SIGNATURE(device_get, cuDeviceGet);
SIGNATURE(device_get_name, cuDeviceGetName);
SIGNATURE(device_total_mem, cuDeviceTotalMem);
SIGNATURE(device_get_attribute, cuDeviceGetAttribute);
SIGNATURE(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
SIGNATURE(device_primary_ctx_release, cuDevicePrimaryCtxRelease);
SIGNATURE(ctx_set_current, cuCtxSetCurrent);
SIGNATURE(ctx_get_current, cuCtxGetCurrent);
SIGNATURE(ctx_synchronize, cuCtxSynchronize);
SIGNATURE(mem_alloc, cuMemAlloc);
SIGNATURE(mem_free, cuMemFree);
SIGNATURE(mem_get_info, cuMemGetInfo);
SIGNATURE(mem_host_alloc, cuMemHostAlloc);
SIGNATURE(mem_free_host, cuMemFreeHost);
SIGNATURE(mem_host_register, cuMemHostRegister);
SIGNATURE(mem_host_unregister, cuMemHostUnregister);
SIGNATURE(pointer_get_attribute, cuPointerGetAttribute);
SIGNATURE(stream_create, cuStreamCreate);
SIGNATURE(stream_create_with_priority, cuStreamCreateWithPriority);
SIGNATURE(stream_destroy, cuStreamDestroy);
SIGNATURE(stream_query, cuStreamQuery);
SIGNATURE(stream_synchronize, cuStreamSynchronize);
SIGNATURE(stream_wait_event, cuStreamWaitEvent);
SIGNATURE(event_create, cuEventCreate);
SIGNATURE(event_destroy, cuEventDestroy);
SIGNATURE(event_record, cuEventRecord);
SIGNATURE(event_query, cuEventQuery);
SIGNATURE(event_synchronize, cuEventSynchronize);
SIGNATURE(event_elapsed_time, cuEventElapsedTime);
SIGNATURE(memcpy_htod_async, cuMemcpyHtoDAsync);
SIGNATURE(memcpy_dtoh_async, cuMemcpyDtoHAsync);
SIGNATURE(memcpy_dtod_async, cuMemcpyDtoDAsync);
SIGNATURE(memcpy_async, cuMemcpyAsync);
SIGNATURE(memcpy_2d_async, cuMemcpy2DAsync);
SIGNATURE(memset_d8_async, cuMemsetD8Async);
SIGNATURE(get_error_name, cuGetErrorName);
SIGNATURE(get_error_string, cuGetErrorString);

TEST(DriverLayout, IsThatOfCudaH) { SUCCEED() << "compared while compiling"; }

#else

TEST(DriverLayout, IsThatOfCudaH) {
  GTEST_SKIP() << "no cuda.h on this machine to compare our declarations with";
}

#endif

}  // namespace
}  // namespace ashore::device
