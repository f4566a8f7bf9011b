// The table of driver functions that everything else calls: the real driver fills one, the
// simulator another. Made from driver_functions.inc.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

#include "device/driver_api.hpp"

namespace ashore::device {

/// Stands where a driver lacks a function: an error value, never a call through null.
template <typename Signature>
struct Missing;
template <typename... Arguments>
struct Missing<Error(Arguments...)> {
  static Error call(Arguments...) { return Error::kNotSupported; }
};

/// What CUDA's driver functions are called through. A table made with `{}` has all functions
/// missing; none is ever null.
struct DriverTable {
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  Error(*member) parameters = Missing<Error parameters>::call;
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
};

/// One row of the list, for loaders and for whoever looks a function up by name.
struct DriverFunction {
  const char* name;
  const char* symbol;
  int introduced;  ///< CUDA version, 1000 * major + 10 * minor
  bool required;
};

inline constexpr DriverFunction kDriverFunctions[] = {
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  {name, symbol, introduced, required != 0},
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
};
inline constexpr int kDriverFunctionCount = static_cast<int>(std::size(kDriverFunctions));

/// The place of each function in kDriverFunctions.
namespace driver_function {
enum Index : int {
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) member,
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
};
}  // namespace driver_function

/// Return the place of the function with CUDA's name (or its exported symbol), -1 where there is
/// none.
constexpr int find_driver_function(std::string_view name) {
  for (int index = 0; index < kDriverFunctionCount; ++index) {
    if (name == kDriverFunctions[index].name || name == kDriverFunctions[index].symbol)
      return index;
  }
  return -1;
}

// A loader writes the address of each symbol over its entry by place.
static_assert(sizeof(DriverTable) == sizeof(void (*)()) * kDriverFunctionCount);

}  // namespace ashore::device
