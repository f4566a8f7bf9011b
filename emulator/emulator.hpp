// The emulated CUDA device in PyTorch, as its Python surface and C++ programs see it. Everything
// here is in libashore_emulator.so, which links LibTorch and no Python.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#define ASHORE_EMULATOR_API __attribute__((visibility("default")))

namespace ashore::emulator {

/// The caching allocator's counts of one device, as torch.cuda.memory_stats() groups them.
struct Stat {
  std::int64_t current = 0, peak = 0, allocated = 0, freed = 0;
};
struct PoolStats {
  Stat all, small_pool, large_pool;
};
struct MemoryStats {
  PoolStats allocation, segment, active, inactive_split;
  PoolStats allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes;
  std::int64_t num_alloc_retries = 0, num_ooms = 0, num_sync_all_streams = 0;
  std::int64_t num_device_alloc = 0, num_device_free = 0;
};

struct DeviceInfo {
  std::string name;
  std::int64_t total_memory_bytes = 0;
};

struct StreamId {
  std::int64_t id = 0;  ///< PyTorch's number; 0 is the default stream
  int device = 0;
};

// Every function below throws what PyTorch's CUDA backend throws (c10::AcceleratorError for CUDA
// errors).

ASHORE_EMULATOR_API int device_count() noexcept;
ASHORE_EMULATOR_API DeviceInfo device_info(int device);
ASHORE_EMULATOR_API int current_device() noexcept;
ASHORE_EMULATOR_API void set_current_device(int device);
/// Make a device current and return the one before; a negative number changes nothing.
ASHORE_EMULATOR_API int exchange_device(int device);
ASHORE_EMULATOR_API void synchronize_device(int device);

ASHORE_EMULATOR_API StreamId current_stream(int device);
ASHORE_EMULATOR_API StreamId default_stream(int device);
/// Make it the current stream of its device for this thread, and that device current.
ASHORE_EMULATOR_API void set_current_stream(StreamId stream);
/// A stream of PyTorch's pool; priority 0 or below.
ASHORE_EMULATOR_API StreamId pool_stream(int device, int priority);
/// What torch.cuda.Stream.cuda_stream shows: the simulated driver's handle, 0 for the default
/// stream.
ASHORE_EMULATOR_API std::uint64_t native_stream(StreamId stream);
/// The inverse; a handle that is not the pool's becomes an external stream.
ASHORE_EMULATOR_API StreamId stream_of_native(std::uint64_t native, int device);
ASHORE_EMULATOR_API int stream_priority(StreamId stream);
/// Milliseconds between two events of torch.Event (their event_id), recorded with timing.
ASHORE_EMULATOR_API double elapsed_ms(std::int64_t first_event, std::int64_t second_event);

ASHORE_EMULATOR_API MemoryStats memory_stats(int device);
ASHORE_EMULATOR_API void reset_accumulated_stats(int device);
ASHORE_EMULATOR_API void reset_peak_stats(int device);
ASHORE_EMULATOR_API void empty_cache();
/// Free and total bytes, as cudaMemGetInfo tells them.
ASHORE_EMULATOR_API std::pair<std::int64_t, std::int64_t> memory_info(int device);
ASHORE_EMULATOR_API double memory_fraction(int device);
ASHORE_EMULATOR_API void set_memory_fraction(int device, double fraction);
/// Allocate and free as torch.cuda.caching_allocator_alloc / _delete do; addresses are device
/// addresses.
ASHORE_EMULATOR_API void* raw_alloc(std::int64_t size_bytes, int device,
                                    std::uint64_t native_stream);
ASHORE_EMULATOR_API void raw_delete(void* address);
/// Give an untyped CUDA storage (a c10::StorageImpl*) another size, keeping its bytes.
ASHORE_EMULATOR_API void resize_storage(void* storage_impl, std::int64_t size_bytes);

/// 0 default, 1 warn, 2 error: torch.cuda.set_sync_debug_mode.
ASHORE_EMULATOR_API int sync_debug_mode() noexcept;
ASHORE_EMULATOR_API void set_sync_debug_mode(int mode);

/// Called in a forked child of a process that had used the device: nothing of it works there any
/// more.
ASHORE_EMULATOR_API void mark_forked() noexcept;
ASHORE_EMULATOR_API bool is_forked() noexcept;

/// The next generator that PyTorch asks for is the default one of the device: torch.cuda._lazy_init
/// takes torch._C.Generator objects for them.
ASHORE_EMULATOR_API void hand_out_default_generator(int device);

/// Stop the autograd engine's device threads and wait until they are gone, so that the process may
/// end.
ASHORE_EMULATOR_API void stop_autograd();

/// Asked for a number that stands for the current line of the user's program, each time a copy is
/// enqueued or the host waits. Null (the default): nothing is asked.
using OriginHook = std::uint64_t (*)();
ASHORE_EMULATOR_API void set_origin_hook(OriginHook hook) noexcept;
/// Told of each wait of the host for the device: what made it wait ("aten::item",
/// "cudaStreamSynchronize", …).
using WaitHook = void (*)(const char* what, std::uint64_t origin);
ASHORE_EMULATOR_API void set_wait_hook(WaitHook hook) noexcept;
/// Asked for the current line of the user's program, "file:line", when a kernel fails; may be
/// empty.
using LineHook = std::string (*)();
ASHORE_EMULATOR_API void set_line_hook(LineHook hook) noexcept;

}  // namespace ashore::emulator

extern "C" {
/// Start the emulated device: open the simulated driver, configure it from `options`, and register
/// everything with PyTorch. Call it before anything asks PyTorch about CUDA. Returns null, or one
/// line that says what is wrong. `simulator_path` is the full path of libashore_sim.so; `options`
/// is "devices=1;memory=8589934592;late_copies=1;strict_sync=0;poison=bytes;name=Emulated GPU" with
/// each part optional; "visible=1" lets programs see so many of the devices.
ASHORE_EMULATOR_API const char* ashore_emulator_start(const char* simulator_path,
                                                      const char* options);
}
