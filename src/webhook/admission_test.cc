#include "kube/webhook/admission.h"

#include <gmock/gmock.h>

#include "kube/webhook/webhook_spec.h"

namespace kube {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

AdmissionRequest NetworkRequest() {
  AdmissionRequest request;
  request.kind = {"samplecrd.k8s.io", "v1", "Network"};
  request.key = {"default", "blue"};
  return request;
}

TEST(AdmissionTest, IsAllowedUnlessSomethingSpeaksAgainstIt) {
  Admission answer;
  answer.Warn("deprecated").Audit("checked-by", "test");
  EXPECT_TRUE(answer.allowed());
  EXPECT_FALSE(answer.Denial(NetworkRequest()));
  EXPECT_EQ(answer.ToString(), "allowed; warning: deprecated");
}

TEST(AdmissionTest, FieldErrorsBecomeOneInvalidStatusWithCauses) {
  Admission answer;
  answer.Required("spec.gateway").Invalid("spec.mtu", 12, "must be at least 576").NotSupported("spec.mode", "x", {"a", "b"});
  const std::optional<Error> denial = answer.Denial(NetworkRequest());
  ASSERT_TRUE(denial);
  EXPECT_TRUE(IsInvalid(*denial));
  EXPECT_EQ(denial->http_code(), 422);
  EXPECT_EQ(
      denial->message(),
      "Network.samplecrd.k8s.io \"blue\" is invalid: [spec.gateway: Required value, spec.mtu: Invalid value: 12: must be at least 576, "
      "spec.mode: Unsupported value: \"x\": supported values: \"a\", \"b\"]");
  EXPECT_THAT(denial->causes(),
              ElementsAre(Field(&ErrorCause::reason, "FieldValueRequired"), Field(&ErrorCause::reason, "FieldValueInvalid"),
                          Field(&ErrorCause::reason, "FieldValueNotSupported")));
  EXPECT_THAT(denial->causes(), ElementsAre(Field(&ErrorCause::field, "spec.gateway"), Field(&ErrorCause::field, "spec.mtu"),
                                            Field(&ErrorCause::field, "spec.mode")));
}

TEST(AdmissionTest, ErrorsKeepWhatAServerSaidAndAreForbiddenOtherwise) {
  Error::Payload conflict;
  conflict.kind = ErrorKind::kApi;
  conflict.http_code = 409;
  conflict.reason = "Conflict";
  conflict.message = "taken";
  EXPECT_TRUE(IsConflict(*Admission(Error(conflict)).Denial(NetworkRequest())));

  const std::optional<Error> denied = Admission::Deny("on Sundays").Denial(NetworkRequest());
  ASSERT_TRUE(denied);
  EXPECT_TRUE(IsForbidden(*denied));
  EXPECT_EQ(denied->http_code(), 403);
  EXPECT_EQ(denied->message(), "on Sundays");

  const std::optional<Error> unknown = Admission(Error(ErrorKind::kTransport, "connection refused")).Denial(NetworkRequest());
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->http_code(), 500);
  EXPECT_TRUE(Admission(Result<void>()).allowed());
}

TEST(AdmissionTest, MergesEverything) {
  Admission first;
  first.Warn("one").Required("a");
  Admission second;
  second.Warn("two").Required("b").Audit("k", "v");
  first.Merge(second);
  EXPECT_THAT(first.warnings(), ElementsAre("one", "two"));
  EXPECT_EQ(first.field_errors().size(), 2U);
  EXPECT_EQ(first.audit_annotations().size(), 1U);
  EXPECT_EQ(first.ToString(), "denied: a: Required value, b: Required value; warning: one; warning: two");
  EXPECT_FALSE(Admission().Merge(Admission::Deny("no")).allowed());
}

TEST(AdmissionTest, OperationsAreASet) {
  constexpr AdmissionOperation kSet = AdmissionOperation::kCreate | AdmissionOperation::kConnect;
  EXPECT_TRUE(Includes(kSet, AdmissionOperation::kCreate));
  EXPECT_FALSE(Includes(kSet, AdmissionOperation::kDelete));
  EXPECT_EQ(ToString(AdmissionOperation::kConnect), "CONNECT");
}

TEST(WebhookSpecTest, PathsAreThoseOfControllerRuntime) {
  EXPECT_EQ(MutatePath({"apps", "v1", "Deployment"}), "/mutate-apps-v1-deployment");
  EXPECT_EQ(ValidatePath({"", "v1", "Pod"}), "/validate--v1-pod");
  EXPECT_EQ(ValidatePath({"samplecrd.k8s.io", "v1beta1", "Network"}), "/validate-samplecrd-k8s-io-v1beta1-network");
}

}  // namespace
}  // namespace kube
