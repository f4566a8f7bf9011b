// The simulator of this test program: copies are late.
#include "src/device/simulator.hpp"

namespace ashore::device {

SimulatorOptions test_options() {
  SimulatorOptions options;
  options.device_count = 3;
  options.memory_bytes = std::size_t{256} << 20;
  return options;
}

}  // namespace ashore::device
