// Address space and whole pages.
#include "host/address_space.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace ashore::host {
namespace {

TEST(AddressSpace, ReservedSpaceOpensPagewise) {
  const std::size_t page = page_bytes();
  auto* const begin = static_cast<unsigned char*>(reserve(16 * page));
  ASSERT_NE(begin, nullptr);
  ASSERT_TRUE(protect(begin + page, page, Access::kReadWrite));
  std::memset(begin + page, 7, page);
  ASSERT_TRUE(protect(begin + page, page, Access::kRead));
  EXPECT_EQ(begin[page], 7);
  EXPECT_EQ(begin[2 * page - 1], 7);
  unmap(begin, 16 * page);
}

TEST(AddressSpace, DiscardedPagesReadAsZerosAndTheirNeighboursDoNot) {
  const std::size_t page = page_bytes();
  auto* const begin = static_cast<unsigned char*>(map_pages(3 * page));
  ASSERT_NE(begin, nullptr);
  std::memset(begin, 7, 3 * page);
  discard_pages(begin + page, page);
  EXPECT_EQ(begin[page - 1], 7);
  EXPECT_EQ(begin[page], 0);
  EXPECT_EQ(begin[2 * page - 1], 0);
  EXPECT_EQ(begin[2 * page], 7);
  advise_huge(begin, 3 * page);
  advise_no_dump(begin, 3 * page);
  EXPECT_EQ(begin[0], 7);
  unmap(begin, 3 * page);
}

TEST(AddressSpace, TooMuchIsNull) {
  EXPECT_EQ(reserve(std::numeric_limits<std::size_t>::max() / 2), nullptr);
  EXPECT_EQ(map_pages(std::numeric_limits<std::size_t>::max() / 2), nullptr);
}

}  // namespace
}  // namespace ashore::host
