// What happens when host code touches memory that it may not: the simulator's part of the SIGSEGV
// handler. Everything here but the installing runs inside the handler, in any thread, without the
// mutex.
#include <cstdint>

#include "device/sim_line.hpp"
#include "device/sim_machine.hpp"
#include "host/segv.hpp"

namespace ashore::device::sim {
namespace {

// Where the block is known: only if nobody holds the mutex, which may well be the thread that
// faulted.
void describe_block(Line& line, std::uintptr_t address) ASHORE_NO_THREAD_SAFETY_ANALYSIS {
  if (!machine.mutex.try_lock()) return;
  Block block;
  if (machine.memory.find(address, block)) {
    line.text(", byte ").decimal(address - block.begin);
    line.text(" of the block of ").decimal(block.bytes).text(" bytes at ").hexadecimal(block.begin);
  } else {
    line.text(", free memory");
  }
  machine.mutex.unlock();
}

void report_stray_access(std::uintptr_t address, bool is_write) {
  const AddressSpace& space = machine.space;
  Line line;
  line.text("ashore: host code ").text(is_write ? "wrote" : "read").text(" device memory at ");
  line.hexadecimal(address).text(": device ");
  line.decimal((address - space.device_base) / space.span_bytes);
  describe_block(line, address);
  line.text("; copy it to the host first\n");
  host::write_error(line.begin(), line.bytes());
}

bool on_fault(const void* pointer, bool is_write) {
  if (!machine.is_configured.load(std::memory_order_acquire)) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  MisuseReport report = {};
  bool is_misuse = false;
  if (machine.guards.look(address, is_write, report, is_misuse)) {
    if (is_misuse && !machine.is_forked.load(std::memory_order_relaxed)) report_misuse(report);
    return true;
  }
  const AddressSpace& space = machine.space;
  const std::size_t all = space.span_bytes * static_cast<std::size_t>(space.device_count);
  if (machine.has_reporter.load(std::memory_order_relaxed) && address - space.device_base < all) {
    report_stray_access(address, is_write);
  }
  return false;
}

}  // namespace

void install_fault_handler() { host::install_segv_handler(on_fault); }

void install_fault_reporter() {
  machine.has_reporter.store(true, std::memory_order_relaxed);
  install_fault_handler();
}

}  // namespace ashore::device::sim
