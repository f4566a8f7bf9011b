// The simulator of this test program: copies are done at once, and device memory is open.
#include "src/device/simulator.hpp"

namespace ashore::device {

SimulatorOptions test_options() {
  SimulatorOptions options;
  options.late_copies = false;
  options.protect_device = false;
  options.poison = Poison::kOldContents;
  options.memory_bytes = std::size_t{256} << 20;
  return options;
}

}  // namespace ashore::device
