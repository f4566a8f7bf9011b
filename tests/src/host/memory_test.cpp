// Aligned memory: alignment by size, failures as values.
#include "host/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

// The sanitizers' runtimes ask for these; else a size like those below ends the process.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
#define ASHORE_EXPORTED extern "C" __attribute__((visibility("default")))
ASHORE_EXPORTED const char* __asan_default_options();
ASHORE_EXPORTED const char* __asan_default_options() { return "allocator_may_return_null=1"; }
ASHORE_EXPORTED const char* __tsan_default_options();
ASHORE_EXPORTED const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace ashore::host {
namespace {

std::size_t address(const Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.get()); }

TEST(Memory, IsAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                  kHugePagesFrom - 1, kHugePagesFrom, kHugePagesFrom + 12345}) {
    Result<Buffer> buffer = allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << bytes;
    ASSERT_NE(buffer->get(), nullptr);
    EXPECT_EQ(address(*buffer) % kAlignment, 0u);
    EXPECT_TRUE(bytes < kHugePagesFrom || address(*buffer) % kHugePageBytes == 0);
    std::memset(buffer->get(), 0x5A, bytes);
  }
}

TEST(Memory, TooMuchIsAFailureThatSaysHowMuch) {
  for (const std::size_t bytes :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2 - 1}) {
    Result<Buffer> buffer = allocate(bytes);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.status().code(), Code::kNoMemory);
    EXPECT_NE(buffer.status().message().find(std::to_string(bytes)), std::string::npos);
    EXPECT_EQ(buffer.status().message().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace ashore::host
