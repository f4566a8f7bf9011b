// Takes access to pinned pages away while a copy is under way, and knows in the SIGSEGV handler
// whose access was wrong. Used by sim_timeline under the machine's mutex, and by sim_reporter
// inside the handler without it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "device/simulator_api.hpp"

namespace ashore::device::sim {

/// A copy under way, as the handler sees it. Written under the mutex; `begin` is written last and
/// cleared first, and what has it 0 is free.
struct GuardSlot {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uint64_t> origin{0};
  std::atomic<Device> device{0};
  std::atomic<bool> is_destination{false};
  std::atomic<bool> reported{false};
};

class Guards {
 public:
  /// Pinned memory in whole pages begins and ends to be watched.
  void add_region(std::uintptr_t begin, std::size_t bytes);
  void remove_region(std::uintptr_t begin);

  /// Guard a copy's bytes until `release`. Null where they are in no region.
  GuardSlot* guard(bool is_destination, std::uintptr_t begin, std::size_t bytes, Device device,
                   std::uint64_t origin);
  /// Returns whether a wrong access was reported meanwhile.
  bool release(GuardSlot* slot);

  /// Make bytes accessible to the simulator, until `restore`.
  void open(std::uintptr_t begin, std::size_t bytes);
  void restore(std::uintptr_t begin, std::size_t bytes);

  /// In the handler: say what the access was. Returns false where the address is in no region; else
  /// its page is open now. `report` is filled in where `is_misuse`.
  bool look(std::uintptr_t address, bool is_write, MisuseReport& report, bool& is_misuse);

  /// In a forked child: open everything.
  void open_all();

 private:
  struct Region {
    std::uintptr_t begin = 0;
    std::vector<std::uint32_t> destinations;  // copies under way, by page
    std::vector<std::uint32_t> sources;
    GuardSlot* slot = nullptr;  // tells the handler of the region
    std::size_t bytes = 0;
  };
  struct Pages {
    Region* region = nullptr;
    std::size_t first = 0;
    std::size_t last = 0;
  };
  // Slots are never freed, so that the handler can walk them at any time.
  struct Chunk {
    GuardSlot slots[64];
    std::atomic<Chunk*> next{nullptr};
  };

  Pages pages_of(std::uintptr_t begin, std::size_t bytes);
  void apply(const Pages& pages);
  void count(const Pages& pages, bool is_destination, std::uint32_t step);
  static GuardSlot* take_slot(Chunk& first);
  static GuardSlot* find_region(Chunk& first, std::uintptr_t address);
  static GuardSlot* find_copy(Chunk& first, std::uintptr_t address, bool is_write);

  std::map<std::uintptr_t, Region> regions_;
  Chunk copies_;
  Chunk region_slots_;
};

}  // namespace ashore::device::sim
