// Random numbers of the emulated device: a state like CUDA's (a seed and an offset), the numbers
// themselves from PyTorch's CPU engine. Called by the fallback, the hooks and some kernels.
#pragma once

#include <ATen/core/Generator.h>

#include "state.hpp"

namespace ashore::emulator {

const at::Generator& default_generator(int device);
at::Generator new_generator(int device);

/// A CPU generator of this thread, seeded by what the device's generator (the default one where
/// none is given) draws next. Throws if the generator is of another device type.
at::Generator draw(const std::optional<at::Generator>& generator, int device);

/// While it lives, PyTorch's default CPU generator goes on from what the device's default generator
/// draws next: for kernels that take no generator.
class DefaultGeneratorScope {
 public:
  explicit DefaultGeneratorScope(int device);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  void swap_states();
  at::Generator drawn_;
};

}  // namespace ashore::emulator
