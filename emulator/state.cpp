// The state of one process, CUDA's errors in PyTorch's words, and the hooks of an observer.
#include "state.hpp"

#include <c10/util/Exception.h>

namespace ashore::emulator {

Machine g_machine;
thread_local int tl_device = 0;
thread_local int tl_kernel_device = -1;

namespace {

std::atomic<bool> g_forked{false};
std::atomic<int> g_sync_debug_mode{0};
std::atomic<OriginHook> g_origin_hook{nullptr};
std::atomic<WaitHook> g_wait_hook{nullptr};

}  // namespace

// Source of the words: c10/cuda/CUDAException.cpp and c10/cuda/CUDAMiscFunctions.cpp of
// PyTorch 2.13.
void throw_cuda_error(device::Error error) {
  const char* text = nullptr;
  if (g_machine.driver == nullptr ||
      g_machine.driver->get_error_string(error, &text) != device::Error::kSuccess) {
    text = "unknown error";
  }
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, static_cast<int>(error),
      c10::str("CUDA error: ", text,
               "\nCUDA kernel errors might be asynchronously reported at some other API call, so "
               "the stacktrace below might be incorrect.\nFor debugging consider passing "
               "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side "
               "assertions.\n"));
}

void check(device::Error error) {
  if (C10_UNLIKELY(error != device::Error::kSuccess)) throw_cuda_error(error);
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
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  char name[256] = {};
  check(g_machine.driver->device_get_name(name, sizeof name, device));
  check(g_machine.driver->device_total_mem(&total_bytes, device));
  static_cast<void>(free_bytes);
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

}  // namespace ashore::emulator
