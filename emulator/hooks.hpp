// What PyTorch's core asks about CUDA.
#pragma once

namespace ashore::emulator {

/// While it lives, PyTorch believes that it was built with cuDNN: only to reach the checks that it
/// makes on the way there.
class CudnnScope {
 public:
  CudnnScope();
  ~CudnnScope();
  CudnnScope(const CudnnScope&) = delete;
  CudnnScope& operator=(const CudnnScope&) = delete;
};

/// Register the hooks. Before anything asks PyTorch about CUDA: it keeps the first answer.
void install_hooks();

/// Complete torch.distributed: collectives.cpp.
void install_collectives();
/// Answer PyTorch's profilers: profiler.cpp.
void install_profiler();

}  // namespace ashore::emulator
