#include "apiserver/errors.h"

#include <gtest/gtest.h>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

TEST(ErrorsTest, NameWhatIsMissing) {
  EXPECT_EQ(ToJson(ToStatus(NotFound("apps", "deployments", "web"))),
            R"({"apiVersion":"v1","code":404,"details":{"group":"apps","kind":"deployments","name":"web"},"kind":"Status",)"
            R"("message":"deployments.apps \"web\" not found","metadata":{},"reason":"NotFound","status":"Failure"})");
}

TEST(ErrorsTest, InvalidJoinsItsFieldErrors) {
  Error one = Invalid("", "Pod", "a b", {InvalidValue("metadata.name", "a b", "must be lower case")});
  EXPECT_EQ(one.message(), R"(Pod "a b" is invalid: metadata.name: Invalid value: "a b": must be lower case)");
  ASSERT_EQ(one.causes().size(), 1u);
  EXPECT_EQ(one.causes()[0].reason, "FieldValueInvalid");
  EXPECT_EQ(one.causes()[0].message, R"(Invalid value: "a b": must be lower case)");

  Error two = Invalid("apps", "Deployment", "d", {Required("spec.selector"), Required("spec.selector"), TooLong("spec.x", 63)});
  EXPECT_EQ(two.message(),
            "Deployment.apps \"d\" is invalid: [spec.selector: Required value, spec.x: Too long: may not be more than 63 bytes]");
  EXPECT_EQ(two.causes().size(), 3u);
}

TEST(ErrorsTest, PrintFieldErrorsAsGoDoes) {
  EXPECT_EQ(NotSupported("spec.type", "X", {"A", "B"}).ToString(), R"(spec.type: Unsupported value: "X": supported values: "A", "B")");
  EXPECT_EQ(InvalidValue("spec.n", -1, "must be positive").Body(), "Invalid value: -1: must be positive");
  EXPECT_EQ(ForbiddenField("spec", "no").Body(), "Forbidden: no");
  EXPECT_EQ(DuplicateValue("spec.a[1]", "x").Body(), R"(Duplicate value: "x")");
  EXPECT_EQ(TooMany("spec.a", 5, 3).Body(), "Too many: 5: must have at most 3 items");
}

TEST(ErrorsTest, StrangersBecomeInternalErrors) {
  Value status = ToStatus(Error::Decode("bad bytes"));
  EXPECT_EQ(status["code"].int_value(), 500);
  EXPECT_EQ(status["reason"].string_value(), "InternalError");
  EXPECT_EQ(status["details"]["causes"].list()[0]["message"].string_value(), "bad bytes");
}

TEST(ErrorsTest, PrintsValuesAsGoDoes) {
  EXPECT_EQ(PrintValue("a\tb\x01\x7f\"\\"), R"("a\tb\x01\x7f\"\\")");
  EXPECT_EQ(PrintValue("<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>"), "\"<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>\"");
  EXPECT_EQ(PrintValue("\xe2\x80\xa8\xc2\xa0\xef\xbb\xbf\xf3\xa0\x80\x81"), R"("\u2028\u00a0\ufeff\U000e0001")");
  EXPECT_EQ(PrintValue("\xff\xc3"), R"("\xff\xc3")");
  EXPECT_EQ(PrintValue(Value::Object({{"a<", "\xe2\x80\xa9&"}})), R"({"a\u003c":"\u2029\u0026"})");
  EXPECT_EQ(PrintValue(123456.0), "123456");
  EXPECT_EQ(PrintValue(1234567.0), "1.234567e+06");
  EXPECT_EQ(PrintValue(-1e19), "-1e+19");
}

}  // namespace
}  // namespace kube::apiserver
