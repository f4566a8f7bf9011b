// Puts a line of text together without memory and without locale: async-signal-safe. Used by
// sim_reporter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashore::device::sim {

class Line {
 public:
  Line& text(const char* text) {
    while (*text != '\0') put(*text++);
    return *this;
  }
  Line& decimal(std::uint64_t number) { return digits(number, 10); }
  Line& hexadecimal(std::uint64_t number) { return text("0x").digits(number, 16); }

  const char* begin() const { return text_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void put(char letter) {
    if (bytes_ < sizeof text_) text_[bytes_++] = letter;
  }
  Line& digits(std::uint64_t number, unsigned base) {
    char backwards[20];
    int count = 0;
    do {
      backwards[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number > 0);
    while (count > 0) put(backwards[--count]);
    return *this;
  }

  char text_[320];
  std::size_t bytes_ = 0;
};

}  // namespace ashore::device::sim
