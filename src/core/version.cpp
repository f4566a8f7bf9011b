// The version that the build passes in; called by whoever wants to print it.
#include <ashore/version.hpp>

#ifndef ASHORE_VERSION
#error "ASHORE_VERSION comes from project() in CMakeLists.txt"
#endif

namespace ashore {

const char* version() noexcept { return ASHORE_VERSION; }

}  // namespace ashore
