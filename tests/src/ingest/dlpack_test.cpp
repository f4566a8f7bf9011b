// DLPack from outside: what a sound tensor says, and each way in which a hostile one is refused.
#include "ingest/dlpack.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/producer.hpp"

namespace ashore::ingest {
namespace {

using testing::Producer;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(DlpackIngest, ReadsASoundTensor) {
  Producer producer({2, 3});
  producer.tensor().byte_offset = 8;
  Result<Source> source = take(producer.versioned());
  ASSERT_TRUE(source.ok());
  const SourceFacts& facts = source->facts();
  EXPECT_EQ(facts.view.data, producer.values().data() + 2);
  EXPECT_EQ(facts.view.dtype, DType::kFloat32);
  EXPECT_FALSE(facts.view.read_only);
  EXPECT_FALSE(facts.on_device);
  ASSERT_EQ(facts.view.layout.ndim, 2);
  EXPECT_EQ(facts.view.layout.shape[1], 3);
  EXPECT_EQ(facts.view.layout.strides_bytes[0], 12);
  EXPECT_EQ(facts.view.layout.strides_bytes[1], 4);
  EXPECT_EQ(source->device().type, dlpack::kCPU);
  EXPECT_EQ(producer.deleted(), 0);
}

TEST(DlpackIngest, NullStridesAreRowMajor) {
  Producer producer({2, 0, 3}, /*with_strides=*/false);
  Result<Source> source = take(producer.plain());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts().view.layout.strides_bytes[0], 12);
  EXPECT_EQ(source->facts().view.layout.strides_bytes[2], 4);
}

TEST(DlpackIngest, ReadOnlyFlag) {
  Producer producer({2});
  producer.versioned()->flags = dlpack::kReadOnly | dlpack::kIsCopied;
  Result<Source> source = take(producer.versioned());
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(source->facts().view.read_only);
  EXPECT_EQ(source->flags(), dlpack::kReadOnly | dlpack::kIsCopied);
}

TEST(DlpackIngest, ZeroDimensionsAndSixtyFour) {
  Producer scalar({});
  scalar.tensor().shape = nullptr;
  scalar.tensor().strides = nullptr;
  EXPECT_TRUE(take(scalar.versioned()).ok());
  Producer most(std::vector<std::int64_t>(64, 1));
  Result<Source> source = take(most.versioned());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts().view.layout.ndim, 64);
}

TEST(DlpackIngest, NullDataWithoutElements) {
  Producer producer({3, 0});
  producer.tensor().data = nullptr;
  producer.tensor().byte_offset = 64;
  Result<Source> source = take(producer.versioned());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts().view.data, nullptr);
}

TEST(DlpackIngest, HostMemoryOfOtherNames) {
  for (const std::int32_t type : {dlpack::kCUDAHost, dlpack::kROCMHost}) {
    Producer producer({2});
    producer.tensor().device = {type, 1};
    Result<Source> source = take(producer.versioned());
    ASSERT_TRUE(source.ok());
    EXPECT_FALSE(source->facts().on_device);
    EXPECT_EQ(source->facts().view.data, producer.values().data());
  }
}

TEST(DlpackIngest, DeviceMemoryIsNeverLookedAt) {
  for (const std::int32_t type : {2, 4, 7, 8, 10, 12, 13, 14, 15, 16, 17, 18, 99, 0, -1}) {
    Producer producer({2});
    producer.tensor().device = {type, 3};
    producer.tensor().data = reinterpret_cast<void*>(std::uintptr_t{0xDEAD});
    producer.tensor().byte_offset = std::numeric_limits<std::uint64_t>::max();
    Result<Source> source = take(producer.versioned());
    ASSERT_TRUE(source.ok()) << type;
    EXPECT_TRUE(source->facts().on_device);
    EXPECT_EQ(source->facts().view.data, nullptr);
    EXPECT_EQ(source->facts().view.layout.shape[0], 2);
    EXPECT_EQ(source->device().id, 3);
  }
}

