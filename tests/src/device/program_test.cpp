// Random programs without races against a model that does everything at once: late copies must
// never be seen by a program that waits where CUDA asks it to, and no misuse may be told of it.
// Also run with guards.
#include <array>
#include <memory>
#include <random>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr std::size_t kBytes = 96;  // so that pinned buffers share pages
using Index = std::size_t;
constexpr Index kNobody = ~Index{0};
constexpr Index kBuffers = 5;
constexpr Index kStreams = 5;  // 0 is the default stream, 1 and 2 are blocking

using Bytes = std::array<unsigned char, kBytes>;

// Who used a buffer last, by streams.
struct Uses {
  Index writer = kNobody;
  std::array<bool, kStreams> readers = {};
};

class Program : public SimulatorTest {
 protected:
  void SetUp() override {
    SimulatorTest::SetUp();
    pinned_ = std::make_unique<Pinned>(kBuffers * kBytes);
    for (Index i = 0; i < kBuffers; ++i) device_.push_back(std::make_unique<DeviceBlock>(kBytes));
    for (Index i = 1; i < kStreams; ++i) {
      streams_.push_back(
          std::make_unique<TestStream>(i <= 2 ? kStreamDefault : kStreamNonBlocking));
    }
    model_host_.fill({});
    model_device_.fill({});
  }
  void TearDown() override {
    device_.clear();
    pinned_.reset();
    streams_.clear();
    SimulatorTest::TearDown();
  }

