// The state of one process, CUDA's errors in PyTorch's words, and the hooks of an observer.
#include "state.hpp"

#include <c10/util/Exception.h>

#include "streams.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ashore::emulator {

Machine g_machine;
constinit thread_local int tl_device = 0;
constinit thread_local int tl_kernel_device = -1;

namespace {

std::atomic<bool> g_forked{false};
std::atomic<int> g_sync_debug_mode{0};
std::atomic<OriginHook> g_origin_hook{nullptr};
std::atomic<WaitHook> g_wait_hook{nullptr};
std::atomic<LineHook> g_line_hook{nullptr};
std::atomic<device::Error> g_broken{device::Error::kSuccess};

}  // namespace

namespace {

// The runtime's name of a driver's error, as PyTorch's messages give it.
std::string runtime_name(device::Error error) {
  switch (error) {
    case device::Error::kOutOfMemory:
      return "cudaErrorMemoryAllocation";
    case device::Error::kNotInitialized:
      return "cudaErrorInitializationError";
    case device::Error::kDeinitialized:
      return "cudaErrorCudartUnloading";
    case device::Error::kInvalidContext:
      return "cudaErrorDeviceUninitialized";
    case device::Error::kInvalidHandle:
      return "cudaErrorInvalidResourceHandle";
    case device::Error::kLaunchFailed:
      return "cudaErrorLaunchFailure";
    default:
      break;
  }
  const char* name = nullptr;
  if (g_machine.driver == nullptr ||
      g_machine.driver->get_error_name(error, &name) != device::Error::kSuccess) {
    return "cudaErrorUnknown";
  }
  constexpr std::string_view kPrefix = "CUDA_ERROR";
  std::string made = "cudaError";  // CUDA_ERROR_INVALID_VALUE: cudaErrorInvalidValue
  bool is_first = false;
  for (const char letter : std::string_view(name).substr(kPrefix.size())) {
    if (letter != '_') {
      made += is_first ? letter : static_cast<char>(letter | 0x20);
    }
    is_first = letter == '_';
  }
  return made;
}

// Words of c10/cuda/CUDAMiscFunctions.cpp of PyTorch 2.13.
std::string help_text(device::Error error) {
  if (error == device::Error::kInvalidDevice) {
    return "\nGPU device may be out of range, do you have enough GPUs?";
  }
  return "\nSearch for `" + runtime_name(error) +
         "' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more "
         "information.";
}
const char* async_error_suffix(device::Error error) {
  if (error != device::Error::kLaunchFailed && error != device::Error::kIllegalAddress &&
      error != device::Error::kAssert) {
    return "\nFor more detailed error information, run with CUDA_LOG_FILE=stderr";
  }
  if (is_launch_blocking()) return "";
  return "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
         "stacktrace below might be incorrect.\nFor debugging consider passing "
         "CUDA_LAUNCH_BLOCKING=1";
}

}  // namespace

// As c10/cuda/CUDAException.cpp does.
void throw_cuda_error(device::Error error) {
  const char* text = nullptr;
  if (g_machine.driver == nullptr ||
      g_machine.driver->get_error_string(error, &text) != device::Error::kSuccess) {
    text = "unknown error";
  }
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, static_cast<int>(error),
      c10::str("CUDA error: ", text, help_text(error), async_error_suffix(error), "\n"));
}

void check(device::Error error) {
  if (C10_UNLIKELY(error != device::Error::kSuccess)) throw_cuda_error(error);
}

void break_device(device::Error error) {
  device::Error none = device::Error::kSuccess;
  if (g_broken.compare_exchange_strong(none, error)) g_machine.simulator->break_device(error);
}

bool is_broken() noexcept { return g_broken.load() != device::Error::kSuccess; }
void check_broken() { check(g_broken.load()); }

bool is_launch_blocking() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  return blocking != nullptr && std::string_view(blocking) == "1";
}

void report_failure(const std::string& line, const std::string& detail) {
  const LineHook hook = g_line_hook.load();
  const std::string where = hook == nullptr ? "" : hook();
  const std::string text = (line.empty() ? "" : line + "\n") +
                           "ashore: " + (where.empty() ? "" : where + ": ") + detail + "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void check_fork() {
  if (C10_UNLIKELY(g_forked.load(std::memory_order_relaxed))) {
    throw_cuda_error(device::Error::kNotInitialized);
  }
}

void check_device(int device) {
  if (C10_UNLIKELY(device < 0 || device >= g_machine.device_count)) {
    throw_cuda_error(device::Error::kInvalidDevice);
  }
}

void note_origin() {
  if (const OriginHook hook = g_origin_hook.load(std::memory_order_relaxed)) {
    g_machine.simulator->set_origin(hook());
  }
}

void note_wait(const char* what) {
  if (const WaitHook hook = g_wait_hook.load(std::memory_order_relaxed)) {
    const OriginHook origin = g_origin_hook.load(std::memory_order_relaxed);
    hook(what, origin == nullptr ? 0 : origin());
  }
  const int mode = g_sync_debug_mode.load(std::memory_order_relaxed);
  if (C10_LIKELY(mode == 0)) return;
  TORCH_CHECK(mode != 2, "called a synchronizing CUDA operation");
  TORCH_WARN("called a synchronizing CUDA operation");
}

int device_count() noexcept { return g_machine.device_count; }

DeviceInfo device_info(int device) {
  check_device(device);
  ensure_initialized();
  std::size_t total_bytes = 0;
  char name[256] = {};
  check(g_machine.driver->device_get_name(name, sizeof name, device));
  check(g_machine.driver->device_total_mem(&total_bytes, device));
  return {name, static_cast<std::int64_t>(total_bytes)};
}

int current_device() noexcept { return tl_device; }

void set_current_device(int device) {
  check_device(device);
  tl_device = device;
}

int exchange_device(int device) {
  const int before = tl_device;
  if (device >= 0) set_current_device(device);
  return before;
}

int sync_debug_mode() noexcept { return g_sync_debug_mode; }
void set_sync_debug_mode(int mode) { g_sync_debug_mode = mode; }
void mark_forked() noexcept { g_forked = true; }
bool is_forked() noexcept { return g_forked; }
void set_origin_hook(OriginHook hook) noexcept { g_origin_hook = hook; }
void set_wait_hook(WaitHook hook) noexcept { g_wait_hook = hook; }
void set_line_hook(LineHook hook) noexcept { g_line_hook = hook; }

}  // namespace ashore::emulator