TEST(DlpackIngest, DeviceNames) {
  EXPECT_EQ(device_name({dlpack::kCUDA, 0}), "CUDA device 0");
  EXPECT_EQ(device_name({dlpack::kMetal, 1}), "Metal device 1");
  EXPECT_EQ(device_name({dlpack::kCPU, 0}), "CPU");
  EXPECT_EQ(device_name({99, 5}), "device type 99");
}

TEST(DlpackIngest, PaddedSmallIntegersAreTheOnesOfMlDtypes) {
  Producer producer({2});
  producer.tensor().dtype = {dlpack::kInt, 4, 1};
  producer.versioned()->flags = dlpack::kSubBytePadded;
  Result<Source> source = take(producer.versioned());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->facts().view.dtype, DType::kInt4);
  EXPECT_EQ(source->facts().view.layout.strides_bytes[0], 1);
}

struct Hostile {
  const char* what;
  std::function<void(Producer&)> harm;
  const char* message_has;
};

const Hostile kHostile[] = {
    {"negative dimensions", [](Producer& p) { p.tensor().ndim = -1; }, "-1 dimensions"},
    {"too many dimensions", [](Producer& p) { p.tensor().ndim = 65; }, "65 dimensions"},
    {"no shape", [](Producer& p) { p.tensor().shape = nullptr; }, "no shape"},
    {"negative length", [](Producer& p) { p.shape()[1] = -3; }, "length -3 on axis 1"},
    {"lanes", [](Producer& p) { p.tensor().dtype.lanes = 4; }, "float32"},
    {"lanes", [](Producer& p) { p.tensor().dtype.lanes = 4; }, "4 lanes"},
    {"no lanes", [](Producer& p) { p.tensor().dtype.lanes = 0; }, "0 lanes"},
    {"int4",
     [](Producer& p) {
       p.tensor().dtype = {dlpack::kInt, 4, 1};
     },
     "int4"},
    {"uint1",
     [](Producer& p) {
       p.tensor().dtype = {dlpack::kUInt, 1, 1};
     },
     "uint1"},
    {"int3",
     [](Producer& p) {
       p.tensor().dtype = {dlpack::kInt, 3, 1};
     },
     "int3"},
    {"fp4",
     [](Producer& p) {
       p.tensor().dtype = {17, 4, 1};
     },
     "float4_e2m1fn"},
    {"fp6",
     [](Producer& p) {
       p.tensor().dtype = {15, 6, 1};
     },
     "float6_e2m3fn"},
    {"packed fp4",
     [](Producer& p) {
       p.tensor().dtype = {17, 4, 2};
     },
     "float4_e2m1fn"},
    {"bits of bool",
     [](Producer& p) {
       p.tensor().dtype = {dlpack::kBool, 1, 1};
     },
     "bool1"},
    {"bits of float",
     [](Producer& p) {
       p.tensor().dtype = {dlpack::kFloat, 80, 1};
     },
     "float80"},
    {"bits of fp8",
     [](Producer& p) {
       p.tensor().dtype = {10, 16, 1};
     },
     "code 10, 16 bits"},
    {"opaque",
     [](Producer& p) {
       p.tensor().dtype = {3, 64, 1};
     },
     "opaque handle"},
    {"unknown code",
     [](Producer& p) {
       p.tensor().dtype = {200, 8, 1};
     },
     "code 200, 8 bits"},
    {"null data", [](Producer& p) { p.tensor().data = nullptr; }, "6 elements"},
    {"byte offset past the end",
     [](Producer& p) { p.tensor().byte_offset = std::numeric_limits<std::uint64_t>::max(); },
     "byte_offset"},
    {"byte offset just past the end",
     [](Producer& p) {
       p.tensor().byte_offset =
           0 - reinterpret_cast<std::uintptr_t>(p.tensor().data) - std::uint64_t{8};
     },
     "byte_offset"},
    {"stride that overflows in bytes", [](Producer& p) { p.strides()[0] = kHuge; }, "63 bits"},
    {"stride that overflows below", [](Producer& p) { p.strides()[0] = -kHuge; }, "63 bits"},
    {"reach that overflows", [](Producer& p) { p.strides()[1] = kHuge / 4; }, "63 bits"},
    {"reach below address 0", [](Producer& p) { p.strides()[0] = -(kHuge / 8); }, "address space"},
    {"count that overflows",
     [](Producer& p) {
       p.shape()[0] = kHuge;
       p.strides()[0] = 0;
     },
     "63 bits"},
    {"row-major count that overflows",
     [](Producer& p) {
       p.shape()[0] = kHuge;
       p.tensor().strides = nullptr;
     },
     "63 bits"},
};