  StreamHandle stream(Index i) { return i == 0 ? kDefaultStream : StreamHandle(*streams_[i - 1]); }
  unsigned char* host(Index i) { return pinned_->data() + i * kBytes; }
  Index pick(Index count) { return random_() % count; }
  Bytes fresh() {
    Bytes bytes;
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random_());
    return bytes;
  }

  // Let stream `s` wait for what `other` has been given, unless CUDA's rules say so already.
  void order(Index s, Index other) {
    if (other == s || other == kNobody) return;
    const bool both_blocking = s <= 2 && other <= 2;
    if (both_blocking && (s == 0 || other == 0)) return;
    const TestEvent event;
    ASSERT_OK(driver().event_record(event, stream(other)));
    ASSERT_OK(driver().stream_wait_event(stream(s), event, 0));
  }
  void will_read(Uses& uses, Index s) {
    order(s, uses.writer);
    uses.readers[s] = true;
  }
  void will_write(Uses& uses, Index s) {
    order(s, uses.writer);
    for (Index i = 0; i < kStreams; ++i) {
      if (uses.readers[i]) order(s, i);
    }
    uses.readers = {};
    uses.writer = s;
  }

  void wait_by_host(Index s) {
    if (s == kNobody) return;
    const TestEvent event;
    switch (pick(5)) {
      case 0:
        ASSERT_OK(driver().stream_synchronize(stream(s)));
        break;
      case 1:
        ASSERT_OK(driver().ctx_synchronize());
        break;
      case 2:
        ASSERT_OK(driver().event_record(event, stream(s)));
        ASSERT_OK(driver().event_synchronize(event));
        break;
      case 3:
        while (driver().stream_query(stream(s)) != Error::kSuccess) {
        }
        break;
      default:
        ASSERT_OK(driver().event_record(event, stream(s)));
        while (driver().event_query(event) != Error::kSuccess) {
        }
    }
  }

  void copy_to_device() {
    const Index s = pick(kStreams), h = pick(kBuffers), d = pick(kBuffers);
    will_read(host_uses_[h], s);
    will_write(device_uses_[d], s);
    ASSERT_OK(driver().memcpy_htod_async(*device_[d], host(h), kBytes, stream(s)));
    model_device_[d] = model_host_[h];
  }
  void copy_to_host() {
    const Index s = pick(kStreams), h = pick(kBuffers), d = pick(kBuffers);
    will_read(device_uses_[d], s);
    will_write(host_uses_[h], s);
    ASSERT_OK(driver().memcpy_dtoh_async(host(h), *device_[d], kBytes, stream(s)));
    model_host_[h] = model_device_[d];
  }
  void copy_on_device() {
    const Index s = pick(kStreams), from = pick(kBuffers), to = pick(kBuffers);
    if (from == to) return;
    will_read(device_uses_[from], s);
    will_write(device_uses_[to], s);
    const std::size_t half = kBytes / 2;
    ASSERT_OK(driver().memcpy_dtod_async(*device_[to] + half, *device_[from], half, stream(s)));
    std::copy_n(model_device_[from].begin(), half, model_device_[to].begin() + half);
  }
  void fill() {
    const Index s = pick(kStreams), d = pick(kBuffers);
    will_write(device_uses_[d], s);
    const auto value = static_cast<unsigned char>(random_());
    ASSERT_OK(driver().memset_d8_async(*device_[d], value, kBytes, stream(s)));
    model_device_[d].fill(value);
  }
  void pageable_copies() {
    const Index s = pick(kStreams), d = pick(kBuffers);
    Bytes bytes = fresh();
    will_write(device_uses_[d], s);
    ASSERT_OK(driver().memcpy_htod_async(*device_[d], bytes.data(), kBytes, stream(s)));
    model_device_[d] = bytes;
    bytes.fill(0);
    if (pick(4) > 0) return;
    ASSERT_OK(driver().memcpy_dtoh_async(bytes.data(), *device_[d], kBytes, stream(s)));
    ASSERT_EQ(bytes, model_device_[d]);
  }
  // A kernel that adds 1 to a buffer.
  void kernel() {
    const Index s = pick(kStreams), d = pick(kBuffers);
    will_write(device_uses_[d], s);
    simulator().begin_kernel(0, stream(s));
    for (std::size_t i = 0; i < kBytes; ++i) {
      ASSERT_EQ((*device_[d])[i], model_device_[d][i]) << "byte " << i << " in a kernel";
      ++(*device_[d])[i];
      ++model_device_[d][i];
    }
  }
  void host_reads() {
    const Index h = pick(kBuffers);
    wait_by_host(host_uses_[h].writer);
    host_uses_[h].writer = kNobody;
    ASSERT_EQ(std::memcmp(host(h), model_host_[h].data(), kBytes), 0) << "the host reads";
  }
  void host_writes() {
    const Index h = pick(kBuffers);
    wait_by_host(host_uses_[h].writer);
    for (Index i = 0; i < kStreams; ++i) {
      if (host_uses_[h].readers[i]) wait_by_host(i);
    }
    host_uses_[h] = {};
    model_host_[h] = fresh();
    std::memcpy(host(h), model_host_[h].data(), kBytes);
  }
  void new_stream() {
    const Index s = 1 + pick(kStreams - 1);
    auto made = std::make_unique<TestStream>(s <= 2 ? kStreamDefault : kStreamNonBlocking);
    if (simulator().pending->load() > 0) {  // the new one takes over where the old one was
      const TestEvent event;
      ASSERT_OK(driver().event_record(event, stream(s)));
      ASSERT_OK(driver().stream_wait_event(*made, event, 0));
    }
    streams_[s - 1] = std::move(made);
  }

  std::mt19937 random_{20250517};
  std::unique_ptr<Pinned> pinned_;
  std::vector<std::unique_ptr<DeviceBlock>> device_;
  std::vector<std::unique_ptr<TestStream>> streams_;
  std::array<Bytes, kBuffers> model_host_, model_device_;
  std::array<Uses, kBuffers> host_uses_, device_uses_;
};

TEST_F(Program, WithoutRacesIsAsIfEverythingWereDoneAtOnce) {
  constexpr int kSteps = ASHORE_TEST_TSAN ? 20000 : 100000;
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    switch (pick(14)) {
      case 0:
      case 1:
        copy_to_device();
        break;
      case 2:
      case 3:
        copy_to_host();
        break;
      case 4:
      case 5:
        copy_on_device();
        break;
      case 6:
        fill();
        break;
      case 7:
      case 8:
        kernel();
        break;
      case 9:
        pageable_copies();
        break;
      case 10:
        host_reads();
        break;
      case 11:
        host_writes();
        break;
      case 12:
        if (pick(8) == 0) new_stream();
        break;
      default:
        if (pick(4) == 0) simulator().begin_kernel(0, stream(pick(kStreams)));
    }
    if (const auto reports = take_reports(); !reports.empty()) {
      FAIL() << "told of misuse of kind " << static_cast<int>(reports[0].kind);
    }
  }
}

}  // namespace
}  // namespace ashore::device
