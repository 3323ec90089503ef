#include "client/exit_status.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

std::string ExitCode(const std::string& code) {
  return R"({"metadata":{},"status":"Failure","message":"command terminated","reason":"NonZeroExitCode",)"
         R"("details":{"causes":[{"reason":"Other","message":"x"},{"reason":"ExitCode","message":")" +
         code + R"("}]}})";
}

TEST(Contract17ErrorDecoder, SuccessIsZero) {
  const Result<int> code = ParseExitStatus(R"({"metadata":{},"status":"Success"})");
  ASSERT_TRUE(code.ok()) << code.error().ToString();
  EXPECT_EQ(*code, 0);
}

TEST(Contract17ErrorDecoder, TheCauseHasTheExitCode) {
  for (const int expected : {0, 1, 42, 137, 255}) {
    const Result<int> code = ParseExitStatus(ExitCode(std::to_string(expected)));
    ASSERT_TRUE(code.ok()) << code.error().ToString();
    EXPECT_EQ(*code, expected);
  }
}

TEST(Contract17ErrorDecoder, AFailureOfTheServerIsItsError) {
  const Result<int> code = ParseExitStatus(
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"container not found","reason":"NotFound","code":404})");
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(IsNotFound(code.error()));
  EXPECT_EQ(code.error().message(), "container not found");
}

TEST(Contract17ErrorDecoder, WhatCannotBeUnderstoodIsAnErrorThatShowsIt) {
  for (const std::string& text :
       {ExitCode("256"), ExitCode("-1"), ExitCode("1x"), ExitCode(""), std::string("exited"), std::string("[]"), std::string("{}"),
        std::string(R"({"status":"Failure","reason":"NonZeroExitCode"})"),
        std::string(R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"x","message":"1"}]}})"),
        std::string(R"({"status":"Perhaps"})")}) {
    const Result<int> code = ParseExitStatus(text);
    ASSERT_FALSE(code.ok()) << text;
    EXPECT_TRUE(IsTransportError(code.error(), transport_reason::kProtocol)) << text;
    EXPECT_NE(code.error().message().find(text.substr(0, 200)), std::string::npos) << code.error().message();
  }
}

}  // namespace
}  // namespace kube::internal
