// HostArrays, fresh and handed on as DLPack structs.
#include "emit/dlpack.hpp"

#include <gtest/gtest.h>
#include <ashore/to_host.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ingest/dlpack.hpp"

namespace ashore {
namespace {

TEST(HostArray, AllocatesForAnyLayout) {
  Result<HostArray> plain =
      HostArray::allocate(DType::kFloat32, Layout::row_major({2, 3}, 4).view());
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plain->data()) % 64, 0u);
  EXPECT_EQ(plain->count(), 6);
  EXPECT_EQ(plain->ndim(), 2);
  EXPECT_EQ(plain->shape(1), 3);
  EXPECT_EQ(plain->stride_bytes(0), 12);
  EXPECT_EQ(plain->dtype(), DType::kFloat32);
  EXPECT_FALSE(plain->read_only());

  // Negative strides: the first element is not the lowest in memory (AddressSanitizer watches).
  const std::int64_t shape[] = {3, 4};
  const std::int64_t strides[] = {-16, 4};
  Result<HostArray> flipped = HostArray::allocate(DType::kInt32, {2, shape, strides});
  ASSERT_TRUE(flipped.ok());
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t column = 0; column < 4; ++column) {
      *reinterpret_cast<std::int32_t*>(static_cast<char*>(flipped->data()) - 16 * row +
                                       4 * column) = 7;
    }
  }
  EXPECT_TRUE(HostArray::allocate(DType::kInt8, Layout::row_major({0}, 1).view()).ok());
  EXPECT_TRUE(HostArray::allocate(DType::kInt8, {}).ok());
}

TEST(HostArray, AllocationFailures) {
  const std::int64_t negative[] = {-1};
  const std::int64_t huge[] = {std::int64_t{1} << 61};
  const std::int64_t large[] = {std::int64_t{1} << 59};
  const std::int64_t step[] = {8};
  EXPECT_EQ(HostArray::allocate(DType::kFloat64, {1, negative, step}).status().code(),
            Code::kInvalid);
  EXPECT_EQ(HostArray::allocate(DType::kFloat64, {1, huge, step}).status().code(), Code::kInvalid);
  EXPECT_EQ(HostArray::allocate(DType::kFloat64, {65, huge, step}).status().code(), Code::kInvalid);
  EXPECT_EQ(HostArray::allocate(DType::kFloat64, {1, large, step}).status().code(),
            Code::kNoMemory);
}

TEST(DlpackEmit, SaysWhatTheArrayIs) {
  Result<HostArray> array =
      HostArray::allocate(DType::kComplex64, Layout::row_major({2, 3}, 8).view());
  ASSERT_TRUE(array.ok());
  Result<dlpack::ManagedTensorVersioned*> made = to_dlpack(*array);
  ASSERT_TRUE(made.ok());
  const dlpack::ManagedTensorVersioned& managed = **made;
  EXPECT_EQ(managed.version.major, 1u);
  EXPECT_EQ(managed.version.minor, 3u);
  EXPECT_EQ(managed.flags, 0u);
  EXPECT_EQ(managed.tensor.data, array->data());
  EXPECT_EQ(managed.tensor.byte_offset, 0u);
  EXPECT_EQ(managed.tensor.device.type, dlpack::kCPU);
  EXPECT_EQ(managed.tensor.dtype.code, dlpack::kComplex);
  EXPECT_EQ(managed.tensor.dtype.bits, 64);
  EXPECT_EQ(managed.tensor.dtype.lanes, 1);
  ASSERT_EQ(managed.tensor.ndim, 2);
  EXPECT_EQ(managed.tensor.shape[0], 2);
  EXPECT_EQ(managed.tensor.strides[0], 3);
  EXPECT_EQ(managed.tensor.strides[1], 1);
  (*made)->deleter(*made);
}

TEST(DlpackEmit, KeepsTheMemoryAlive) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  const std::int64_t shape[] = {4};
  const std::int64_t strides[] = {4};
  ArrayView view{owner->data(), DType::kFloat32, false, true, {1, shape, strides}};
  dlpack::ManagedTensorVersioned* managed = nullptr;
  {
    const HostArray array(view, std::move(owner));
    Result<dlpack::ManagedTensorVersioned*> made = to_dlpack(array);
    ASSERT_TRUE(made.ok());
    managed = *made;
  }
  EXPECT_EQ(managed->flags, dlpack::kReadOnly);
  EXPECT_FALSE(watch.expired());
  managed->deleter(managed);
  EXPECT_TRUE(watch.expired());
}

TEST(DlpackEmit, RoundTripsEveryDTypeThatHasACode) {
  int refused = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    Result<HostArray> array = HostArray::allocate(
        dtype, Layout::row_major({2, 3}, static_cast<std::int64_t>(size_bytes(dtype))).view());
    ASSERT_TRUE(array.ok());
    Result<dlpack::ManagedTensorVersioned*> made = to_dlpack(*array);
    if (!made.ok()) {
      ++refused;
      EXPECT_EQ(made.status().code(), Code::kUnsupported);
      EXPECT_NE(made.status().message().find(name(dtype)), std::string::npos);
      continue;
    }
    Result<ingest::Source> source = ingest::take(*made);
    ASSERT_TRUE(source.ok()) << source.status().message();
    EXPECT_EQ(source->facts().view.dtype, dtype);
    EXPECT_EQ(source->facts().view.data, array->data());
  }
  EXPECT_EQ(refused, kDTypeCount - (static_cast<int>(DType::kUInt4) + 1) + 3);
}

TEST(DlpackEmit, RefusesWhatDlpackCannotSay) {
  alignas(8) char memory[64] = {};
  const std::int64_t shape[] = {3};
  const std::int64_t odd[] = {6};
  const std::int64_t one[] = {1};
  ArrayView view{memory, DType::kFloat32, false, false, {1, shape, odd}};
  EXPECT_NE(to_dlpack(HostArray(view, nullptr)).status().message().find("stride of 6 bytes"),
            std::string::npos);
  view.layout.shape = one;  // one element: the stride says nothing
  Result<dlpack::ManagedTensorVersioned*> made = to_dlpack(HostArray(view, nullptr));
  ASSERT_TRUE(made.ok());
  (*made)->deleter(*made);
  view.byte_swapped = true;
  EXPECT_NE(to_dlpack(HostArray(view, nullptr)).status().message().find("byte order"),
            std::string::npos);
}

}  // namespace
}  // namespace ashore
