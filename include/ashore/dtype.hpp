// DType: the element types that cross the border, and what is known of each. Used everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ashore {

/// Every element type of PyTorch, NumPy and ml_dtypes that ashore knows by name.
///
/// Small integers and floats of fewer than 8 bits occupy a byte each, as in ml_dtypes. The packed
/// and quantized types of PyTorch are known by name only, so that a refusal can name them.
enum class DType : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kLongDouble,
  kComplex32,   ///< two float16
  kBComplex32,  ///< two bfloat16
  kComplex64,
  kComplex128,
  kComplexLongDouble,
  kFloat8E3M4,
  kFloat8E4M3,
  kFloat8E4M3B11FNUZ,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kFloat8E8M0FNU,
  kFloat6E2M3FN,
  kFloat6E3M2FN,
  kFloat4E2M1FN,
  kInt1,
  kInt2,
  kInt4,
  kUInt1,
  kUInt2,
  kUInt4,
  // From here on by name only: nothing converts them.
  kInt3,
  kInt5,
  kInt6,
  kInt7,
  kUInt3,
  kUInt5,
  kUInt6,
  kUInt7,
  kFloat4E2M1FNx2,
  kQInt8,
  kQUInt8,
  kQInt32,
  kQUInt4x2,
  kQUInt2x4,
  kBits1x8,
  kBits2x4,
  kBits4x2,
  kBits8,
  kBits16,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kBits16) + 1;

/// The family of a dtype; kOpaque ones have a name and a size but no conversion.
enum class DTypeKind : std::uint8_t { kBool, kInt, kUInt, kFloat, kComplex, kOpaque };

/// What is known of one dtype.
struct DTypeInfo {
  std::string_view name;  ///< the field's own name, as `torch.` and NumPy spell it
  DTypeKind kind;
  std::uint8_t bits;        ///< significant bits of one element
  std::uint8_t size_bytes;  ///< bytes from one element to the next
};

/// Return the row of the dtype table for `dtype`.
const DTypeInfo& info(DType dtype) noexcept;

inline std::string_view name(DType dtype) noexcept { return info(dtype).name; }
inline std::size_t size_bytes(DType dtype) noexcept { return info(dtype).size_bytes; }
inline bool is_complex(DType dtype) noexcept { return info(dtype).kind == DTypeKind::kComplex; }
inline bool is_convertible(DType dtype) noexcept { return info(dtype).kind != DTypeKind::kOpaque; }

/// Return the dtype of that name ("float32", "bfloat16", "longdouble", …), or nothing.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

/// Return the dtype of one part of a complex dtype; any other dtype is its own part.
DType part_dtype(DType dtype) noexcept;

}  // namespace ashore
