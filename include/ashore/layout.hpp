// Layout: shape and strides of an array, owned (Layout) or borrowed (LayoutView). Used by all
// stages.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace ashore {

/// The most dimensions that an array may have (NumPy's and PyTorch's own limit).
inline constexpr int kMaxDims = 64;

/// The order of axes that a fresh copy gets.
enum class Order : std::uint8_t {
  kKeep,      ///< the source's own order of axes, compact (NumPy's "K")
  kRowMajor,  ///< the last axis fastest (NumPy's "C")
};

/// Shape and strides that live elsewhere. Small: pass by value, do not store.
struct LayoutView {
  int ndim = 0;
  const std::int64_t* shape = nullptr;          ///< `ndim` lengths, each >= 0
  const std::int64_t* strides_bytes = nullptr;  ///< `ndim` steps in bytes; may be zero or negative
};

/// Shape and strides with room for kMaxDims axes; copies move the used part alone.
class Layout {
 public:
  Layout() noexcept {}
  explicit Layout(LayoutView view) noexcept { assign(view); }
  Layout(const Layout& other) noexcept { assign(other.view()); }
  Layout& operator=(const Layout& other) noexcept {
    if (this != &other) assign(other.view());
    return *this;
  }

  /// Return a row-major compact layout. `shape` holds at most kMaxDims lengths whose product times
  /// `item_bytes` fits in 63 bits.
  static Layout row_major(std::initializer_list<std::int64_t> shape,
                          std::int64_t item_bytes) noexcept;

  LayoutView view() const noexcept { return {ndim, shape, strides_bytes}; }

  int ndim = 0;
  std::int64_t shape[kMaxDims];
  std::int64_t strides_bytes[kMaxDims];

 private:
  void assign(LayoutView view) noexcept {
    ndim = view.ndim;
    if (ndim == 0) return;
    std::memcpy(shape, view.shape, sizeof(std::int64_t) * static_cast<std::size_t>(ndim));
    std::memcpy(strides_bytes, view.strides_bytes,
                sizeof(std::int64_t) * static_cast<std::size_t>(ndim));
  }
};

/// Return the number of elements. The layout was checked at its making: the product fits.
std::int64_t count_elems(LayoutView layout) noexcept;

/// Say whether the elements lie compact in row-major order. Axes of length 0 or 1 do not count.
bool is_row_major(LayoutView layout, std::int64_t item_bytes) noexcept;

/// Say whether two elements share a byte. Exact, but for layouts that take more than a bounded
/// search to tell, which count as overlapping.
bool has_internal_overlap(LayoutView layout, std::int64_t item_bytes) noexcept;

/// Write into `out` the compact layout that a copy of `source` gets: its shape, with strides for
/// `order` and elements of `item_bytes`. "Keep" sorts axes by stride as NumPy's "K" does.
void compact_layout(LayoutView source, Order order, std::int64_t item_bytes, Layout& out) noexcept;

}  // namespace ashore
