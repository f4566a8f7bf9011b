// Registers every kernel of our own.
#include "kernels.hpp"

#include "copies.hpp"
#include "hot.hpp"
#include "storage.hpp"

namespace ashore::emulator {

std::unordered_set<std::string>& KernelTable::names() {
  static auto* names = new std::unordered_set<std::string>;
  return *names;
}

bool has_own_kernel(const std::string& name) { return KernelTable::names().contains(name); }

void install_kernels() {
  static auto* library =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  KernelTable table(*library);
  add_factories(table);
  add_storage_kernels(table);
  add_copies(table);
  add_convolutions(table);
  add_recurrent_cells(table);
  add_cuda_only(table);
  add_sync_batch_norm(table);
  add_hot_arithmetic(table);
  add_hot_network(table);
  add_hot_lists(table);
  static auto* quantized = new torch::Library(torch::Library::IMPL, "aten",
                                              c10::DispatchKey::QuantizedCUDA, __FILE__, __LINE__);
  quantized->impl("copy_", copy_);
  quantized->impl("as_strided", quantized_as_strided);
}

}  // namespace ashore::emulator
