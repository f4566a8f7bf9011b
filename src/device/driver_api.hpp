// Our own declarations of what ashore uses of the CUDA driver, after its public documentation:
// types, error numbers, attributes, structs. Included wherever a driver is called; a test compares
// them with an installed cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashore::device {

/// CUresult, those that ashore meets. Any other number may come as well.
enum class Error : std::int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kDeviceNotLicensed = 102,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kEccUncorrectable = 214,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kPrimaryContextActive = 708,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupportedOnDevice = 804,
  kUnknown = 999,
};

/// CUdevice: a number.
using Device = int;
/// CUdeviceptr.
using DevicePointer = std::uint64_t;

/// CUstream, CUevent, CUcontext: opaque.
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ContextHandle = struct ContextTag*;
/// CUarray: only named, to give Memcpy2D its layout.
using ArrayHandle = struct ArrayTag*;

/// The default stream of the current context; it waits for all blocking streams and they for it.
inline constexpr StreamHandle kDefaultStream = nullptr;
/// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, as numbers, since a constant cannot be a cast
/// pointer.
inline constexpr std::uintptr_t kLegacyStreamNumber = 1;
inline constexpr std::uintptr_t kPerThreadStreamNumber = 2;

/// CUstream_flags.
inline constexpr unsigned kStreamDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;

/// CUevent_flags.
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;

/// CU_MEMHOSTALLOC_….
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kHostAllocWriteCombined = 4;

/// CU_MEMHOSTREGISTER_….
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline constexpr unsigned kHostRegisterIoMemory = 4;
inline constexpr unsigned kHostRegisterReadOnly = 8;

/// CUdevice_attribute.
enum class DeviceAttribute : std::int32_t {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kCanMapHostMemory = 19,
  kComputeMode = 20,
  kConcurrentKernels = 31,
  kEccEnabled = 32,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kTccDriver = 35,
  kMemoryClockRate = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kAsyncEngineCount = 40,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kStreamPrioritiesSupported = 78,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kManagedMemory = 83,
  kIsMultiGpuBoard = 84,
  kPageableMemoryAccess = 88,
  kConcurrentManagedAccess = 89,
  kCanUseHostPointerForRegisteredMemory = 91,
  kPageableMemoryAccessUsesHostPageTables = 100,
};

/// CUmemorytype.
enum class MemoryType : std::uint32_t {
  kNone = 0,  ///< not CUDA's: what a zeroed field says
  kHost = 1,
  kDevice = 2,
  kArray = 3,
  kUnified = 4,
};

/// CUpointer_attribute. What the answer is written as stands beside each.
enum class PointerAttribute : std::int32_t {
  kContext = 1,             ///< ContextHandle
  kMemoryType = 2,          ///< MemoryType
  kDevicePointer = 3,       ///< DevicePointer
  kHostPointer = 4,         ///< void*
  kBufferId = 7,            ///< unsigned long long
  kIsManaged = 8,           ///< unsigned
  kDeviceOrdinal = 9,       ///< int
  kRangeStartAddress = 11,  ///< DevicePointer
  kRangeSize = 12,          ///< size_t
  kMapped = 13,             ///< unsigned
};

/// CUDA_MEMCPY2D (version 2): a rectangle of bytes.
struct Memcpy2D {
  std::size_t source_x_bytes = 0;
  std::size_t source_y = 0;
  MemoryType source_type = MemoryType::kNone;
  const void* source_host = nullptr;
  DevicePointer source_device = 0;
  ArrayHandle source_array = nullptr;
  std::size_t source_pitch_bytes = 0;
  std::size_t destination_x_bytes = 0;
  std::size_t destination_y = 0;
  MemoryType destination_type = MemoryType::kNone;
  void* destination_host = nullptr;
  DevicePointer destination_device = 0;
  ArrayHandle destination_array = nullptr;
  std::size_t destination_pitch_bytes = 0;
  std::size_t width_bytes = 0;
  std::size_t height = 0;
};

/// CUmemcpySrcAccessOrder: when a batched copy may read its source.
enum class SourceAccess : std::uint32_t {
  kInvalid = 0,
  kInStreamOrder = 1,
  kDuringCall = 2,
  kAnyTime = 3,
};

/// CUmemLocation: a hint.
struct MemoryLocation {
  std::uint32_t type = 0;
  std::int32_t id = 0;
};

/// CUmemcpyAttributes: of the copies from one index of a batch up to the next attribute's.
struct BatchAttributes {
  SourceAccess source_access = SourceAccess::kInStreamOrder;
  MemoryLocation source_hint;
  MemoryLocation destination_hint;
  std::uint32_t flags = 0;
};

static_assert(sizeof(Error) == 4 && sizeof(DeviceAttribute) == 4 && sizeof(PointerAttribute) == 4);
static_assert(sizeof(Memcpy2D) == 128);
static_assert(offsetof(Memcpy2D, source_host) == 24);
static_assert(offsetof(Memcpy2D, source_pitch_bytes) == 48);
static_assert(offsetof(Memcpy2D, destination_type) == 72);
static_assert(offsetof(Memcpy2D, destination_host) == 80);
static_assert(offsetof(Memcpy2D, width_bytes) == 112);
static_assert(sizeof(BatchAttributes) == 24 && offsetof(BatchAttributes, flags) == 20);

}  // namespace ashore::device
