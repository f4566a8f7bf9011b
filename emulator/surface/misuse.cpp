// The simulator's misuse hook. It may be called in a signal handler, so it only notes the report
// and asks Python to call back.
#include "misuse.hpp"

#include <unistd.h>

#include <array>
#include <atomic>

#include "origins.hpp"
#include "simulator.hpp"

namespace ashore::emulator::surface {
namespace {

using device::Misuse;
using device::MisuseReport;

enum class SlotState { kFree, kTaken };

struct Slot {
  std::atomic<SlotState> state{SlotState::kFree};
  MisuseReport report{};
};

struct Desk {
  std::array<Slot, 64> slots;
  PyObject* error_type = nullptr;
  bool is_strict = false;
};
Desk& desk() {
  static auto& state = *new Desk;
  return state;
}

std::string describe(const MisuseReport& report) {
  const std::string size = std::to_string(report.size_bytes) + " bytes";
  const std::string device = "cuda:" + std::to_string(report.device);
  std::string text = report.kind == Misuse::kReadEarly
                         ? "the host read the destination of a copy of " + size + " from " + device
                     : report.kind == Misuse::kWrittenEarly
                         ? "the host wrote memory of a copy of " + size + " from or to " + device
                         : "the pinned source of a copy of " + size + " to " + device + " changed";
  text += " before the copy was waited for";
  if (const std::string line = origin_text(report.origin); !line.empty()) {
    text += "; the copy was started at " + line;
  }
  return text + ". Wait first: torch.cuda.synchronize(), or synchronize() of a stream or an event";
}

// Runs in the main thread with the interpreter's lock.
int tell(void* argument) {
  auto* slot = static_cast<Slot*>(argument);
  const MisuseReport report = slot->report;
  slot->state.store(SlotState::kFree, std::memory_order_release);
  const std::string text = describe(report);
  if (!desk().is_strict) return PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1);
  PyErr_SetString(desk().error_type, text.c_str());
  return -1;
}

void on_misuse(const MisuseReport& report, void*) {
  for (Slot& slot : desk().slots) {
    SlotState free = SlotState::kFree;
    if (!slot.state.compare_exchange_strong(free, SlotState::kTaken)) continue;
    slot.report = report;
    if (Py_AddPendingCall(&tell, &slot) == 0) return;
    slot.state.store(SlotState::kFree);
    break;
  }
  static constexpr std::string_view kLine =
      "ashore: memory of a copy was touched before the copy was waited for\n";
  static_cast<void>(::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0);
}

}  // namespace

void report_misuse(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"error_type", "is_strict", nullptr};
  PyObject* error_type = nullptr;
  int is_strict = 0;
  parse(args, kwargs, "Op", kNames, &error_type, &is_strict);
  desk().error_type = Py_NewRef(error_type);
  desk().is_strict = is_strict != 0;
  if (simulator() != nullptr) simulator()->set_misuse_hook(&on_misuse, nullptr);
}

}  // namespace ashore::emulator::surface
