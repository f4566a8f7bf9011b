// Memory: the caching allocator's statistics, raw allocations, pinned memory, history and storages.
// Source of names and keys: torch/csrc/cuda/Module.cpp of PyTorch.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>
#include <torch/csrc/DynamicTypes.h>

#include <algorithm>

#include "emulator.hpp"
#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

struct History {
  bool is_enabled = false;
  std::string metadata;
};
History& history() {
  static auto& state = *new History;
  return state;
}
bool g_caching_enabled = true;

template <typename AnyStat>
Object stat_dict(const AnyStat& stat) {
  Object dict(PyDict_New());
  set_item(dict, "current", stat.current);
  set_item(dict, "peak", stat.peak);
  set_item(dict, "allocated", stat.allocated);
  set_item(dict, "freed", stat.freed);
  return dict;
}

Object pools_dict(const PoolStats& stats) {
  Object dict(PyDict_New());
  set_item(dict, "all", stat_dict(stats.all));
  set_item(dict, "small_pool", stat_dict(stats.small_pool));
  set_item(dict, "large_pool", stat_dict(stats.large_pool));
  return dict;
}

int device_argument(PyObject* argument, const char* complaint) {
  const std::int64_t device = to_int(argument, complaint);
  TORCH_CHECK(device >= 0 && device < device_count(), "Invalid device argument ", device,
              ": did you call init?");
  return static_cast<int>(device);
}

Object stats(PyObject* argument) {
  const int device = device_argument(argument, "invalid argument to memory_allocated");
  const MemoryStats stats = [device] {
    const GilRelease released;
    return memory_stats(device);
  }();
  Object result(PyDict_New());
  set_item(result, "num_alloc_retries", stats.num_alloc_retries);
  set_item(result, "num_ooms", stats.num_ooms);
  set_item(result, "max_split_size", std::int64_t{-1});
  set_item(result, "num_sync_all_streams", stats.num_sync_all_streams);
  set_item(result, "num_device_alloc", stats.num_device_alloc);
  set_item(result, "num_device_free", stats.num_device_free);
  set_item(result, "num_oom_rejections", std::int64_t{0});
  set_item(result, "allocation", pools_dict(stats.allocation));
  set_item(result, "segment", pools_dict(stats.segment));
  set_item(result, "active", pools_dict(stats.active));
  set_item(result, "inactive_split", pools_dict(stats.inactive_split));
  set_item(result, "allocated_bytes", pools_dict(stats.allocated_bytes));
  set_item(result, "reserved_bytes", pools_dict(stats.reserved_bytes));
  set_item(result, "reserved_bytes_by_private_pools", Object(PyDict_New()));
  set_item(result, "active_bytes", pools_dict(stats.active_bytes));
  set_item(result, "inactive_split_bytes", pools_dict(stats.inactive_split_bytes));
  set_item(result, "requested_bytes", pools_dict(stats.requested_bytes));
  set_item(result, "oversize_allocations", stat_dict(Stat{}));
  set_item(result, "oversize_segments", stat_dict(Stat{}));
  return result;
}

void reset_accumulated(PyObject* argument) {
  reset_accumulated_stats(
      device_argument(argument, "invalid argument to reset_accumulated_memory_stats"));
}
void reset_peak(PyObject* argument) {
  reset_peak_stats(device_argument(argument, "invalid argument to reset_peak_memory_stats"));
}

void release_cache() {
  const GilRelease released;
  empty_cache();
}

void set_fraction(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"fraction", "device", nullptr};
  double fraction = 0;
  PyObject* device = nullptr;
  parse(args, kwargs, "dO", kNames, &fraction, &device);
  TORCH_CHECK(fraction >= 0 && fraction <= 1, "invalid fraction:", fraction,
              ". Please set within [0, 1].");
  set_memory_fraction(device_argument(device, "invalid argument to set_memory_fraction"), fraction);
}
double get_fraction(PyObject* argument) {
  return memory_fraction(device_argument(argument, "invalid argument to get_memory_fraction"));
}

