// The staged cast, which knows every pair of dtypes. Called through the table in cast.cpp.
#pragma once

#include "convert/cast.hpp"

namespace ashore {

/// Cast a run block by block: load into a canonical type (see element.hpp), transform, store.
void staged_cast(const CastJob& job, const Run& run);

}  // namespace ashore
