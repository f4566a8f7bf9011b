// HostArray to DLPack struct. Called by the pipeline (to_dlpack).
#pragma once

#include <ashore/array.hpp>
#include <ashore/dlpack.hpp>
#include <ashore/result.hpp>

namespace ashore::emit {

/// Wrap an array for a DLPack consumer: see to_dlpack in ashore/to_host.hpp.
Result<dlpack::ManagedTensorVersioned*> wrap_dlpack(const HostArray& array);

}  // namespace ashore::emit
