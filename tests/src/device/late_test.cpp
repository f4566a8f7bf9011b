// Late copies: when device memory changes, when bytes reach the host, and what is seen until then.
#include <memory>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr unsigned char kPoison = 0xFF;
constexpr std::size_t kBytes = 4096;

using Late = SimulatorTest;

std::int64_t pending() { return simulator().pending->load(); }

TEST_F(Late, DeviceSeesACopyWhenItsOwnStreamNeedsIt) {
  const DeviceBlock block(kBytes, 1);
  const Pinned host(kBytes, 2);
  const TestStream s;
  const TestStream other;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(block[0], kPoison);
  simulator().begin_kernel(0, other);
  EXPECT_EQ(block[kBytes - 1], kPoison) << "a kernel of a stream that did not wait reads poison";
  simulator().begin_kernel(0, kDefaultStream);
  EXPECT_EQ(block[0], kPoison) << "the default stream does not wait for a non-blocking one";
  simulator().begin_kernel(0, s);
  EXPECT_EQ(block[0], 2);
  EXPECT_EQ(pending(), 1) << "the host has not waited";
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(pending(), 0);
}

TEST_F(Late, AnEventCarriesACopyOverToAnotherStream) {
  const DeviceBlock block(kBytes, 1);
  const Pinned host(kBytes, 2);
  const TestStream s;
  const TestStream other;
  const TestEvent before;
  const TestEvent after;
  ASSERT_OK(driver().event_record(before, s));
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  ASSERT_OK(driver().stream_wait_event(other, before, 0));
  simulator().begin_kernel(0, other);
  EXPECT_EQ(block[0], kPoison) << "an event recorded too early orders nothing";
  ASSERT_OK(driver().event_record(after, s));
  ASSERT_OK(driver().stream_wait_event(other, after, 0));
  simulator().begin_kernel(0, other);
  EXPECT_EQ(block[0], 2);
}

TEST_F(Late, WaitingOrdersLaterWorkOnlyOfThatStream) {
  const DeviceBlock a(kBytes, 1);
  const DeviceBlock b(kBytes, 1);
  const Pinned host(kBytes, 2);
  const TestStream s;
  const TestStream other;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_htod_async(a, host.data(), kBytes, s));
  ASSERT_OK(driver().event_record(event, s));
  ASSERT_OK(driver().memcpy_htod_async(b, host.data(), kBytes, s));
  ASSERT_OK(driver().stream_wait_event(other, event, 0));
  simulator().begin_kernel(0, other);
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(b[0], kPoison) << "what came after the event is not waited for";
}

TEST_F(Late, RecordingAgainMovesTheEventAndNotTheWaits) {
  const DeviceBlock a(kBytes, 1);
  const DeviceBlock b(kBytes, 1);
  const Pinned host(kBytes, 2);
  const TestStream s;
  const TestStream early;
  const TestStream late;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_htod_async(a, host.data(), kBytes, s));
  ASSERT_OK(driver().event_record(event, s));
  ASSERT_OK(driver().stream_wait_event(early, event, 0));
  ASSERT_OK(driver().memcpy_htod_async(b, host.data(), kBytes, s));
  ASSERT_OK(driver().event_record(event, s));
  ASSERT_OK(driver().stream_wait_event(late, event, 0));
  simulator().begin_kernel(0, early);
  EXPECT_EQ(b[0], kPoison);
  simulator().begin_kernel(0, late);
  EXPECT_EQ(b[0], 2);
}

TEST_F(Late, HostSeesBytesWhenItWaits) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestStream other;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  ASSERT_OK(driver().event_record(event, s));
  EXPECT_EQ(host[0], kPoison);
  simulator().begin_kernel(0, s);
  std::memset(block.data(), 4, kBytes);  // what a kernel after the copy does
  ASSERT_OK(driver().stream_wait_event(other, event, 0));
  simulator().begin_kernel(0, other);
  EXPECT_EQ(host[0], kPoison) << "kernels and waits of streams are no waits of the host";
  ASSERT_OK(driver().stream_synchronize(other));
  EXPECT_EQ(host[0], 3) << "what the copy took is from before the kernel";
  EXPECT_EQ(host[kBytes - 1], 3);
}

