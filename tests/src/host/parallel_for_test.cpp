// The thread pool: each piece once, no nesting, callers at the same time, forks.
#include "host/parallel_for.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define ASHORE_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASHORE_HAS_TSAN 1
#endif
#endif

namespace ashore::host {
namespace {

// Set the number of threads for one test.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { EXPECT_TRUE(set_num_threads(count).ok()); }
  ~Threads() { EXPECT_TRUE(set_num_threads(before_).ok()); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// Say whether each of `count` elements was visited once, in pieces of at most `grain`.
bool visits_each_once(std::size_t count, std::size_t grain) {
  const std::unique_ptr<std::atomic<int>[]> visits(new std::atomic<int>[count + 1]());
  std::atomic<bool> fits{true};
  parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    if (begin >= end || end > count || end - begin > grain || begin % grain != 0) fits = false;
    for (std::size_t i = begin; i < end; ++i) ++visits[i];
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (visits[i] != 1) return false;
  }
  return fits;
}

TEST(ParallelFor, EachElementOnce) {
  for (const int threads : {1, 2, 5}) {
    const Threads scope(threads);
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 4096u}) {
      for (const std::size_t grain : {1u, 3u, 64u, 5000u}) {
        EXPECT_TRUE(visits_each_once(count, grain)) << threads << ' ' << count << ' ' << grain;
      }
    }
  }
}

// Return how many threads took part in a range that one alone cannot do: a piece waits until
// another thread has come.
std::size_t count_helped_threads() {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(2, 1, [&](std::size_t, std::size_t) {
    for (;;) {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
      if (seen.size() >= 2) return;
    }
  });
  return seen.size();
}

TEST(ParallelFor, SeveralThreadsTakePart) {
  const Threads scope(3);
  EXPECT_EQ(count_helped_threads(), 2u);
}

TEST(ParallelFor, OnePieceAndNestedOnesStayInTheirThread) {
  const Threads scope(4);
  const auto self = std::this_thread::get_id();
  parallel_for(10, 10,
               [&](std::size_t, std::size_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
  std::atomic<int> elements{0};
  parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto worker = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::size_t begin, std::size_t end) {
      EXPECT_EQ(std::this_thread::get_id(), worker);
      elements += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(elements, 800);
}

TEST(ParallelFor, CallersAtTheSameTime) {
  const Threads scope(3);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&good] {
      for (int round = 0; round < 50; ++round) good += visits_each_once(1000, 10) ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 300);
}

TEST(ParallelFor, TheNumberOfThreadsHasBounds) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  for (const int count : {0, -1, 1025}) {
    const Status status = set_num_threads(count);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.message().find(std::to_string(count)), std::string::npos);
  }
  EXPECT_EQ(num_threads(), before);
}

TEST(ParallelFor, AForkedChildHasAPoolOfItsOwn) {
#if defined(ASHORE_HAS_TSAN)
  GTEST_SKIP() << "ThreadSanitizer takes no forks of processes with threads";
#else
  const Threads scope(3);
  ASSERT_TRUE(visits_each_once(1000, 10));
  std::atomic<bool> stop{false};
  // It allocates nothing: AddressSanitizer's allocator may be locked in a forked child.
  std::thread busy([&stop] {
    std::atomic<std::size_t> visited{0};
    std::size_t rounds = 0;
    for (; !stop; ++rounds) {
      parallel_for(1000, 10, [&](std::size_t begin, std::size_t end) { visited += end - begin; });
    }
    EXPECT_EQ(visited, rounds * 1000);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // a deadlock ends the child
      ::_exit(visits_each_once(1000, 10) && count_helped_threads() == 2 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
#endif
}

}  // namespace
}  // namespace ashore::host
