#include "control/certificates/ca_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>
#include <string>

#include "control/certificates/ca_keeper.h"
#include "kube/base/fake_clock.h"
#include "kube/codec/json.h"

namespace kube::internal {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using WallTime = Clock::WallTime;

const WallTime kNow = FakeClock().WallNow();
constexpr WebhookCertificateTimes kTimes;

CaState NewCa(WallTime now = kNow) { return CaState::Create("networks", kTimes, now).value(); }
CaStep Step(const CaState& state, WallTime now, std::optional<WallTime> injected_since = {}) {
  return NextCaStep(state, "networks", injected_since, now, kTimes).value();
}

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
// A CA made outside of kubexx, with a comment of that many bytes.
serve::KeyPair ForeignCa(bool ed25519, std::size_t comment) {
  const std::unique_ptr<EVP_PKEY, FreeKey> key(ed25519 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519") : EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, FreeX509> certificate(X509_new());
  X509* const x = certificate.get();
  X509_set_version(x, X509_VERSION_3);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>("foreign"), 7, -1, 0);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  ASN1_TIME_set(X509_getm_notBefore(x), 0);
  ASN1_TIME_set(X509_getm_notAfter(x), std::chrono::system_clock::to_time_t(kNow + hours(24 * 3650)));
  X509_set_pubkey(x, key.get());
  const auto extend = [x](int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, "critical,CA:TRUE");
  extend(NID_netscape_comment, std::string(comment, 'x'));
  EXPECT_GT(X509_sign(x, key.get(), ed25519 ? nullptr : EVP_sha256()), 0);
  const auto text = [](const auto& write) {
    BIO* const bio = BIO_new(BIO_s_mem());
    EXPECT_EQ(write(bio), 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string out(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return out;
  };
  return {.certificate_pem = text([&](BIO* bio) { return PEM_write_bio_X509(bio, x); }),
          .key_pem = text([&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); })};
}
std::string LargeCa(std::size_t bytes) { return ForeignCa(false, bytes).certificate_pem; }

TEST(CaStateTest, SurvivesJson) {
  CaState state = NewCa();
  state.revision = 7;
  state.next = NewCa().current;
  state.retired = {{NewCa().current.pair.certificate_pem, kNow + hours(3)}};
  const CaState read = CaState::Parse(state.ToJson()).value();
  EXPECT_EQ(read.ToJson(), state.ToJson());
  EXPECT_EQ(read.revision, 7);
  EXPECT_EQ(read.phase(), "adding");
  EXPECT_EQ(read.retired[0].until, kNow + hours(3));
  EXPECT_FALSE(read.damaged);
  EXPECT_EQ(serve::SplitCertificates(read.Bundle()).size(), 3U);
}

TEST(CaStateTest, TheBundleIsTheSameWhateverTheOrder) {
  CaState a = NewCa(), b = NewCa();
  a.next = b.current;
  b.next = a.current;
  EXPECT_EQ(a.Bundle(), b.Bundle());
}

TEST(CaStateTest, RefusesWhatIsNoUsableCaWithoutSayingIt) {
  const CaState good = NewCa();
  const std::string key = good.current.pair.key_pem.substr(60, 20);
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("{\"current\":{}}"),
                                  good.ToJson().substr(0, good.ToJson().size() / 2), std::string(CaState::kMostJson + 1, ' ')}) {
    const Result<CaState> read = CaState::Parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().ToString(), Not(HasSubstr(key)));
  }
  CaState mixed = good;
  mixed.current.pair.key_pem = NewCa().current.pair.key_pem;
  EXPECT_FALSE(CaState::Parse(mixed.ToJson())) << "the key belongs to another certificate";
  const WebhookLeaf leaf = IssueLeaf(good, {"a.b.svc"}, kNow, kTimes).value();
  CaState no_ca = good;
  no_ca.current.pair = leaf.pair;
  EXPECT_FALSE(CaState::Parse(no_ca.ToJson())) << "a leaf is no CA";
}

