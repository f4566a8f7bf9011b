// Conformance: devices, contexts, memory and pointers.
#include <cstring>
#include <set>
#include <thread>

#include "src/device/conformance.hpp"

namespace ashore::device {
namespace {

using ConformanceMemory = Conformance;
ASHORE_ON_ALL_DRIVERS(ConformanceMemory);

TEST_P(ConformanceMemory, DevicesSayWhatTheyAre) {
  int version = 0;
  EXPECT_OK(cuda().driver_get_version(&version));
  EXPECT_GE(version, 11000);
  int count = 0;
  ASSERT_OK(cuda().device_get_count(&count));
  ASSERT_GE(count, 1);
  char name[256] = "";
  EXPECT_OK(cuda().device_get_name(name, sizeof name, 0));
  EXPECT_NE(name[0], '\0');
  char cut[4] = "???";
  EXPECT_OK(cuda().device_get_name(cut, sizeof cut, 0));
  EXPECT_EQ(std::string(cut), std::string(name).substr(0, 3));
  std::size_t total = 0;
  EXPECT_OK(cuda().device_total_mem(&total, 0));
  EXPECT_GT(total, std::size_t{1} << 20);
  int value = 0;
  for (const auto& [attribute, least] :
       {std::pair{DeviceAttribute::kComputeCapabilityMajor, 3},
        std::pair{DeviceAttribute::kMultiprocessorCount, 1},
        std::pair{DeviceAttribute::kUnifiedAddressing, 1},
        std::pair{DeviceAttribute::kCanMapHostMemory, 1},
        std::pair{DeviceAttribute::kAsyncEngineCount, 1}, std::pair{DeviceAttribute::kWarpSize, 32},
        std::pair{DeviceAttribute::kIntegrated, 0}, std::pair{DeviceAttribute::kPciBusId, 0}}) {
    EXPECT_OK(cuda().device_get_attribute(&value, attribute, 0));
    EXPECT_GE(value, least) << static_cast<int>(attribute);
  }
  EXPECT_EQ(cuda().device_get_attribute(&value, static_cast<DeviceAttribute>(99999), 0),
            Error::kInvalidValue);
}

TEST_P(ConformanceMemory, DevicesThatAreNotThere) {
  int count = 0;
  ASSERT_OK(cuda().device_get_count(&count));
  Device device = 0;
  EXPECT_EQ(cuda().device_get(&device, count), Error::kInvalidDevice);
  EXPECT_EQ(cuda().device_get(&device, -1), Error::kInvalidDevice);
  EXPECT_EQ(cuda().init(1), Error::kInvalidValue);
  EXPECT_EQ(cuda().driver_get_version(nullptr), Error::kInvalidValue);
  EXPECT_EQ(cuda().device_get_count(nullptr), Error::kInvalidValue);
}

TEST_P(ConformanceMemory, ErrorsHaveNames) {
  const char* text = nullptr;
  EXPECT_OK(cuda().get_error_name(Error::kOutOfMemory, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_OK(cuda().get_error_string(Error::kOutOfMemory, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_OK(cuda().get_error_name(Error::kSystemDriverMismatch, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
  EXPECT_EQ(cuda().get_error_name(static_cast<Error>(123456), &text), Error::kInvalidValue);
  EXPECT_EQ(text, nullptr);
}

TEST_P(ConformanceMemory, ContextIsOfTheThread) {
  ContextHandle current = nullptr;
  EXPECT_OK(cuda().ctx_get_current(&current));
  EXPECT_EQ(current, context_);
  std::thread([&] {
    ContextHandle other = context_;
    EXPECT_OK(cuda().ctx_get_current(&other));
    EXPECT_EQ(other, nullptr);
    DevicePointer pointer = 0;
    EXPECT_EQ(cuda().mem_alloc(&pointer, 16), Error::kInvalidContext);
    EXPECT_EQ(cuda().ctx_synchronize(), Error::kInvalidContext);
    StreamHandle stream = nullptr;
    EXPECT_EQ(cuda().stream_create(&stream, 0), Error::kInvalidContext);
    EXPECT_OK(cuda().ctx_set_current(context_));
    EXPECT_OK(cuda().mem_alloc(&pointer, 16));
    EXPECT_OK(cuda().mem_free(pointer));
  }).join();
}

TEST_P(ConformanceMemory, BlocksAreAlignedAndApart) {
  std::set<DevicePointer> blocks;
  for (const std::size_t bytes : std::vector<std::size_t>{1, 2, 255, 256, 257, 4096, 100000}) {
    const DevicePointer block = device_block(bytes);
    EXPECT_EQ(block % 256, 0u);
    EXPECT_TRUE(blocks.insert(block).second);
  }
  DevicePointer none = 0;
  EXPECT_EQ(cuda().mem_alloc(&none, 0), Error::kInvalidValue);
  EXPECT_EQ(cuda().mem_alloc(nullptr, 16), Error::kInvalidValue);
}

TEST_P(ConformanceMemory, MemoryEnds) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_OK(cuda().mem_get_info(&free, &total));
  EXPECT_LE(free, total);
  DevicePointer pointer = 0;
  EXPECT_EQ(cuda().mem_alloc(&pointer, total + 1), Error::kOutOfMemory);
  EXPECT_EQ(cuda().mem_alloc(&pointer, std::size_t{1} << 60), Error::kOutOfMemory);
  const std::size_t large = free / 2;
  ASSERT_OK(cuda().mem_alloc(&pointer, large));
  std::size_t now = 0;
  EXPECT_OK(cuda().mem_get_info(&now, &total));
  EXPECT_LE(now, free - large);
  EXPECT_OK(cuda().mem_free(pointer));
  EXPECT_OK(cuda().mem_get_info(&now, &total));
  EXPECT_GT(now, free - large);
}

TEST_P(ConformanceMemory, FreeingWhatIsNoBlock) {
  DevicePointer pointer = 0;
  ASSERT_OK(cuda().mem_alloc(&pointer, 4096));
  EXPECT_EQ(cuda().mem_free(pointer + 512), Error::kInvalidValue);
  EXPECT_OK(cuda().mem_free(pointer));
  EXPECT_EQ(cuda().mem_free(pointer), Error::kInvalidValue);
  int local = 0;
  EXPECT_EQ(cuda().mem_free_host(&local), Error::kInvalidValue);
}

TEST_P(ConformanceMemory, PointersOfADevice) {
  const DevicePointer block = device_block(4096);
  MemoryType type = MemoryType::kNone;
  EXPECT_OK(cuda().pointer_get_attribute(&type, PointerAttribute::kMemoryType, block + 100));
  EXPECT_EQ(type, MemoryType::kDevice);
  int ordinal = -1;
  EXPECT_OK(cuda().pointer_get_attribute(&ordinal, PointerAttribute::kDeviceOrdinal, block));
  EXPECT_EQ(ordinal, 0);
  DevicePointer start = 0;
  EXPECT_OK(
      cuda().pointer_get_attribute(&start, PointerAttribute::kRangeStartAddress, block + 4095));
  EXPECT_EQ(start, block);
  std::size_t bytes = 0;
  EXPECT_OK(cuda().pointer_get_attribute(&bytes, PointerAttribute::kRangeSize, block));
  EXPECT_GE(bytes, 4096u);
  ContextHandle context = nullptr;
  EXPECT_OK(cuda().pointer_get_attribute(&context, PointerAttribute::kContext, block));
  EXPECT_EQ(context, context_);
  unsigned managed = 7;
  EXPECT_OK(cuda().pointer_get_attribute(&managed, PointerAttribute::kIsManaged, block));
  EXPECT_EQ(managed & 0xFF, 0u);
}

TEST_P(ConformanceMemory, PointersOfTheHost) {
  unsigned char* const memory = pinned(4096);
  MemoryType type = MemoryType::kNone;
  const auto number = reinterpret_cast<DevicePointer>(memory);
  EXPECT_OK(cuda().pointer_get_attribute(&type, PointerAttribute::kMemoryType, number + 4095));
  EXPECT_EQ(type, MemoryType::kHost);
  void* host = nullptr;
  EXPECT_OK(cuda().pointer_get_attribute(&host, PointerAttribute::kHostPointer, number + 8));
  EXPECT_EQ(host, memory + 8);
  int local = 0;
  EXPECT_EQ(cuda().pointer_get_attribute(&type, PointerAttribute::kMemoryType,
                                         reinterpret_cast<DevicePointer>(&local)),
            Error::kInvalidValue);
}

TEST_P(ConformanceMemory, RegisteredMemoryIsPinned) {
  alignas(4096) static unsigned char memory[8192];
  const auto number = reinterpret_cast<DevicePointer>(memory);
  EXPECT_EQ(cuda().mem_host_unregister(memory), Error::kHostMemoryNotRegistered);
  ASSERT_OK(cuda().mem_host_register(memory, sizeof memory, kHostRegisterPortable));
  EXPECT_EQ(cuda().mem_host_register(memory, sizeof memory, kHostRegisterPortable),
            Error::kHostMemoryAlreadyRegistered);
  MemoryType type = MemoryType::kNone;
  EXPECT_OK(cuda().pointer_get_attribute(&type, PointerAttribute::kMemoryType, number));
  EXPECT_EQ(type, MemoryType::kHost);
  EXPECT_OK(cuda().mem_host_unregister(memory));
  EXPECT_EQ(cuda().mem_host_unregister(memory), Error::kHostMemoryNotRegistered);
  EXPECT_EQ(cuda().mem_host_register(memory, 0, 0), Error::kInvalidValue);
}

}  // namespace
}  // namespace ashore::device
