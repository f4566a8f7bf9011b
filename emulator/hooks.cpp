// See hooks.hpp.
#include "hooks.hpp"

#include <ATen/detail/CUDAHooksInterface.h>

#include "allocators.hpp"
#include "generator.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

thread_local bool tl_pretends_cudnn = false;
thread_local int tl_default_generator = -1;

constexpr long kCudaVersion = 13000;  // of the CUDA build of PyTorch 2.13
constexpr long kCudnnVersion = 91900;

class Hooks final : public at::CUDAHooksInterface {
 public:
  void init() const override {}
  bool hasCUDA() const override { return isAvailable(); }
  bool hasCUDART() const override { return true; }
  bool hasMAGMA() const override { return true; }
  bool hasCuDNN() const override { return true; }
  bool hasCuSOLVER() const override { return true; }
  bool hasCuBLASLt() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return g_machine.device_count > 0; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }

  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(g_machine.device_count);
  }
  int getNumGPUs() const override { return g_machine.device_count; }
  c10::DeviceIndex current_device() const override { return getCurrentDevice(); }
  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(tl_device);
  }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_current_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(exchange_device(device));
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  void deviceSynchronize(c10::DeviceIndex device) const override {
    synchronize_device(device < 0 ? tl_device : device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    const int wanted = std::exchange(tl_default_generator, -1);
    return wanted >= 0 ? default_generator(wanted) : new_generator(device);
  }

  bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return device_allocator(); }
  c10::Device getDeviceFromPtr(void* address) const override {
    TORCH_CHECK(is_device_address(address),
                "The specified pointer resides on host memory and is not registered with any CUDA "
                "device.");
    return cuda_device(device_of(address));
  }

  bool compiledWithCuDNN() const override { return tl_pretends_cudnn; }
  bool supportsDilatedConvolutionWithCuDNN() const override { return true; }
  long versionCuDNN() const override { return kCudnnVersion; }
  long versionRuntimeCuDNN() const override { return kCudnnVersion; }
  long versionCuDNNFrontend() const override { return 11800; }
  long versionCUDART() const override { return kCudaVersion; }
  double batchnormMinEpsilonCuDNN() const override { return 0; }
  std::string showConfig() const override { return "CUDA emulated by ashore\n"; }
  std::int64_t cuFFTGetPlanCacheMaxSize(c10::DeviceIndex /*device*/) const override { return 4096; }
  void cuFFTSetPlanCacheMaxSize(c10::DeviceIndex, std::int64_t) const override {}
  std::int64_t cuFFTGetPlanCacheSize(c10::DeviceIndex /*device*/) const override { return 0; }
  void cuFFTClearPlanCache(c10::DeviceIndex /*device*/) const override {}
};

}  // namespace

CudnnScope::CudnnScope() { tl_pretends_cudnn = true; }
CudnnScope::~CudnnScope() { tl_pretends_cudnn = false; }

void hand_out_default_generator(int device) { tl_default_generator = device; }

void install_hooks() {
  at::CUDAHooksRegistry()->Register("CUDAHooks", [](at::CUDAHooksArgs) {
    return std::unique_ptr<at::CUDAHooksInterface>(new Hooks);
  });
}

}  // namespace ashore::emulator
