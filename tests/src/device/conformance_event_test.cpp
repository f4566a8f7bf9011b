// Conformance: streams and events by themselves.
#include "src/device/conformance.hpp"

namespace ashore::device {
namespace {

using ConformanceEvent = Conformance;
ASHORE_ON_ALL_DRIVERS(ConformanceEvent);

TEST_P(ConformanceEvent, UnrecordedEventsAreDone) {
  const EventHandle e = event();
  EXPECT_OK(cuda().event_query(e));
  EXPECT_OK(cuda().event_synchronize(e));
  EXPECT_OK(cuda().stream_wait_event(stream(), e, 0));
}

TEST_P(ConformanceEvent, PollingEnds) {
  unsigned char* const host = pinned(4096, 5);
  unsigned char* const back = pinned(4096);
  const DevicePointer block = device_block(4096);
  const StreamHandle s = stream();
  const EventHandle e = event();
  ASSERT_OK(cuda().memcpy_htod_async(block, host, 4096, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, block, 4096, s));
  ASSERT_OK(cuda().event_record(e, s));
  Error error = Error::kNotReady;
  while ((error = cuda().event_query(e)) == Error::kNotReady) {
  }
  ASSERT_OK(error);
  EXPECT_EQ(back[4095], 5);
  EXPECT_OK(cuda().event_query(e));
  ASSERT_OK(cuda().memset_d8_async(block, 6, 4096, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, block, 4096, s));
  while ((error = cuda().stream_query(s)) == Error::kNotReady) {
  }
  ASSERT_OK(error);
  EXPECT_EQ(back[4095], 6);
}

TEST_P(ConformanceEvent, TimesGrow) {
  const EventHandle first = event(kEventDefault);
  const EventHandle second = event(kEventDefault);
  const EventHandle untimed = event(kEventDisableTiming);
  const StreamHandle s = stream();
  float ms = -1;
  EXPECT_EQ(cuda().event_elapsed_time(&ms, first, second), Error::kInvalidHandle);
  ASSERT_OK(cuda().event_record(first, s));
  ASSERT_OK(cuda().event_record(second, s));
  ASSERT_OK(cuda().event_record(untimed, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_OK(cuda().event_elapsed_time(&ms, first, second));
  EXPECT_GE(ms, 0.0F);
  EXPECT_EQ(cuda().event_elapsed_time(&ms, first, untimed), Error::kInvalidHandle);
}

TEST_P(ConformanceEvent, WrongFlags) {
  StreamHandle s = nullptr;
  EventHandle e = nullptr;
  void* memory = nullptr;
  EXPECT_EQ(cuda().stream_create(&s, 0x100), Error::kInvalidValue);
  EXPECT_EQ(cuda().stream_create(nullptr, 0), Error::kInvalidValue);
  EXPECT_EQ(cuda().event_create(&e, 0x100), Error::kInvalidValue);
  EXPECT_EQ(cuda().event_create(nullptr, 0), Error::kInvalidValue);
  EXPECT_EQ(cuda().event_create(&e, kEventInterprocess), Error::kInvalidValue);
  EXPECT_EQ(cuda().mem_host_alloc(&memory, 16, 0x100), Error::kInvalidValue);
}

TEST_P(ConformanceEvent, ADestroyedEventStillOrders) {
  unsigned char* const host = pinned(4096, 7);
  unsigned char* const back = pinned(4096);
  const DevicePointer block = device_block(4096);
  const StreamHandle a = stream();
  const StreamHandle b = stream();
  EventHandle e = nullptr;
  ASSERT_OK(cuda().event_create(&e, kEventDisableTiming));
  ASSERT_OK(cuda().memcpy_htod_async(block, host, 4096, a));
  ASSERT_OK(cuda().event_record(e, a));
  ASSERT_OK(cuda().stream_wait_event(b, e, 0));
  ASSERT_OK(cuda().event_destroy(e));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, block, 4096, b));
  ASSERT_OK(cuda().stream_synchronize(b));
  EXPECT_EQ(back[1], 7);
}

TEST_P(ConformanceEvent, StreamsWithPriority) {
  StreamHandle s = nullptr;
  for (const int priority : {0, -1, -100, 100}) {  // out of range: the nearest
    ASSERT_OK(cuda().stream_create_with_priority(&s, kStreamNonBlocking, priority));
    EXPECT_OK(cuda().stream_query(s));
    EXPECT_OK(cuda().stream_destroy(s));
  }
}

}  // namespace
}  // namespace ashore::device
