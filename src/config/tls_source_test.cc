// CA and client certificates, and what happens when their files change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "config/credentials_test_util.h"
#include "config/pem.h"
#include "kube/base/fake_clock.h"
#include "kube/config/credentials.h"

namespace kube::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string OtherCa() {
  static const auto* const pem = new std::string(serve::CertificateAuthority::Create("another CA").value().certificate_pem());
  return *pem;
}

class TlsTest : public ::testing::Test {
 protected:
  std::shared_ptr<TlsSource> Make() {
    auto made = MakeTlsSource(config_, nullptr, clock_, metrics_);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : nullptr;
  }
  std::string Problem() {
    const auto made = MakeTlsSource(config_, nullptr, clock_);
    EXPECT_FALSE(made);
    if (made) return {};
    EXPECT_EQ(made.error().kind(), ErrorKind::kConfig);
    return made.error().ToString();
  }
  void WritePair(const serve::KeyPair& pair) {
    folder_.Write("tls.crt", pair.certificate_pem);
    folder_.Write("tls.key", pair.key_pem);
  }
  void UseFiles() {
    config_.tls.certificate_file = folder_.At("tls.crt");
    config_.tls.key_file = folder_.At("tls.key");
  }

  TestFolder folder_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(std::chrono::system_clock::now());
  std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  ClientConfig config_;
};

TEST_F(TlsTest, NothingMeansTheSystemsRoots) {
  config_.tls.server_name = "api.test";
  const auto material = Make()->Current();
  EXPECT_EQ(material->ca_pem, "");
  EXPECT_FALSE(material->trust_nothing);
  EXPECT_FALSE(material->insecure);
  EXPECT_EQ(material->certificate, nullptr);
  EXPECT_EQ(material->server_name, "api.test");
}

TEST_F(TlsTest, DataCountsMoreThanFiles) {
  const serve::KeyPair pair = TestPair("me");
  config_.tls.ca_data = TestCa().certificate_pem();
  config_.tls.ca_file = folder_.At("missing");
  config_.tls.certificate_data = pair.certificate_pem;
  config_.tls.certificate_file = folder_.At("missing");
  config_.tls.key_data = SecretString(pair.key_pem);
  config_.tls.key_file = folder_.At("missing");
  const auto source = Make();
  const auto material = source->Current();
  EXPECT_EQ(material->ca_pem, TestCa().certificate_pem());
  EXPECT_EQ(material->certificate->certificate_pem, pair.certificate_pem);
  clock_->Advance(hours(1));
  EXPECT_EQ(source->Current(), material);
}

TEST_F(TlsTest, InsecureAndACaExcludeEachOther) {
  config_.tls.insecure = true;
  EXPECT_TRUE(Make()->Current()->insecure);
  config_.tls.ca_data = TestCa().certificate_pem();
  EXPECT_THAT(Problem(), HasSubstr("exclude each other"));
}

// ---- Rotation of the CA ----

class Contract12CaRotation : public TlsTest {
 protected:
  Contract12CaRotation() { config_.tls.ca_file = folder_.Write("ca.pem", TestCa().certificate_pem()); }
  double Reloads(const char* result, const char* reason) {
    return metrics_->Value("rest_client_transport_ca_reload_total", {{"result", result}, {"reason", reason}});
  }
  // Writes, waits five minutes, and looks.
  std::shared_ptr<const TlsMaterial> After(const std::shared_ptr<TlsSource>& source, const std::function<void()>& change) {
    change();
    clock_->Advance(minutes(5));
    return source->Current();
  }
};

TEST_F(Contract12CaRotation, SameContentChangesNothing) {
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_EQ(After(source, [&] { folder_.Write("ca.pem", TestCa().certificate_pem()); }), before);
  EXPECT_EQ(Reloads("success", "unchanged"), 1);
}

TEST_F(Contract12CaRotation, ChangedContentIsTakenAfterFiveMinutesAtTheEarliest) {
  const auto source = Make();
  const auto before = source->Current();
  folder_.Write("ca.pem", OtherCa());
  clock_->Advance(minutes(5) - milliseconds(1));
  EXPECT_EQ(source->Current(), before);
  clock_->Advance(milliseconds(1));
  const auto after = source->Current();
  EXPECT_EQ(after->ca_pem, OtherCa());
  EXPECT_EQ(after->ca_generation, before->ca_generation + 1);
  EXPECT_EQ(after->generation, before->generation);  // connections may stay
  EXPECT_EQ(Reloads("success", "updated"), 1);
  folder_.Write("ca.pem", TestCa().certificate_pem());
  clock_->Advance(minutes(4));
  EXPECT_EQ(source->Current(), after);
}

