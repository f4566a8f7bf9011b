// The thread pool behind parallel_for: helpers that sleep until a range of work comes.
//
// There is one pool for the process, made at the first large range and never destroyed, since
// threads of others may still convert while the process ends. A forked child has none of its
// threads, and so makes a new one.
#include "host/parallel_for.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include "core/thread_annotations.hpp"
#include "host/cpu_count.hpp"
#include "host/fork.hpp"

namespace ashore::host {
namespace {

constexpr int kMostByDefault = 16;  // a few threads fill the memory's bandwidth
constexpr int kMostThreads = 1024;
// How often to look whether the last helper is done before sleeping: some 10 µs, a piece's end.
constexpr int kLooks = 400;
// How often a helper without work looks for more before sleeping: some 50 µs. Conversions often
// follow each other, and waking a thread takes as long as moving half a megabyte.
constexpr int kIdleLooks = 1000;

thread_local bool t_is_inside = false;  // a task runs in this thread

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One range of work, in a share of pieces for each thread. A thread begins with its own share, so
// that in a repeated call it finds its part of the memory in its own cache, then helps with
// others'.
class Range {
 public:
  Range(std::size_t count, std::size_t grain, std::size_t shares, RangeTask task,
        const void* context) noexcept
      : count_(count),
        grain_(grain),
        shares_(std::min(shares, kMostShares)),
        task_(task),
        context_(context) {
    const std::size_t pieces = (count - 1) / grain + 1;
    for (std::size_t i = 0; i <= shares_; ++i) begins_[i] = pieces * i / shares_ * grain;
    for (std::size_t i = 0; i < shares_; ++i) next_[i].begin.store(begins_[i]);
  }

  // `thread`: 0 for the caller, from 1 on for helpers.
  void work(std::size_t thread) noexcept {
    t_is_inside = true;
    for (std::size_t i = 0; i < shares_; ++i) work_on((thread + i) % shares_);
    t_is_inside = false;
  }

 private:
  static constexpr std::size_t kMostShares = 16;

  void work_on(std::size_t share) noexcept {
    for (;;) {
      const std::size_t begin = next_[share].begin.fetch_add(grain_, std::memory_order_relaxed);
      if (begin >= begins_[share + 1] || begin >= count_) return;
      task_(context_, begin, std::min(count_, begin + grain_));
    }
  }

  struct alignas(64) Next {  // on a cache line of its own
    std::atomic<std::size_t> begin;
  };

  const std::size_t count_;
  const std::size_t grain_;
  const std::size_t shares_;
  const RangeTask task_;
  const void* const context_;
  std::size_t begins_[kMostShares + 1];
  Next next_[kMostShares];
};

class Pool {
 public:
  // Have the pool for one range at a time. Returns false where somebody else has it.
  bool acquire() noexcept { return !is_busy_.test_and_set(std::memory_order_acquire); }
  void release() noexcept { is_busy_.clear(std::memory_order_release); }

  void run(Range& range, int helpers) noexcept ASHORE_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      start_helpers(helpers);
      range_ = &range;
      may_join_.store(std::min(helpers, started_), std::memory_order_relaxed);
    }
    if (helpers == 1) {
      wake_.notify_one();
    } else {
      wake_.notify_all();
    }
    range.work(0);
    {
      // Helpers that did not wake up in time are not waited for.
      const MutexLock lock(mutex_);
      range_ = nullptr;
      may_join_.store(0, std::memory_order_relaxed);
    }
    for (int i = 0; i < kLooks && at_work_.load(std::memory_order_acquire) != 0; ++i) pause();
    const MutexLock lock(mutex_);
    while (at_work_.load(std::memory_order_acquire) != 0) done_.wait(mutex_);
  }

 private:
  void start_helpers(int wanted) noexcept ASHORE_REQUIRES(mutex_) {
    if (started_ >= wanted) return;
    sigset_t all, before;  // signals are for the application's own threads
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; started_ < wanted; ++started_) std::thread(&Pool::help, this, started_ + 1).detach();
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do the work, at worst the caller alone.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void help(int number) noexcept ASHORE_EXCLUDES(mutex_) {
    const auto thread = static_cast<std::size_t>(number);
    for (;;) {
      Range* range = nullptr;
      for (int i = 0; i < kIdleLooks && may_join_.load(std::memory_order_relaxed) == 0; ++i)
        pause();
      {
        const MutexLock lock(mutex_);
        while (may_join_.load(std::memory_order_relaxed) == 0) wake_.wait(mutex_);
        may_join_.fetch_sub(1, std::memory_order_relaxed);
        at_work_.fetch_add(1, std::memory_order_relaxed);
        range = range_;
      }
      range->work(thread);
      const MutexLock lock(mutex_);
      if (at_work_.fetch_sub(1, std::memory_order_release) == 1) done_.notify_one();
    }
  }

  std::atomic_flag is_busy_ = ATOMIC_FLAG_INIT;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable_any done_;
  Range* range_ ASHORE_GUARDED_BY(mutex_) = nullptr;
  int started_ ASHORE_GUARDED_BY(mutex_) = 0;
  // Changed under the mutex, looked at without it.
  std::atomic<int> may_join_{0};  // helpers that may still take part
  std::atomic<int> at_work_{0};
};

std::atomic<Pool*> g_pool{nullptr};

// Without a mutex, for a fork could find it locked.
Pool& pool() {
  Pool* made = g_pool.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  static std::atomic_flag watches_forks = ATOMIC_FLAG_INIT;
  if (!watches_forks.test_and_set()) {
    on_fork(nullptr, nullptr, [] { g_pool.store(nullptr, std::memory_order_relaxed); });
  }
  auto* const fresh = new Pool;
  if (g_pool.compare_exchange_strong(made, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread was faster; this one has no helpers yet
  return *made;
}

int default_threads() {
  int count = std::min(usable_cpus(), kMostByDefault);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once
  if (const char* const openmp = std::getenv("OMP_NUM_THREADS"); openmp != nullptr) {
    const long limit = std::strtol(openmp, nullptr, 10);  // "4,2": of the outermost level
    if (limit >= 1) count = static_cast<int>(std::min<long>(count, limit));
  }
  return count;
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_threads()};
  return count;
}

}  // namespace

void parallel_for(std::size_t count, std::size_t grain, RangeTask task, const void* context) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t pieces = (count - 1) / grain + 1;
  if (pieces > 1 && !t_is_inside) {
    const int threads = num_threads();
    Pool* const workers = threads > 1 ? &pool() : nullptr;
    if (workers != nullptr && workers->acquire()) {
      const std::size_t shares = std::min(pieces, static_cast<std::size_t>(threads));
      Range range(count, grain, shares, task, context);
      workers->run(range, static_cast<int>(shares) - 1);
      workers->release();
      return;
    }
  }
  for (std::size_t begin = 0; begin < count; begin += std::min(grain, count - begin)) {
    task(context, begin, begin + std::min(grain, count - begin));
  }
}

}  // namespace ashore::host

namespace ashore {

int num_threads() noexcept { return host::thread_count().load(std::memory_order_relaxed); }

Status set_num_threads(int count) {
  if (count < 1 || count > host::kMostThreads) {
    return Status(Code::kInvalid, "the number of threads must be from 1 to " +
                                      std::to_string(host::kMostThreads) + ", not " +
                                      std::to_string(count));
  }
  host::thread_count().store(count, std::memory_order_relaxed);
  return {};
}

}  // namespace ashore