void* allocate(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"size", "stream", nullptr};
  Py_ssize_t size = 0;
  unsigned long long stream = 0;
  parse(args, kwargs, "nK", kNames, &size, &stream);
  lazy_init();
  const GilRelease released;
  return raw_alloc(size, current_device(), stream);
}

void deallocate(PyObject* argument) {
  void* address = PyLong_AsVoidPtr(argument);
  if (address == nullptr && PyErr_Occurred()) throw PythonErrorSet();
  const GilRelease released;
  raw_delete(address);
}

void enable_caching(PyObject* argument) { g_caching_enabled = PyObject_IsTrue(argument) == 1; }
bool is_caching_enabled() { return g_caching_enabled; }
const char* backend() { return "native"; }

at::HostAllocator& host_allocator() { return *at::getHostAllocator(c10::DeviceType::CUDA); }

Object duration_dict(const c10::CachingAllocator::DurationStat& stat) {
  Object dict(PyDict_New());
  set_item(dict, "total", stat.total);
  set_item(dict, "max", stat.max);
  set_item(dict, "min", stat.min);
  set_item(dict, "count", stat.count);
  set_item(
      dict, "avg",
      stat.count == 0 ? 0.0 : static_cast<double>(stat.total) / static_cast<double>(stat.count));
  return dict;
}

Object host_stats() {
  const at::HostStats stats = host_allocator().get_stats();
  Object result(PyDict_New());
  set_item(result, "num_host_alloc", stats.num_host_alloc);
  set_item(result, "num_host_free", stats.num_host_free);
  set_item(result, "allocations", stat_dict(stats.allocations));
  set_item(result, "active_requests", stat_dict(stats.active_requests));
  set_item(result, "allocated_bytes", stat_dict(stats.allocated_bytes));
  set_item(result, "active_bytes", stat_dict(stats.active_bytes));
  set_item(result, "host_alloc_time", duration_dict(stats.host_alloc_time));
  set_item(result, "host_free_time", duration_dict(stats.host_free_time));
  return result;
}
void reset_accumulated_host() { host_allocator().reset_accumulated_stats(); }
void reset_peak_host() { host_allocator().reset_peak_stats(); }
void empty_host_cache() { host_allocator().empty_cache(); }
void* host_allocator_address() { return &host_allocator(); }

// Blocks and their history are not told: there are no segments, and one empty trace for each
// device.
Object snapshot(PyObject*) {
  Object traces(PyList_New(0));
  for (int device = 0; device < device_count(); ++device) {
    if (PyList_Append(traces.get(), Object(PyList_New(0)).get()) < 0) throw PythonErrorSet();
  }
  Object settings(PyDict_New());
  set_item(settings, "PYTORCH_CUDA_ALLOC_CONF", "");
  set_item(settings, "max_split_size", std::int64_t{-1});
  set_item(settings, "garbage_collection_threshold", 0.0);
  set_item(settings, "expandable_segments", false);
  set_item(settings, "pinned_num_register_threads", std::int64_t{1});
  set_item(settings, "release_lock_on_cudamalloc", false);
  set_item(settings, "pinned_use_cuda_host_register", false);
  set_item(settings, "roundup_power2_divisions", Object(PyDict_New()));
  set_item(settings, "graph_capture_record_stream_reuse", false);
  Object result(PyDict_New());
  set_item(result, "segments", Object(PyList_New(0)));
  set_item(result, "device_traces", std::move(traces));
  set_item(result, "allocator_settings", std::move(settings));
  set_item(result, "external_annotations", Object(PyList_New(0)));
  return result;
}

void check_option(const char* value, std::initializer_list<std::string_view> allowed,
                  const char* complaint) {
  if (value == nullptr) return;
  TORCH_CHECK(std::find(allowed.begin(), allowed.end(), value) != allowed.end(), complaint);
}

