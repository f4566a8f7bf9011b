// The memory of all simulated devices: address space, blocks, and where the bytes live. Used by
// sim_machine, under its mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/sim_arena.hpp"
#include "device/simulator_api.hpp"
#include "host/address_space.hpp"

namespace ashore::device::sim {

struct Block {
  Device device = 0;
  DevicePointer begin = 0;
  std::size_t bytes = 0;
};

class DeviceMemory {
 public:
  /// Reserve the address space. Returns null, or one line that says what is wrong.
  const char* reserve(const SimulatorOptions& options);

  /// What everybody may know; fixed once reserved.
  const AddressSpace& space() const { return space_; }

  Error allocate(Device device, std::size_t bytes, DevicePointer& pointer);
  /// Free the block that starts at `pointer`.
  Error free(DevicePointer pointer);
  void free_all(Device device);
  Error set_capacity(Device device, std::size_t bytes);
  std::size_t capacity_bytes(Device device) const { return arena(device).capacity_bytes(); }
  std::size_t allocated_bytes(Device device) const { return arena(device).allocated_bytes(); }

  /// Find the live block that an address lies in.
  bool find(DevicePointer address, Block& block) const;
  /// Whose address it is; -1 for none of ours.
  Device device_of(std::uintptr_t address) const;
  /// Where the bytes of a device address are.
  std::byte* bytes_of(DevicePointer address) const {
    return host::pointer_to(address + static_cast<std::uintptr_t>(space_.host_offset));
  }

 private:
  const Arena& arena(Device device) const { return arenas_[static_cast<std::size_t>(device)]; }
  Arena& arena(Device device) { return arenas_[static_cast<std::size_t>(device)]; }
  DevicePointer base_of(Device device) const {
    return space_.device_base + static_cast<std::size_t>(device) * space_.span_bytes;
  }
  void give_back(Device device, Span freed, Span hole);
  void want_huge_pages(Device device, Span block);

  AddressSpace space_;
  std::vector<Arena> arenas_;
  std::vector<std::vector<bool>> advised_;     // by device, then by huge page of its span
  std::vector<std::size_t> unreturned_bytes_;  // freed in small pieces since the last sweep
};

}  // namespace ashore::device::sim
