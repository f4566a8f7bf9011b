// ASHORE_ASSERT: states what only a bug in ashore can break. Used everywhere; never reached by
// input.
#pragma once

#include <cassert>

/// Stop a debug build where `condition` is false; costs nothing in a release build.
#define ASHORE_ASSERT(condition) assert(condition)
