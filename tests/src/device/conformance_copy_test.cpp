// Conformance: copies of every kind arrive, in the order that streams and events give.
#include <cstring>
#include <numeric>
#include <vector>

#include "src/device/conformance.hpp"

namespace ashore::device {
namespace {

using ConformanceCopy = Conformance;
ASHORE_ON_ALL_DRIVERS(ConformanceCopy);

constexpr std::size_t kBytes = 100000;

std::vector<unsigned char> pattern(unsigned seed, std::size_t bytes = kBytes) {
  std::vector<unsigned char> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<unsigned char>(i * 7 + seed);
  return made;
}

DevicePointer number(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

TEST_P(ConformanceCopy, PinnedThereAndBack) {
  const auto want = pattern(1);
  unsigned char* const source = pinned(kBytes);
  unsigned char* const back = pinned(kBytes);
  const DevicePointer block = device_block(kBytes);
  const StreamHandle s = stream();
  std::memcpy(source, want.data(), kBytes);
  ASSERT_OK(cuda().memcpy_htod_async(block, source, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, block, kBytes, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(std::memcmp(back, want.data(), kBytes), 0);
}

TEST_P(ConformanceCopy, PageableSourceIsFreeOnReturnOnceStaged) {
  const auto want = pattern(2, 1000);
  auto source = want;
  const DevicePointer block = device_block(1000);
  const StreamHandle s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(block, source.data(), 1000, s));
  std::fill(source.begin(), source.end(), static_cast<unsigned char>(0));
  std::vector<unsigned char> back(1000);
  ASSERT_OK(cuda().memcpy_dtoh_async(back.data(), block, 1000, s));
  // Complete on return, without a wait of the host.
  EXPECT_EQ(back, want);
}

TEST_P(ConformanceCopy, OnTheDeviceAndFill) {
  const auto want = pattern(3);
  unsigned char* const host = pinned(kBytes);
  std::memcpy(host, want.data(), kBytes);
  const DevicePointer a = device_block(kBytes);
  const DevicePointer b = device_block(kBytes);
  const StreamHandle s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(a, host, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtod_async(b, a, kBytes, s));
  ASSERT_OK(cuda().memset_d8_async(a, 0x5A, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtod_async(a + 10, b, 100, s));
  std::vector<unsigned char> back(kBytes);
  ASSERT_OK(cuda().memcpy_dtoh_async(back.data(), b, kBytes, s));
  EXPECT_EQ(back, want);
  ASSERT_OK(cuda().memcpy_dtoh_async(back.data(), a, kBytes, s));
  EXPECT_EQ(back[9], 0x5A);
  EXPECT_EQ(back[10], want[0]);
  EXPECT_EQ(back[109], want[99]);
  EXPECT_EQ(back[110], 0x5A);
}

TEST_P(ConformanceCopy, OneFunctionForAllKinds) {
  const auto want = pattern(4);
  const auto source = want;
  std::vector<unsigned char> middle(kBytes);
  unsigned char* const back = pinned(kBytes);
  const DevicePointer a = device_block(kBytes);
  const DevicePointer b = device_block(kBytes);
  const StreamHandle s = stream();
  ASSERT_OK(cuda().memcpy_async(number(middle.data()), number(source.data()), kBytes, s));
  EXPECT_EQ(middle, want);  // host to host is done on return
  ASSERT_OK(cuda().memcpy_async(a, number(middle.data()), kBytes, s));
  ASSERT_OK(cuda().memcpy_async(b, a, kBytes, s));
  ASSERT_OK(cuda().memcpy_async(number(back), b, kBytes, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(std::memcmp(back, want.data(), kBytes), 0);
}

TEST_P(ConformanceCopy, Rectangles) {
  constexpr std::size_t kRows = 20;
  unsigned char* const host = pinned(kRows * 50);
  unsigned char* const back = pinned(kRows * 64, 9);
  const auto want = pattern(5, kRows * 50);
  std::memcpy(host, want.data(), want.size());
  const DevicePointer block = device_block(kRows * 512);
  const StreamHandle s = stream();
  Memcpy2D in;
  in.source_type = MemoryType::kHost;
  in.source_host = host;
  in.source_pitch_bytes = 50;
  in.source_x_bytes = 10;
  in.source_y = 1;
  in.destination_type = MemoryType::kDevice;
  in.destination_device = block;
  in.destination_pitch_bytes = 512;
  in.width_bytes = 40;
  in.height = kRows - 1;
  ASSERT_OK(cuda().memcpy_2d_async(&in, s));
  Memcpy2D out;
  out.source_type = MemoryType::kDevice;
  out.source_device = block;
  out.source_pitch_bytes = 512;
  out.destination_type = MemoryType::kHost;
  out.destination_host = back;
  out.destination_pitch_bytes = 64;
  out.destination_x_bytes = 4;
  out.destination_y = 1;
  out.width_bytes = 40;
  out.height = kRows - 1;
  ASSERT_OK(cuda().memcpy_2d_async(&out, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  for (std::size_t y = 0; y < kRows; ++y) {
    for (std::size_t x = 0; x < 64; ++x) {
      const bool is_inside = y > 0 && x >= 4 && x < 44;
      ASSERT_EQ(back[y * 64 + x], is_inside ? want[y * 50 + 10 + (x - 4)] : 9) << y << ' ' << x;
    }
  }
  in.width_bytes = 41;  // past the pitch
  EXPECT_EQ(cuda().memcpy_2d_async(&in, s), Error::kInvalidValue);
}

TEST_P(ConformanceCopy, Batches) {
  const auto want = pattern(6, 300);
  unsigned char* const host = pinned(300);
  unsigned char* const back = pinned(300);
  std::memcpy(host, want.data(), 300);
  const DevicePointer block = device_block(300);
  const StreamHandle s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(block, host, 300, s));
  DevicePointer destinations[] = {number(back + 200), number(back), number(back + 100)};
  DevicePointer sources[] = {block + 200, block, block + 100};
  std::size_t sizes[] = {100, 100, 100};
  BatchAttributes attributes;
  std::size_t start = 0;
  std::size_t failed = 0;
  const Error error = cuda().memcpy_batch_async(destinations, sources, sizes, 3, &attributes,
                                                &start, 1, &failed, s);
  if (error == Error::kNotSupported) GTEST_SKIP() << "this driver has no batched copies";
  ASSERT_OK(error);
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(std::memcmp(back, want.data(), 300), 0);
}

TEST_P(ConformanceCopy, NothingToCopy) {
  const DevicePointer block = device_block(16);
  char host[16];
  EXPECT_OK(cuda().memcpy_htod_async(block, host, 0, kDefaultStream));
  EXPECT_OK(cuda().memcpy_dtoh_async(host, block, 0, kDefaultStream));
  EXPECT_OK(cuda().memset_d8_async(block, 1, 0, kDefaultStream));
}

TEST_P(ConformanceCopy, WrongAddresses) {
  char host[16];
  const DevicePointer block = device_block(4096);
  EXPECT_EQ(cuda().memcpy_htod_async(0, host, 16, kDefaultStream), Error::kInvalidValue);
  EXPECT_EQ(cuda().memset_d8_async(0, 1, 16, kDefaultStream), Error::kInvalidValue);
  const std::size_t far = std::size_t{1} << 45;
  EXPECT_EQ(cuda().memset_d8_async(block, 1, far, kDefaultStream), Error::kInvalidValue);
}

TEST_P(ConformanceCopy, EventsOrderStreams) {
  const auto want = pattern(7);
  unsigned char* const host = pinned(kBytes);
  unsigned char* const back = pinned(kBytes);
  std::memcpy(host, want.data(), kBytes);
  const DevicePointer a = device_block(kBytes);
  const DevicePointer b = device_block(kBytes);
  const StreamHandle streams[] = {stream(), stream(), stream()};
  const EventHandle events[] = {event(), event()};
  ASSERT_OK(cuda().memcpy_htod_async(a, host, kBytes, streams[0]));
  ASSERT_OK(cuda().event_record(events[0], streams[0]));
  ASSERT_OK(cuda().stream_wait_event(streams[1], events[0], 0));
  ASSERT_OK(cuda().memcpy_dtod_async(b, a, kBytes, streams[1]));
  ASSERT_OK(cuda().event_record(events[1], streams[1]));
  ASSERT_OK(cuda().stream_wait_event(streams[2], events[1], 0));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, b, kBytes, streams[2]));
  ASSERT_OK(cuda().stream_synchronize(streams[2]));
  EXPECT_EQ(std::memcmp(back, want.data(), kBytes), 0);
}

TEST_P(ConformanceCopy, DefaultStreamWaitsForBlockingOnesAndTheyForIt) {
  const auto want = pattern(8);
  unsigned char* const host = pinned(kBytes);
  unsigned char* const back = pinned(kBytes);
  std::memcpy(host, want.data(), kBytes);
  const DevicePointer a = device_block(kBytes);
  const DevicePointer b = device_block(kBytes);
  const StreamHandle first = stream(kStreamDefault);
  const StreamHandle last = stream(kStreamDefault);
  ASSERT_OK(cuda().memcpy_htod_async(a, host, kBytes, first));
  ASSERT_OK(cuda().memcpy_dtod_async(b, a, kBytes, kDefaultStream));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, b, kBytes, last));
  ASSERT_OK(cuda().stream_synchronize(last));
  EXPECT_EQ(std::memcmp(back, want.data(), kBytes), 0);
}

TEST_P(ConformanceCopy, HostMemoryIsReusedInStreamOrder) {
  // The same pinned memory is source, destination and source again without a wait of the host.
  unsigned char* const host = pinned(kBytes, 1);
  unsigned char* const back = pinned(kBytes);
  const DevicePointer a = device_block(kBytes);
  const DevicePointer b = device_block(kBytes);
  const StreamHandle s = stream();
  ASSERT_OK(cuda().memcpy_htod_async(a, host, kBytes, s));
  ASSERT_OK(cuda().memset_d8_async(b, 2, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(host, b, kBytes, s));
  ASSERT_OK(cuda().memcpy_htod_async(b, host, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, a, kBytes / 2, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back + kBytes / 2, b, kBytes / 2, s));
  ASSERT_OK(cuda().stream_synchronize(s));
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(back[kBytes / 2 - 1], 1);
  EXPECT_EQ(back[kBytes / 2], 2);
  EXPECT_EQ(back[kBytes - 1], 2);
  EXPECT_EQ(host[17], 2);
}

TEST_P(ConformanceCopy, ADestroyedStreamFinishesItsWork) {
  unsigned char* const host = pinned(kBytes, 3);
  unsigned char* const back = pinned(kBytes);
  const DevicePointer block = device_block(kBytes);
  StreamHandle s = nullptr;
  ASSERT_OK(cuda().stream_create(&s, kStreamNonBlocking));
  ASSERT_OK(cuda().memcpy_htod_async(block, host, kBytes, s));
  ASSERT_OK(cuda().memcpy_dtoh_async(back, block, kBytes, s));
  ASSERT_OK(cuda().stream_destroy(s));
  ASSERT_OK(cuda().ctx_synchronize());
  EXPECT_EQ(back[0], 3);
  EXPECT_EQ(back[kBytes - 1], 3);
}

}  // namespace
}  // namespace ashore::device
