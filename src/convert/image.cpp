// to_image: scales rows of numbers to bytes and interleaves their channels. The bindings call it.
#include "convert/image.hpp"

#include <algorithm>
#include <string>

#include "convert/cast.hpp"
#include "convert/kernels.hpp"
#include "convert/row_writer.hpp"
#include "convert/threading.hpp"
#include "host/parallel_for.hpp"

namespace ashore {
namespace {

constexpr std::size_t kBlockPixels = 1024;
constexpr std::int64_t kMostWoven = 4;  // channels that a tile kernel weaves

// A row of numbers to a row of bytes, both compact.
class ByteMaker {
 public:
  ByteMaker(const ImageSpec& spec, const ArrayView& source) noexcept
      : job_{source.dtype,
             source.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32,
             source.byte_swapped,
             false,
             {}},
        copies_(!spec.scale),
        writer_(copies_ ? CastJob{DType::kUInt8, DType::kUInt8} : job_),
        quantise_(job_.to == DType::kFloat64 ? kernels().quantise_double
                                             : kernels().quantise_float),
        low_(spec.low),
        scale_(job_.to == DType::kFloat64 ? 255 / (spec.high - spec.low)
                                          : double{255.0f / (static_cast<float>(spec.high) -
                                                             static_cast<float>(spec.low))}) {}

  /// Make bytes of at most kBlockPixels numbers, `stride` bytes apart.
  void make(const char* source, std::ptrdiff_t stride, std::uint8_t* bytes,
            std::size_t count) const {
    const auto item = static_cast<std::ptrdiff_t>(writer_.from_item());
    if (copies_) {
      writer_.write_run({source, stride, reinterpret_cast<char*>(bytes), 1, count});
    } else if (writer_.is_copy() && stride == item) {  // floats: taken from where they are
      quantise_(source, bytes, count, low_, scale_);
    } else {
      alignas(64) char numbers[kBlockPixels * sizeof(double)];
      writer_.write_run(
          {source, stride, numbers, static_cast<std::ptrdiff_t>(writer_.to_item()), count});
      quantise_(numbers, bytes, count, low_, scale_);
    }
  }

