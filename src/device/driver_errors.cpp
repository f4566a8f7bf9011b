// Names and texts of CUDA's errors, as its documentation has them.
#include "device/driver_errors.hpp"

namespace ashore::device {
namespace {

struct Row {
  Error error;
  const char* name;
  const char* text;
};

constexpr Row kRows[] = {
    {Error::kSuccess, "CUDA_SUCCESS", "no error"},
    {Error::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Error::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Error::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {Error::kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {Error::kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {Error::kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {Error::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Error::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Error::kDeviceNotLicensed, "CUDA_ERROR_DEVICE_NOT_LICENSED",
     "device doesn't have valid Grid license"},
    {Error::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {Error::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Error::kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE",
     "uncorrectable ECC error encountered"},
    {Error::kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM",
     "OS call failed or operation not supported on this OS"},
    {Error::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Error::kIllegalState, "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {Error::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Error::kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Error::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {Error::kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {Error::kPrimaryContextActive, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE",
     "cannot set while device is active in this process"},
    {Error::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {Error::kAssert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {Error::kHostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {Error::kHostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {Error::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Error::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {Error::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {Error::kSystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {Error::kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {Error::kCompatNotSupportedOnDevice, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "forward compatibility was attempted on non supported HW"},
    {Error::kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Row* find(Error error) noexcept {
  for (const Row& row : kRows) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

}  // namespace

const char* error_name(Error error) noexcept {
  const Row* const row = find(error);
  return row == nullptr ? nullptr : row->name;
}

const char* error_text(Error error) noexcept {
  const Row* const row = find(error);
  return row == nullptr ? nullptr : row->text;
}

}  // namespace ashore::device
