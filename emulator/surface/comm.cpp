// The semantics and the words of torch/csrc/cuda/comm.cpp of PyTorch, over ordinary copies.
#include "comm.hpp"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>

namespace ashore::emulator::surface {
namespace {

c10::Device cuda(std::int64_t index) {
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

void check_not_negative(std::int64_t device) {
  TORCH_CHECK(device >= 0, "Expected non-negative device index, but got ", device);
}

void check_on_cuda(const at::Tensor& tensor, std::size_t index) {
  TORCH_CHECK(tensor.is_cuda(),
              "Expected all output tensors to be CUDA tensors, but output tensor at index ", index,
              " has device '", tensor.device(), "'");
}

/// While it lives, the streams made current in it stay so.
class StreamScope {
 public:
  StreamScope() : device_(current_device()) {}
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
  ~StreamScope() {
    for (auto before = before_.rbegin(); before != before_.rend(); ++before) {
      set_current_stream(*before);
    }
    set_current_device(device_);
  }

  void use(const Streams& streams, std::size_t index, std::int64_t device) {
    if (index >= streams.size() || !streams[index]) return;
    const StreamId stream = *streams[index];
    TORCH_CHECK(stream.device == device, "Expected the device associated with the stream at index ",
                index, " (was ", stream.device, ") to match the device supplied at that index ",
                "(expected ", device, ")");
    before_.push_back(current_stream(stream.device));
    set_current_stream(stream);
  }

 private:
  int device_;
  std::vector<StreamId> before_;
};

struct Gathered {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> chunk_sizes;
  std::int64_t dim = 0;
  bool is_channels_last = true;
};

Gathered check_gather(const Tensors& tensors, std::int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "Expected at least one tensor to gather from");
  Gathered result;
  result.dim = at::maybe_wrap_dim(dim, tensors.front().dim());
  result.shape = tensors.front().sizes().vec();
  const auto along = static_cast<std::size_t>(result.dim);
  std::int64_t total = 0;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const at::Tensor& tensor = tensors[index];
    TORCH_CHECK(tensor.is_cuda(),
                "Expected all input tensors to be CUDA tensors, but tensor at index ", index,
                " has device '", tensor.device(), "'");
    TORCH_CHECK(tensor.dim() == static_cast<std::int64_t>(result.shape.size()),
                "Expected all input tensors to have the same number of dimensions, but ",
                "tensor at index ", index, "has ", tensor.dim(), " dimensions, (expected ",
                result.shape.size(), ")");
    result.shape[along] = tensor.size(result.dim);
    TORCH_CHECK(tensor.sizes() == at::IntArrayRef(result.shape), "Input tensor at index ", index,
                " has invalid shape ", tensor.sizes(), ", but expected ",
                at::IntArrayRef(result.shape));
    total += tensor.size(result.dim);
    result.chunk_sizes.push_back(tensor.size(result.dim));
    result.is_channels_last =
        result.is_channels_last && tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
  }
  result.shape[along] = total;
  return result;
}

void copy_chunks(const Tensors& tensors, const Gathered& gathered, const at::Tensor& output) {
  const Tensors chunks = output.split_with_sizes(gathered.chunk_sizes, gathered.dim);
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    chunks[index].copy_(tensors[index], /*non_blocking=*/output.is_cuda());
  }
}

}  // namespace

Tensors broadcast(const at::Tensor& tensor, at::IntArrayRef devices) {
  for (const std::int64_t device : devices) check_not_negative(device);
  Tensors result;
  for (const std::int64_t device : devices) {
    if (tensor.is_cuda() && device == tensor.get_device()) {
      result.push_back(tensor);
    } else {
      result.push_back(at::empty(tensor.sizes(), tensor.options().device(cuda(device))));
      result.back().copy_(tensor, /*non_blocking=*/true);
    }
  }
  return result;
}

Tensors broadcast_out(const at::Tensor& tensor, Tensors outputs) {
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    check_on_cuda(outputs[index], index);
    TORCH_CHECK(outputs[index].sizes() == tensor.sizes(),
                "Expected all output tensors to have same shape as the source tensor ",
                tensor.sizes(), ", but output tensor at index ", index, " has shape ",
                outputs[index].sizes());
  }
  for (at::Tensor& output : outputs) output.copy_(tensor, /*non_blocking=*/true);
  return outputs;
}

