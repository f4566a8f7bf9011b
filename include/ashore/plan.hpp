// Plan: what will happen to one array on its way ashore, decided before anything moves. Pure.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dtype.hpp>
#include <ashore/layout.hpp>
#include <ashore/result.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace ashore {

/// When to copy (contract C1).
enum class Copy : std::uint8_t {
  kIfNeeded,  ///< share memory whenever nothing has to change
  kAlways,    ///< never share; the result is writable
  kNever,     ///< share, or fail with kInvalid
};

/// What the caller asks for.
struct Options {
  Copy copy = Copy::kIfNeeded;
  Order order = Order::kKeep;
  std::optional<DType> dtype;  ///< nothing: the source's own
  bool byte_swapped = false;   ///< with `dtype`: in the byte order that is not the machine's
};

/// What the other side can hold; a share that breaks one of these becomes a copy.
struct Target {
  bool read_only = true;          ///< can hold read-only memory
  bool any_stride = true;         ///< can hold negative strides and ones that are no whole elements
  bool unaligned = true;          ///< can hold elements off their natural alignment
  bool byte_swapped = true;       ///< can hold the other byte order
  bool writable_overlap = false;  ///< may hold overlapping elements writable (else read-only)
};

inline constexpr Target kNumPyTarget{};
inline constexpr Target kTorchTarget{false, false, false, false, true};

/// How the bytes travel.
enum class Path : std::uint8_t {
  kShare,      ///< no byte moves
  kHostCopy,   ///< one pass over host memory, cast and layout included
  kFramework,  ///< the owning framework's blocking copy to the host, then as above if needed
};

/// Why something has to change; a set of bits.
enum Reason : std::uint32_t {
  kAsked = 1u << 0,           ///< copy=True
  kCast = 1u << 1,            ///< another dtype
  kByteOrder = 1u << 2,       ///< another byte order
  kConjugate = 1u << 3,       ///< conj bit to resolve
  kNegate = 1u << 4,          ///< neg bit to resolve
  kReorder = 1u << 5,         ///< another order of axes
  kReadOnlySource = 1u << 6,  ///< the target cannot hold read-only memory
  kStrides = 1u << 7,         ///< the target cannot hold these strides
  kAlignment = 1u << 8,       ///< the target cannot hold unaligned memory
  kNoStorage = 1u << 9,       ///< a zero tensor without storage
  kDevice = 1u << 10,         ///< the memory is on a device
};

/// What will be done. Plain values; nothing is moved by making one.
struct Plan {
  Path path = Path::kShare;
  std::uint32_t reasons = 0;  ///< bits of Reason
  DType from = DType::kFloat32;
  DType to = DType::kFloat32;
  bool to_byte_swapped = false;
  Order order = Order::kKeep;
  bool read_only = false;        ///< the result will be read-only
  std::size_t bytes = 0;         ///< bytes of the result
  std::size_t copied_bytes = 0;  ///< bytes written on the way; 0 for a share
};

/// Decide what happens to `source`. Fails with kInvalid where copy=False meets a copy that is
/// unavoidable (the message names the reason and "copy"), with kUnsupported where no cast exists.
Result<Plan> make_plan(const SourceFacts& source, const Options& options, const Target& target);

/// Return the reasons as text, most important first ("another dtype (float32 to float64)").
std::string describe_reasons(const Plan& plan);

}  // namespace ashore
