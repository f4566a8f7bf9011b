// Switches of cuBLAS and cuDNN that live in the CUDA build only. They are kept and change nothing.
#include <ATen/Context.h>

#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

// PyTorch's defaults for the Hopper generation.
constexpr std::int64_t kCublasWorkspaceBytes = 4096LL * 8 * 1024;
constexpr std::int64_t kCublasLtWorkspaceBytes = 32LL * 1024 * 1024;

std::int64_t g_cublas_workspace_bytes = kCublasWorkspaceBytes;
std::int64_t g_cublaslt_workspace_bytes = kCublasLtWorkspaceBytes;
bool g_empties_cache_for_benchmark = false;

std::int64_t get_workspace() { return g_cublas_workspace_bytes; }
std::int64_t get_lt_workspace() { return g_cublaslt_workspace_bytes; }
std::int64_t workspace_argument(PyObject* argument) {
  const std::int64_t bytes = to_int(argument, "workspace size must be an int");
  TORCH_CHECK(bytes >= 0, "workspace size must not be negative, but got ", bytes);
  return bytes;
}
void set_workspace(PyObject* argument) { g_cublas_workspace_bytes = workspace_argument(argument); }
void set_lt_workspace(PyObject* argument) {
  g_cublaslt_workspace_bytes = workspace_argument(argument);
}
void reset_workspace() { g_cublas_workspace_bytes = kCublasWorkspaceBytes; }
void reset_lt_workspace() { g_cublaslt_workspace_bytes = kCublasLtWorkspaceBytes; }
void clear_workspaces() {}

// An address that is told apart from null; nothing can be done with it.
void* library_handle() {
  static char handle;
  lazy_init();
  return &handle;
}

int get_benchmark_limit() { return at::globalContext().benchmarkLimitCuDNN(); }
void set_benchmark_limit(PyObject* argument) {
  at::globalContext().setBenchmarkLimitCuDNN(
      static_cast<int>(to_int(argument, "set_benchmark_limit_cudnn expects an int")));
}
bool empties_cache() { return g_empties_cache_for_benchmark; }
void set_empties_cache(PyObject* argument) {
  g_empties_cache_for_benchmark = PyObject_IsTrue(argument) == 1;
}

}  // namespace

void install_switches(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&get_workspace>("_cuda_getCublasWorkspaceSize"),
      function<&set_workspace>("_cuda_setCublasWorkspaceSize"),
      function<&reset_workspace>("_cuda_resetCublasWorkspaceSize"),
      function<&get_lt_workspace>("_cuda_getCublasLtWorkspaceSize"),
      function<&set_lt_workspace>("_cuda_setCublasLtWorkspaceSize"),
      function<&reset_lt_workspace>("_cuda_resetCublasLtWorkspaceSize"),
      function<&clear_workspaces>("_cuda_clearCublasWorkspaces"),
      function<&library_handle>("_cuda_getCurrentBlasHandle"),
      function<&library_handle, 1>("_cuda_getCurrentSolverHandle"),
      function<&get_benchmark_limit>("_cuda_get_cudnn_benchmark_limit"),
      function<&set_benchmark_limit>("_cuda_set_cudnn_benchmark_limit"),
      function<&empties_cache>("_cuda_get_conv_benchmark_empty_cache"),
      function<&set_empties_cache>("_cudnn_set_conv_benchmark_empty_cache"),
      {},
  };
  add_functions(module, functions);
}

}  // namespace ashore::emulator::surface
