// The simulator's driver functions, one for each of driver_functions.inc, without the checks that
// all of them share. Written in sim_context, sim_allocate, sim_streams and sim_copies; sim_entry
// puts them into the table.
#pragma once

#include "device/driver_table.hpp"

namespace ashore::device::sim::calls {

#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  Error member parameters;
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION

/// What begin_kernel of the simulator's table does where something is under way.
void begin_kernel(Device device, StreamHandle stream);

}  // namespace ashore::device::sim::calls
