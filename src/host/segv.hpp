// One handler for wrong memory accesses, in a chain with those of others. Called by the simulated
// device, whose memory no host code may touch.
#pragma once

#include <cstddef>

namespace ashore::host {

/// Look at a fault and return whether the access shall be tried again. Runs inside a signal
/// handler: only async-signal-safe calls.
using SegvHandler = bool (*)(const void* address, bool is_write);

/// Let `handler` see each SIGSEGV with an address first; what it does not take goes to the handler
/// that was there before. The first call installs it for good, later ones do nothing. `is_write` is
/// false where the machine does not tell.
void install_segv_handler(SegvHandler handler) noexcept;

/// Write a text to standard error by one call of the system. Async-signal-safe.
void write_error(const char* text, std::size_t bytes) noexcept;

}  // namespace ashore::host
