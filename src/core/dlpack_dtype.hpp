// DLPack's element types and ours, in one table. Called by ingest (in) and emit (out).
#pragma once

#include <ashore/dlpack.hpp>
#include <ashore/dtype.hpp>

#include <optional>

namespace ashore {

/// Return the dtype that DLPack calls `type` (its lanes do not count), or nothing.
std::optional<DType> dtype_from_dlpack(dlpack::DataType type) noexcept;

/// Return what DLPack calls `dtype`, or nothing (long double, bcomplex32 and opaque ones).
std::optional<dlpack::DataType> dtype_to_dlpack(DType dtype) noexcept;

}  // namespace ashore
