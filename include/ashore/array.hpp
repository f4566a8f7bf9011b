// ArrayView (borrows), SourceFacts (says more) and HostArray (owns): the nouns that walk from
// ingest to emit.
#pragma once

#include <ashore/dtype.hpp>
#include <ashore/layout.hpp>
#include <ashore/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ashore {

/// Elements in host memory that somebody else owns. Small: pass by value, do not store.
struct ArrayView {
  void* data = nullptr;  ///< address of the first element; may be null only without elements
  DType dtype = DType::kFloat32;
  bool byte_swapped = false;  ///< the elements are in the byte order that is not the machine's
  bool read_only = false;
  LayoutView layout;
};

/// What ingest learnt about one array; the plan needs nothing else.
struct SourceFacts {
  ArrayView view;              ///< for a device array: its layout and dtype, with null data
  bool on_device = false;      ///< the host cannot read the memory; a framework will bring it
  bool conjugated = false;     ///< the values are the conjugates of the elements (conj bit)
  bool negated = false;        ///< the values are the elements times -1 (neg bit)
  bool zeros = false;          ///< no storage: every value is zero
  bool requires_grad = false;  ///< known only where somebody asked for it; never changes the plan
};

/// An array in host memory that keeps its memory alive: its own, or that of the producer it shares.
///
/// Copies of a HostArray share the memory. Safe to hand from thread to thread; writing is not
/// guarded.
class HostArray {
 public:
  /// Allocate an array with uninitialised elements, 64-byte aligned. Fails with kNoMemory, or
  /// kInvalid where the shape is negative, has more than kMaxDims axes or does not fit in memory.
  static Result<HostArray> allocate(DType dtype, LayoutView layout);

  /// Wrap memory of somebody else, kept alive by `owner`. `view.layout` is copied.
  HostArray(ArrayView view, std::shared_ptr<void> owner)
      : layout_(view.layout), view_(view), owner_(std::move(owner)) {
    view_.layout = {};
  }

  /// Return the elements. Valid as long as this object or a copy of it lives.
  ArrayView view() const noexcept {
    ArrayView view = view_;
    view.layout = layout_.view();
    return view;
  }
  void* data() const noexcept { return view_.data; }
  DType dtype() const noexcept { return view_.dtype; }
  bool read_only() const noexcept { return view_.read_only; }
  int ndim() const noexcept { return layout_.ndim; }
  std::int64_t shape(int axis) const noexcept { return layout_.shape[axis]; }
  std::int64_t stride_bytes(int axis) const noexcept { return layout_.strides_bytes[axis]; }
  std::int64_t count() const noexcept { return count_elems(layout_.view()); }
  const std::shared_ptr<void>& owner() const noexcept { return owner_; }

 private:
  Layout layout_;
  ArrayView view_;
  std::shared_ptr<void> owner_;
};

}  // namespace ashore
