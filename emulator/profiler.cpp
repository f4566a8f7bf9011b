// What PyTorch's profilers ask of CUDA: torch.profiler with ProfilerActivity.CUDA, which finds no
// CUPTI and records an event around each operator, and emit_nvtx. Source of the interface:
// torch/csrc/profiler/stubs/cuda.cpp. Kernels run at once, so the host's clock tells their time.
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include "hooks.hpp"
#include "state.hpp"

namespace ashore::emulator {

namespace {

using Event = torch::profiler::impl::ProfilerVoidEventStub;

class ProfilerStubs final : public torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, Event* event, std::int64_t* cpu_ns) const override {
    const std::int64_t now = c10::getTime();
    if (device != nullptr) *device = static_cast<c10::DeviceIndex>(tl_device);
    if (cpu_ns != nullptr) *cpu_ns = now;
    *event = std::make_shared<std::int64_t>(now);
  }
  float elapsed(const Event* first, const Event* second) const override {
    constexpr float kNanosecondsPerMicrosecond = 1000;
    return static_cast<float>(time_of(*second) - time_of(*first)) / kNanosecondsPerMicrosecond;
  }
  // NVTX, to which nothing listens.
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> body) const override {
    for (int device = 0; device < g_machine.device_count; ++device) {
      const DeviceScope scope(device);
      body(device);
    }
  }
  void synchronize() const override {}

  static std::int64_t time_of(const Event& event) {
    return *static_cast<const std::int64_t*>(event.get());
  }
};

}  // namespace

void install_profiler() {
  static auto* stubs = new ProfilerStubs;
  torch::profiler::impl::registerCUDAMethods(stubs);
}

}  // namespace ashore::emulator
