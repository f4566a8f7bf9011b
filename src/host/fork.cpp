// What happens around a fork.
#include "host/fork.hpp"

#include <pthread.h>

namespace ashore::host {

void on_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  (void)::pthread_atfork(before, in_parent, in_child);
}

}  // namespace ashore::host
