// Fault injection by function and call.
#include "device/sim_faults.hpp"

namespace ashore::device::sim {

Error Faults::on_call(int function) {
  calls_[function].fetch_add(1, std::memory_order_relaxed);
  if (!is_armed_.load(std::memory_order_acquire)) return Error::kSuccess;
  const MutexLock lock(mutex_);
  Error error = Error::kSuccess;
  for (Fault& fault : faults_) {
    if (fault.function != function || fault.left == 0) continue;
    if (fault.before > 0) {
      --fault.before;
    } else {
      --fault.left;
      if (error == Error::kSuccess) error = fault.error;
    }
  }
  return error;
}

void Faults::inject(int function, std::int64_t nth, std::int64_t count, Error error) {
  const MutexLock lock(mutex_);
  faults_.push_back({function, nth > 0 ? nth - 1 : 0, count > 0 ? count : 0, error});
  is_armed_.store(true, std::memory_order_release);
}

void Faults::clear() {
  const MutexLock lock(mutex_);
  faults_.clear();
  is_armed_.store(false, std::memory_order_release);
}

void Faults::reset_calls() {
  for (std::atomic<std::int64_t>& calls : calls_) calls.store(0, std::memory_order_relaxed);
}

}  // namespace ashore::device::sim
