// to_image: scales rows of numbers to bytes and interleaves their channels. The bindings call it.
#include "convert/image.hpp"

#include <algorithm>
#include <string>

#include "convert/cast.hpp"

namespace ashore {
namespace {

constexpr std::size_t kBlockElems = 512;

// Where one row of one channel is, and how its bytes are laid out.
struct Line {
  const char* source;
  std::ptrdiff_t source_stride;
  std::uint8_t* destination;
  std::ptrdiff_t channels;
  std::size_t count;
};

// Map x to a byte. In [0, 255] adding and taking away this constant leaves the nearest whole
// number, ties to even, as the FPU rounds; clamping before rounding gives the same as after.
template <typename F>
std::uint8_t quantise(F x, F low, F scale) noexcept {
  constexpr F kWhole = sizeof(F) == 4 ? F{8388608} : F{4503599627370496};
  F scaled = (x - low) * scale;
  scaled = scaled > F{0} ? scaled : F{0};  // NaN as well
  scaled = scaled < F{255} ? scaled : F{255};
  return static_cast<std::uint8_t>(static_cast<int>((scaled + kWhole) - kWhole));
}

template <typename F>
class Scaler {
 public:
  Scaler(const ImageSpec& spec, const ArrayView& source) noexcept
      : low_(static_cast<F>(spec.low)),
        scale_(F{255} / (static_cast<F>(spec.high) - static_cast<F>(spec.low))),
        job_{source.dtype,
             sizeof(F) == 4 ? DType::kFloat32 : DType::kFloat64,
             source.byte_swapped,
             false,
             {}},
        kernel_(find_cast(job_)) {}

  void write(const Line& line) const noexcept {
    F values[kBlockElems];
    const char* source = line.source;
    std::uint8_t* to = line.destination;
    for (std::size_t left = line.count; left > 0;) {
      const std::size_t count = std::min(left, kBlockElems);
      kernel_(job_,
              {source, line.source_stride, reinterpret_cast<char*>(values), sizeof(F), count});
      for (std::size_t i = 0; i < count; ++i, to += line.channels) {
        *to = quantise(values[i], low_, scale_);
      }
      source += static_cast<std::ptrdiff_t>(count) * line.source_stride;
      left -= count;
    }
  }

 private:
  F low_;
  F scale_;
  CastJob job_;
  CastKernel kernel_;
};

struct Copier {
  void write(const Line& line) const noexcept {
    const char* from = line.source;
    std::uint8_t* to = line.destination;
    for (std::size_t i = 0; i < line.count; ++i, from += line.source_stride, to += line.channels) {
      *to = static_cast<std::uint8_t>(*from);
    }
  }
};

template <typename Writer>
void write_lines(const ArrayView& source, bool swap, const Writer& writer,
                 std::uint8_t* destination) noexcept {
  const std::int64_t* shape = source.layout.shape;
  const std::int64_t* strides = source.layout.strides_bytes;
  const std::int64_t columns = shape[2];
  const std::int64_t channels = shape[3];
  for (std::int64_t image = 0; image < shape[0]; ++image) {
    for (std::int64_t row = 0; row < shape[1]; ++row) {
      const char* line =
          static_cast<const char*>(source.data) + image * strides[0] + row * strides[1];
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t from = swap && channel < 3 ? 2 - channel : channel;
        writer.write({line + from * strides[3], strides[2], destination + channel, channels,
                      static_cast<std::size_t>(columns)});
      }
      destination += columns * channels;
    }
  }
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
    write_lines(source, swap, Copier{}, destination);
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
  if (wide) {
    write_lines(source, swap, Scaler<double>(spec, source), destination);
  } else {
    write_lines(source, swap, Scaler<float>(spec, source), destination);
  }
  return {};
}

}  // namespace ashore
