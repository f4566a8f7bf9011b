// Opens libashore_sim.so by the full path that the build gives.
#include "src/device/simulator.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace ashore::device {

const Simulator& unconfigured_simulator() {
  static const Simulator& table = []() -> const Simulator& {
    void* const library = ::dlopen(ASHORE_SIM_PATH, RTLD_NOW | RTLD_LOCAL);
    void* const entry = library == nullptr ? nullptr : ::dlsym(library, "ashore_simulator");
    if (entry == nullptr) {
      std::fprintf(stderr, "cannot open %s: %s\n", ASHORE_SIM_PATH, ::dlerror());
      std::abort();
    }
    return *reinterpret_cast<decltype(&ashore_simulator)>(entry)(kSimulatorVersion);
  }();
  return table;
}

const Simulator& simulator() {
  static const Simulator& table = []() -> const Simulator& {
    const Simulator& made = unconfigured_simulator();
    if (const char* problem = made.configure(test_options())) {
      std::fprintf(stderr, "cannot configure the simulator: %s\n", problem);
      std::abort();
    }
    return made;
  }();
  return table;
}

}  // namespace ashore::device
