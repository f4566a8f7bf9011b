// The one way in: `ashore_emulator_start` opens the simulated driver and registers everything with
// PyTorch.
#include <c10/util/Exception.h>
#include <dirent.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/engine.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "allocators.hpp"
#include "fallback.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

bool read_number(std::string_view text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "devices=1;memory=8589934592;…" into the simulator's options. Returns what is wrong, or nothing.
std::string read_options(std::string_view text, device::SimulatorOptions& options, int& visible) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const std::string_view value =
        equals == part.npos ? std::string_view() : part.substr(equals + 1);
    std::size_t number = 0;
    const bool is_number = read_number(value, number);
    if (name == "devices" && is_number) {
      options.device_count = static_cast<int>(number);
    } else if (name == "visible" && is_number) {
      visible = static_cast<int>(number);
    } else if (name == "memory" && is_number) {
      options.memory_bytes = number;
    } else if (name == "late_copies" && is_number) {
      options.late_copies = number != 0;
    } else if (name == "strict_sync" && is_number) {
      options.guard_pinned = number != 0;
    } else if (name == "protect" && is_number) {
      options.protect_device = number != 0;
    } else if (name == "poison" && (value == "bytes" || value == "old")) {
      options.poison = value == "old" ? device::Poison::kOldContents : device::Poison::kBytes;
    } else if (name == "name" && !value.empty() && value.size() < sizeof options.name) {
      std::memcpy(options.name, value.data(), value.size());
      options.name[value.size()] = '\0';
    } else {
      return "the emulated GPU has no option \"" + std::string(part) + "\"";
    }
  }
  return {};
}

class Quiet final : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

std::string start(const char* simulator_path, const char* text) {
  device::SimulatorOptions options;
  int visible = device::kMaxSimulatedDevices;
  if (std::string fault = read_options(text, options, visible); !fault.empty()) return fault;
  void* library = ::dlopen(simulator_path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("cannot open the simulated driver: ") + ::dlerror();
  const auto entry =
      reinterpret_cast<decltype(&ashore_simulator)>(::dlsym(library, "ashore_simulator"));
  const device::Simulator* simulator =
      entry == nullptr ? nullptr : entry(device::kSimulatorVersion);
  if (simulator == nullptr) {
    return std::string(simulator_path) +
           " does not fit this emulator; build it again with "
           "`ashore emulate build --force`";
  }
  if (const char* fault = simulator->configure(options)) return fault;
  simulator->install_fault_reporter();
  const device::AddressSpace space = simulator->address_space();
  g_machine = {simulator,          simulator->driver,
               simulator->pending, space.device_base,
               space.span_bytes,   space.span_bytes * static_cast<std::size_t>(space.device_count),
               space.host_offset,  std::min(visible, space.device_count)};
  install_allocators();
  install_device_guard();
  install_hooks();
  Quiet quiet;  // registering over PyTorch's own kernels warns
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  install_kernels();
  install_fallback();
  install_collectives();
  install_profiler();
  return {};
}

// Count this process's threads that run the autograd engine for a device.
int count_autograd_threads() {
  int count = 0;
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  while (const dirent* entry = ::readdir(tasks)) {
    const std::string path = std::string("/proc/self/task/") + entry->d_name + "/comm";
    if (FILE* file = std::fopen(path.c_str(), "r")) {
      char name[32] = {};
      if (std::fgets(name, sizeof name, file) != nullptr &&
          std::strncmp(name, "pt_autograd_", 12) == 0) {
        ++count;
      }
      std::fclose(file);
    }
  }
  ::closedir(tasks);
  return count;
}

}  // namespace

// The device threads drop Python objects when they end; once Python finalises, that aborts the
// process.
void stop_autograd() {
  if (count_autograd_threads() == 0) return;
  torch::autograd::Engine::get_default_engine().stop();
  using namespace std::chrono_literals;
  for (int i = 0; i < 2000 && count_autograd_threads() != 0; ++i) std::this_thread::sleep_for(1ms);
}

}  // namespace ashore::emulator

extern "C" const char* ashore_emulator_start(const char* simulator_path, const char* options) {
  static std::mutex mutex;
  static std::string fault;
  static bool is_started = false;
  const std::lock_guard lock(mutex);
  if (is_started) return nullptr;
  try {
    fault = ashore::emulator::start(simulator_path, options);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  is_started = fault.empty();
  return is_started ? nullptr : fault.c_str();
}