TEST(CaStateTest, RefusesAKeyThatCannotSign) {
  // An Ed25519 CA: its certificate and its key are good, but cannot be used with SHA-256.
  Value root = ParseJson(NewCa().ToJson()).value();
  const serve::KeyPair ca = ForeignCa(true, 1);
  root["current"] = Value::Object({{"certificate", Value(ca.certificate_pem)}, {"key", Value(ca.key_pem)}});
  ASSERT_TRUE(serve::CertificateAuthority::FromPem(ca));
  const Result<CaState> read = CaState::Parse(ToJson(root));
  ASSERT_FALSE(read) << "it would end the program when it issues its certificate";
  EXPECT_THAT(read.error().ToString(), HasSubstr("no usable CA"));
}

TEST(CaStateTest, ALargeCertificateIsNoPartOfIt) {
  const CaState good = NewCa();
  Value root = ParseJson(good.ToJson()).value();
  const std::string large = LargeCa(CaState::kMostCertificate);
  root["retired"].MutableList().push_back(Value::Object({{"certificate", Value(large)}, {"until", "2100-01-01T00:00:00Z"}}));
  EXPECT_TRUE(CaState::Parse(ToJson(root)).value().damaged);
  EXPECT_TRUE(CaState::Parse(ToJson(root)).value().retired.empty());
  root["current"]["key"] = Value(good.current.pair.key_pem + std::string(CaState::kMostKey, '\n'));
  EXPECT_FALSE(CaState::Parse(ToJson(root)));
}

TEST(CaStateTest, KeepsTheCurrentCaIfOtherPartsAreDamaged) {
  Value json = ParseJson(NewCa().ToJson()).value();
  json["next"]["certificate"] = "nothing";
  json["retired"] = Value::Array({Value("what"), Value::Object({{"certificate", "x"}, {"until", "y"}})});
  json["revision"] = "many";
  const CaState read = CaState::Parse(ToJson(json)).value();
  EXPECT_TRUE(read.damaged);
  EXPECT_FALSE(read.next);
  EXPECT_TRUE(read.retired.empty());
  const CaStep step = Step(read, kNow);
  ASSERT_TRUE(step.write);
  EXPECT_EQ(step.write->revision, 2);
  EXPECT_FALSE(CaState::Parse(step.write->ToJson()).value().damaged);
}

TEST(CaStateTest, CutsTimesThatClocksCannotSay) {
  Value json = ParseJson(NewCa().ToJson()).value();
  json["retired"] = Value::Array(
      {Value::Object({{"certificate", Value(NewCa().current.pair.certificate_pem)}, {"until", Value("9999-12-31T23:59:59Z")}})});
  const CaState read = CaState::Parse(ToJson(json)).value();
  const CaStep step = Step(read, kNow);
  ASSERT_TRUE(step.write) << "a retired CA that would be trusted forever";
  EXPECT_EQ(step.write->retired[0].until, kNow + kTimes.leaf_lifetime + kTimes.clock_skew);
}

// The whole of a rotation, with the trusted CAs and the issuer at each step.
TEST(CaStateTest, RotatesWithOverlap) {
  CaState state = NewCa();
  const std::string old_ca = state.current.pair.certificate_pem;
  const WallTime due = state.RotatesAt(kTimes);
  EXPECT_EQ(due, state.current.info.not_after - kTimes.ca_lifetime / 3);
  EXPECT_FALSE(Step(state, due - seconds(1)).write);
  EXPECT_EQ(Step(state, due - seconds(1)).again, due);

  CaStep step = Step(state, due);
  ASSERT_TRUE(step.write);
  state = *step.write;
  const std::string new_ca = state.next->pair.certificate_pem;
  EXPECT_EQ(state.current.pair.certificate_pem, old_ca);
  EXPECT_THAT(state.Bundle(), HasSubstr(new_ca));

  EXPECT_FALSE(Step(state, due + hours(100)).write) << "it is not injected everywhere";
  const WallTime injected = due + minutes(1);
  EXPECT_FALSE(Step(state, injected + kTimes.injection_wait - seconds(1), injected).write);
  EXPECT_EQ(Step(state, injected, injected).again, injected + kTimes.injection_wait);
  const WallTime promoted = injected + kTimes.injection_wait;
  step = Step(state, promoted, injected);
  ASSERT_TRUE(step.write);
  state = *step.write;
  EXPECT_EQ(state.current.pair.certificate_pem, new_ca);
  EXPECT_THAT(state.ToJson(), Not(HasSubstr(NewCa().current.pair.key_pem)));
  EXPECT_EQ(state.retired[0].certificate, old_ca);
  EXPECT_THAT(state.Bundle(), HasSubstr(old_ca));
  EXPECT_EQ(state.phase(), "dropping");

  const WallTime over = promoted + kTimes.leaf_lifetime + kTimes.clock_skew;
  EXPECT_FALSE(Step(state, over - seconds(1)).write);
  EXPECT_EQ(Step(state, over - seconds(1)).again, over);
  step = Step(state, over);
  ASSERT_TRUE(step.write);
  EXPECT_EQ(step.write->Bundle(), new_ca);
  EXPECT_EQ(step.write->revision, 4);
  EXPECT_EQ(step.write->phase(), "steady");
}

