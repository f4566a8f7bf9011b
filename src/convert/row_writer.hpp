// Writes rows that are compact on both sides: copied, byte-swapped or cast. Called by move.cpp and
// convert.cpp.
#pragma once

#include "convert/cast.hpp"
#include "convert/copy_run.hpp"
#include "convert/kernels.hpp"

namespace ashore {

/// The work on the elements of one conversion, whatever the layouts.
class RowWriter {
 public:
  /// `streams`: what is written goes past the caches; call `finish` behind it.
  explicit RowWriter(const CastJob& job, bool streams = false) noexcept;

  /// Say whether the bytes of an element stay as they are.
  bool is_copy() const noexcept { return copy_ == nullptr && cast_ == nullptr; }

  /// Write `count` elements, which do not overlap their destination.
  void write(const char* source, char* destination, std::size_t count) const;

  /// Make what this thread has streamed seen by others.
  void finish() const noexcept;

  /// Write elements that are any strides apart.
  void write_run(const Run& run) const;

  /// Return what is done with an element, in a word or two.
  const char* work() const noexcept;

  std::size_t from_item() const noexcept { return from_item_; }
  std::size_t to_item() const noexcept { return to_item_; }
  bool streams() const noexcept { return streams_; }

 private:
  void write_cached(const char* source, char* destination, std::size_t count) const;
  void write_streamed(const char* source, char* destination, std::size_t count) const;

  CastJob job_;
  std::size_t from_item_;
  std::size_t to_item_;
  CopyKernel copy_ = nullptr;  // changes the byte order
  RowKernel swap_ = nullptr;   // the same for rows of parts that vectors can turn
  std::size_t parts_ = 1;      // of an element, for `swap_`
  CastKernel cast_ = nullptr;
  bool streams_;
};

}  // namespace ashore
