// torch._C._MemPool and its relatives: pools have numbers and owners here, but all allocations come
// from the one caching allocator. Allocators of the user's own are refused.
#include <c10/util/Exception.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "emulator.hpp"
#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

using PoolId = std::pair<std::int64_t, std::int64_t>;

struct Pools {
  std::mutex mutex;
  std::map<PoolId, int> use_counts;
};
Pools& pools() {
  static auto& state = *new Pools;
  return state;
}

void add_use(PoolId id, int change) {
  Pools& state = pools();
  const std::lock_guard lock(state.mutex);
  const int count = state.use_counts[id] += change;
  if (count <= 0) state.use_counts.erase(id);
}

struct MemPool {
  PyObject_HEAD PoolId id;
};
PoolId id_of(PyObject* self) { return reinterpret_cast<MemPool*>(self)->id; }

// PyTorch numbers pools of users in the second place and its own in the first.
Object make_pool(PyTypeObject* type, PyObject*, PyObject*) {
  static std::atomic<std::int64_t> next{1};
  Object object(type->tp_alloc(type, 0));
  reinterpret_cast<MemPool*>(object.get())->id = {0, next++};
  add_use(id_of(object.get()), 1);
  return object;
}

void initialize_pool(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"allocator", "is_user_created", "use_on_oom", "no_split",
                                       nullptr};
  PyObject* allocator = Py_None;
  int is_user_created = 1;
  int use_on_oom = 0;
  int no_split = 0;
  parse(args, kwargs, "|Oppp", kNames, &allocator, &is_user_created, &use_on_oom, &no_split);
  lazy_init();
  if (allocator != Py_None) not_emulated("a memory pool with its own allocator is");
  if (is_user_created == 0) {
    const PoolId id = id_of(self);
    reinterpret_cast<MemPool*>(self)->id = {id.second, 0};
    add_use(id, -1);
    add_use(id_of(self), 1);
  }
}

Object pool_id(PyObject* self) { return tuple(id_of(self).first, id_of(self).second); }
Object pool_allocator(PyObject*) { return none(); }
int use_count(PyObject* self) {
  Pools& state = pools();
  const std::lock_guard lock(state.mutex);
  const auto found = state.use_counts.find(id_of(self));
  return found == state.use_counts.end() ? 0 : found->second;
}

PyTypeObject* pool_type() {
  static PyGetSetDef getters[] = {
      property<&pool_id>("id"), property<&pool_allocator>("allocator"), {}};
  static PyMethodDef methods[] = {method<&use_count>("use_count"), {}};
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._MemPool";
    made.tp_basicsize = sizeof(MemPool);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    made.tp_methods = methods;
    made.tp_getset = getters;
    made.tp_new = [](PyTypeObject* type, PyObject* args, PyObject* kwargs) {
      return guarded([&] { return make_pool(type, args, kwargs).release(); });
    };
    made.tp_init = [](PyObject* self, PyObject* args, PyObject* kwargs) {
      return guarded([&] {
               initialize_pool(self, args, kwargs);
               return Py_None;
             }) == nullptr
                 ? -1
                 : 0;
    };
    made.tp_dealloc = [](PyObject* self) {
      add_use(id_of(self), -1);
      Py_TYPE(self)->tp_free(self);
    };
    return made;
  }();
  return &type;
}

// A type without constructor, for isinstance and annotations.
template <int>
PyTypeObject* opaque_type(const char* name) {
  static PyTypeObject type = [name] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = name;
    made.tp_basicsize = sizeof(PyObject);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    return made;
  }();
  return &type;
}

struct PoolArguments {
  int device = 0;
  PoolId id;
};
PoolArguments pool_arguments(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"device", "mempool_id", nullptr};
  PoolArguments result;
  long long first = 0;
  long long second = 0;
  parse(args, kwargs, "i(LL)", kNames, &result.device, &first, &second);
  TORCH_CHECK(result.device >= 0 && result.device < device_count(), "Invalid device argument ",
              result.device, ": did you call init?");
  result.id = {first, second};
  return result;
}

void begin_allocate(PyObject* args, PyObject* kwargs) {
  add_use(pool_arguments(args, kwargs).id, 1);
}
void end_allocate(PyObject* args, PyObject* kwargs) { pool_arguments(args, kwargs); }
void release(PyObject* args, PyObject* kwargs) { add_use(pool_arguments(args, kwargs).id, -1); }

Object current_allocator() {
  PyTypeObject* type = opaque_type<0>("torch._C._cuda_CUDAAllocator");
  return Object(type->tp_alloc(type, 0));
}

}  // namespace

void install_pools(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&begin_allocate, 1>("_cuda_beginAllocateToPool"),
      function<&begin_allocate, 2>("_cuda_beginAllocateCurrentThreadToPool"),
      function<&begin_allocate>("_cuda_beginAllocateCurrentStreamToPool"),
      function<&end_allocate>("_cuda_endAllocateToPool"),
      function<&release>("_cuda_releasePool"),
      function<&current_allocator>("_cuda_getAllocator"),
      {},
  };
  add_functions(module, functions);
  add_type(module, "_MemPool", pool_type());
  add_type(module, "_cuda_CUDAAllocator", opaque_type<0>("torch._C._cuda_CUDAAllocator"));
  add_type(module, "_cuda_CUDAAllocator_AllocatorState",
           opaque_type<1>("torch._C._cuda_CUDAAllocator_AllocatorState"));
  add_refusals(module, "an allocator of one's own is",
               {"_cuda_customAllocator", "_cuda_changeCurrentAllocator"});
}

}  // namespace ashore::emulator::surface