// Accepted, so that programs that switch it on run; the snapshot shows none of it.
void record_history(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"enabled",
                                       "context",
                                       "stacks",
                                       "max_entries",
                                       "clear_history",
                                       "compile_context",
                                       "global_record_annotations",
                                       "skip_actions",
                                       nullptr};
  const char* enabled = nullptr;
  const char* context = nullptr;
  const char* stacks = "all";
  PyObject* rest[5] = {};
  parse(args, kwargs, "|zzsOOOOO", kNames, &enabled, &context, &stacks, &rest[0], &rest[1],
        &rest[2], &rest[3], &rest[4]);
  check_option(enabled, {"state", "all"}, "expected state to be 'state', 'all', or None");
  check_option(context, {"state", "alloc", "all"},
               "expected context to be 'state', 'alloc', 'all', or None");
  check_option(stacks, {"python", "all"}, "expected stacks to be 'python', or 'all'");
  history().is_enabled = enabled != nullptr;
}
void record_history_legacy(PyObject* args, PyObject*) {
  const bool has_first = PyTuple_GET_SIZE(args) > 0;
  history().is_enabled = has_first && PyObject_IsTrue(PyTuple_GET_ITEM(args, 0)) == 1;
}
bool is_history_enabled() { return history().is_enabled; }
void set_metadata(PyObject* argument) {
  history().metadata = to_string(argument, "metadata must be a string");
}
std::string_view get_metadata() { return history().metadata; }
Object allocation_traceback(PyObject*) { return none(); }

// What UntypedStorage.resize_ does in a CUDA build; in the CPU build it is compiled out.
void resize(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"storage", "size", nullptr};
  PyObject* storage = nullptr;
  long long size = 0;
  parse(args, kwargs, "OL", kNames, &storage, &size);
  TORCH_CHECK_TYPE(torch::isStorage(storage), "expected torch.UntypedStorage");
  TORCH_CHECK(size >= 0, "invalid storage size: ", size);
  resize_storage(torch::createStorage(storage).unsafeGetStorageImpl(), size);
}

}  // namespace

void install_memory(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&stats>("_cuda_memoryStats"),
      function<&reset_accumulated>("_cuda_resetAccumulatedMemoryStats"),
      function<&reset_peak>("_cuda_resetPeakMemoryStats"),
      function<&release_cache>("_cuda_emptyCache"),
      function<&set_fraction>("_cuda_setMemoryFraction"),
      function<&get_fraction>("_cuda_getMemoryFraction"),
      function<&allocate>("_cuda_cudaCachingAllocator_raw_alloc"),
      function<&deallocate>("_cuda_cudaCachingAllocator_raw_delete"),
      function<&enable_caching>("_cuda_cudaCachingAllocator_enable"),
      function<&is_caching_enabled>("_cuda_cudaCachingAllocator_is_enabled"),
      function<&backend>("_cuda_getAllocatorBackend"),
      function<&host_stats>("_cuda_hostMemoryStats"),
      function<&reset_accumulated_host>("_cuda_resetAccumulatedHostMemoryStats"),
      function<&reset_peak_host>("_cuda_resetPeakHostMemoryStats"),
      function<&empty_host_cache>("_host_emptyCache"),
      function<&host_allocator_address>("_cuda_cudaHostAllocator"),
      function<&snapshot>("_cuda_memorySnapshot"),
      function<&record_history>("_cuda_record_memory_history"),
      function<&record_history_legacy>("_cuda_record_memory_history_legacy"),
      function<&is_history_enabled>("_cuda_isHistoryEnabled"),
      function<&set_metadata>("_cuda_setMemoryMetadata"),
      function<&get_metadata>("_cuda_getMemoryMetadata"),
      function<&allocation_traceback>("_cuda_allocationTraceback"),
      function<&resize>("_ashore_resize_storage"),
      {},
  };
  add_functions(module, functions);
  add_refusals(module, "an observer of out-of-memory errors is",
               {"_cuda_attach_out_of_memory_observer"});
}

}  // namespace ashore::emulator::surface