TEST(CaStateTest, ReplacesAnExpiredCaWithoutWaiting) {
  CaState state = NewCa();
  const std::string old_ca = state.current.pair.certificate_pem;
  const WallTime expired = state.current.info.not_after;
  for (std::size_t i = 0; i < CaState::kMostRetired; ++i)
    state.retired.push_back({NewCa().current.pair.certificate_pem, expired + hours(1)});
  CaStep step = Step(state, expired);
  ASSERT_TRUE(step.write) << "also if no other one could be retired";
  ASSERT_TRUE(step.write->next);
  state = *step.write;
  const std::string new_ca = state.next->pair.certificate_pem;
  EXPECT_EQ(Step(state, expired - seconds(1)).again, expired) << "nothing else comes before it expires";
  for (const auto& injected : {std::optional<WallTime>(), std::optional(expired)}) {
    step = Step(state, expired, injected);
    ASSERT_TRUE(step.write);
    EXPECT_EQ(step.write->current.pair.certificate_pem, new_ca);
  }
  state.retired.clear();
  EXPECT_EQ(Step(state, expired).write->retired[0].certificate, old_ca) << "the clock may be ahead";
}

TEST(CaStateTest, ReplacesACaThatIsNotValidYet) {
  const CaState state = NewCa(kNow + hours(48));  // by a replica whose clock was ahead
  ASSERT_TRUE(Step(state, kNow).write);
  EXPECT_LE(Step(state, kNow).write->next->info.not_before, kNow);
}