TEST_F(Contract12CaRotation, InvalidContentKeepsTheOld) {
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_EQ(After(source, [&] { folder_.Write("ca.pem", "rubbish"); }), before);
  EXPECT_EQ(Reloads("failure", "ca_parse_error"), 1);
}

TEST_F(Contract12CaRotation, UnreadableFileKeepsTheOld) {
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_EQ(After(source, [&] { folder_.Remove("ca.pem"); }), before);
  EXPECT_EQ(Reloads("failure", "read_error"), 1);
  EXPECT_EQ(After(source, [&] { folder_.Write("ca.pem", OtherCa()); })->ca_pem, OtherCa());
}

TEST_F(Contract12CaRotation, EmptyFileKeepsTheOld) {
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_EQ(After(source, [&] { folder_.Write("ca.pem", ""); }), before);
  EXPECT_EQ(Reloads("failure", "empty"), 1);
}

TEST_F(Contract12CaRotation, FileThatIsEmptyAtTheStartTrustsNothingUntilItIsFilled) {
  folder_.Write("ca.pem", "");
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_TRUE(before->trust_nothing);
  EXPECT_EQ(before->ca_pem, "");
  const auto after = After(source, [&] { folder_.Write("ca.pem", TestCa().certificate_pem()); });
  EXPECT_FALSE(after->trust_nothing);
  EXPECT_EQ(after->ca_pem, TestCa().certificate_pem());
  EXPECT_EQ(after->ca_generation, before->ca_generation + 1);
}

TEST_F(Contract12CaRotation, DataIsNeverReadAgain) {
  config_.tls.ca_data = TestCa().certificate_pem();
  const auto source = Make();
  EXPECT_EQ(After(source, [&] { folder_.Write("ca.pem", OtherCa()); })->ca_pem, TestCa().certificate_pem());
  EXPECT_TRUE(metrics_->Names().empty());
}

// ---- Rotation of the certificate ----

using Contract12CertificateRotation = TlsTest;

TEST_F(Contract12CertificateRotation, NewPairIsTakenAtMostOnceASecond) {
  const serve::KeyPair a = TestPair("a");
  const serve::KeyPair b = TestPair("b");
  WritePair(a);
  UseFiles();
  const auto source = Make();
  const auto before = source->Current();
  EXPECT_EQ(before->certificate->key_pem.reveal(), a.key_pem);
  WritePair(b);
  clock_->Advance(milliseconds(999));
  EXPECT_EQ(source->Current(), before);
  clock_->Advance(milliseconds(1));
  const auto after = source->Current();
  EXPECT_EQ(after->certificate->certificate_pem, b.certificate_pem);
  EXPECT_EQ(after->certificate->key_pem.reveal(), b.key_pem);
  EXPECT_EQ(after->generation, before->generation + 1);
  EXPECT_EQ(after->ca_generation, before->ca_generation);
}

TEST_F(Contract12CertificateRotation, SamePairChangesNothing) {
  const serve::KeyPair a = TestPair("a");
  WritePair(a);
  UseFiles();
  const auto source = Make();
  const auto before = source->Current();
  WritePair(a);
  clock_->Advance(minutes(6));
  EXPECT_EQ(source->Current(), before);
}

TEST_F(Contract12CertificateRotation, HalfWrittenPairKeepsTheOld) {
  const ProcessLog log;
  const serve::KeyPair a = TestPair("a");
  const serve::KeyPair b = TestPair("b");
  WritePair(a);
  UseFiles();
  const auto source = Make();
  const auto before = source->Current();
  const auto look = [&] {
    clock_->Advance(seconds(1));
    return source->Current();
  };
  folder_.Write("tls.crt", b.certificate_pem);  // the key has yet to come
  EXPECT_EQ(look(), before);
  EXPECT_THAT(log.text(), AllOf(HasSubstr("does not belong to the certificate"), HasSubstr(folder_.At("tls.key"))));
  folder_.Remove("tls.key");
  EXPECT_EQ(look(), before);
  folder_.Write("tls.key", "");
  EXPECT_EQ(look(), before);
  folder_.Write("tls.key", b.key_pem);
  EXPECT_EQ(look()->certificate->certificate_pem, b.certificate_pem);
  EXPECT_EQ(look()->generation, before->generation + 1);
}