TEST_F(Late, WaitingForAnotherStreamBringsNothing) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestStream other;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  ASSERT_OK(driver().stream_synchronize(other));
  ASSERT_OK(driver().stream_synchronize(kDefaultStream));
  EXPECT_EQ(host[0], kPoison);
  ASSERT_OK(driver().ctx_synchronize());
  EXPECT_EQ(host[0], 3);
}

TEST_F(Late, KernelsOfOtherStreamsSpoilASourceThatIsNotProtected) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestStream other;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  simulator().begin_kernel(0, other);
  std::memset(block.data(), 4, kBytes);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(host[0], 4) << "the copy is late, and the other kernel did not wait for it";
}

TEST_F(Late, QueriesSayNotReadyOnceAndThenBringTheBytes) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  ASSERT_OK(driver().event_record(event, s));
  EXPECT_EQ(driver().event_query(event), Error::kNotReady);
  EXPECT_EQ(host[0], kPoison);
  EXPECT_EQ(driver().stream_query(s), Error::kNotReady);
  EXPECT_EQ(host[0], kPoison);
  EXPECT_OK(driver().event_query(event));
  EXPECT_EQ(host[0], 3);
  EXPECT_OK(driver().event_query(event));
  EXPECT_OK(driver().stream_query(s));
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  EXPECT_EQ(driver().stream_query(s), Error::kNotReady) << "new work, a new look";
  EXPECT_OK(driver().event_query(event)) << "the event is behind the old work alone";
  EXPECT_OK(driver().stream_query(s));
  EXPECT_EQ(host[0], 3);
}

TEST_F(Late, TimeBetweenEventsIsNotReadyWhileTheyAreNot) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes);
  const TestStream s;
  const TestEvent first(kEventDefault);
  const TestEvent second(kEventDefault);
  ASSERT_OK(driver().event_record(first, s));
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  ASSERT_OK(driver().event_record(second, s));
  float ms = 0;
  EXPECT_EQ(driver().event_elapsed_time(&ms, first, second), Error::kNotReady);
  ASSERT_OK(driver().event_synchronize(second));
  EXPECT_OK(driver().event_elapsed_time(&ms, first, second));
}

TEST_F(Late, PoisonGoesWhereverWorkIsQueued) {
  const DeviceBlock a(kBytes, 1);
  const DeviceBlock b(kBytes, 2);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtod_async(b + 16, a, 32, s));
  EXPECT_EQ(b[15], 2);
  EXPECT_EQ(b[16], kPoison);
  EXPECT_EQ(b[47], kPoison);
  EXPECT_EQ(b[48], 2);
  ASSERT_OK(driver().memset_d8_async(a, 9, 8, s));
  EXPECT_EQ(a[0], kPoison);
  EXPECT_EQ(b[16], 1) << "the copy that reads there was ordered before, and went first";
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(a[7], 9);
  EXPECT_EQ(a[8], 1);
}

TEST_F(Late, ABlockingCopyWaitsForItsStream) {
  const DeviceBlock block(kBytes, 3);
  const Pinned pinned(kBytes, 1);
  unsigned char pageable[16] = {};
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(pinned.data(), block, kBytes, s));
  ASSERT_OK(driver().memcpy_dtoh_async(pageable, block, sizeof pageable, s));
  EXPECT_EQ(pageable[15], 3);
  EXPECT_EQ(pinned[0], 3) << "it is done on return, and what came before it too";
}

TEST_F(Late, DefaultStreamAndBlockingStreams) {
  const DeviceBlock block(kBytes, 3);
  const DeviceBlock second(kBytes, 4);
  const Pinned host(kBytes, 1);
  const TestStream blocking(kStreamDefault);
  const TestStream other(kStreamDefault);
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, blocking));
  simulator().begin_kernel(0, other);
  EXPECT_EQ(block[0], kPoison) << "blocking streams do not wait for each other";
  simulator().begin_kernel(0, kDefaultStream);
  EXPECT_EQ(block[0], 1);
  ASSERT_OK(driver().memcpy_htod_async(second, host.data(), kBytes, kDefaultStream));
  EXPECT_EQ(second[0], kPoison);
  simulator().begin_kernel(0, other);
  EXPECT_EQ(second[0], 1);
}

