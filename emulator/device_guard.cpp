// What PyTorch asks of a device type: the current device, streams and events.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "allocators.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

// An event as PyTorch holds it: the driver's, and the device it belongs to.
struct Event {
  device::EventHandle handle = nullptr;
  int device = -1;
};

class DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  Device exchangeDevice(Device device) const override {
    const int before = tl_device;
    if (device.index() >= 0) tl_device = device.index();
    return cuda_device(before);
  }
  Device getDevice() const override { return cuda_device(tl_device); }
  void setDevice(Device device) const override {
    if (device.index() >= 0) set_current_device(device.index());
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.index() >= 0) tl_device = device.index();
  }
  DeviceIndex deviceCount() const noexcept override {
    return static_cast<DeviceIndex>(g_machine.device_count);
  }

  Stream getStream(Device device) const override {
    return stream(index_of(device), current_stream_id(index_of(device)));
  }
  Stream getDefaultStream(Device device) const override { return stream(index_of(device), 0); }
  Stream getStreamFromGlobalPool(Device device, bool high_priority) const override {
    return stream(index_of(device), next_pool_stream(index_of(device), high_priority));
  }
  Stream getNewStream(Device device, int priority) const override {
    return getStreamFromGlobalPool(device, priority < 0);
  }
  Stream exchangeStream(Stream next) const override {
    const int device = next.device_index();
    return stream(device, exchange_stream_id(device, next.id()));
  }
  void* getStreamNativeHandle(const Stream given) const override {
    return stream_handle(given.device_index(), given.id());
  }
  bool queryStream(const Stream& given) const override {
    enter_device(given.device_index());
    const device::Error error =
        g_machine.driver->stream_query(stream_handle(given.device_index(), given.id()));
    if (error == device::Error::kNotReady) return false;
    check(error);
    return true;
  }
  void synchronizeStream(const Stream& given) const override {
    note_wait("torch.cuda.Stream.synchronize");
    wait_for_stream(given.device_index(), given.id());
  }
  void synchronizeDevice(const DeviceIndex device) const override {
    synchronize_device(device < 0 ? tl_device : device);
  }

  void record(void** event, const Stream& given, const DeviceIndex device,
              const c10::EventFlag flag) const override {
    check_fork();
    TORCH_CHECK(device == -1 || device == given.device_index(), "Event device index ", device,
                " does not match recording stream's device index ", given.device_index(), ".");
    enter_device(given.device_index());
    if (*event == nullptr) {
      auto made = std::make_unique<Event>();
      constexpr unsigned kDisableTiming = 2;
      const bool timed = flag == c10::EventFlag::BACKEND_DEFAULT;
      check(g_machine.driver->event_create(&made->handle, timed ? 0 : kDisableTiming));
      made->device = given.device_index();
      *event = made.release();
    }
    auto* known = static_cast<Event*>(*event);
    check(g_machine.driver->event_record(known->handle,
                                         stream_handle(given.device_index(), given.id())));
  }
  void block(void* event, const Stream& given) const override {
    if (event == nullptr) return;
    enter_device(given.device_index());
    check(g_machine.driver->stream_wait_event(stream_handle(given.device_index(), given.id()),
                                              static_cast<Event*>(event)->handle, 0));
  }
  bool queryEvent(void* event) const override { return event == nullptr || is_done(event, false); }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    note_wait("torch.cuda.Event.synchronize");
    is_done(event, true);
  }
  void destroyEvent(void* event, const DeviceIndex /*device*/) const noexcept override {
    if (event == nullptr) return;
    destroy_event(static_cast<Event*>(event)->handle);
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* first, void* second, const DeviceIndex /*device*/) const override {
    TORCH_CHECK(first != nullptr && second != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    return elapsed_ms(reinterpret_cast<std::int64_t>(first),
                      reinterpret_cast<std::int64_t>(second));
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& given) const override {
    record_stream(data, given);
  }

 private:
  static int index_of(Device device) { return device.index() < 0 ? tl_device : device.index(); }
  static bool is_done(void* event, bool wait) {
    const auto* known = static_cast<Event*>(event);
    return is_event_done(known->device, known->handle, wait);
  }
  static Stream stream(int device, std::int64_t id) {
    return Stream(Stream::UNSAFE, cuda_device(device), id);
  }
};

}  // namespace

double elapsed_ms(std::int64_t first_event, std::int64_t second_event) {
  float milliseconds = 0;
  check(g_machine.driver->event_elapsed_time(&milliseconds,
                                             reinterpret_cast<Event*>(first_event)->handle,
                                             reinterpret_cast<Event*>(second_event)->handle));
  return milliseconds;
}

void install_device_guard() {
  static auto* guard = new DeviceGuard;
  c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)] = guard;
}

}  // namespace ashore::emulator
