// to_host and to_dlpack: an array comes ashore, and goes out again. The C++ face of the pipeline.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dlpack.hpp>
#include <ashore/plan.hpp>
#include <ashore/result.hpp>

#include <memory>

namespace ashore {

/// Copy elements that the caller owns into a new HostArray, casting and re-laying out on the way.
/// Always copies: a view keeps nothing alive. `Options::copy == kNever` fails with kInvalid.
Result<HostArray> to_host(ArrayView source, const Options& options = {});

/// Bring an array ashore of which more is known than a view says, such as conj and neg bits, which
/// are resolved in the same pass. `owner` keeps the memory alive: a result that shares holds it, a
/// copy lets it go; without one elements are never shared. The memory of a source of zeros is not
/// looked at. Fails as make_plan does, and with kUnreachable for device memory.
Result<HostArray> to_host(const SourceFacts& source, std::shared_ptr<void> owner,
                          const Options& options = {});

/// Bring a DLPack tensor ashore. Takes over `tensor`: its deleter runs exactly once, when the last
/// HostArray that shares the memory dies, or before return for copies, empty arrays and failures.
/// Fails with kUnsupported (version, dtype, lanes, malformed layout), kUnreachable (device memory,
/// whose pointer is never read), kInvalid (copy == kNever where a copy is unavoidable) or
/// kNoMemory.
Result<HostArray> to_host(dlpack::ManagedTensorVersioned* tensor, const Options& options = {});
Result<HostArray> to_host(dlpack::ManagedTensor* tensor, const Options& options = {});

/// Convert `source` into memory that exists: same shape, any strides, cast as Options::dtype would.
/// Overlap between the two is handled as if the source had been copied first (contract C6).
Status convert_into(ArrayView source, ArrayView destination);

/// Hand an array to a DLPack consumer; the caller gets a struct whose deleter it must run once.
/// Fails with kUnsupported for dtypes that DLPack has no code for, or strides of no whole elements.
Result<dlpack::ManagedTensorVersioned*> to_dlpack(const HostArray& array);

}  // namespace ashore
