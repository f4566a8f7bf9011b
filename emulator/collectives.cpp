// torch.distributed on CUDA tensors. Most of the gloo backend is in PyTorch's CPU build; missing
// are its all_reduce, which reduce_scatter and DistributedDataParallel call, and the timer of the
// latter. A real all_reduce copies to pinned memory, reduces there and copies back; this one lets
// the CPU's reduce the bytes in place.
#include <ATen/ThreadLocalState.h>
#include <c10/util/Registry.h>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "alias.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace gloo {
class Context;
}

// From torch/csrc/distributed/c10d/ProcessGroupGloo.hpp, which cannot be included: it needs Gloo's
// headers, and PyTorch's wheel has none.
namespace c10d {

class ProcessGroupGloo {
 public:
  class TORCH_API AsyncWork : public Work {
   public:
    explicit AsyncWork(std::shared_ptr<gloo::Context> context,
                       std::vector<std::vector<at::Tensor>> outputs, OpType op, uint64_t sequence,
                       std::chrono::milliseconds timeout, const char* profiling_title = nullptr,
                       const std::optional<std::vector<at::Tensor>>& inputs = std::nullopt);
    ~AsyncWork() override = default;
    virtual void run() = 0;
    std::vector<at::Tensor> result() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    uint64_t getSequencenumber() const override;
    virtual const std::vector<at::Tensor> getInputTensors() = 0;
    virtual const std::vector<at::Tensor> getOutputTensors() = 0;

   protected:
    std::optional<uint64_t> trace_id_;
    std::optional<uint64_t> trace_reset_epoch_;
    std::shared_ptr<gloo::Context> context_;
    const std::chrono::milliseconds timeout_;

   private:
    const std::vector<std::vector<at::Tensor>> outputs_;
    c10::intrusive_ptr<at::ivalue::Future> future_;
    std::function<void()> before_callback_;
    const uint64_t sequence_;
    std::string profiling_title_;
    at::ThreadLocalState state_;
  };
};

C10_DECLARE_TYPED_REGISTRY(GlooAllreduceRegistry, c10::DeviceType, ProcessGroupGloo::AsyncWork,
                           c10::intrusive_ptr, std::shared_ptr<gloo::Context>,
                           std::vector<at::Tensor>&, ReduceOp, uint32_t, uint64_t,
                           std::chrono::milliseconds);

}  // namespace c10d

namespace ashore::emulator {

namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Base = c10d::ProcessGroupGloo::AsyncWork;

class AllReduce final : public Base {
 public:
  AllReduce(std::shared_ptr<gloo::Context> context, Tensors& tensors, c10d::ReduceOp op,
            std::uint32_t tag, std::uint64_t sequence, std::chrono::milliseconds timeout)
      : Base(context, {tensors}, c10d::OpType::ALLREDUCE, sequence, timeout, "gloo:all_reduce",
             tensors),
        tensors_(tensors) {
    begin_kernel(tensors.front().get_device());
    Aliases aliases(tensors.front().get_device());
    Tensors host;
    for (const Tensor& tensor : tensors) host.push_back(aliases.to_host(tensor));
    on_host_ = c10d::GlooAllreduceRegistry()->Create(c10::DeviceType::CPU, std::move(context), host,
                                                     std::move(op), tag, sequence, timeout);
  }

  void run() override { on_host_->run(); }  // on a thread of gloo's
  const Tensors getInputTensors() override { return tensors_; }
  const Tensors getOutputTensors() override { return tensors_; }

 private:
  Tensors tensors_;
  c10::intrusive_ptr<Base> on_host_;
};

// Kernels run at once: the host's clock tells their time.
class HostTimer final : public c10d::Timer {
  std::optional<std::int64_t> measureDifference(Event start, Event end) override {
    const std::int64_t begun = getTimeRef(start);
    const std::int64_t ended = getTimeRef(end);
    if (begun == c10d::kUnsetTime || ended < begun) return std::nullopt;
    return ended - begun;
  }
};

}  // namespace

void install_collectives() {
  if (c10d::GlooAllreduceRegistry()->Has(c10::DeviceType::CUDA)) return;  // a build with CUDA
  c10d::GlooAllreduceRegistry()->Register(
      c10::DeviceType::CUDA,
      [](std::shared_ptr<gloo::Context> context, Tensors& tensors, c10d::ReduceOp op,
         std::uint32_t tag, std::uint64_t sequence, std::chrono::milliseconds timeout) {
        return c10::intrusive_ptr<Base>(c10::make_intrusive<AllReduce>(
            std::move(context), tensors, std::move(op), tag, sequence, timeout));
      });
  c10d::TimerRegistry()->Register(
      c10::DeviceType::CUDA,
      [](c10::Device) -> std::unique_ptr<c10d::Timer> { return std::make_unique<HostTimer>(); });
}

}  // namespace ashore::emulator
