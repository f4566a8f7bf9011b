// Lines of the user's program as numbers, and the waits that each of them caused.
#pragma once

#include "python.hpp"

namespace ashore::emulator::surface {

/// Ask for the user's line at each copy and each wait from now on. Frames of files whose names
/// start with one of `prefixes` (a tuple of strings) are not the user's.
void watch_lines(PyObject* prefixes);
/// Name the user's line when a kernel fails.
void name_failing_lines();
/// A list of (what, file, line, count).
Object list_waits();
/// "file:line" of a number; empty where it stands for no line.
std::string origin_text(std::uint64_t number);

}  // namespace ashore::emulator::surface
