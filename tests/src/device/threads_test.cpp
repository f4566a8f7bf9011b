// Many threads at once, for what ThreadSanitizer has to say; and misuse hooks that call back.
#include <atomic>
#include <thread>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr std::size_t kBytes = 3000;
constexpr int kThreads = 6;
constexpr int kRounds = ASHORE_TEST_TSAN ? 100 : 1000;

using Threads = SimulatorTest;

void run_thread(int number, ContextHandle context, StreamHandle shared) {
  const DriverTable& d = driver();
  ASSERT_OK(d.ctx_set_current(context));
  simulator().set_origin(static_cast<std::uint64_t>(number));
  const auto value = static_cast<unsigned char>(number + 1);
  const TestStream own;
  const TestEvent event;
  const Pinned source(kBytes, value);
  const Pinned destination(kBytes);
  for (int round = 0; round < kRounds; ++round) {
    const DeviceBlock a(kBytes);
    const DeviceBlock b(kBytes);
    const StreamHandle s = round % 3 == 0 ? shared : StreamHandle(own);
    ASSERT_OK(d.memcpy_htod_async(a, source.data(), kBytes, s));
    ASSERT_OK(d.event_record(event, s));
    ASSERT_OK(d.stream_wait_event(own, event, 0));
    simulator().begin_kernel(0, own);
    ASSERT_EQ(a[kBytes - 1], value);
    ASSERT_OK(d.memcpy_dtod_async(b, a, kBytes, own));
    ASSERT_OK(d.memcpy_dtoh_async(destination.data(), b, kBytes, own));
    if (round % 2 == 0) {
      ASSERT_OK(d.stream_synchronize(own));
    } else {
      while (d.stream_query(own) != Error::kSuccess) std::this_thread::yield();
    }
    ASSERT_EQ(destination[0], value);
    ASSERT_EQ(destination[kBytes - 1], value);
    std::memset(destination.data(), 0, kBytes);
    if (round % 50 == 0) {
      ASSERT_OK(d.ctx_synchronize());
    }
    if (round % 50 == 1) {
      ASSERT_GE(simulator().statistics().synchronizations, 0);
    }
    if (round % 50 == 2) simulator().inject_fault("cuMemHostAlloc", 1000000, 1, Error::kUnknown);
    if (round % 50 == 3) simulator().clear_faults();
  }
}

TEST_F(Threads, WorkBesideEachOther) {
  ContextHandle context = nullptr;
  ASSERT_OK(driver().ctx_get_current(&context));
  const TestStream shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back(run_thread, i, context, StreamHandle(shared));
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Threads, OneThreadQueuesAndAnotherWaits) {
  ContextHandle context = nullptr;
  ASSERT_OK(driver().ctx_get_current(&context));
  const DeviceBlock block(kBytes);
  const Pinned source(kBytes);
  const Pinned destination(kBytes);
  const TestStream s;
  std::atomic<int> turn{0};  // even: the first thread's
  std::thread waiter([&] {
    ASSERT_OK(driver().ctx_set_current(context));
    for (int round = 0; round < kRounds; ++round) {
      while (turn.load() != 2 * round + 1) std::this_thread::yield();
      ASSERT_OK(driver().stream_synchronize(s));
      ASSERT_EQ(destination[17], static_cast<unsigned char>(round));
      turn.store(2 * round + 2);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    while (turn.load() != 2 * round) std::this_thread::yield();
    std::memset(source.data(), round, kBytes);
    ASSERT_OK(driver().memcpy_htod_async(block, source.data(), kBytes, s));
    ASSERT_OK(driver().memcpy_dtoh_async(destination.data(), block, kBytes, s));
    turn.store(2 * round + 1);
  }
  waiter.join();
}

}  // namespace
}  // namespace ashore::device
