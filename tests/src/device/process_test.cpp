// What concerns the whole process: forks, stray accesses that end it, address space that cannot be
// had.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasAsan = true;
#elif defined(__has_feature)
constexpr bool kHasAsan = __has_feature(address_sanitizer);
#else
constexpr bool kHasAsan = false;
#endif

struct Outcome {
  int status = 0;
  std::string error_text;
};

// Run something in a forked child and gather what it writes to standard error.
Outcome in_child(const std::function<int()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a deadlock ends the test, not the suite
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::_exit(body());
  }
  ::close(ends[1]);
  Outcome outcome;
  char piece[512];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;) {
    outcome.error_text.append(piece, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  ::waitpid(child, &outcome.status, 0);
  return outcome;
}

#define EXPECT_EXITS_0(outcome)                                              \
  EXPECT_TRUE(WIFEXITED((outcome).status)) << "status " << (outcome).status; \
  EXPECT_EQ(WEXITSTATUS((outcome).status), 0) << (outcome).error_text

class Process : public SimulatorTest {
 protected:
  void SetUp() override {
    if (ASHORE_TEST_TSAN)
      GTEST_SKIP() << "ThreadSanitizer takes no forks of processes with threads";
    SimulatorTest::SetUp();
  }
  void TearDown() override {
    if (!ASHORE_TEST_TSAN) SimulatorTest::TearDown();
  }
};

TEST_F(Process, AForkedChildGetsCleanErrors) {
  const DeviceBlock block(4096, 3);
  const Pinned host(4096);
  const TestStream s;
  ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, 4096, s));
  const Outcome outcome = in_child([&] {
    const DriverTable& d = driver();
    DevicePointer pointer = 0;
    int failed = 0;
    failed += d.init(0) != Error::kNotInitialized;
    failed += d.mem_alloc(&pointer, 16) != Error::kNotInitialized;
    failed += d.stream_synchronize(s) != Error::kNotInitialized;
    failed += d.ctx_synchronize() != Error::kNotInitialized;
    failed += d.mem_free(block) != Error::kNotInitialized;
    failed += simulator().pending->load() != 0;
    simulator().begin_kernel(0, s);
    int ends[2];
    failed += ::pipe(ends) != 0 || ::write(ends[1], host.data(), 1) != 1;  // no closed page either
    const auto value = *static_cast<volatile unsigned char*>(host.data());
    failed += value != 0xFF && value != 3;  // guarded or not, it can be read
    const char* text = nullptr;
    failed += d.get_error_name(Error::kNotInitialized, &text) != Error::kSuccess;
    return failed;
  });
  EXPECT_EXITS_0(outcome);
  ASSERT_OK(driver().stream_synchronize(s));
  EXPECT_EQ(host[0], 3) << "the parent goes on";
}

TEST_F(Process, ForksBesideBusyThreadsDoNotHang) {
  ContextHandle context = nullptr;
  ASSERT_OK(driver().ctx_get_current(&context));
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      EXPECT_OK(driver().ctx_set_current(context));
      while (!is_over.load()) {
        const DeviceBlock block(100000);
        EXPECT_OK(driver().memset_d8_async(block, 1, 100000, kDefaultStream));
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const Outcome outcome = in_child([] {
      int version = 0;
      const Error error = driver().ctx_synchronize();
      (void)driver().driver_get_version(&version);
      (void)simulator()
          .statistics();  // these take the mutex, which no thread of the child can hold
      return error == Error::kNotInitialized && version == 13000 ? 0 : 1;
    });
    EXPECT_EXITS_0(outcome);
  }
  is_over.store(true);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Process, AStrayReadDiesWithOneLine) {
  if (!test_options().protect_device) GTEST_SKIP() << "device memory is open in this program";
  const DeviceBlock block(5000);
  const Outcome outcome = in_child([&] {
    simulator().install_fault_reporter();
    return *reinterpret_cast<volatile unsigned char*>(block + 1234);
  });
  EXPECT_FALSE(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0);
  const std::string& text = outcome.error_text;
  const std::string line = text.substr(0, text.find('\n'));
  EXPECT_NE(line.find("host code read device memory at 0x"), std::string::npos) << text;
  EXPECT_NE(line.find("device 0, byte 1234 of the block of 5000 bytes at 0x"), std::string::npos)
      << text;
  if (kHasAsan) return;  // it adds a report of its own
  EXPECT_TRUE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSEGV);
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
}

TEST_F(Process, AStrayWriteToFreeMemory) {
  if (!test_options().protect_device) GTEST_SKIP() << "device memory is open in this program";
  const AddressSpace space = simulator().address_space();
  const Outcome outcome = in_child([&] {
    simulator().install_fault_reporter();
    *reinterpret_cast<volatile unsigned char*>(space.device_base + space.span_bytes / 2) = 1;
    return 0;
  });
#if defined(__x86_64__)
  EXPECT_NE(outcome.error_text.find("host code wrote device memory"), std::string::npos);
#endif
  EXPECT_NE(outcome.error_text.find("device 0, free memory"), std::string::npos)
      << outcome.error_text;
}

void earlier_handler(int, siginfo_t*, void*) {
  const char text[] = "earlier handler\n";
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(7);
}