TEST(CaStateTest, ALeafIsForItsHostsAndRenewedWhenAThirdIsLeft) {
  const CaState state = NewCa();
  const WebhookLeaf leaf = IssueLeaf(state, {"w.ns.svc", "127.0.0.1", "::1"}, kNow, kTimes).value();
  EXPECT_THAT(leaf.info.dns_names, ::testing::ElementsAre("w.ns.svc"));
  EXPECT_THAT(leaf.info.addresses, ::testing::ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(leaf.info.not_before, kNow - kTimes.clock_skew);
  EXPECT_EQ(leaf.info.not_after, kNow + kTimes.leaf_lifetime);
  EXPECT_FALSE(leaf.info.is_ca);
  EXPECT_TRUE(serve::IsSignedByOneOf(leaf.pair.certificate_pem, state.Bundle()));
  EXPECT_FALSE(serve::IsSignedByOneOf(leaf.pair.certificate_pem, NewCa().Bundle()));
  const WallTime third = kNow + kTimes.leaf_lifetime * 2 / 3;
  EXPECT_FALSE(NeedsLeaf(leaf, state, third - seconds(1)));
  EXPECT_TRUE(NeedsLeaf(leaf, state, third + seconds(1)));
  EXPECT_TRUE(NeedsLeaf(leaf, NewCa(), kNow)) << "another CA";
  EXPECT_TRUE(NeedsLeaf({}, state, kNow));
  EXPECT_TRUE(NeedsLeaf(leaf, state, kNow - kTimes.clock_skew - seconds(1)) == false) << "the CA is not valid then either";
}

TEST(CaStateTest, ALeafEndsWithItsCa) {
  const CaState state = NewCa();
  const WallTime late = state.current.info.not_after - hours(1);
  const WebhookLeaf leaf = IssueLeaf(state, {"a"}, late, kTimes).value();
  EXPECT_EQ(leaf.info.not_after, state.current.info.not_after);
  EXPECT_FALSE(NeedsLeaf(leaf, state, late + minutes(59))) << "a new one would not be valid for longer";
  EXPECT_FALSE(NeedsLeaf(leaf, state, late + hours(2))) << "nothing can be issued by an expired CA";
}

// ---- CaKeeper ----

class CaKeeperTest : public ::testing::Test {
 protected:
  static CaKeeper New() { return CaKeeper("networks", kTimes); }
  static std::optional<CaKeeper::Write> Write(CaKeeper& keeper, CaKeeper::Situation situation = {}, WallTime now = kNow) {
    return keeper.Next(situation, now).value().write;
  }
  static StoredCa Stored(const CaState& state, const std::string& version = "5") { return {state.ToJson(), version}; }
};

TEST_F(CaKeeperTest, DoesNothingBeforeItHasRead) {
  CaKeeper keeper = New();
  EXPECT_FALSE(Write(keeper, {.leads = true}));
}

TEST_F(CaKeeperTest, CreatesWhatIsNotThereWithoutLeading) {
  CaKeeper keeper = New();
  keeper.Saw({}, kNow);
  const auto write = Write(keeper);
  ASSERT_TRUE(write);
  EXPECT_FALSE(write->replaces);
  EXPECT_FALSE(write->repairs);
  EXPECT_FALSE(keeper.held()) << "it is not known whether the server took it";
  keeper.Saw(StoredCa{write->json, "5"}, kNow);
  EXPECT_TRUE(keeper.held());
  EXPECT_FALSE(Write(keeper, {.leads = true}));
  EXPECT_TRUE(keeper.may_inject());
}

TEST_F(CaKeeperTest, ANewCaKeepsWhatServersTrust) {
  CaKeeper keeper = New();
  keeper.Saw({}, kNow);
  const CaState other = NewCa();
  const CaState made = CaState::Parse(Write(keeper, {.trusted = other.Bundle() + other.Bundle() + "x"})->json).value();
  ASSERT_EQ(made.retired.size(), 1U);
  EXPECT_EQ(made.retired[0].certificate, other.current.pair.certificate_pem);
  EXPECT_EQ(made.retired[0].until, kNow + kTimes.leaf_lifetime + kTimes.clock_skew);
}

TEST_F(CaKeeperTest, AReplicaThatStartsKeepsWhatServersTrustBeforeItInjects) {
  CaKeeper keeper = New();
  const CaState stored = NewCa(), other = NewCa();
  keeper.Saw(Stored(stored), kNow);
  const auto write = Write(keeper, {.trusted = other.Bundle()});
  ASSERT_TRUE(write);
  EXPECT_FALSE(keeper.may_inject());
  EXPECT_EQ(write->replaces, "5");
  keeper.Saw(StoredCa{write->json, "6"}, kNow);
  EXPECT_FALSE(Write(keeper, {.trusted = other.Bundle()}));
  EXPECT_TRUE(keeper.may_inject());
  EXPECT_EQ(serve::SplitCertificates(keeper.held()->Bundle()).size(), 2U);
  EXPECT_FALSE(Write(keeper, {.trusted = NewCa().Bundle()})) << "later on, what is foreign in a configuration is removed";
}

TEST_F(CaKeeperTest, WhatItKeepsNeverMakesTheSecretUnreadable) {
  CaKeeper keeper = New();
  keeper.Saw({}, kNow);
  std::string trusted;
  for (std::size_t i = 0; i < CaState::kMostRetired; ++i) trusted += LargeCa(std::size_t{40} << 10);
  const CaState other = NewCa();
  trusted += other.Bundle();
  const auto write = Write(keeper, {.trusted = trusted});
  ASSERT_TRUE(write);
  const Result<CaState> read = CaState::Parse(write->json);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_THAT(read->Bundle(), HasSubstr(other.current.pair.certificate_pem)) << "large ones take nobody's place";
}

TEST_F(CaKeeperTest, TheLargestRevisionIsNoEnd) {
  CaKeeper keeper = New();
  CaState state = NewCa();
  state.revision = CaState::kMostRevision;  // edited by another client
  keeper.Saw(Stored(state), kNow);
  const auto next = Write(keeper, {.leads = true}, state.RotatesAt(kTimes));
  ASSERT_TRUE(next);
  keeper.Saw(StoredCa{next->json, "6"}, kNow);
  EXPECT_EQ(keeper.problem(), "") << "its own write is not one that was set back";
  EXPECT_TRUE(keeper.may_inject());
  EXPECT_TRUE(keeper.held()->next);
  keeper.Saw({}, kNow);
  keeper.Saw(StoredCa{Write(keeper)->json, "7"}, kNow);
  EXPECT_TRUE(keeper.may_inject());
}

TEST_F(CaKeeperTest, PutsBackADeletedSecret) {
  CaKeeper keeper = New();
  const CaState state = NewCa();
  keeper.Saw(Stored(state), kNow);
  keeper.Saw({}, kNow);
  EXPECT_EQ(keeper.problem(), "it was deleted");
  const auto write = Write(keeper);
  ASSERT_TRUE(write);
  EXPECT_FALSE(write->replaces);
  EXPECT_TRUE(write->repairs);
  EXPECT_EQ(CaState::Parse(write->json).value().Bundle(), state.Bundle());
  EXPECT_EQ(CaState::Parse(write->json).value().revision, 2);
}

TEST_F(CaKeeperTest, RepairsWhatIsNotUsableAtOnceIfItKnowsBetter) {
  CaKeeper keeper = New();
  keeper.Saw(Stored(NewCa()), kNow);
  keeper.Saw(StoredCa{"garbage", "6"}, kNow);
  EXPECT_FALSE(keeper.may_inject());
  const auto write = Write(keeper);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->replaces, "6");
  EXPECT_TRUE(write->repairs);
}

