// Tokens, token files, basic auth, auth providers.
#include "kube/config/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "codec/base64.h"
#include "config/credentials_test_util.h"
#include "config/oidc_source.h"
#include "kube/base/fake_clock.h"
#include "kube/codec/json.h"

namespace kube::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  std::string Header(const std::shared_ptr<CredentialSource>& source) {
    const Result<Authorization> got = source->Get(ctx_);
    return got ? got->header.reveal() : "error: " + got.error().ToString();
  }
  std::shared_ptr<CredentialSource> Make(CredentialOptions options = {}) {
    auto made = MakeCredentials(config_, clock_, std::move(options));
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : nullptr;
  }
  std::string Problem(ErrorKind kind = ErrorKind::kConfig) {
    const auto made = MakeCredentials(config_, clock_);
    EXPECT_FALSE(made);
    if (made) return {};
    EXPECT_EQ(made.error().kind(), kind);
    return made.error().ToString();
  }

  TestFolder folder_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context ctx_ = Context::Background(clock_);
  ClientConfig config_;
};

TEST_F(CredentialsTest, NothingGivesNothing) {
  const auto source = Make();
  EXPECT_EQ(Header(source), "");
  EXPECT_EQ(source->Certificate(), nullptr);
}

TEST_F(CredentialsTest, TokenStaysTheSameAfterA401) {
  config_.token = SecretString("abc");
  const auto source = Make();
  source->Rejected(source->Get(ctx_).value());
  EXPECT_EQ(Header(source), "Bearer abc");
}

TEST_F(CredentialsTest, TokenThatBreaksTheHeaderIsRefused) {
  config_.token = SecretString("abc\r\nX-Evil: hunter2");
  EXPECT_THAT(Problem(), AllOf(HasSubstr("header"), Not(HasSubstr("hunter2"))));
}

