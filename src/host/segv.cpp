// The SIGSEGV handler and its chain.
#include "host/segv.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace ashore::host {
namespace {

std::atomic<SegvHandler> g_handler{nullptr};
struct sigaction g_previous;

bool was_write(const void* context) noexcept {
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;  // of the page fault's error code
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0;
#else
  (void)context;
  return false;
#endif
}

void hand_on(int number, siginfo_t* info, void* context) {
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(number, info, context);
  } else if (g_previous.sa_handler == SIG_DFL || g_previous.sa_handler == SIG_IGN) {
    // The access is tried once more after the return, and then ends the process.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGSEGV, &standard, nullptr);
    if (info->si_code <= 0) ::raise(SIGSEGV);  // sent by somebody: nothing would be tried again
  } else {
    g_previous.sa_handler(number);
  }
}

void on_segv(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool has_address = info->si_code > 0;
  const SegvHandler handler = g_handler.load(std::memory_order_acquire);
  if (!has_address || handler == nullptr || !handler(info->si_addr, was_write(context))) {
    hand_on(number, info, context);
  }
  errno = saved_errno;
}

}  // namespace

void install_segv_handler(SegvHandler handler) noexcept {
  SegvHandler none = nullptr;
  if (!g_handler.compare_exchange_strong(none, handler, std::memory_order_acq_rel)) return;
  // What was there is known before ours can be called.
  (void)::sigaction(SIGSEGV, nullptr, &g_previous);
  struct sigaction ours = {};
  ours.sa_sigaction = on_segv;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&ours.sa_mask);
  (void)::sigaction(SIGSEGV, &ours, nullptr);
}

void write_error(const char* text, std::size_t bytes) noexcept {
  // Nothing can be done where standard error is closed.
  const ssize_t written = ::write(STDERR_FILENO, text, bytes);
  (void)written;
}

}  // namespace ashore::host
