// The version, as the build wrote it (its one source is project() in CMakeLists.txt).
#pragma once

namespace ashore {

/// Return the version of the linked library, such as "1.4.2".
const char* version() noexcept;

}  // namespace ashore
