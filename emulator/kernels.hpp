// Kernels that do not go through the fallback: factories, views, storage changes, copies, and what
// only CUDA has. Each file below registers its own.
#pragma once

#include <torch/library.h>

#include <optional>
#include <string>
#include <unordered_set>

#include "state.hpp"

namespace ashore::emulator {

/// Where kernels register themselves, by the operator's name without "aten::".
class KernelTable {
 public:
  explicit KernelTable(torch::Library& library) : library_(library) {}

  template <typename Kernel>
  void add(const char* name, Kernel kernel) {
    library_.impl(name, std::move(kernel));
    names().insert(std::string("aten::") + name);
  }
  static std::unordered_set<std::string>& names();

 private:
  torch::Library& library_;
};

void add_factories(KernelTable& table);        ///< factories.cpp
void add_storage_kernels(KernelTable& table);  ///< storage.cpp: views, resize_, set_, record_stream
void add_copies(KernelTable& table);           ///< copies.cpp
void add_convolutions(KernelTable& table);     ///< convolution.cpp
void add_recurrent_cells(KernelTable& table);  ///< recurrent.cpp
void add_cuda_only(KernelTable& table);        ///< cuda_only.cpp
void add_sync_batch_norm(KernelTable& table);  ///< sync_batch_norm.cpp

/// Register all of them.
void install_kernels();
bool has_own_kernel(const std::string& name);

/// The index of a device argument: the current device where none is given. Throws for one that is
/// not there.
inline int device_index(const std::optional<c10::Device>& device) {
  check_fork();
  // -1 is "no index"; below it are numbers that did not fit into PyTorch's eight bits.
  const int index = device && device->index() != -1 ? device->index() : tl_device;
  check_device(index);
  return index;
}

}  // namespace ashore::emulator
