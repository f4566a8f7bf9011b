// Hashes memory at about its own speed.
#include "device/sim_fingerprint.hpp"

#include <algorithm>
#include <cstring>

namespace ashore::device::sim {
namespace {

// Each step is a bijection of the word that it takes in, so one changed word changes the result.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_piece(const std::byte* begin, std::size_t bytes) {
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= bytes; at += 32) {
    std::uint64_t words[4];
    std::memcpy(words, begin + at, 32);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, begin + at, std::min<std::size_t>(8, bytes - at));
    lanes[0] = mix(lanes[0], word);
  }
  return mix(mix(mix(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

}  // namespace

Fingerprint::Fingerprint(const std::byte* begin, std::size_t bytes) {
  first_ = hash_piece(begin, std::min(bytes, kPieceBytes));
  for (std::size_t at = kPieceBytes; at < bytes; at += kPieceBytes) {
    rest_.push_back(hash_piece(begin + at, std::min(bytes - at, kPieceBytes)));
  }
}

std::size_t Fingerprint::first_difference(const std::byte* begin, std::size_t bytes) const {
  for (std::size_t at = 0; at < bytes; at += kPieceBytes) {
    const std::uint64_t was = at == 0 ? first_ : rest_[at / kPieceBytes - 1];
    if (hash_piece(begin + at, std::min(bytes - at, kPieceBytes)) != was) return at;
  }
  return bytes;
}

}  // namespace ashore::device::sim