TEST_F(Contract12CertificateRotation, PairThatIsNotAllFromFilesStays) {
  const serve::KeyPair a = TestPair("a");
  WritePair(a);
  UseFiles();
  config_.tls.key_data = SecretString(a.key_pem);
  const auto source = Make();
  const auto before = source->Current();
  WritePair(TestPair("b"));
  clock_->Advance(hours(1));
  EXPECT_EQ(source->Current(), before);
}

TEST_F(Contract12CertificateRotation, ManyThreadsSeeWholePairs) {
  const serve::KeyPair a = TestPair("a");
  const serve::KeyPair b = TestPair("b");
  WritePair(a);
  UseFiles();
  const auto source = Make();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto pair = source->Current()->certificate;
        const bool is_a = pair->certificate_pem == a.certificate_pem;
        if (pair->key_pem.reveal() != (is_a ? a.key_pem : b.key_pem)) ++wrong;
      }
    });
  }
  const ProcessLog log;  // of pairs that are looked at between the two writes
  for (int i = 0; i < 10; ++i) {
    WritePair(i % 2 == 0 ? b : a);
    clock_->Advance(seconds(1));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ---- Bad input ----

using TlsFaultTest = TlsTest;

TEST_F(TlsFaultTest, CaThatIsNone) {
  config_.tls.ca_file = folder_.At("ca.pem");
  EXPECT_THAT(Problem(), AllOf(HasSubstr("CA file"), HasSubstr(config_.tls.ca_file), HasSubstr("No such file")));
  const auto with = [&](const std::string& text) {
    folder_.Write("ca.pem", text);
    const std::string problem = Problem();
    EXPECT_THAT(problem, HasSubstr(config_.tls.ca_file));
    return problem;
  };
  EXPECT_THAT(with("hunter2"), AllOf(HasSubstr("no PEM certificate"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(with("\n"), HasSubstr("is empty"));
  EXPECT_THAT(with("\x30\x82\x01"), HasSubstr("-inform der"));
  EXPECT_THAT(with(TestPair("x").key_pem), HasSubstr("holds a private key in the place of a certificate"));
  EXPECT_THAT(with(TestCa().certificate_pem().substr(0, 200)), HasSubstr("cut off"));
  EXPECT_THAT(with("-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"), HasSubstr("cannot be read"));
  config_.tls.ca_data = "rubbish";
  EXPECT_THAT(Problem(), HasSubstr("certificate-authority-data holds no PEM certificate"));
}

TEST_F(TlsFaultTest, GoodCertificateBehindABadOneCounts) {
  const std::string bad = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
  config_.tls.ca_data = "# roots\n" + bad + TestCa().certificate_pem();
  EXPECT_TRUE(Make());
  const std::string good = TestCa().certificate_pem();
  config_.tls.ca_data = good.substr(0, good.size() / 2) + good;  // cut off in the middle of a line
  EXPECT_TRUE(Make());
  config_.tls.ca_data = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n" + good;
  EXPECT_TRUE(Make());
}

// Such a block may say that the certificate is not to be trusted.
TEST_F(TlsFaultTest, CertificatesWithTrustSettingsAreNotTrusted) {
  const auto relabelled = [](const std::string& label) {
    std::string pem = TestCa().certificate_pem();
    for (std::size_t at = 0; (at = pem.find(" CERTIFICATE-----", at)) != std::string::npos; at += label.size() + 6) {
      pem.replace(at + 1, 11, label);
    }
    return pem;
  };
  for (const char* label : {"TRUSTED CERTIFICATE", "X509 CERTIFICATE"}) {
    config_.tls.ca_data = relabelled(label);
    ASSERT_THAT(config_.tls.ca_data, HasSubstr("-----END " + std::string(label) + "-----"));
    EXPECT_THAT(Problem(), AllOf(HasSubstr("another label than CERTIFICATE"), HasSubstr("openssl x509")));
    const CaBundle bundle = ReadCaBundle(config_.tls.ca_data + OtherCa());
    EXPECT_EQ(bundle.certificates, ReadCaBundle(OtherCa()).certificates);
    EXPECT_EQ(bundle.unreadable, 1U);
  }
}

TEST_F(TlsFaultTest, CertificateThatIsNone) {
  const serve::KeyPair pair = TestPair("me");
  UseFiles();
  const auto with = [&](const std::string& certificate, const std::string& key) {
    WritePair({certificate, key});
    return Problem();
  };
  EXPECT_THAT(Problem(), AllOf(HasSubstr("client certificate"), HasSubstr(config_.tls.certificate_file), HasSubstr("No such file")));
  EXPECT_THAT(with("rubbish", pair.key_pem), AllOf(HasSubstr(config_.tls.certificate_file), HasSubstr("no PEM certificate")));
  EXPECT_THAT(with(pair.key_pem, pair.key_pem), HasSubstr("private key in the place of a certificate"));
  EXPECT_THAT(with(pair.certificate_pem, "rubbish"), AllOf(HasSubstr(config_.tls.key_file), HasSubstr("no PEM private key")));
  EXPECT_THAT(with(pair.certificate_pem, ""), AllOf(HasSubstr(config_.tls.key_file), HasSubstr("is empty")));
  EXPECT_THAT(with(pair.certificate_pem, pair.certificate_pem), HasSubstr("certificate in the place of a private key"));
  EXPECT_THAT(with(pair.certificate_pem, pair.key_pem.substr(0, 60)), HasSubstr("cut off"));
  const std::string encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nYWJj\n-----END ENCRYPTED PRIVATE KEY-----\n";
  EXPECT_THAT(with(pair.certificate_pem, encrypted), HasSubstr("encrypted key; decrypt it"));
  EXPECT_THAT(with(pair.certificate_pem, TestPair("other").key_pem),
              AllOf(HasSubstr("does not belong"), HasSubstr(config_.tls.key_file), HasSubstr(config_.tls.certificate_file)));
  EXPECT_THAT(with(pair.certificate_pem + TestCa().certificate_pem().substr(0, 200), pair.key_pem), HasSubstr("second PEM certificate"));
  folder_.Remove("tls.key");
  EXPECT_THAT(Problem(), AllOf(HasSubstr("client key"), HasSubstr(config_.tls.key_file)));
}

TEST_F(TlsFaultTest, HalfAPair) {
  const serve::KeyPair pair = TestPair("me");
  config_.tls.certificate_data = pair.certificate_pem;
  EXPECT_THAT(Problem(), HasSubstr("no key; set client-key"));
  config_.tls.certificate_data = "";
  config_.tls.key_data = SecretString(pair.key_pem);
  EXPECT_THAT(Problem(), HasSubstr("no client certificate"));
}

TEST_F(TlsFaultTest, ExpiredCertificateIsAWarning) {
  const ProcessLog log;
  const auto now = clock_->WallNow();
  const serve::KeyPair old = TestPair("old-admin", {.not_before = now - hours(48), .lifetime = hours(24)});
  config_.tls.certificate_data = old.certificate_pem;
  config_.tls.key_data = SecretString(old.key_pem);
  EXPECT_TRUE(Make());
  EXPECT_THAT(log.text(), AllOf(HasSubstr("has expired"), HasSubstr("CN = old-admin"), HasSubstr("client-certificate-data")));
}

TEST_F(TlsFaultTest, CertificateOfTheFutureIsAWarning) {
  const ProcessLog log;
  const serve::KeyPair young = TestPair("young", {.not_before = clock_->WallNow() + hours(24)});
  config_.tls.certificate_data = young.certificate_pem;
  config_.tls.key_data = SecretString(young.key_pem);
  EXPECT_TRUE(Make());
  EXPECT_THAT(log.text(), HasSubstr("not valid yet"));
}

TEST_F(TlsFaultTest, GoodCertificateIsNoWarning) {
  const ProcessLog log;
  WritePair(TestPair("me"));
  UseFiles();
  EXPECT_TRUE(Make());
  EXPECT_EQ(log.text(), "");
}

TEST(PemTest, TellsWhenACertificateIsValid) {
  const auto start = std::chrono::system_clock::from_time_t(1'700'000'000);
  const serve::KeyPair pair = TestPair("me", {.organizations = {"system:masters"}, .not_before = start, .lifetime = hours(1)});
  const CertificateInfo info = CheckKeyPair(pair.certificate_pem, SecretString(pair.key_pem), "a", "b").value();
  EXPECT_EQ(info.not_before, start);
  EXPECT_EQ(info.not_after, start + hours(1));
  EXPECT_THAT(info.subject, AllOf(HasSubstr("CN = me"), HasSubstr("system:masters")));
}

}  // namespace
}  // namespace kube::internal
