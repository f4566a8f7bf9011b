// Casts and copies between host arrays. Called by the pipeline, by the Python bindings and by
// collect.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dtype.hpp>
#include <ashore/result.hpp>

#include <string>

namespace ashore {

/// What happens to the values before they are cast. Conjugation concerns complex dtypes alone.
struct Transform {
  bool conjugate = false;
  bool negate = false;  ///< times -1; integers wrap in their own width
};

/// What is known of the destination's memory.
enum class Memory : std::uint8_t {
  kFresh,   ///< perhaps never touched: its first use brings it into the caches anyhow
  kReused,  ///< a caller's, written before: large results go past the caches
  kPassed,  ///< results of any size go past the caches (for tests)
};

/// Say whether `convert` goes from one dtype to the other: everywhere but from complex to real, and
/// from or to an opaque dtype.
bool cast_exists(DType from, DType to) noexcept;

/// Fill `destination` with the elements of `source`, cast as NumPy's `astype` does (ml_dtypes'
/// casts for its types), in one pass over the bytes.
///
/// Same shape on both sides; any strides, alignment and byte order on either. Where the two overlap
/// in memory the result is as if the source had been copied first.
///
/// Floats become integers by cutting the fraction off. ashore's own rule where NumPy's result is
/// undefined: values out of range saturate, NaN becomes 0. Integers wrap into narrower ones.
///
/// Layouts are taken as checked (core/checked.hpp). In a destination whose elements overlap each
/// other, which of the values written to one place stays there is not said.
///
/// Fails with kInvalid (shapes differ, read-only destination, null data behind elements),
/// kUnsupported (no such cast) or kNoMemory (overlap, and no room for the copy).
Status convert(ArrayView source, ArrayView destination, Transform transform = {},
               Memory memory = Memory::kFresh);

/// Return in a few words how `convert` would go about it: the layout kernel (see tile.hpp;
/// "compact" for one run), what is done with the elements, the level of vector instructions, and
/// the threads if more than one. For `ashore.plan`.
std::string describe_kernels(const ArrayView& source, const ArrayView& destination,
                             Transform transform = {});

}  // namespace ashore
