// The dtype table: one row for each DType. Read by every stage.
#include <ashore/dtype.hpp>

#include <array>
#include <cfloat>

namespace ashore {
namespace {

constexpr std::uint8_t kLongDoubleBits = LDBL_MANT_DIG == 64 ? 80 : 8 * sizeof(long double);

struct Row {
  DType dtype;
  DTypeInfo info;
};

using enum DTypeKind;

// In the order of the enum (checked below). Names are PyTorch's, NumPy's and ml_dtypes' own.
constexpr Row kRows[] = {
    {DType::kBool, {"bool", kBool, 8, 1}},
    {DType::kInt8, {"int8", kInt, 8, 1}},
    {DType::kInt16, {"int16", kInt, 16, 2}},
    {DType::kInt32, {"int32", kInt, 32, 4}},
    {DType::kInt64, {"int64", kInt, 64, 8}},
    {DType::kUInt8, {"uint8", kUInt, 8, 1}},
    {DType::kUInt16, {"uint16", kUInt, 16, 2}},
    {DType::kUInt32, {"uint32", kUInt, 32, 4}},
    {DType::kUInt64, {"uint64", kUInt, 64, 8}},
    {DType::kFloat16, {"float16", kFloat, 16, 2}},
    {DType::kBFloat16, {"bfloat16", kFloat, 16, 2}},
    {DType::kFloat32, {"float32", kFloat, 32, 4}},
    {DType::kFloat64, {"float64", kFloat, 64, 8}},
    {DType::kLongDouble, {"longdouble", kFloat, kLongDoubleBits, sizeof(long double)}},
    {DType::kComplex32, {"complex32", kComplex, 32, 4}},
    {DType::kBComplex32, {"bcomplex32", kComplex, 32, 4}},
    {DType::kComplex64, {"complex64", kComplex, 64, 8}},
    {DType::kComplex128, {"complex128", kComplex, 128, 16}},
    {DType::kComplexLongDouble,
     {"clongdouble", kComplex, static_cast<std::uint8_t>(2 * kLongDoubleBits % 256),
      2 * sizeof(long double)}},
    {DType::kFloat8E3M4, {"float8_e3m4", kFloat, 8, 1}},
    {DType::kFloat8E4M3, {"float8_e4m3", kFloat, 8, 1}},
    {DType::kFloat8E4M3B11FNUZ, {"float8_e4m3b11fnuz", kFloat, 8, 1}},
    {DType::kFloat8E4M3FN, {"float8_e4m3fn", kFloat, 8, 1}},
    {DType::kFloat8E4M3FNUZ, {"float8_e4m3fnuz", kFloat, 8, 1}},
    {DType::kFloat8E5M2, {"float8_e5m2", kFloat, 8, 1}},
    {DType::kFloat8E5M2FNUZ, {"float8_e5m2fnuz", kFloat, 8, 1}},
    {DType::kFloat8E8M0FNU, {"float8_e8m0fnu", kFloat, 8, 1}},
    {DType::kFloat6E2M3FN, {"float6_e2m3fn", kFloat, 6, 1}},
    {DType::kFloat6E3M2FN, {"float6_e3m2fn", kFloat, 6, 1}},
    {DType::kFloat4E2M1FN, {"float4_e2m1fn", kFloat, 4, 1}},
    {DType::kInt1, {"int1", kInt, 1, 1}},
    {DType::kInt2, {"int2", kInt, 2, 1}},
    {DType::kInt4, {"int4", kInt, 4, 1}},
    {DType::kUInt1, {"uint1", kUInt, 1, 1}},
    {DType::kUInt2, {"uint2", kUInt, 2, 1}},
    {DType::kUInt4, {"uint4", kUInt, 4, 1}},
    {DType::kInt3, {"int3", kOpaque, 3, 1}},
    {DType::kInt5, {"int5", kOpaque, 5, 1}},
    {DType::kInt6, {"int6", kOpaque, 6, 1}},
    {DType::kInt7, {"int7", kOpaque, 7, 1}},
    {DType::kUInt3, {"uint3", kOpaque, 3, 1}},
    {DType::kUInt5, {"uint5", kOpaque, 5, 1}},
    {DType::kUInt6, {"uint6", kOpaque, 6, 1}},
    {DType::kUInt7, {"uint7", kOpaque, 7, 1}},
    {DType::kFloat4E2M1FNx2, {"float4_e2m1fn_x2", kOpaque, 8, 1}},
    {DType::kQInt8, {"qint8", kOpaque, 8, 1}},
    {DType::kQUInt8, {"quint8", kOpaque, 8, 1}},
    {DType::kQInt32, {"qint32", kOpaque, 32, 4}},
    {DType::kQUInt4x2, {"quint4x2", kOpaque, 8, 1}},
    {DType::kQUInt2x4, {"quint2x4", kOpaque, 8, 1}},
    {DType::kBits1x8, {"bits1x8", kOpaque, 8, 1}},
    {DType::kBits2x4, {"bits2x4", kOpaque, 8, 1}},
    {DType::kBits4x2, {"bits4x2", kOpaque, 8, 1}},
    {DType::kBits8, {"bits8", kOpaque, 8, 1}},
    {DType::kBits16, {"bits16", kOpaque, 16, 2}},
};

constexpr bool rows_follow_the_enum() {
  int expected = 0;
  for (const Row& row : kRows) {
    if (static_cast<int>(row.dtype) != expected++) return false;
  }
  return expected == kDTypeCount;
}
static_assert(rows_follow_the_enum());

}  // namespace

const DTypeInfo& info(DType dtype) noexcept { return kRows[static_cast<int>(dtype)].info; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const Row& row : kRows) {
    if (row.info.name == name) return row.dtype;
  }
  return std::nullopt;
}

DType part_dtype(DType dtype) noexcept {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kBComplex32:
      return DType::kBFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    case DType::kComplexLongDouble:
      return DType::kLongDouble;
    default:
      return dtype;
  }
}

}  // namespace ashore
