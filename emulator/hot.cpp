// Kernels of the most used operators without boxing, which costs more than they do on small
// tensors.
#include <ATen/CPUFunctions.h>

#include "alias.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

void add_hot_kernels(KernelTable& /*table*/) {}

}  // namespace ashore::emulator
