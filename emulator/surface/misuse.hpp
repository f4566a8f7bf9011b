// What the program is told when it touches memory of a copy that it has not waited for.
#pragma once

#include "python.hpp"

namespace ashore::emulator::surface {

/// Arguments: an exception type, and whether misuse is that error (strict_sync) or a warning. The
/// type is raised in the main thread as soon as Python runs there again.
void report_misuse(PyObject* args, PyObject* kwargs);

}  // namespace ashore::emulator::surface
