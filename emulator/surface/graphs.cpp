// CUDA graphs, which are not emulated: nothing is ever captured, and capture says so. Other parts
// of PyTorch's CUDA build that need a real device are refused here too.
#include <atomic>

#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

Object pool_handle() {
  static std::atomic<std::int64_t> next{1};
  return tuple(std::int64_t{0}, static_cast<std::int64_t>(next++));
}
bool is_capturing() { return false; }

PyTypeObject* graph_type() {
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._CUDAGraph";
    made.tp_basicsize = sizeof(PyObject);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    made.tp_new = [](PyTypeObject*, PyObject*, PyObject*) {
      return guarded([]() -> PyObject* { not_emulated("CUDA graphs are"); });
    };
    return made;
  }();
  return &type;
}

}  // namespace

void install_graphs(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&pool_handle>("_graph_pool_handle"),
      function<&is_capturing>("_cuda_isCurrentStreamCapturing"),
      {},
  };
  add_functions(module, functions);
  add_type(module, "_CUDAGraph", graph_type());
  add_refusals(module, "CUDA graphs are",
               {"_construct_CUDA_Tensor_From_Storage_And_Metadata", "_cuda_getCheckpointState",
                "_cuda_setCheckpointPoolState", "_cuda_checkPoolLiveAllocations",
                "_free_And_Remove_DeleterFn", "_has_Standard_Deleter",
                "_set_storage_access_error_msg", "_set_storage_data_ptr_access_error_msg",
                "_clear_storage_data_ptr_access_error_msg", "_tensors_data_ptrs_at_indices_equal"});
  add_refusals(module, "compiling CUDA code (torch.cuda.jiterator) is",
               {"_cuda_jiterator_compile_and_launch_kernel"});
  add_refusals(module, "GPUDirect Storage is",
               {"_gds_register_buffer", "_gds_deregister_buffer", "_gds_register_handle",
                "_gds_deregister_handle", "_gds_load_storage", "_gds_save_storage"});
  add_refusals(module, "NCCL (use the gloo backend) is",
               {"_nccl_version", "_nccl_version_suffix", "_nccl_unique_id", "_nccl_init_rank",
                "_nccl_reduce", "_nccl_all_reduce", "_nccl_broadcast", "_nccl_all_gather",
                "_nccl_reduce_scatter"});
}

}  // namespace ashore::emulator::surface
