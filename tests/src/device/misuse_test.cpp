// Sources that change under a copy: who is told, and of what; and legal programs, of which nothing
// is said.
#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr std::size_t kBytes = 20000;

using MisuseOf = SimulatorTest;

TEST_F(MisuseOf, ASourceChangedTooEarly) {
  const DeviceBlock block(kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  simulator().set_origin(41);
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), 100, s));
  simulator().set_origin(42);
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  host[9000] = 2;
  simulator().begin_kernel(0, s);
  EXPECT_EQ(block[9000], 2) << "the copy is late, and reads what is there";
  EXPECT_TRUE(take_reports().empty()) << "found when the host waits";
  ASSERT_OK(driver().stream_synchronize(s));
  const auto reports = take_reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, Misuse::kSourceChanged);
  EXPECT_EQ(reports[0].origin, 42u);
  EXPECT_EQ(reports[0].size_bytes, kBytes);
  EXPECT_EQ(reports[0].device, 0);
  EXPECT_FALSE(reports[0].in_signal_handler);
  EXPECT_EQ(reports[0].address, host.data() + 8192) << "the 4 KiB that the change lies in";
}

TEST_F(MisuseOf, EverySingleByteOfASourceCounts) {
  const DeviceBlock block(kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  for (const std::size_t at :
       std::vector<std::size_t>{0, 1, 7, 8, 31, 32, 4095, 4096, 8191, 19998, 19999}) {
    ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
    host[at] ^= 1;
    ASSERT_OK(driver().stream_synchronize(s));
    EXPECT_EQ(take_reports().size(), 1u) << at;
  }
}

TEST_F(MisuseOf, NothingIsSaidOfLegalPrograms) {
  const DeviceBlock block(kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestStream other;
  const TestEvent event;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), 100, s));
  host[100] = 7;  // beside the source
  ASSERT_OK(driver().event_record(event, s));
  ASSERT_OK(driver().event_synchronize(event));
  host[0] = 8;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), 100, s));
  ASSERT_OK(driver().event_record(event, s));
  ASSERT_OK(driver().stream_wait_event(other, event, 0));
  ASSERT_OK(driver().stream_synchronize(other));
  host[0] = 9;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), 100, s));
  while (driver().stream_query(s) != Error::kSuccess) {
  }
  host[0] = 10;
  unsigned char pageable[16] = {};
  ASSERT_OK(driver().memcpy_htod_async(block, pageable, sizeof pageable, s));
  pageable[0] = 1;
  ASSERT_OK(driver().stream_synchronize(s));
}

TEST_F(MisuseOf, ARaceOfTwoCopiesOverHostMemory) {
  const DeviceBlock block(kBytes, 3);
  const Pinned host(kBytes, 1);
  const TestStream s;
  const TestStream other;
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, kBytes, other));
  ASSERT_OK(driver().ctx_synchronize());
  EXPECT_EQ(take_reports().size(), 1u);
}

TEST_F(MisuseOf, HooksMayCallTheDriver) {
  const DeviceBlock block(kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  int calls = 0;
  simulator().set_misuse_hook(
      [](const MisuseReport&, void* context) {
        ++*static_cast<int*>(context);
        EXPECT_OK(driver().ctx_synchronize());
      },
      &calls);
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  host[0] = 2;
  ASSERT_OK(driver().ctx_synchronize());
  EXPECT_EQ(calls, 1);
}

TEST_F(MisuseOf, WithoutAHookALineIsWritten) {
  const DeviceBlock block(kBytes);
  const Pinned host(kBytes, 1);
  const TestStream s;
  simulator().set_misuse_hook(nullptr, nullptr);
  simulator().set_origin(77);
  ASSERT_OK(driver().memcpy_htod_async(block, host.data(), kBytes, s));
  host[0] = 2;
  testing::internal::CaptureStderr();
  ASSERT_OK(driver().stream_synchronize(s));
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("pinned source of a copy of 20000 bytes to device 0"), std::string::npos)
      << line;
  EXPECT_NE(line.find("origin 77"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
}

}  // namespace
}  // namespace ashore::device