TEST_F(CaKeeperTest, WaitsBeforeItReplacesWhatItNeverKnew) {
  CaKeeper keeper = New();
  keeper.Saw(StoredCa{"garbage", "6"}, kNow);
  EXPECT_FALSE(Write(keeper));
  EXPECT_EQ(keeper.Next({}, kNow).value().again, kNow + kTimes.repair_delay);
  keeper.Saw(StoredCa{"garbage", "6"}, kNow + seconds(4));
  const auto write = Write(keeper, {}, kNow + kTimes.repair_delay);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->replaces, "6");
}

TEST_F(CaKeeperTest, PutsBackASecretThatWasSetBackAndTrustsBoth) {
  CaKeeper keeper = New();
  CaState newer = NewCa();
  newer.revision = 9;
  keeper.Saw(Stored(newer), kNow);
  const CaState older = NewCa();
  keeper.Saw(Stored(older, "7"), kNow);
  EXPECT_THAT(keeper.problem(), HasSubstr("reset to revision 1 from 9"));
  const auto write = Write(keeper);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->replaces, "7");
  const CaState put = CaState::Parse(write->json).value();
  EXPECT_EQ(put.revision, 10);
  EXPECT_EQ(put.current.pair.certificate_pem, newer.current.pair.certificate_pem);
  EXPECT_THAT(put.Bundle(), HasSubstr(older.current.pair.certificate_pem));
}

TEST_F(CaKeeperTest, OnlyALeaderRotates) {
  CaKeeper keeper = New();
  const CaState state = NewCa();
  keeper.Saw(Stored(state), kNow);
  const WallTime due = state.RotatesAt(kTimes);
  EXPECT_FALSE(Write(keeper, {}, due));
  const auto write = Write(keeper, {.leads = true}, due);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->what, "added the next CA");
  EXPECT_FALSE(write->repairs);
}

}  // namespace
}  // namespace kube::internal
