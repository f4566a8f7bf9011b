// Names and texts of CUDA's errors. Called by the simulator, and for messages where no driver can
// be asked.
#pragma once

#include "device/driver_api.hpp"

namespace ashore::device {

/// Return CUDA's name of an error ("CUDA_ERROR_OUT_OF_MEMORY"), null for a number that is not
/// known.
const char* error_name(Error error) noexcept;
/// Return CUDA's short text for an error, null for a number that is not known.
const char* error_text(Error error) noexcept;

}  // namespace ashore::device