 private:
  CastJob job_;
  bool copies_;
  RowWriter writer_;
  QuantiseKernel quantise_;
  double low_, scale_;
};

// Where the channels of one run of pixels are, and where its bytes go.
struct Pixels {
  const char* source;
  std::ptrdiff_t pixel_stride;
  std::ptrdiff_t channel_stride;
  std::int64_t channels;
  bool swap;
  std::uint8_t* destination;
  std::size_t count;
};

// At most kBlockPixels pixels: a row of bytes for each channel, then the rows woven into each
// other.
void write_block(const Pixels& pixels, const ByteMaker& maker) {
  const auto source_of = [&pixels](std::int64_t channel) {
    const std::int64_t from = pixels.swap && channel < 3 ? 2 - channel : channel;
    return pixels.source + from * pixels.channel_stride;
  };
  if (pixels.channels == 1) {
    maker.make(pixels.source, pixels.pixel_stride, pixels.destination, pixels.count);
    return;
  }
  if (pixels.channels > kMostWoven) {
    std::uint8_t bytes[kBlockPixels];
    for (std::int64_t channel = 0; channel < pixels.channels; ++channel) {
      maker.make(source_of(channel), pixels.pixel_stride, bytes, pixels.count);
      for (std::size_t i = 0; i < pixels.count; ++i) {
        pixels.destination[static_cast<std::int64_t>(i) * pixels.channels + channel] = bytes[i];
      }
    }
    return;
  }
  alignas(64) std::uint8_t planes[kMostWoven * kBlockPixels];
  for (std::int64_t channel = 0; channel < pixels.channels; ++channel) {
    maker.make(source_of(channel), pixels.pixel_stride,
               planes + channel * static_cast<std::int64_t>(kBlockPixels), pixels.count);
  }
  kernels().tiles.of[static_cast<int>(Pattern::kInterleave)][0](
      {reinterpret_cast<const char*>(planes), 0, 1, kBlockPixels,
       reinterpret_cast<char*>(pixels.destination), 0, pixels.channels, 1, pixels.count,
       static_cast<std::size_t>(pixels.channels), false});
}

// The four axes with rows and columns as one where they continue each other, and with channels that
// lie compact in each pixel as pixels of one channel.
struct Axes {
  std::int64_t images, rows, columns, channels;
  std::int64_t image_stride, row_stride, pixel_stride, channel_stride;
};

Axes merge_axes(LayoutView layout, std::int64_t item_bytes, bool swap) noexcept {
  const std::int64_t* shape = layout.shape;
  const std::int64_t* strides = layout.strides_bytes;
  Axes axes{shape[0], shape[1], shape[2], shape[3], strides[0], strides[1], strides[2], strides[3]};
  if (axes.rows == 1 || axes.row_stride == axes.columns * axes.pixel_stride) {
    axes.columns *= axes.rows;
    axes.rows = 1;
  }
  if (!swap && axes.channel_stride == item_bytes &&
      axes.pixel_stride == axes.channels * item_bytes) {
    axes.columns *= axes.channels;
    axes.channels = 1;
    axes.pixel_stride = item_bytes;
  }
  return axes;
}

void write_images(const ArrayView& source, bool swap, const ImageSpec& spec,
                  std::uint8_t* destination) {
  const ByteMaker maker(spec, source);
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(source.dtype));
  const Axes axes = merge_axes(source.layout, item_bytes, swap);
  const auto columns = static_cast<std::size_t>(axes.columns);
  const std::size_t blocks = (columns - 1) / kBlockPixels + 1;  // of a row
  const auto rows = static_cast<std::size_t>(axes.rows);
  const std::size_t all = static_cast<std::size_t>(axes.images) * rows * blocks;
  const auto run = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t column = i % blocks * kBlockPixels;
      const auto line = static_cast<std::int64_t>(i / blocks);
      const char* const from = static_cast<const char*>(source.data) +
                               line / axes.rows * axes.image_stride +
                               line % axes.rows * axes.row_stride +
                               static_cast<std::int64_t>(column) * axes.pixel_stride;
      std::uint8_t* const to =
          destination + (line * axes.columns + static_cast<std::int64_t>(column)) * axes.channels;
      write_block({from, axes.pixel_stride, axes.channel_stride, axes.channels, swap, to,
                   std::min(kBlockPixels, columns - column)},
                  maker);
    }
  };
  const std::size_t bytes =
      static_cast<std::size_t>(count_elems(source.layout)) * (size_bytes(source.dtype) + 1);
  if (!pays_for_threads(bytes)) {
    run(0, all);
    return;
  }
  host::parallel_for(all, std::max<std::size_t>(1, all * piece_bytes(bytes) / bytes), run);
}

Status refuse(std::string message) { return Status(Code::kInvalid, std::move(message)); }

}  // namespace

Status to_image(ArrayView source, const ImageSpec& spec, std::uint8_t* destination) {
  const LayoutView layout = source.layout;
  const std::string dtype(name(source.dtype));
  if (layout.ndim != 4) {
    return refuse("an image batch has 4 axes (image, row, column, channel), not " +
                  std::to_string(layout.ndim) + "; add the missing ones");
  }
  const std::int64_t channels = layout.shape[3];
  if (spec.swap_red_blue && channels != 1 && channels != 3 && channels != 4) {
    return refuse("an image has 1, 3 or 4 channels, not " + std::to_string(channels) +
                  "; choose some of them");
  }
  const bool swap = spec.swap_red_blue && channels >= 3;
  if (!spec.scale && source.dtype != DType::kUInt8) {
    return refuse("an image of dtype " + dtype +
                  " needs a value range to become bytes; pass value_range=(low, high)");
  }
  if (!is_convertible(source.dtype) || is_complex(source.dtype)) {
    return Status(Code::kUnsupported,
                  "dtype " + dtype + " cannot become an image; make it real first");
  }
  if (count_elems(layout) == 0) return {};
  if (source.data == nullptr) return refuse("an image of null data; pass one that has memory");
  if (!spec.scale) {
    write_images(source, swap, spec, destination);
    return {};
  }
  // Written so that NaN fails as well.
  const auto high = static_cast<float>(spec.high);
  const auto low = static_cast<float>(spec.low);
  const bool wide = source.dtype == DType::kFloat64;
  const bool usable = wide ? spec.high - spec.low > 0 && spec.high - spec.low <= 1.7e308
                           : high - low > 0 && high - low <= 3.4e38f;
  if (!usable) {
    return refuse("value_range (" + std::to_string(spec.low) + ", " + std::to_string(spec.high) +
                  ") must be finite and go upwards; pass (low, high) with low < high");
  }
  write_images(source, swap, spec, destination);
  return {};
}

}  // namespace ashore
