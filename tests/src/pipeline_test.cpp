// The pipeline from end to end: who owns what, what is shared, and what is refused.
#include <gtest/gtest.h>
#include <ashore/ashore.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/producer.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::Producer;
using testing::StridedArray;

const Options kAlways{Copy::kAlways, Order::kKeep, {}, false};
const Options kNever{Copy::kNever, Order::kKeep, {}, false};

std::vector<float> floats_of(const HostArray& array) {
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  std::memcpy(values.data(), array.data(), values.size() * sizeof(float));
  return values;
}

TEST(Pipeline, SharesADlpackTensorUntilTheLastCopyDies) {
  for (const bool versioned : {true, false}) {
    Producer producer({2, 3});
    std::optional<HostArray> outlives;
    {
      Result<HostArray> array =
          versioned ? to_host(producer.versioned()) : to_host(producer.plain(), kNever);
      ASSERT_TRUE(array.ok());
      EXPECT_EQ(array->data(), producer.values().data());
      EXPECT_FALSE(array->read_only());
      outlives = *array;
    }
    EXPECT_EQ(producer.deleted(), 0);
    EXPECT_EQ(floats_of(*outlives), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    outlives.reset();
    EXPECT_EQ(producer.deleted(), 1);
  }
}

TEST(Pipeline, CopiesLetTheProducerGoBeforeReturn) {
  Producer producer({2, 3});
  Result<HostArray> array = to_host(producer.versioned(), kAlways);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(producer.deleted(), 1);
  EXPECT_NE(array->data(), producer.values().data());
  EXPECT_EQ(floats_of(*array), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Pipeline, EmptyArraysLetTheProducerGoBeforeReturn) {
  Producer producer({2, 0, 3});
  producer.tensor().data = nullptr;
  Result<HostArray> array = to_host(producer.versioned());
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(producer.deleted(), 1);
  EXPECT_EQ(array->count(), 0);
  EXPECT_EQ(array->shape(2), 3);
  EXPECT_EQ(array->stride_bytes(0), 12);
}

TEST(Pipeline, ReadOnlyAndOverlappingSharesAreReadOnly) {
  Producer read_only({2});
  read_only.versioned()->flags = dlpack::kReadOnly;
  EXPECT_TRUE(to_host(read_only.versioned())->read_only());
  Producer expanded({2, 3});
  expanded.strides()[0] = 0;
  EXPECT_TRUE(to_host(expanded.versioned())->read_only());
  Producer copied({2, 3});
  copied.strides()[0] = 0;
  copied.versioned()->flags = dlpack::kReadOnly;
  Result<HostArray> array = to_host(copied.versioned(), kAlways);
  EXPECT_FALSE(array->read_only());
  EXPECT_EQ(array->count(), 6);
}

TEST(Pipeline, RefusalsDeleteOnceAndSayWhy) {
  struct Case {
    void (*prepare)(Producer&);
    Options options;
    Code code;
    const char* message_has;
  };
  Options to_float64;
  to_float64.dtype = DType::kFloat64;
  Options never_float64 = to_float64;
  never_float64.copy = Copy::kNever;
  const Case cases[] = {
      {[](Producer& p) {
         p.tensor().device = {dlpack::kCUDA, 1};
       },
       {},
       Code::kUnreachable,
       "CUDA device 1"},
      {[](Producer& p) {
         p.tensor().device = {dlpack::kCUDA, 1};
       },
       kNever, Code::kInvalid, "copy"},
      {[](Producer& p) {
         p.tensor().dtype = {dlpack::kComplex, 64, 1};
       },
       to_float64, Code::kUnsupported, "complex64"},
      {[](Producer&) {}, never_float64, Code::kInvalid, "float32 to float64"},
      {[](Producer& p) { p.versioned()->version.major = 3; }, {}, Code::kUnsupported, "version 3"},
      {[](Producer& p) { p.tensor().ndim = 1000; }, {}, Code::kUnsupported, "1000 dimensions"},
  };
  for (const Case& row : cases) {
    Producer producer({2});
    row.prepare(producer);
    Result<HostArray> array = to_host(producer.versioned(), row.options);
    ASSERT_FALSE(array.ok()) << row.message_has;
    EXPECT_EQ(array.status().code(), row.code);
    EXPECT_NE(array.status().message().find(row.message_has), std::string::npos)
        << array.status().message();
    EXPECT_EQ(producer.deleted(), 1);
  }
}

TEST(Pipeline, NoRoomForACopyDeletesOnce) {
  Producer producer({2});
  producer.shape()[0] = std::int64_t{1} << 58;
  producer.strides()[0] = 0;
  Result<HostArray> array = to_host(producer.versioned(), kAlways);
  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.status().code(), Code::kNoMemory);
  EXPECT_EQ(producer.deleted(), 1);
}

TEST(Pipeline, ViewsAreCopiedCastAndLaidOut) {
  StridedArray source = testing::row_of<float>(DType::kFloat32, {1, 2, 3, 4, 5, 6});
  const std::int64_t shape[] = {3, 2};
  const std::int64_t strides[] = {4, 12};  // the transpose of two rows of three
  ArrayView view = source.view();
  view.layout = {2, shape, strides};

  Result<HostArray> kept = to_host(view);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->stride_bytes(0), 4);
  EXPECT_EQ(kept->stride_bytes(1), 12);

  Options rows;
  rows.order = Order::kRowMajor;
  rows.dtype = DType::kFloat64;
  Result<HostArray> laid = to_host(view, rows);
  ASSERT_TRUE(laid.ok());
  std::vector<double> values(6);
  std::memcpy(values.data(), laid->data(), 48);
  EXPECT_EQ(values, (std::vector<double>{1, 4, 2, 5, 3, 6}));

  Options swapped;
  swapped.dtype = DType::kFloat32;
  swapped.byte_swapped = true;
  Result<HostArray> foreign = to_host(source.view(), swapped);
  ASSERT_TRUE(foreign.ok());
  EXPECT_TRUE(foreign->view().byte_swapped);
  EXPECT_EQ(std::memcmp(foreign->data(), "\x3F\x80\0\0\x40\0\0\0", 8), 0);
}

