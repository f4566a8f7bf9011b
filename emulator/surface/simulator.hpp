// The simulated driver below the emulated device, asked directly for what PyTorch has no word for.
#pragma once

#include "device/simulator_api.hpp"

namespace ashore::emulator::surface {

/// Find the table in libashore_sim.so, which the emulator has loaded already.
void open_simulator(const char* path);
/// Null where open_simulator found none.
const device::Simulator* simulator();

}  // namespace ashore::emulator::surface
