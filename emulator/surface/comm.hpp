// Broadcast, scatter and gather between devices: what torch.nn.parallel.comm and DataParallel stand
// on.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "emulator.hpp"

namespace ashore::emulator::surface {

using Tensors = std::vector<at::Tensor>;
/// For each output the stream to copy on; absent: the current one.
using Streams = std::vector<std::optional<StreamId>>;

Tensors broadcast(const at::Tensor& tensor, at::IntArrayRef devices);
Tensors broadcast_out(const at::Tensor& tensor, Tensors outputs);
/// The tensors on each of the devices; the first device's are the tensors themselves.
std::vector<Tensors> broadcast_coalesced(const Tensors& tensors, at::IntArrayRef devices);
Tensors scatter(const at::Tensor& tensor, at::IntArrayRef devices,
                const std::optional<std::vector<std::int64_t>>& chunk_sizes, std::int64_t dim,
                const Streams& streams);
Tensors scatter_out(const at::Tensor& tensor, Tensors outputs, std::int64_t dim,
                    const Streams& streams);
/// Destination -1 is the host; absent: the current device.
at::Tensor gather(const Tensors& tensors, std::int64_t dim,
                  std::optional<std::int32_t> destination);
at::Tensor gather_out(const Tensors& tensors, at::Tensor output, std::int64_t dim);

}  // namespace ashore::emulator::surface