TEST_F(Late, AKernelOfTheDefaultStreamIsAWaitForBlockingStreams) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream blocking(kStreamDefault);
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, blocking));
  simulator().begin_kernel(0, kDefaultStream);
  EXPECT_EQ(host[0], kPoison);
  ASSERT_OK(driver().stream_synchronize(kDefaultStream));
  EXPECT_EQ(host[0], 3) << "the kernel came after the copy, and the host waited for the kernel";
}

TEST_F(Late, StreamsOfThreadsAreTheirOwn) {
  const auto own = reinterpret_cast<StreamHandle>(kPerThreadStreamNumber);
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, own));
  EXPECT_EQ(host[0], kPoison);
  EXPECT_EQ(driver().stream_destroy(own), Error::kInvalidHandle);
  ASSERT_OK(driver().stream_synchronize(own));
  EXPECT_EQ(host[0], 3);
}

TEST_F(Late, LongChainsBetweenStreams) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream a;
  const TestStream b;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, a));
  for (int i = 0; i < 20000; ++i) {
    ASSERT_OK(driver().memset_d8_async(block, 5, 16, a));
    ASSERT_OK(driver().event_record(event, a));
    ASSERT_OK(driver().stream_wait_event(b, event, 0));
    ASSERT_OK(driver().memset_d8_async(block + 16, 6, 16, b));
    ASSERT_OK(driver().event_record(event, b));
    ASSERT_OK(driver().stream_wait_event(a, event, 0));
  }
  ASSERT_OK(driver().stream_synchronize(b));
  EXPECT_EQ(host[0], 3);
  EXPECT_EQ(block[0], 5);
  EXPECT_EQ(block[16], 6);
}

TEST_F(Late, FreeingRunsWhatUsesTheBlock) {
  DevicePointer block = 0;
  ASSERT_OK(driver().mem_alloc(&block, kBytes));
  std::memset(bytes_of(block), 3, kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, s));
  ASSERT_OK(driver().mem_free(block));
  const DeviceBlock again(kBytes, 4);
  EXPECT_EQ(host[0], kPoison) << "a free is no wait to count on";
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(host[0], 3);
}

TEST_F(Late, FreeingPinnedMemoryWaits) {
  const DeviceBlock block(kBytes, 3);
  auto source = std::make_unique<Pinned>(kBytes, 7);
  auto destination = std::make_unique<Pinned>(kBytes);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(destination->data(), block, kBytes, s));
  ASSERT_OK(driver().memcpy_htod_async(block, source->data(), kBytes, s));
  source.reset();
  destination.reset();
  EXPECT_EQ(block[0], 7);
  EXPECT_EQ(pending(), 0);
}

TEST_F(Late, ReleasingTheContextEndsEverythingInIt) {
  Device device = 1;
  ContextHandle context = nullptr;
  ASSERT_OK(driver().device_primary_ctx_retain(&context, device));
  ASSERT_OK(driver().ctx_set_current(context));
  StreamHandle s = nullptr;
  EventHandle e = nullptr;
  DevicePointer block = 0;
  ASSERT_OK(driver().stream_create(&s, kStreamNonBlocking));
  ASSERT_OK(driver().event_create(&e, 0));
  ASSERT_OK(driver().mem_alloc(&block, kBytes));
  ASSERT_OK(driver().memset_d8_async(block, 1, kBytes, s));
  ASSERT_OK(driver().device_primary_ctx_release(device));
  EXPECT_EQ(driver().stream_query(s), Error::kContextIsDestroyed);
  ASSERT_OK(driver().device_primary_ctx_retain(&context, device));
  EXPECT_EQ(driver().stream_query(s), Error::kInvalidHandle);
  EXPECT_EQ(driver().event_query(e), Error::kInvalidHandle);
  EXPECT_EQ(driver().mem_free(block), Error::kInvalidValue);
  EXPECT_EQ(simulator().statistics().allocated_bytes[device], 0);
  ASSERT_OK(driver().device_primary_ctx_release(device));
  ASSERT_OK(driver().device_primary_ctx_retain(&context, 0));
  ASSERT_OK(driver().ctx_set_current(context));
  ASSERT_OK(driver().device_primary_ctx_release(0));
}

}  // namespace
}  // namespace ashore::device
