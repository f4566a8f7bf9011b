// The simulator of this test program: copies are late, and pinned memory under a copy is guarded.
#include "src/device/simulator.hpp"

namespace ashore::device {

SimulatorOptions test_options() {
  SimulatorOptions options;
  options.device_count = 2;
  options.guard_pinned = true;
  options.memory_bytes = std::size_t{256} << 20;
  return options;
}

}  // namespace ashore::device
