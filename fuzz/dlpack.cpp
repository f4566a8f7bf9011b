// Fuzzes ingest of DLPack structs: whatever the fields say, no crash, and the deleter runs exactly
// once.
#include <ashore/to_host.hpp>

#include <cstdlib>
#include <vector>

#include "bytes.hpp"

namespace {

namespace dlpack = ashore::dlpack;

constexpr std::size_t kMemory = 4096;
alignas(64) char g_memory[kMemory];
int g_deleted;

// Say whether all that shape and strides reach lies in the memory, counted as wide as it takes.
bool is_inside(const dlpack::Tensor& tensor, std::int64_t item_bytes) {
  __int128 low = tensor.byte_offset, high = static_cast<__int128>(tensor.byte_offset) + item_bytes;
  __int128 compact = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] < 0) return false;
    const __int128 stride = tensor.strides != nullptr ? tensor.strides[axis] : compact;
    constexpr std::int64_t kFar = std::int64_t{1} << 40;  // beyond it nothing is inside
    if (stride > kFar || stride < -kFar || tensor.shape[axis] > kFar) return false;
    const __int128 reach = stride * (tensor.shape[axis] - 1) * item_bytes;
    (reach < 0 ? low : high) += reach;
    compact *= tensor.shape[axis];
    if (compact > static_cast<__int128>(kMemory)) return false;
  }
  return low >= 0 && high <= static_cast<__int128>(kMemory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ashore::fuzz::Bytes input(data, size);
  dlpack::ManagedTensorVersioned managed{};
  const int flags = input.below(256);
  managed.version = {(flags & 1) != 0 ? input.take<std::uint32_t>() : dlpack::kMajorVersion,
                     input.take<std::uint32_t>()};
  managed.flags = input.take<std::uint8_t>();
  managed.deleter = [](dlpack::ManagedTensorVersioned*) { ++g_deleted; };
  dlpack::Tensor& tensor = managed.tensor;
  tensor.data = (flags & 2) != 0 ? nullptr : g_memory;
  tensor.device = {(flags & 4) != 0 ? input.take<std::int32_t>() : dlpack::kCPU, 0};
  tensor.ndim = (flags & 8) != 0 ? input.take<std::int32_t>() : input.below(6);
  tensor.dtype = {
      static_cast<std::uint8_t>(input.below(20)),
      static_cast<std::uint8_t>((flags & 16) != 0 ? input.below(256) : 8 << input.below(5)),
      static_cast<std::uint16_t>((flags & 32) != 0 ? input.below(4) : 1)};
  std::vector<std::int64_t> shape(64), strides(64);
  for (int axis = 0; axis < 64; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    shape[i] = (flags & 64) != 0 ? input.take<std::int64_t>() : input.below(6);
    strides[i] = (flags & 64) != 0 ? input.take<std::int64_t>() : input.below(64) - 32;
  }
  tensor.shape = shape.data();
  tensor.strides = (flags & 128) != 0 ? nullptr : strides.data();
  tensor.byte_offset =
      (flags & 64) != 0 ? input.take<std::uint64_t>() : input.take<std::uint16_t>() % kMemory;

  ashore::Options options;
  options.copy = static_cast<ashore::Copy>(input.below(3));
  if (input.below(2) == 1)
    options.dtype = static_cast<ashore::DType>(input.below(ashore::kDTypeCount));
  g_deleted = 0;
  // Beyond our memory only a share, which reads nothing, may be tried.
  const bool sane = tensor.ndim >= 0 && tensor.ndim <= 64 && is_inside(tensor, 16);
  if (!sane) {
    options.copy = ashore::Copy::kNever;
    options.dtype.reset();
  }
  {
    const auto array = ashore::to_host(&managed, options);
    if (array.ok() && g_deleted > 1) std::abort();
    if (!array.ok() && (g_deleted != 1 || array.status().message().empty())) std::abort();
  }
  if (g_deleted != 1) std::abort();
  return 0;
}