std::vector<Tensors> broadcast_coalesced(const Tensors& tensors, at::IntArrayRef devices) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to broadcast to");
  TORCH_CHECK(std::all_of(tensors.begin(), tensors.end(),
                          [&](const at::Tensor& t) { return t.get_device() == devices[0]; }),
              "All tensors must be on devices[0]: ", devices[0]);
  std::vector<Tensors> result{tensors};
  // Copies that belong to nobody's graph and have version counters of their own.
  const c10::AutoGradMode no_grad(false);
  for (const std::int64_t device : devices.slice(1)) {
    check_not_negative(device);
    Tensors& copies = result.emplace_back();
    for (const at::Tensor& tensor : tensors) {
      copies.push_back(tensor.detach()
                           .to(cuda(device), tensor.scalar_type(), /*non_blocking=*/true,
                               /*copy=*/true)
                           .contiguous());
    }
  }
  return result;
}

Tensors scatter(const at::Tensor& tensor, at::IntArrayRef devices,
                const std::optional<std::vector<std::int64_t>>& chunk_sizes, std::int64_t dim,
                const Streams& streams) {
  TORCH_CHECK(!devices.empty(), "Expected at least one device to scatter to");
  TORCH_CHECK(!chunk_sizes || chunk_sizes->size() == devices.size(),
              "Expected devices and chunk_sizes to be of same length, but got len(devices) = ",
              devices.size(), " and len(chunk_sizes) = ", chunk_sizes ? chunk_sizes->size() : 0);
  dim = at::maybe_wrap_dim(dim, tensor.dim());
  Tensors chunks = chunk_sizes ? tensor.split_with_sizes(*chunk_sizes, dim)
                               : tensor.chunk(static_cast<std::int64_t>(devices.size()), dim);
  StreamScope scope;
  for (std::size_t index = 0; index < chunks.size(); ++index) {
    const std::int64_t device = devices[index];
    if (tensor.is_cuda() && device == tensor.get_device()) continue;
    scope.use(streams, index, device);
    check_not_negative(device);
    chunks[index] = chunks[index].to(tensor.options().device(cuda(device)), /*non_blocking=*/true,
                                     /*copy=*/false, at::MemoryFormat::Preserve);
  }
  return chunks;
}

Tensors scatter_out(const at::Tensor& tensor, Tensors outputs, std::int64_t dim,
                    const Streams& streams) {
  TORCH_CHECK(!outputs.empty(), "Expected at least one output tensor to scatter to");
  dim = at::maybe_wrap_dim(dim, tensor.dim());
  std::int64_t total = 0;
  std::vector<std::int64_t> chunk_sizes;
  for (std::size_t index = 0; index < outputs.size(); ++index) {
    check_on_cuda(outputs[index], index);
    std::vector<std::int64_t> shape = outputs[index].sizes().vec();
    const bool same_dims = shape.size() == static_cast<std::size_t>(tensor.dim());
    if (same_dims) {
      total += outputs[index].size(dim);
      chunk_sizes.push_back(outputs[index].size(dim));
      shape[static_cast<std::size_t>(dim)] = tensor.size(dim);
    }
    TORCH_CHECK(same_dims && at::IntArrayRef(shape) == tensor.sizes(), "Output tensor at index ",
                index, " has incorrect shape: ", outputs[index].sizes(),
                ". Expected same shape except for scatter dim ", dim,
                " as the source tensor: ", tensor.sizes());
  }
  TORCH_CHECK(total == tensor.size(dim), "Total size for output tensors along scatter dim ", dim,
              " does not match the source tensor size at dim ", dim, ". Expected ",
              tensor.size(dim), ", but got total size ", total);
  const Tensors chunks = tensor.split_with_sizes(chunk_sizes, dim);
  StreamScope scope;
  for (std::size_t index = 0; index < chunks.size(); ++index) {
    scope.use(streams, index, outputs[index].get_device());
    outputs[index].copy_(chunks[index], /*non_blocking=*/true);
  }
  return outputs;
}

at::Tensor gather(const Tensors& tensors, std::int64_t dim,
                  std::optional<std::int32_t> destination) {
  const Gathered gathered = check_gather(tensors, dim);
  const c10::Device device =
      destination == -1 ? c10::Device(c10::DeviceType::CPU) : cuda(destination.value_or(-1));
  const at::Tensor output = at::empty(
      gathered.shape, tensors.front().options().device(device),
      gathered.is_channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  copy_chunks(tensors, gathered, output);
  return output;
}

at::Tensor gather_out(const Tensors& tensors, at::Tensor output, std::int64_t dim) {
  const Gathered gathered = check_gather(tensors, dim);
  TORCH_CHECK(output.sizes() == at::IntArrayRef(gathered.shape),
              "Expected out tensor to have shape ", at::IntArrayRef(gathered.shape), ", but got ",
              output.sizes());
  copy_chunks(tensors, gathered, output);
  return output;
}

}  // namespace ashore::emulator::surface
