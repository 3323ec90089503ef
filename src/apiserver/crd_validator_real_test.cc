// CrdValidator says what servers say: the embedded one, and real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/crd_validator_cases.h"
#include "client/server_test_util.h"
#include "kube/apiserver/crd_validator.h"
#include "kube/client/client.h"
#include "kube/client/wait.h"
#include "kube/codec/yaml.h"
#include "kube/transport/decorators.h"

namespace kube::internal {
namespace {

using apiserver::CrdValidator;
using apiserver::CrdVerdict;
using apiserver::ValidatorCase;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
constexpr char kGroup[] = "validator.example.com";
const Gvr kGadgets{kGroup, "v1", "gadgets"};

std::vector<std::string> CausesOf(const std::optional<Error>& error, bool only_paths) {
  std::vector<std::string> out;
  if (!error) return out;
  for (const ErrorCause& cause : error->causes()) {
    // Only a real server says that it did not evaluate its CEL rules, and that it cannot follow the path of the scale subresource.
    const bool of_rules = cause.message.find("some validation rules were not checked") != std::string::npos;
    const bool of_scale = cause.message.find(" accessor error: ") != std::string::npos;
    // 1.26 does not say which format an integer has to have.
    const bool of_format = only_paths && cause.message.find("must be of type integer with format ") != std::string::npos;
    if (!of_rules && !of_scale && !of_format) out.push_back(only_paths ? cause.field : cause.field + ": " + cause.message);
  }
  std::sort(out.begin(), out.end());  // a real server walks maps in any order
  return out;
}

class CrdValidatorRealTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient({.warning_handler = [this](const ApiWarning& warning) { warnings_.push_back(warning.text); }}));
    crd_ = *DynamicObject::FromYaml(apiserver::Replaced(apiserver::kCasesCrd, kGroup));
    const auto made = client_->Resource(kDefinitions).Create(Patient(), crd_);
    ASSERT_TRUE(made) << made.error().ToString();
    const Context ctx = Patient();
    while (!client_->Resource(kGadgets).List(ctx)) ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(10)));  // served a moment later
  }

  std::optional<Client> client_;
  std::vector<std::string> warnings_;
  DynamicObject crd_;
};

TEST_P(CrdValidatorRealTest, SaysTheSameOfEveryObject) {
  const CrdValidator validator = CrdValidator::Make(crd_.value()).value();
  const bool oldest = std::string(GetParam()) == "oldest";  // its messages have other words
  int refused = 0, number = 0;
  for (const ValidatorCase& c : apiserver::ValidatorCases()) {
    SCOPED_TRACE(c.what);
    const Value object = ParseYaml(apiserver::CaseYaml(c, kGroup, "g" + std::to_string(++number)))->at(0);
    warnings_.clear();
    const Result<DynamicObject> made = client_->Resource(kGadgets).Create(Patient(), DynamicObject(object));
    const CrdVerdict verdict = validator.Check(object);
    ASSERT_EQ(made.ok(), !verdict.error) << (made ? verdict.error->ToString() : made.error().ToString());
    EXPECT_EQ(verdict.unevaluated_rules, 1u);
    if (!made) {
      ++refused;
      EXPECT_EQ(CausesOf(verdict.error, oldest), CausesOf(made.error(), oldest));
      EXPECT_EQ(verdict.error->http_code(), made.error().http_code());
      if (made.error().causes().empty() && !oldest) {
        EXPECT_EQ(verdict.error->message(), made.error().message());
      }
      continue;
    }
    EXPECT_EQ(verdict.object["spec"], made->value()["spec"]);
    std::erase_if(warnings_, [](const std::string& w) { return w.find("(CEL) are not evaluated") != std::string::npos; });
    EXPECT_EQ(verdict.warnings, warnings_);
  }
  EXPECT_GE(refused, 30);
}

INSTANTIATE_SERVERS(CrdValidatorRealTest);

}  // namespace
}  // namespace kube::internal
