// The plan, as a table: facts, options and target in, path, reasons and result out (contract C1-C6,
// N3, N11, T3).
#include <gtest/gtest.h>
#include <ashore/plan.hpp>

#include <string>
#include <vector>

#include "convert/convert.hpp"

namespace ashore {
namespace {

alignas(64) unsigned char g_memory[256];

struct Case {
  const char* what;
  SourceFacts source;
  Options options;
  Target target = kNumPyTarget;
  std::uint32_t reasons = 0;
  bool read_only = false;
};

class Facts {
 public:
  Facts(DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides)
      : shape_(std::move(shape)), strides_(std::move(strides)) {
    facts_.view.data = g_memory;
    facts_.view.dtype = dtype;
  }
  SourceFacts operator()() const {
    SourceFacts facts = facts_;
    facts.view.layout = {static_cast<int>(shape_.size()), shape_.data(), strides_.data()};
    return facts;
  }
  template <typename Change>
  SourceFacts with(Change change) const {
    SourceFacts facts = (*this)();
    change(facts);
    return facts;
  }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  SourceFacts facts_;
};

const Facts kPlain(DType::kFloat32, {2, 3}, {12, 4});
const Facts kTransposed(DType::kFloat32, {2, 3}, {4, 8});
const Facts kFlipped(DType::kFloat32, {3}, {-4});
const Facts kExpanded(DType::kFloat32, {2, 3}, {0, 4});
const Facts kExpandedOnce(DType::kFloat32, {1, 3}, {0, 4});
const Facts kRecordField(DType::kFloat32, {3}, {6});
const Facts kOddOnOne(DType::kFloat32, {1, 3}, {-7, 4});
const Facts kComplex(DType::kComplex64, {2}, {8});
const Facts kBytes(DType::kInt8, {2}, {1});
const Facts kEmptyFlipped(DType::kFloat32, {0}, {-4});
const Facts kEmptyTransposed(DType::kFloat32, {0, 3}, {4, 8});

const auto swapped = [](SourceFacts& f) { f.view.byte_swapped = true; };
const auto read_only = [](SourceFacts& f) { f.view.read_only = true; };
const auto conjugated = [](SourceFacts& f) { f.conjugated = true; };
const auto negated = [](SourceFacts& f) { f.negated = true; };
const auto zeros = [](SourceFacts& f) { f.zeros = true; };
const auto needs_grad = [](SourceFacts& f) { f.requires_grad = true; };
const auto off_by_two = [](SourceFacts& f) { f.view.data = g_memory + 2; };
const auto on_device = [](SourceFacts& f) {
  f.on_device = true;
  f.view.data = nullptr;
};

const Options kNothing;
const Options kAlways{Copy::kAlways, Order::kKeep, {}, false};
const Options kRows{Copy::kIfNeeded, Order::kRowMajor, {}, false};
const Options kToFloat32{Copy::kIfNeeded, Order::kKeep, DType::kFloat32, false};
const Options kToSwappedFloat32{Copy::kIfNeeded, Order::kKeep, DType::kFloat32, true};
const Options kToFloat64{Copy::kIfNeeded, Order::kKeep, DType::kFloat64, false};
const Options kToSwappedInt8{Copy::kIfNeeded, Order::kKeep, DType::kInt8, true};

std::vector<Case> cases() {
  return {
      {"nothing to do", kPlain(), kNothing},
      {"grad changes nothing", kPlain.with(needs_grad), kNothing},
      {"any strides are NumPy's", kFlipped(), kNothing},
      {"own dtype", kPlain(), kToFloat32},
      {"copy=True", kPlain(), kAlways, kNumPyTarget, kAsked},
      {"another dtype", kPlain(), kToFloat64, kNumPyTarget, kCast},
      {"read-only source", kPlain.with(read_only), kNothing, kNumPyTarget, 0, true},
      {"copy of a read-only source", kPlain.with(read_only), kAlways, kNumPyTarget, kAsked, false},
      // byte order
      {"NumPy keeps foreign byte order", kPlain.with(swapped), kNothing},
      {"foreign, native asked", kPlain.with(swapped), kToFloat32, kNumPyTarget, kByteOrder},
      {"foreign, foreign asked", kPlain.with(swapped), kToSwappedFloat32},
      {"native, foreign asked", kPlain(), kToSwappedFloat32, kNumPyTarget, kByteOrder},
      {"torch holds native alone", kPlain.with(swapped), kNothing, kTorchTarget, kByteOrder},
      {"a byte has no order", kBytes.with(swapped), kNothing, kTorchTarget},
      {"a byte has no order to ask for", kBytes(), kToSwappedInt8},
      {"foreign and cast", kPlain.with(swapped), kToFloat64, kNumPyTarget, kCast | kByteOrder},
      // lazy bits
      {"conj of complex", kComplex.with(conjugated), kNothing, kNumPyTarget, kConjugate},
      {"conj of a real dtype", kPlain.with(conjugated), kNothing},
      {"neg", kPlain.with(negated), kNothing, kNumPyTarget, kNegate},
      {"no storage", kPlain.with(zeros), kNothing, kNumPyTarget, kNoStorage},
      // order
      {"row-major already", kPlain(), kRows},
      {"row-major asked", kTransposed(), kRows, kNumPyTarget, kReorder},
      {"column-major kept", kTransposed(), kNothing},
      {"no elements have an order", kEmptyTransposed(), kRows},
      // what a target can hold
      {"torch: read-only", kPlain.with(read_only), kNothing, kTorchTarget, kReadOnlySource},
      {"torch: negative stride", kFlipped(), kNothing, kTorchTarget, kStrides},
      {"torch: odd stride", kRecordField(), kNothing, kTorchTarget, kStrides},
      {"torch: odd stride on one", kOddOnOne(), kNothing, kTorchTarget},
      {"torch: stride of nothing", kEmptyFlipped(), kNothing, kTorchTarget},
      {"torch: unaligned", kPlain.with(off_by_two), kNothing, kTorchTarget, kAlignment},
      {"NumPy: unaligned", kPlain.with(off_by_two), kNothing},
      {"NumPy: odd stride", kRecordField(), kNothing},
      // overlap
      {"NumPy: expanded is read-only", kExpanded(), kNothing, kNumPyTarget, 0, true},
      {"NumPy: expanded, copied", kExpanded(), kAlways, kNumPyTarget, kAsked, false},
      {"NumPy: length 1 is no overlap", kExpandedOnce(), kNothing},
      {"torch: expanded stays writable", kExpanded(), kNothing, kTorchTarget},
      // devices
      {"device", kPlain.with(on_device), kNothing, kNumPyTarget, kDevice},
      {"device and cast", kPlain.with(on_device), kToFloat64, kNumPyTarget, kDevice | kCast},
  };
}

TEST(Plan, Table) {
  for (const Case& row : cases()) {
    SCOPED_TRACE(row.what);
    const Result<Plan> made = make_plan(row.source, row.options, row.target);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Plan& plan = *made;
    EXPECT_EQ(plan.reasons, row.reasons) << describe_reasons(plan);
    EXPECT_EQ(plan.read_only, row.read_only);
    const Path path = row.reasons == 0       ? Path::kShare
                      : row.source.on_device ? Path::kFramework
                                             : Path::kHostCopy;
    EXPECT_EQ(plan.path, path);
    EXPECT_EQ(plan.from, row.source.view.dtype);
    EXPECT_EQ(plan.to, row.options.dtype.value_or(plan.from));
    const auto count = static_cast<std::size_t>(count_elems(row.source.view.layout));
    EXPECT_EQ(plan.bytes, count * size_bytes(plan.to));
    const std::size_t most = path == Path::kShare ? 0 : plan.bytes;
    EXPECT_GE(plan.copied_bytes, most);
    EXPECT_TRUE(path == Path::kFramework || plan.copied_bytes == most);
    EXPECT_EQ(describe_reasons(plan).empty(), row.reasons == 0);
  }
}

TEST(Plan, CopyFalseRefusesEveryReason) {
  for (const Case& row : cases()) {
    if (row.options.copy == Copy::kAlways) continue;
    SCOPED_TRACE(row.what);
    Options never = row.options;
    never.copy = Copy::kNever;
    const Result<Plan> plan = make_plan(row.source, never, row.target);
    ASSERT_EQ(plan.ok(), row.reasons == 0);
    if (plan.ok()) continue;
    EXPECT_EQ(plan.status().code(), Code::kInvalid);
    const std::string& message = plan.status().message();
    EXPECT_EQ(message.find("copy=False, but "), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ((row.reasons & kByteOrder) != 0, message.find("byte order") != std::string::npos);
  }
}

TEST(Plan, MessageOfOneReasonAndOfMore) {
  Options never = kToFloat64;
  never.copy = Copy::kNever;
  EXPECT_EQ(make_plan(kPlain(), never, kNumPyTarget).status().message(),
            "copy=False, but another dtype (float32 to float64) needs a copy; pass copy=None or "
            "copy=True");
  never.order = Order::kRowMajor;
  EXPECT_EQ(
      make_plan(kTransposed.with(swapped), never, kNumPyTarget).status().message(),
      "copy=False, but another dtype (float32 to float64), another byte order and another order "
      "of axes need a copy; pass copy=None or copy=True");
}

TEST(Plan, BytesOrderOfTheResult) {
  EXPECT_TRUE(make_plan(kPlain.with(swapped), kNothing, kNumPyTarget)->to_byte_swapped);
  EXPECT_FALSE(make_plan(kPlain.with(swapped), kNothing, kTorchTarget)->to_byte_swapped);
  EXPECT_TRUE(make_plan(kPlain(), kToSwappedFloat32, kNumPyTarget)->to_byte_swapped);
  EXPECT_FALSE(make_plan(kPlain(), kToSwappedFloat32, kTorchTarget)->to_byte_swapped);
  EXPECT_TRUE(make_plan(kPlain.with(swapped), kAlways, kNumPyTarget)->to_byte_swapped);
}

TEST(Plan, CastsThatDoNotExist) {
  for (int from = 0; from < kDTypeCount; ++from) {
    for (int to = 0; to < kDTypeCount; ++to) {
      const auto from_dtype = static_cast<DType>(from);
      const auto to_dtype = static_cast<DType>(to);
      Options options;
      options.dtype = to_dtype;
      const Facts facts(from_dtype, {2}, {static_cast<std::int64_t>(size_bytes(from_dtype))});
      const Result<Plan> plan = make_plan(facts(), options, kNumPyTarget);
      // The plan cannot ask convert (it comes before it), so the two must agree.
      ASSERT_EQ(plan.ok(), cast_exists(from_dtype, to_dtype)) << name(from_dtype) << name(to_dtype);
      if (plan.ok()) continue;
      EXPECT_EQ(plan.status().code(), Code::kUnsupported);
      const std::string& message = plan.status().message();
      const bool names_from = message.find(name(from_dtype)) != std::string::npos;
      const bool names_to = message.find(name(to_dtype)) != std::string::npos;
      EXPECT_TRUE(is_convertible(from_dtype) && is_convertible(to_dtype) ? names_from && names_to
                                                                         : names_from || names_to)
          << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
    }
  }
  Options to_bool;
  to_bool.dtype = DType::kBool;
  const Result<Plan> plan = make_plan(kComplex(), to_bool, kNumPyTarget);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message().find(".real or abs()"), std::string::npos);
}

TEST(Plan, MoreBytesThanThereAre) {
  const Facts facts(DType::kInt8, {std::int64_t{1} << 62}, {0});
  Options options;
  options.dtype = DType::kFloat64;
  const Result<Plan> plan = make_plan(facts(), options, kNumPyTarget);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace ashore
