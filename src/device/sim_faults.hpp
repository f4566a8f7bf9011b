// Counts the calls of each driver function, and lets calls fail as a test asks. Called by sim_entry
// before each call, without the machine's mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/thread_annotations.hpp"
#include "device/driver_table.hpp"

namespace ashore::device::sim {

class Faults {
 public:
  /// Count a call, and return the error that it shall fail with, or kSuccess.
  Error on_call(int function);

  void inject(int function, std::int64_t nth, std::int64_t count, Error error);
  void clear();
  /// What all calls that need a device shall fail with; kSuccess mends it. Returns what it was.
  Error break_device(Error error) { return broken_.exchange(error); }
  Error broken() const { return broken_.load(std::memory_order_relaxed); }
  std::int64_t calls(int function) const {
    return calls_[function].load(std::memory_order_relaxed);
  }
  void reset_calls();

  /// Hold the mutex over a fork, so that the child finds it free.
  void before_fork() ASHORE_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() ASHORE_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct Fault {
    int function;
    std::int64_t before;  ///< calls that still go well
    std::int64_t left;    ///< calls that then fail
    Error error;
  };

  std::atomic<std::int64_t> calls_[kDriverFunctionCount] = {};
  std::atomic<bool> is_armed_{false};
  std::atomic<Error> broken_{Error::kSuccess};
  Mutex mutex_;
  std::vector<Fault> faults_ ASHORE_GUARDED_BY(mutex_);
};

}  // namespace ashore::device::sim
