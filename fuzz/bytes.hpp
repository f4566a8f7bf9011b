// Reads the fuzzer's bytes as numbers; what is past their end reads as zero. All fuzz targets use
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ashore::fuzz {

/// A cursor over the input.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) noexcept : data_(data), left_(size) {}

  /// Take the next number, little-endian as the machine.
  template <typename T>
  T take() noexcept {
    unsigned char raw[sizeof(T)] = {};
    const std::size_t have = left_ < sizeof(T) ? left_ : sizeof(T);
    if (have > 0) std::memcpy(raw, data_, have);
    data_ += have;
    left_ -= have;
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return value;
  }

  /// Take a number from 0 to `count` - 1.
  int below(int count) noexcept { return take<std::uint8_t>() % count; }

  /// Fill memory with what is left, over and over.
  void fill(void* memory, std::size_t size) noexcept {
    auto* to = static_cast<unsigned char*>(memory);
    for (std::size_t i = 0; i < size; ++i) to[i] = left_ > 0 ? data_[i % left_] : 0;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace ashore::fuzz
