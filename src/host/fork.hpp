// What happens around a fork. Called by process-wide state that holds a mutex.
#pragma once

namespace ashore::host {

/// Run `before` in the forking thread, then `in_parent` and `in_child` on the two sides. For good.
void on_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

}  // namespace ashore::host