TEST_F(Process, OtherFaultsGoToTheHandlerBefore) {
  if (test_options().guard_pinned) GTEST_SKIP() << "this program has its handler already";
  const DeviceBlock block(5000);
  const bool is_protected = test_options().protect_device;
  for (const bool is_stray : {false, true}) {
    if (is_stray && !is_protected) continue;
    const Outcome outcome = in_child([&] {
      struct sigaction action = {};
      action.sa_sigaction = earlier_handler;
      action.sa_flags = SA_SIGINFO;
      ::sigaction(SIGSEGV, &action, nullptr);
      simulator().install_fault_reporter();
      const DevicePointer address = is_stray ? DevicePointer(block) : 4096;
      return *reinterpret_cast<volatile unsigned char*>(address);
    });
    EXPECT_EQ(WEXITSTATUS(outcome.status), 7);
    EXPECT_NE(outcome.error_text.find("earlier handler\n"), std::string::npos);
    EXPECT_EQ(outcome.error_text.find("device memory") != std::string::npos, is_stray);
  }
}

// These set the simulator up in the child, so the parent must not have done so. Each test runs in a
// process of its own under ctest.
class FreshProcess : public testing::Test {
 protected:
  void SetUp() override {
    if (ASHORE_TEST_TSAN || kHasAsan)
      GTEST_SKIP() << "sanitizers need more address space than this leaves";
    if (unconfigured_simulator().address_space().span_bytes != 0) {
      GTEST_SKIP() << "another test of this process came first";
    }
  }
  static std::size_t address_space_in_use() {
    std::size_t pages = 0;
    FILE* const file = std::fopen("/proc/self/statm", "r");
    EXPECT_EQ(std::fscanf(file, "%zu", &pages), 1);
    std::fclose(file);
    return pages * 4096;
  }
  static void leave(std::size_t bytes) {
    const rlimit limit = {address_space_in_use() + bytes, address_space_in_use() + bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  }
};

constexpr std::size_t kGiB = std::size_t{1} << 30;

TEST_F(FreshProcess, LittleAddressSpaceIsEnoughForASmallerSpan) {
  const Outcome outcome = in_child([] {
    leave(20 * kGiB);
    SimulatorOptions options;
    options.memory_bytes = kGiB;
    if (const char* const problem = unconfigured_simulator().configure(options)) {
      std::fputs(problem, stderr);
      return 1;
    }
    const std::size_t span = unconfigured_simulator().address_space().span_bytes;
    return span >= kGiB && span < 20 * kGiB ? 0 : 2;
  });
  EXPECT_EXITS_0(outcome);
}

TEST_F(FreshProcess, TooLittleAddressSpaceIsOneLineWithTheWayOut) {
  const Outcome outcome = in_child([] {
    leave(3 * kGiB);
    SimulatorOptions options;
    options.memory_bytes = 2 * kGiB;
    const char* problem = unconfigured_simulator().configure(options);
    std::fputs(problem == nullptr ? "no problem" : problem, stderr);
    options.protect_device = false;
    problem = unconfigured_simulator().configure(options);
    return problem == nullptr ? 0 : 1;
  });
  EXPECT_EXITS_0(outcome);
  EXPECT_NE(outcome.error_text.find("cannot reserve address space for 1 simulated device(s)"),
            std::string::npos)
      << outcome.error_text;
  EXPECT_NE(outcome.error_text.find("turn protect_device off"), std::string::npos);
  EXPECT_EQ(outcome.error_text.find('\n'), std::string::npos);
}

TEST_F(FreshProcess, WrongOptionsAreNamed) {
  const Outcome outcome = in_child([] {
    int failed = 0;
    const auto refuses = [&](const SimulatorOptions& options, const char* word) {
      const char* const problem = unconfigured_simulator().configure(options);
      failed += problem == nullptr || std::string(problem).find(word) == std::string::npos;
    };
    SimulatorOptions options;
    options.device_count = 17;
    refuses(options, "device_count");
    options.device_count = -1;
    refuses(options, "device_count");
    options = {};
    options.memory_bytes = 0;
    refuses(options, "memory_bytes");
    options = {};
    std::memset(options.name, 'x', sizeof options.name);
    refuses(options, "name");
    options = {};
    options.device_count = 0;
    failed += unconfigured_simulator().configure(options) != nullptr;
    failed += unconfigured_simulator().driver->init(0) != Error::kNoDevice;
    return failed;
  });
  EXPECT_EXITS_0(outcome);
}

TEST_F(FreshProcess, AForkBeforeTheFirstUseIsFine) {
  ASSERT_EQ(unconfigured_simulator().configure(test_options()), nullptr);
  const Outcome outcome = in_child([] {
    ContextHandle context = nullptr;
    DevicePointer pointer = 0;
    const DriverTable& d = driver();
    if (d.init(0) != Error::kSuccess) return 1;
    if (d.device_primary_ctx_retain(&context, 0) != Error::kSuccess) return 2;
    if (d.ctx_set_current(context) != Error::kSuccess) return 3;
    return d.mem_alloc(&pointer, 16) == Error::kSuccess ? 0 : 4;
  });
  EXPECT_EXITS_0(outcome);
}

}  // namespace
}  // namespace ashore::device
