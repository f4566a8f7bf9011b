// The dtype tables: names, sizes, parts, and DLPack's codes.
#include <gtest/gtest.h>
#include <ashore/dtype.hpp>

#include <set>
#include <string>

#include "core/dlpack_dtype.hpp"

namespace ashore {
namespace {

DType dtype_at(int index) { return static_cast<DType>(index); }

TEST(DType, NamesAreUniqueAndLeadBack) {
  std::set<std::string> seen;
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::string text(name(dtype_at(i)));
    EXPECT_TRUE(seen.insert(text).second) << text;
    EXPECT_EQ(dtype_from_name(text), dtype_at(i)) << text;
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(dtype_from_name("float32 "), std::nullopt);
}

TEST(DType, NamesThatOthersSpell) {
  EXPECT_EQ(name(DType::kBool), "bool");
  EXPECT_EQ(name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(name(DType::kComplexLongDouble), "clongdouble");
  EXPECT_EQ(name(DType::kFloat8E4M3B11FNUZ), "float8_e4m3b11fnuz");
  EXPECT_EQ(name(DType::kFloat8E8M0FNU), "float8_e8m0fnu");
  EXPECT_EQ(name(DType::kFloat6E3M2FN), "float6_e3m2fn");
  EXPECT_EQ(name(DType::kUInt1), "uint1");
  EXPECT_EQ(name(DType::kFloat4E2M1FNx2), "float4_e2m1fn_x2");
  EXPECT_EQ(name(DType::kQUInt4x2), "quint4x2");
  EXPECT_EQ(name(DType::kBits16), "bits16");
}

TEST(DType, SizesAndParts) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = dtype_at(i);
    const DType part = part_dtype(dtype);
    SCOPED_TRACE(name(dtype));
    EXPECT_GT(size_bytes(dtype), 0u);
    EXPECT_LE(info(dtype).bits, 8 * size_bytes(dtype));
    EXPECT_EQ(is_complex(dtype), part != dtype);
    if (is_complex(dtype)) {
      EXPECT_EQ(2 * size_bytes(part), size_bytes(dtype));
      EXPECT_EQ(info(part).kind, DTypeKind::kFloat);
    }
    // Sizes are powers of two: the plan's stride test and the copy kernels count on it.
    EXPECT_EQ(size_bytes(dtype) & (size_bytes(dtype) - 1), 0u);
  }
  EXPECT_EQ(part_dtype(DType::kBComplex32), DType::kBFloat16);
  EXPECT_EQ(size_bytes(DType::kLongDouble), sizeof(long double));
  EXPECT_FALSE(is_convertible(DType::kInt3));
  EXPECT_FALSE(is_convertible(DType::kQInt8));
  EXPECT_TRUE(is_convertible(DType::kUInt4));
}

TEST(DType, DlpackCodesLeadThereAndBack) {
  int mapped = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = dtype_at(i);
    const std::optional<dlpack::DataType> type = dtype_to_dlpack(dtype);
    if (!type) continue;
    ++mapped;
    SCOPED_TRACE(name(dtype));
    EXPECT_EQ(dtype_from_dlpack(*type), dtype);
    EXPECT_EQ(type->lanes, 1);
    EXPECT_EQ(type->bits, info(dtype).bits);
  }
  // All that convert, but long double, its complex, and bcomplex32.
  EXPECT_EQ(mapped, static_cast<int>(DType::kUInt4) + 1 - 3);
  EXPECT_FALSE(dtype_to_dlpack(DType::kLongDouble));
  EXPECT_FALSE(dtype_to_dlpack(DType::kBComplex32));
  EXPECT_FALSE(dtype_to_dlpack(DType::kQInt8));
  EXPECT_EQ(dtype_from_dlpack({dlpack::kFloat, 80, 1}), std::nullopt);
  EXPECT_EQ(dtype_from_dlpack({dlpack::kBfloat, 32, 1}), std::nullopt);
  EXPECT_EQ(dtype_from_dlpack({dlpack::kBool, 1, 1}), std::nullopt);
  EXPECT_EQ(dtype_from_dlpack({99, 8, 1}), std::nullopt);
}

}  // namespace
}  // namespace ashore
