// Python's stream objects as the emulator's streams, for events and DataParallel.
#pragma once

#include <c10/core/Stream.h>

#include "emulator.hpp"
#include "python.hpp"

namespace ashore::emulator::surface {

/// The CUDA stream in a torch.Stream; anything else is a TypeError.
StreamId stream_of(PyObject* object);
c10::Stream to_c10(StreamId stream);

}  // namespace ashore::emulator::surface