TEST(Pipeline, BadViewsAreValuesNotCrashes) {
  StridedArray source = testing::row_of<float>(DType::kFloat32, {1, 2});
  EXPECT_EQ(to_host(source.view(), kNever).status().code(), Code::kInvalid);
  const std::int64_t negative[] = {-2};
  const std::int64_t huge[] = {std::numeric_limits<std::int64_t>::max()};
  const std::int64_t two[] = {2};
  const std::int64_t step[] = {4};
  ArrayView view = source.view();
  const LayoutView bad[] = {
      {65, two, step}, {-1, two, step}, {1, negative, step}, {1, huge, step}, {1, two, huge}};
  for (const LayoutView& layout : bad) {
    view.layout = layout;
    EXPECT_EQ(to_host(view).status().code(), Code::kInvalid);
    EXPECT_EQ(convert_into(view, source.view()).code(), Code::kInvalid);
    EXPECT_EQ(convert_into(source.view(), view).code(), Code::kInvalid);
  }
  view.layout = {1, two, step};
  view.data = nullptr;
  EXPECT_EQ(to_host(view).status().code(), Code::kInvalid);
}

TEST(Pipeline, KnownFactsAreSharedWithTheirOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  const std::weak_ptr<void> alive = owner;
  const std::int64_t shape[] = {2};
  const std::int64_t strides[] = {4};
  SourceFacts facts;
  facts.view.data = owner->data();
  facts.view.layout = {1, shape, strides};
  std::optional<HostArray> shared = to_host(facts, owner, kNever).value();
  std::optional<HostArray> copied = to_host(facts, owner, kAlways).value();
  EXPECT_EQ(shared->data(), owner->data());
  EXPECT_EQ(to_host(facts, nullptr, kNever).status().code(), Code::kInvalid);
  EXPECT_NE(to_host(facts, nullptr)->data(), owner->data());
  owner.reset();
  EXPECT_EQ(floats_of(*shared), (std::vector<float>{1, 2}));
  shared.reset();
  EXPECT_TRUE(alive.expired());  // the copy let it go
  EXPECT_EQ(floats_of(*copied), (std::vector<float>{1, 2}));
}

TEST(Pipeline, KnownFactsAreResolvedOnTheWay) {
  StridedArray source = testing::row_of<float>(DType::kComplex64, {1, 2, 3, 4});
  const std::int64_t shape[] = {2};
  const std::int64_t strides[] = {8};
  SourceFacts facts;
  facts.view = source.view();
  facts.view.dtype = DType::kComplex64;
  facts.view.layout = {1, shape, strides};
  facts.conjugated = facts.negated = true;
  Result<HostArray> resolved = to_host(facts, std::make_shared<int>());
  ASSERT_TRUE(resolved.ok());
  std::vector<float> parts(4);
  std::memcpy(parts.data(), resolved->data(), 16);
  EXPECT_EQ(parts, (std::vector<float>{-1, 2, -3, 4}));

  facts.view.data = nullptr;
  EXPECT_EQ(to_host(facts, nullptr).status().code(), Code::kInvalid);
  facts.on_device = true;
  EXPECT_EQ(to_host(facts, nullptr).status().code(), Code::kUnreachable);
  facts.on_device = false;
  facts.zeros = true;
  Result<HostArray> zeros = to_host(facts, nullptr);
  ASSERT_TRUE(zeros.ok());
  std::memcpy(parts.data(), zeros->data(), 16);
  for (const float part : parts) EXPECT_EQ(part, 0.0f);
}

TEST(Pipeline, ConvertInto) {
  StridedArray source = testing::row_of<float>(DType::kFloat32, {1.5f, -2.5f, 300});
  StridedArray bytes(DType::kUInt8, Layout::row_major({3}, 1));
  ASSERT_TRUE(convert_into(source.view(), bytes.view()).ok());
  EXPECT_EQ(testing::values_of<std::uint8_t>(bytes), (std::vector<std::uint8_t>{1, 0, 255}));
  ArrayView read_only = bytes.view();
  read_only.read_only = true;
  EXPECT_EQ(convert_into(source.view(), read_only).code(), Code::kInvalid);
}

TEST(Pipeline, ThereAndBackThroughDlpack) {
  Producer producer({2, 3});
  Result<HostArray> first = to_host(producer.versioned());
  ASSERT_TRUE(first.ok());
  Result<dlpack::ManagedTensorVersioned*> out = to_dlpack(*first);
  ASSERT_TRUE(out.ok());
  {
    Result<HostArray> second = to_host(*out, kNever);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->data(), producer.values().data());
    first = Status(Code::kInvalid, "let go");
    EXPECT_EQ(producer.deleted(), 0);
  }
  EXPECT_EQ(producer.deleted(), 1);
}

}  // namespace
}  // namespace ashore
