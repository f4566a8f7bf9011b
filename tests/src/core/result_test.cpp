// Status and Result, and the version: small things that everybody leans on.
#include <gtest/gtest.h>
#include <ashore/ashore.hpp>

#include <memory>
#include <string>

namespace ashore {
namespace {

TEST(Result, HoldsAValue) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 7);
  EXPECT_EQ(*std::move(result).value(), 7);
}

TEST(Result, HoldsAFailure) {
  Result<int> result(Status(Code::kInvalid, "a reason"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kInvalid);
  try {
    (void)result.value();
    FAIL() << "value() of a failure returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalid);
    EXPECT_STREQ(error.what(), "a reason");
  }
  const Status status = result.take_status();
  EXPECT_EQ(status.message(), "a reason");
  EXPECT_NO_THROW(Status().value());
}

TEST(Version, IsThreeNumbers) {
  const std::string text = version();
  EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 2);
  EXPECT_EQ(text.find_first_not_of("0123456789."), std::string::npos);
}

}  // namespace
}  // namespace ashore
