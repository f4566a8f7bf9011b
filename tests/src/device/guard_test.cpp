// Guarded pinned memory: wrong accesses are told at once, from the signal handler, and let through.
#include <unistd.h>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr std::size_t kPage = 4096;

using Guarded = SimulatorTest;

// A system call gets EFAULT from a closed page; an access would be let through.
bool system_reads(const unsigned char* address) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const bool is_open = ::write(ends[1], address, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return is_open;
}

// Not optimized away, and not merged with its neighbours.
unsigned char peek(const unsigned char* address) {
  return *static_cast<const volatile unsigned char*>(address);
}
void poke(unsigned char* address, unsigned char value) {
  *static_cast<volatile unsigned char*>(address) = value;
}

TEST_F(Guarded, ReadingADestinationEarly) {
  const DeviceBlock block(3 * kPage, 5);
  const Pinned host(3 * kPage);
  const TestStream s;
  simulator().set_origin(11);
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, 3 * kPage, s));
  EXPECT_EQ(peek(host.data() + kPage + 7), 0xFF) << "let through: the poison is read";
  auto reports = take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Misuse::kReadEarly);
  EXPECT_EQ(reports[0].origin, 11u);
  EXPECT_EQ(reports[0].address, host.data() + kPage + 7);
  EXPECT_EQ(reports[0].size_bytes, 3 * kPage);
  EXPECT_TRUE(reports[0].in_signal_handler);
  peek(host.data());
  EXPECT_TRUE(take_reports().empty()) << "once for each copy";
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(peek(host.data()), 5);
  poke(host.data(), 1);
}

TEST_F(Guarded, PagesAreClosedForTheSystemToo) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(2 * kPage);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kPage, s));
  EXPECT_FALSE(system_reads(host.data()));
  EXPECT_TRUE(system_reads(host.data() + kPage));
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_TRUE(system_reads(host.data()));
}

TEST_F(Guarded, WritingADestinationEarly) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "this machine does not tell writes from reads";
#endif
  const DeviceBlock block(kPage, 5);
  const Pinned host(kPage);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, 100, s));
  poke(host.data() + 99, 1);
  const auto reports = take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Misuse::kWrittenEarly);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(host[99], 5);
}

TEST_F(Guarded, WritingASourceEarlyIsToldOnce) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(kPage, 1);
  const TestStream s;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kPage, s));
  EXPECT_EQ(peek(host.data()), 1) << "reading a source is fine";
  EXPECT_TRUE(take_reports().empty());
  poke(host.data() + 8, 2);
  auto reports = take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Misuse::kWrittenEarly);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_TRUE(take_reports().empty()) << "not a second time as a changed source";
}

TEST_F(Guarded, BytesBesideACopyAreFree) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(kPage, 1);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data() + 100, block, 100, s));
  ASSERT_OK(driver().memcpy_htod_async(block, host.data() + 1000, 100, s));
  EXPECT_EQ(peek(host.data() + 99), 1);
  poke(host.data() + 200, 2);
  EXPECT_EQ(peek(host.data() + 1000), 1);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(host[100], 5);
}

TEST_F(Guarded, CopiesShareAPage) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(kPage, 1);
  const TestStream a;
  const TestStream b;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, 100, a));
  ASSERT_OK(driver().memcpy_dtoh_async(host.data() + 200, block, 100, b));
  ASSERT_OK(driver().stream_synchronize(a));
  EXPECT_EQ(peek(host.data() + 200), 0xFF) << "still guarded for the second copy";
  EXPECT_EQ(take_reports().size(), 1u);
  ASSERT_OK(driver().stream_synchronize(b));
  EXPECT_EQ(peek(host.data()), 5);
  EXPECT_EQ(peek(host.data() + 299), 5);
}

TEST_F(Guarded, TheHostWaitsByEveryMeans) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(kPage, 1);
  const TestStream s;
  const TestEvent event;
  for (int way = 0; way < 4; ++way) {
    ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kPage, s));
    ASSERT_OK(driver().event_record(event, s));
    if (way == 0) {
      ASSERT_OK(driver().event_synchronize(event));
    }
    if (way == 1) {
      ASSERT_OK(driver().ctx_synchronize());
    }
    while (way == 2 && driver().event_query(event) != Error::kSuccess) {
    }
    unsigned char local[1];
    if (way == 3) {
      ASSERT_OK(driver().memcpy_dtoh_async(local, block, 1, s));
    }
    EXPECT_TRUE(system_reads(host.data() + 17)) << "still closed, way " << way;
    EXPECT_EQ(peek(host.data() + 17), 5) << way;
    poke(host.data() + 17, 1);
  }
}

TEST_F(Guarded, FreeingUnderACopyIsSafe) {
  const DeviceBlock block(kPage, 5);
  const TestStream s;
  for (int i = 0; i < 200; ++i) {
    const Pinned destination(3 * kPage);
    const Pinned source(3 * kPage);
    ASSERT_OK(driver().memcpy_dtoh_async(destination.data() + 1, block, kPage, s));
    ASSERT_OK(driver().memcpy_htod_async(block, source.data(), kPage, s));
  }
}

TEST_F(Guarded, ManyCopiesAtOnce) {
  const DeviceBlock block(kPage, 5);
  const Pinned host(64 * kPage);
  const TestStream s;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(driver().memcpy_dtoh_async(host.data() + i * 256, block, 256, s));
  }
  EXPECT_EQ(peek(host.data() + 999 * 256), 0xFF);
  EXPECT_EQ(take_reports().size(), 1u);
  ASSERT_OK(driver().stream_synchronize(s));
  for (int i = 0; i < 256000; i += 100) ASSERT_EQ(host[static_cast<std::size_t>(i)], 5);
}

TEST_F(Guarded, RegisteredMemoryIsNotGuarded) {
  alignas(4096) static unsigned char memory[kPage];
  const DeviceBlock block(kPage, 5);
  const TestStream s;
  ASSERT_OK(driver().mem_host_register(memory, kPage, 0));
  ASSERT_OK(driver().memcpy_dtoh_async(memory, block, kPage, s));
  EXPECT_EQ(peek(memory), 0xFF);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(peek(memory), 5);
  ASSERT_OK(driver().mem_host_unregister(memory));
}

}  // namespace
}  // namespace ashore::device