TEST_F(CredentialsTest, BasicAuth) {
  config_.username = "Aladdin";
  config_.password = SecretString("open sesame");
  EXPECT_EQ(Header(Make()), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  config_.username = "a:b";
  EXPECT_THAT(Problem(), AllOf(HasSubstr("colon"), Not(HasSubstr("sesame"))));
}

TEST_F(CredentialsTest, TokenAndBasicAuthExcludeEachOther) {
  config_.username = "u";
  config_.token = SecretString("t");
  EXPECT_THAT(Problem(), HasSubstr("exclude each other"));
}

TEST_F(CredentialsTest, UnknownAuthProvidersSayWhatToUseInstead) {
  const auto problem = [&](const char* name) {
    config_.auth_provider = std::make_shared<AuthProviderConfig>(AuthProviderConfig{.name = name});
    return Problem(ErrorKind::kAuth);
  };
  EXPECT_THAT(problem("gcp"), HasSubstr("gke-gcloud-auth-plugin"));
  EXPECT_THAT(problem("azure"), HasSubstr("kubelogin"));
  EXPECT_THAT(problem("openstack"), HasSubstr("\"openstack\" is not known"));
}

// ---- Token files ----

class Contract12TokenFile : public CredentialsTest {
 protected:
  Contract12TokenFile() { config_.token_file = folder_.At("token"); }
  void Write(const std::string& text) { folder_.Write("token", text); }
};
using Contract24No22 = Contract12TokenFile;

TEST_F(Contract12TokenFile, TokenComesFromMemory) {
  Write(" a\n");
  const auto source = Make();
  Write("b");
  EXPECT_EQ(Header(source), "Bearer a");
}

TEST_F(Contract12TokenFile, TokenComesFromMemoryUntilJustBeforeItsTime) {
  Write("a");
  const auto source = Make();
  Write("b");
  clock_->Advance(seconds(50) - milliseconds(1));
  EXPECT_EQ(Header(source), "Bearer a");
}

TEST_F(Contract12TokenFile, TokenIsReadAgainAtItsTime) {
  Write("a");
  const auto source = Make();
  Write("b");
  clock_->Advance(seconds(50));
  EXPECT_EQ(Header(source), "Bearer b");
  Write("c");
  clock_->Advance(seconds(49));  // of the second reading
  EXPECT_EQ(Header(source), "Bearer b");
  clock_->Advance(seconds(1));
  EXPECT_EQ(Header(source), "Bearer c");
}

TEST_F(Contract12TokenFile, FirstReadingFillsTheMemory) {
  config_.token = SecretString("fallback");
  const auto source = Make();  // no file yet
  EXPECT_EQ(Header(source), "Bearer fallback");
  Write("a");
  EXPECT_EQ(Header(source), "Bearer a");
}

TEST_F(Contract12TokenFile, NoFileAndNoTokenIsAnError) {
  EXPECT_THAT(Problem(), AllOf(HasSubstr(folder_.At("token")), HasSubstr("No such file")));
  Write(" \n");
  EXPECT_THAT(Problem(), AllOf(HasSubstr(folder_.At("token")), HasSubstr("is empty")));
  Write("two hunter2");
  EXPECT_THAT(Problem(), AllOf(HasSubstr("something else than one bearer token"), Not(HasSubstr("hunter2"))));
}

TEST_F(Contract12TokenFile, A401DoesNotForceAReading) {
  Write("a");
  const auto source = Make();
  Write("b");
  source->Rejected(source->Get(ctx_).value());
  EXPECT_EQ(Header(source), "Bearer a");
}

TEST_F(Contract24No22, RotatedTokenFileIsPickedUp) {
  Write("a");
  const auto source = Make();
  clock_->Advance(seconds(30));
  Write("b");
  clock_->Advance(seconds(21));
  EXPECT_EQ(Header(source), "Bearer b");
}

TEST_F(Contract24No22, EmptyOrUnreadableFileKeepsThePreviousToken) {
  const ProcessLog log;
  Write("a");
  const auto source = Make();
  Write("");
  clock_->Advance(seconds(51));
  EXPECT_EQ(Header(source), "Bearer a");
  folder_.Remove("token");
  clock_->Advance(seconds(51));
  EXPECT_EQ(Header(source), "Bearer a");
  Write("garbage in hunter2");
  EXPECT_EQ(Header(source), "Bearer a");
  EXPECT_THAT(log.text(), AllOf(HasSubstr("continuing with the last one"), HasSubstr(folder_.At("token")), Not(HasSubstr("hunter2"))));
  Write("b");  // and the next request has it, without another wait
  EXPECT_EQ(Header(source), "Bearer b");
}

TEST_F(Contract24No22, SymbolicLinkThatMovesIsFollowed) {
  folder_.Write("first", "a");
  folder_.Write("second", "b");
  ASSERT_EQ(symlink("first", folder_.At("token").c_str()), 0);  // as a volume of Kubernetes does it
  const auto source = Make();
  EXPECT_EQ(Header(source), "Bearer a");
  ASSERT_EQ(symlink("second", folder_.At("next").c_str()), 0);
  ASSERT_EQ(rename(folder_.At("next").c_str(), folder_.At("token").c_str()), 0);
  clock_->Advance(seconds(51));
  EXPECT_EQ(Header(source), "Bearer b");
}

TEST_F(Contract12TokenFile, ManyThreadsSeeOneTokenOrTheOther) {
  Write("a");
  const auto source = Make();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const std::string header = source->Get(ctx_).value().header.reveal();
        if (header != "Bearer a" && header != "Bearer b") ++wrong;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    Write(i % 2 == 0 ? "b" : "a");
    clock_->Advance(seconds(50));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ---- OIDC ----

std::string IdToken(const std::string& claims, const std::string& mark = "x") {
  std::string payload;
  AppendBase64(claims, payload);
  for (char& c : payload) c = c == '+' ? '-' : c == '/' ? '_' : c;
  payload.erase(payload.find_last_not_of('=') + 1);
  return "e30." + payload + "." + mark;
}
// Good until so long after the start of the clock.
std::string IdTokenUntil(seconds end, const std::string& mark = "x") {
  return IdToken("{\"sub\":\"me\",\"exp\":" + std::to_string(1577836800 + end.count()) + "}", mark);
}

class Contract12Oidc : public CredentialsTest {
 protected:
  Contract12Oidc() {
    settings_ = {{"idp-issuer-url", "https://issuer.test/"}, {"client-id", "me"}, {"client-secret", "s&c"}, {"refresh-token", "r1"}};
  }
  std::shared_ptr<CredentialSource> MakeOidc() {
    SetProvider();
    return Make({.oidc_http = [this](const Context& ctx, const OidcRequest& request) { return Serve(ctx, request); }});
  }
  void SetProvider() {
    config_.auth_provider = std::make_shared<AuthProviderConfig>(
        AuthProviderConfig{.name = "oidc", .config = settings_, .persist = [this](const std::map<std::string, std::string>& settings) {
                             persisted_.push_back(settings);
                             return persist_result_;
                           }});
  }
  virtual Result<OidcResponse> Serve(const Context&, const OidcRequest& request) {
    EXPECT_EQ(request.ca_pem, want_ca_);
    requests_.push_back((request.form.empty() ? "GET " : "POST ") + request.url + " " + request.form.reveal() + " " +
                        request.authorization.reveal());
    return request.form.empty() ? discovery_ : answer_;
  }

  std::map<std::string, std::string> settings_;
  std::string want_ca_;
  OidcResponse discovery_{.code = 200, .body = R"({"token_endpoint":"https://issuer.test/token"})"};
  Result<OidcResponse> answer_ = OidcResponse{.code = 200, .body = "{}"};
  std::vector<std::string> requests_;
  std::vector<std::map<std::string, std::string>> persisted_;
  Result<void> persist_result_;
};

TEST_F(Contract12Oidc, ValidTokenIsUsedWithoutAsking) {
  settings_["id-token"] = IdTokenUntil(hours(1));
  const auto source = MakeOidc();
  EXPECT_EQ(Header(source), "Bearer " + settings_["id-token"]);
  clock_->Advance(hours(1) - seconds(11));
  EXPECT_EQ(Header(source), "Bearer " + settings_["id-token"]);
  EXPECT_THAT(requests_, ElementsAre());
}

TEST_F(Contract12Oidc, TokenIsRefreshedTenSecondsBeforeItsEndAndWrittenBack) {
  settings_["id-token"] = IdTokenUntil(hours(1));
  const auto source = MakeOidc();
  const std::string fresh = IdTokenUntil(hours(2));
  answer_ = OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", fresh}, {"refresh_token", "r2"}}))};
  clock_->Advance(hours(1) - seconds(10));
  EXPECT_EQ(Header(source), "Bearer " + fresh);
  EXPECT_EQ(Header(source), "Bearer " + fresh);
  EXPECT_THAT(requests_, ElementsAre("GET https://issuer.test/.well-known/openid-configuration  ",
                                     "POST https://issuer.test/token grant_type=refresh_token&refresh_token=r1 Basic bWU6cyUyNmM="));
  ASSERT_EQ(persisted_.size(), 1U);
  EXPECT_EQ(persisted_[0]["id-token"], fresh);
  EXPECT_EQ(persisted_[0]["refresh-token"], "r2");
  EXPECT_EQ(persisted_[0]["client-id"], "me");
  clock_->Advance(hours(2));
  answer_ = OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", IdTokenUntil(hours(9))}}))};
  EXPECT_EQ(Header(source), "Bearer " + IdTokenUntil(hours(9)));
  EXPECT_THAT(requests_.back(), HasSubstr("refresh_token=r2 "));
  EXPECT_EQ(persisted_[1]["refresh-token"], "r2");
}

TEST_F(Contract12Oidc, ClientThatIsRefusedByHeaderNamesItselfInTheForm) {
  SetProvider();
  const std::string fresh = IdTokenUntil(hours(1));
  const auto source = Make({.oidc_http = [&](const Context&, const OidcRequest& request) -> Result<OidcResponse> {
    if (request.form.empty()) return discovery_;
    requests_.push_back(request.form.reveal());
    if (!request.authorization.empty()) return OidcResponse{.code = 401, .body = R"({"error":"invalid_client"})"};
    return OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", fresh}}))};
  }});
  EXPECT_EQ(Header(source), "Bearer " + fresh);
  EXPECT_THAT(requests_.back(), "client_id=me&client_secret=s%26c&grant_type=refresh_token&refresh_token=r1");
}

TEST_F(Contract12Oidc, FaultsSayWhatToDoAndHoldNoSecret) {
  const auto fault = [&] {
    const Result<Authorization> got = MakeOidc()->Get(ctx_);
    EXPECT_FALSE(got);
    if (got) return std::string();
    EXPECT_EQ(got.error().kind(), ErrorKind::kAuth);
    EXPECT_THAT(got.error().ToString(), AllOf(HasSubstr("issuer.test"), Not(HasSubstr("hunter2"))));
    return got.error().ToString();
  };
  settings_["refresh-token"] = "hunter2";
  answer_ = OidcResponse{.code = 400, .body = R"({"error":"invalid_grant","error_description":"hunter2"})"};
  EXPECT_THAT(fault(), HasSubstr("HTTP 400 (\"invalid_grant\"); log in again"));
  answer_ = OidcResponse{.code = 200, .body = R"({"access_token":"hunter2"})"};
  EXPECT_THAT(fault(), HasSubstr("no id_token"));
  answer_ = OidcResponse{.code = 200, .body = "<html>hunter2"};
  EXPECT_THAT(fault(), HasSubstr("refresh-token is not a JSON object"));
  answer_ = OidcResponse{.code = 200, .body = R"({"id_token":"hunter2"})"};
  EXPECT_THAT(fault(), HasSubstr("not a JSON Web Token"));
  answer_ = Error(ErrorKind::kTransport, "connection refused");
  EXPECT_THAT(fault(), HasSubstr("connection refused"));
  discovery_ = {.code = 200, .body = R"({"token_endpoint":"http://issuer.test/token"})"};
  EXPECT_THAT(fault(), HasSubstr("not an https URL"));
  discovery_ = {.code = 200, .body = "{}"};
  EXPECT_THAT(fault(), HasSubstr("token_endpoint"));
  discovery_ = {.code = 200, .body = "hunter2"};
  EXPECT_THAT(fault(), HasSubstr("discovery document is not a JSON object"));
  discovery_ = {.code = 404, .body = "hunter2"};
  EXPECT_THAT(fault(), HasSubstr("HTTP 404; check idp-issuer-url"));
  settings_["refresh-token"] = "";
  EXPECT_THAT(fault(), HasSubstr("log in again"));
  settings_["id-token"] = "hunter2";
  EXPECT_THAT(fault(), HasSubstr("not a JSON Web Token"));
}

TEST_F(Contract12Oidc, WithoutAWayToAskItIsAClearError) {
  SetProvider();
  EXPECT_THAT(Header(Make()), HasSubstr("oidc_http"));
}

TEST_F(Contract12Oidc, TokensThatCannotBeWrittenBackAreUsedAllTheSame) {
  const ProcessLog log;
  persist_result_ = Error(ErrorKind::kConfig, "read-only");
  answer_ = OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", IdTokenUntil(hours(1))}}))};
  EXPECT_EQ(Header(MakeOidc()), "Bearer " + IdTokenUntil(hours(1)));
  EXPECT_THAT(log.text(), HasSubstr("read-only"));
}

TEST_F(Contract12Oidc, OneRefreshServesAllWhoWait) {
  std::atomic<int> asked = 0;
  SetProvider();
  const auto source = Make({.oidc_http = [&](const Context&, const OidcRequest& request) -> Result<OidcResponse> {
    if (request.form.empty()) return discovery_;
    ++asked;
    return OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", IdTokenUntil(hours(1))}}))};
  }});
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { good += source->Get(ctx_).ok() ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(asked, 1);
}

TEST_F(Contract12Oidc, ClientsOfOneLoginShareOneSource) {
  const auto source = MakeOidc();
  EXPECT_EQ(MakeOidc(), source);
  settings_["refresh-token"] = "of-somebody-else";
  EXPECT_NE(MakeOidc(), source);
  settings_["refresh-token"] = "r1";
  settings_["client-id"] = "other";
  EXPECT_NE(MakeOidc(), source);
  settings_["client-id"] = "me";
  config_.host = "https://other.test";
  EXPECT_NE(MakeOidc(), source);
}

TEST_F(Contract12Oidc, IssuersCaComesFromDataOrFile) {
  answer_ = OidcResponse{.code = 200, .body = ToJson(Value::Object({{"id_token", IdTokenUntil(hours(1))}}))};
  want_ca_ = TestCa().certificate_pem();
  settings_["idp-certificate-authority"] = folder_.Write("ca.pem", want_ca_);
  EXPECT_EQ(Header(MakeOidc()), "Bearer " + IdTokenUntil(hours(1)));
  settings_["idp-certificate-authority"] = folder_.At("missing");
  AppendBase64(want_ca_, settings_["idp-certificate-authority-data"]);
  EXPECT_EQ(Header(MakeOidc()), "Bearer " + IdTokenUntil(hours(1)));
}

TEST_F(Contract12Oidc, ConfigThatCannotWork) {
  const auto problem = [&](const char* name, const std::string& value) {
    auto kept = settings_;
    settings_[name] = value;
    SetProvider();
    settings_ = kept;
    return Problem();
  };
  EXPECT_THAT(problem("idp-issuer-url", ""), HasSubstr("idp-issuer-url is missing"));
  EXPECT_THAT(problem("idp-issuer-url", "http://issuer.test"), HasSubstr("https"));
  EXPECT_THAT(problem("client-id", ""), HasSubstr("client-id is missing"));
  EXPECT_THAT(problem("idp-certificate-authority-data", "%"), HasSubstr("base64"));
  EXPECT_THAT(problem("idp-certificate-authority-data", "YWJj"), HasSubstr("no PEM certificate"));
  EXPECT_THAT(problem("idp-certificate-authority", folder_.At("missing")), HasSubstr("missing"));
  EXPECT_THAT(problem("idp-certificate-authority", folder_.Write("empty", "")), HasSubstr("is empty"));
}

TEST(Contract12OidcExpiry, ReadsWholeAndBrokenNumbers) {
  EXPECT_EQ(IdTokenExpiry(IdToken("{\"exp\":1577836800}")).value(), 1577836800);
  EXPECT_EQ(IdTokenExpiry(IdToken("{\"exp\":1577836800.9}")).value(), 1577836800);
  EXPECT_EQ(IdTokenExpiry(IdToken("{\"exp\":1.5778368e9}")).value(), 1577836800);
  EXPECT_EQ(IdTokenExpiry(IdToken("{}")).value(), 0);
  for (const std::string& bad : {std::string("a.b"), std::string("a.b.c.d"), IdToken("[]"), IdToken("{\"exp\":\"soon\"}"), IdToken("{"),
                                 std::string("a.!.c"), std::string(), "a\r\n" + IdToken("{}")}) {
    EXPECT_FALSE(IdTokenExpiry(bad)) << bad;
  }
}

}  // namespace
}  // namespace kube::internal