TEST(DlpackIngest, HostileTensorsAreRefusedAndDeletedOnce) {
  for (const Hostile& row : kHostile) {
    SCOPED_TRACE(row.what);
    for (const bool versioned : {true, false}) {
      Producer producer({2, 3});
      row.harm(producer);
      Result<Source> source = versioned ? take(producer.versioned()) : take(producer.plain());
      ASSERT_FALSE(source.ok());
      EXPECT_EQ(source.status().code(), Code::kUnsupported);
      EXPECT_NE(source.status().message().find(row.message_has), std::string::npos)
          << source.status().message();
      EXPECT_EQ(source.status().message().find('\n'), std::string::npos);
      EXPECT_EQ(producer.deleted(), 1);
    }
  }
}

TEST(DlpackIngest, AnotherMajorVersionTouchesNothingElse) {
  Producer producer({2});
  // Whatever a later version puts here must not be read.
  producer.tensor().shape = reinterpret_cast<std::int64_t*>(std::uintptr_t{0x10});
  producer.tensor().ndim = 7;
  producer.versioned()->version = {2, 7};
  Result<Source> source = take(producer.versioned());
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().code(), Code::kUnsupported);
  EXPECT_NE(source.status().message().find("version 2.7"), std::string::npos);
  EXPECT_EQ(producer.deleted(), 1);
}

TEST(DlpackIngest, ALaterMinorVersionIsFine) {
  Producer producer({2});
  producer.versioned()->version = {1, 99};
  EXPECT_TRUE(take(producer.versioned()).ok());
  EXPECT_EQ(producer.deleted(), 1);
}

TEST(DlpackIngest, NullStructAndNullDeleter) {
  EXPECT_FALSE(take(static_cast<dlpack::ManagedTensorVersioned*>(nullptr)).ok());
  EXPECT_FALSE(take(static_cast<dlpack::ManagedTensor*>(nullptr)).ok());
  Producer producer({2});
  producer.versioned()->deleter = nullptr;
  EXPECT_TRUE(take(producer.versioned()).ok());
  EXPECT_EQ(producer.deleted(), 0);
}

bool points_into_itself(const Source& source) {
  const auto* inside = reinterpret_cast<const char*>(source.facts().view.layout.shape);
  const auto* begin = reinterpret_cast<const char*>(&source);
  return inside >= begin && inside < begin + sizeof(source);
}

TEST(DlpackIngest, MovesKeepTheFactsAndDeleteOnce) {
  Producer first({2, 3});
  Producer second({4});
  {
    Result<Source> taken = take(first.versioned());
    ASSERT_TRUE(taken.ok());
    Source moved(std::move(*taken));
    EXPECT_EQ(moved.facts().view.layout.shape[1], 3);
    EXPECT_TRUE(points_into_itself(moved));

    Result<Source> other = take(second.plain());
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(first.deleted(), 0);
    moved = std::move(*other);
    EXPECT_EQ(first.deleted(), 1);
    EXPECT_EQ(moved.facts().view.layout.shape[0], 4);
    EXPECT_TRUE(points_into_itself(moved));
    EXPECT_EQ(second.deleted(), 0);
  }
  EXPECT_EQ(first.deleted(), 1);
  EXPECT_EQ(second.deleted(), 1);
}

TEST(DlpackIngest, ReleaseHandsTheDeleterOver) {
  Producer producer({2});
  Source::KeepAlive keep_alive(nullptr, nullptr);
  {
    Result<Source> source = take(producer.versioned());
    ASSERT_TRUE(source.ok());
    keep_alive = source->release();
  }
  EXPECT_EQ(producer.deleted(), 0);
  keep_alive.reset();
  EXPECT_EQ(producer.deleted(), 1);
}

}  // namespace
}  // namespace ashore::ingest
