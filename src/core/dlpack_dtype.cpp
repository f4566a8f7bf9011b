// The table of DLPack's element types; ingest reads it one way, emit the other.
#include "core/dlpack_dtype.hpp"

namespace ashore {
namespace {

struct Row {
  DType dtype;
  dlpack::TypeCode code;
  std::uint8_t bits;
};

// The common ones first: the hot path looks a dtype up by walking down the table.
// Long double is left out on purpose: its bits differ by machine, so NumPy refuses it as well.
constexpr Row kRows[] = {
    {DType::kFloat32, dlpack::kFloat, 32},
    {DType::kInt64, dlpack::kInt, 64},
    {DType::kBFloat16, dlpack::kBfloat, 16},
    {DType::kFloat16, dlpack::kFloat, 16},
    {DType::kFloat64, dlpack::kFloat, 64},
    {DType::kUInt8, dlpack::kUInt, 8},
    {DType::kInt32, dlpack::kInt, 32},
    {DType::kBool, dlpack::kBool, 8},
    {DType::kInt8, dlpack::kInt, 8},
    {DType::kInt16, dlpack::kInt, 16},
    {DType::kUInt16, dlpack::kUInt, 16},
    {DType::kUInt32, dlpack::kUInt, 32},
    {DType::kUInt64, dlpack::kUInt, 64},
    {DType::kComplex64, dlpack::kComplex, 64},
    {DType::kComplex128, dlpack::kComplex, 128},
    {DType::kComplex32, dlpack::kComplex, 32},
    {DType::kFloat8E4M3FN, dlpack::kFloat8E4M3FN, 8},
    {DType::kFloat8E5M2, dlpack::kFloat8E5M2, 8},
    {DType::kFloat8E4M3FNUZ, dlpack::kFloat8E4M3FNUZ, 8},
    {DType::kFloat8E5M2FNUZ, dlpack::kFloat8E5M2FNUZ, 8},
    {DType::kFloat8E8M0FNU, dlpack::kFloat8E8M0FNU, 8},
    {DType::kFloat8E3M4, dlpack::kFloat8E3M4, 8},
    {DType::kFloat8E4M3, dlpack::kFloat8E4M3, 8},
    {DType::kFloat8E4M3B11FNUZ, dlpack::kFloat8E4M3B11FNUZ, 8},
    {DType::kFloat6E2M3FN, dlpack::kFloat6E2M3FN, 6},
    {DType::kFloat6E3M2FN, dlpack::kFloat6E3M2FN, 6},
    {DType::kFloat4E2M1FN, dlpack::kFloat4E2M1FN, 4},
    {DType::kInt1, dlpack::kInt, 1},
    {DType::kInt2, dlpack::kInt, 2},
    {DType::kInt4, dlpack::kInt, 4},
    {DType::kUInt1, dlpack::kUInt, 1},
    {DType::kUInt2, dlpack::kUInt, 2},
    {DType::kUInt4, dlpack::kUInt, 4},
};

}  // namespace

std::optional<DType> dtype_from_dlpack(dlpack::DataType type) noexcept {
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits) return row.dtype;
  }
  return std::nullopt;
}

std::optional<dlpack::DataType> dtype_to_dlpack(DType dtype) noexcept {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return dlpack::DataType{row.code, row.bits, 1};
  }
  return std::nullopt;
}

}  // namespace ashore
