// A mutex that clang's thread-safety analysis understands. Used wherever state is shared by
// threads.
#pragma once

#include <mutex>

#if defined(__clang__)
#define ASHORE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ASHORE_THREAD_ANNOTATION(x)
#endif

#define ASHORE_CAPABILITY(name) ASHORE_THREAD_ANNOTATION(capability(name))
#define ASHORE_SCOPED_CAPABILITY ASHORE_THREAD_ANNOTATION(scoped_lockable)
#define ASHORE_GUARDED_BY(mutex) ASHORE_THREAD_ANNOTATION(guarded_by(mutex))
#define ASHORE_REQUIRES(...) ASHORE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ASHORE_ACQUIRE(...) ASHORE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ASHORE_RELEASE(...) ASHORE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define ASHORE_TRY_ACQUIRE(...) ASHORE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define ASHORE_EXCLUDES(...) ASHORE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ASHORE_NO_THREAD_SAFETY_ANALYSIS ASHORE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace ashore {

/// std::mutex with annotations.
class ASHORE_CAPABILITY("mutex") Mutex {
 public:
  void lock() ASHORE_ACQUIRE() { mutex_.lock(); }
  void unlock() ASHORE_RELEASE() { mutex_.unlock(); }
  bool try_lock() ASHORE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for as long as it lives.
class ASHORE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ASHORE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() ASHORE_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace ashore
