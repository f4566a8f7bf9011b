// The whole public C++ API but the optional torch.hpp.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dlpack.hpp>
#include <ashore/dtype.hpp>
#include <ashore/layout.hpp>
#include <ashore/plan.hpp>
#include <ashore/result.hpp>
#include <ashore/threads.hpp>
#include <ashore/to_host.hpp>
#include <ashore/version.hpp>
