// DLPack structs from outside, checked strictly. Called by the pipeline and by the Python bindings.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dlpack.hpp>
#include <ashore/result.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace ashore::ingest {

/// Read what a DLPack tensor says into `layout` and `facts` (whose view points at `layout`).
///
/// Allocates nothing on success and dereferences neither data nor, for device memory, looks at its
/// address: there `facts.on_device` is set and the view's data stays null. `flags` are those of the
/// versioned struct, 0 for the others. Fails with kUnsupported.
Status read_tensor(const dlpack::Tensor& tensor, std::uint64_t flags, Layout& layout,
                   SourceFacts& facts);

/// Say whether the host can read the memory of this device type.
bool is_host_memory(std::int32_t device_type) noexcept;

/// Return the device as people call it: "CUDA device 0", "CPU", "device type 99".
std::string device_name(dlpack::Device device);

/// One array from outside: what is known of it, and the struct that keeps it alive, whose deleter
/// runs exactly once, when the Source (or what `release` gave) dies. Movable, not copyable.
class Source {
 public:
  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  ~Source() = default;

  /// Return the facts; their view points into this object.
  const SourceFacts& facts() const noexcept { return facts_; }
  dlpack::Device device() const noexcept { return device_; }
  std::uint64_t flags() const noexcept { return flags_; }

  using KeepAlive = std::unique_ptr<void, void (*)(void*)>;
  /// Hand the producer's struct over; the caller's handle then runs the deleter.
  KeepAlive release() noexcept { return std::move(keep_alive_); }

 private:
  explicit Source(KeepAlive keep_alive) noexcept : keep_alive_(std::move(keep_alive)) {}

  template <typename Managed>
  static Result<Source> read(const Managed& managed, std::uint64_t flags, KeepAlive keep_alive);

  friend Result<Source> take(dlpack::ManagedTensorVersioned* managed);
  friend Result<Source> take(dlpack::ManagedTensor* managed);

  Layout layout_;
  SourceFacts facts_;
  dlpack::Device device_{dlpack::kCPU, 0};
  std::uint64_t flags_ = 0;
  KeepAlive keep_alive_;
};

/// Take over a producer's struct, whatever happens: its deleter runs once, on failure before
/// return. Of a struct with another major version only that version, and its deleter, are touched.
Result<Source> take(dlpack::ManagedTensorVersioned* managed);
Result<Source> take(dlpack::ManagedTensor* managed);

}  // namespace ashore::ingest
