// Three replicas of a program with webhooks, as processes behind a TCP proxy, while their CA rotates and is lost. API servers and other
// clients call them all the time; replicas end at each step of a rotation, by SIGTERM and by kill -9. What must hold:
//   - no client ever sees an x509 error;
//   - no call fails because of a replica that is ended by SIGTERM;
//   - by kill -9 at most the calls fail that are under way on that replica, as the proxy counts them.
//
// KUBEXX_ROTATIONS: how many (3; embedded server 1). KUBEXX_ROTATION_CALLS: admission calls that each has at least (10000; embedded 200).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/admissionregistration/v1.h"
#include "kube/api/core/v1.h"
#include "kube/serve/certificate.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/webhook_server.h"
#include "rotation_cluster.h"
#include "rotation_webhooks.h"

namespace kube::rotation {
namespace {

using admissionregistration::v1::MutatingWebhookConfiguration;
using admissionregistration::v1::ValidatingWebhookConfiguration;
using internal::CaState;
using internal::Patience;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kThreads = 4;
constexpr int kHandshakes = 100;  // of a rotation, at least

int Setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::atoi(text);
}

class RotationTest : public RotationCluster {
 protected:
  // Lifetimes that give each rotation `calls` admission calls, with some to spare. A rotation lasts two thirds of the CA's lifetime.
  WebhookCertificateTimes TimesFor(int calls) {
    StartReplicas({});
    if (HasFatalFailure()) return {};
    constexpr int kCreates = 150;
    const auto load = StartCreates(kThreads);
    const auto began = steady_clock::now();
    EXPECT_TRUE(WaitFor([&] { return load->calls() >= kCreates; }));
    const double rate = load->calls() * kCallsOfOneCreate * 1000 / MillisSince(began);
    load->Stop();
    EndReplicas();
    const double lifetime = std::clamp(1.2 * 1.5 * calls / rate, 60.0, 180.0);
    std::printf("%.0f admission calls/s: a CA for %.0f s\n", rate, lifetime);
    const nanoseconds ca = seconds(static_cast<int>(lifetime));
    return {.ca_lifetime = ca, .leaf_lifetime = ca / 4, .injection_wait = ca / 8, .clock_skew = seconds(2)};
  }

  void Begin(const WebhookCertificateTimes& times) {
    StartReplicas(times);
    if (HasFatalFailure()) return;
    failed_at_start_ = CountedByServer().failed;  // before a replica was ready
    creates_ = StartCreates(kThreads);
    handshakes_ = StartHandshakes();
  }

  // All ready again, after `deaths_` replicas were killed.
  void AwaitAllReady() {
    ASSERT_TRUE(WaitFor([&] {
      const Replicas::Tally tally = replicas_->tally();
      return !tally.mistakes.empty() || (tally.killed >= deaths_ && tally.terminated >= terminations_ && replicas_->AllReady());
    }));
    ASSERT_EQ(replicas_->tally().mistakes, std::vector<std::string>());
  }

  void Terminate() {
    done_ += " SIGTERM,";
    replicas_->Terminate(static_cast<std::size_t>(terminations_++) % 3);
    AwaitAllReady();
  }
  // The replica that does this step dies of it, unless the step is `over` already.
  void KillAt(const std::string& place, const std::function<bool()>& over) {
    replicas_->KillAt(place);
    ASSERT_TRUE(WaitFor([&] { return !replicas_->WaitsForDeath() || over(); }));
    if (!replicas_->CallOff()) return;
    ++deaths_;
    done_ += " kill -9 " + place + ",";
  }

  // One rotation: the current CA is replaced, and the old one dropped. Two or three replicas are killed in it, each at another step, and
  // one is ended by SIGTERM: before the rotation, while the next CA is injected, or while the old one is still trusted.
  void Rotate(int number) {
    const Result<CaState> before = Ca();
    ASSERT_TRUE(before);
    const std::string old = before->current.pair.certificate_pem;
    const auto promoted = [&] {
      const Result<CaState> now = Ca();
      return now && now->current.pair.certificate_pem != old;
    };
    const auto dropped = [&] {
      const Result<CaState> now = Ca();
      return now && now->Bundle().find(old) == std::string::npos;
    };
    const int variant = embedded() ? 1 : number % 3;
    constexpr const char* kFirst[] = {"before next", "before bundle", "after next", "after bundle"};
    if (variant == 0) {
      ASSERT_NO_FATAL_FAILURE(Terminate());
    }
    ASSERT_NO_FATAL_FAILURE(KillAt(kFirst[number % 4], promoted));
    if (variant == 1) {
      ASSERT_NO_FATAL_FAILURE(AwaitAllReady());
      ASSERT_NO_FATAL_FAILURE(Terminate());
    } else {
      // Two may be away at a time: the third one serves.
      ASSERT_NO_FATAL_FAILURE(KillAt(number % 4 < 2 ? "before promote" : "after promote", promoted));
    }
    ASSERT_TRUE(WaitFor(promoted));
    ASSERT_NO_FATAL_FAILURE(AwaitAllReady());
    if (embedded()) return;  // the old one stays for seconds
    if (variant == 2) {
      ASSERT_NO_FATAL_FAILURE(Terminate());
    }
    ASSERT_NO_FATAL_FAILURE(KillAt(number % 2 == 0 ? "before drop" : "after drop", dropped));
    ASSERT_TRUE(WaitFor(dropped));
    ASSERT_NO_FATAL_FAILURE(AwaitAllReady());
  }

  // Calls of webhooks: as the server counts them, if it does.
  int AdmissionCallsSoFar() const { return embedded() ? creates_->calls() * kCallsOfOneCreate : static_cast<int>(CountedByServer().calls); }

  void ExpectNothingFailedButWhatWasKilled() {
    creates_->Stop();
    handshakes_->Stop();
    AdmissionCalls counted = CountedByServer();
    counted.failed -= failed_at_start_;
    replicas_->Finish();
    const Replicas::Tally tally = replicas_->tally();
    const int allowed = tally.cut_by_kill + tally.perhaps_cut_by_kill;
    std::printf("%d creates, failed: %s\n", creates_->calls(), creates_->failures().ToString().c_str());
    std::printf("%d handshakes, failed: %s\n", handshakes_->calls(), handshakes_->failures().ToString().c_str());
    std::printf("by SIGTERM %d (calls cut: %d), by kill -9 %d (calls cut: %d, perhaps %d more); connections: %d\n", tally.terminated,
                tally.cut_by_term, tally.killed, tally.cut_by_kill, tally.perhaps_cut_by_kill, proxy_.connections());
    if (!embedded())
      std::printf("admission calls counted by the server: %.0f, failed since the start: %.0f\n", counted.calls, counted.failed);
    for (const Failures* failures : {&creates_->failures(), &handshakes_->failures()}) {
      EXPECT_EQ(failures->count("x509"), 0);
      EXPECT_EQ(failures->count("timeout"), 0);
      EXPECT_EQ(failures->count("other"), 0);
    }
    EXPECT_EQ(LoggedByServer({"webhook", "x509"}), 0);
    EXPECT_EQ(tally.cut_by_term, 0) << "calls under way on replicas that were ended by SIGTERM";
    EXPECT_LE(creates_->failures().count() + handshakes_->failures().count(), allowed);
    EXPECT_LE(counted.failed, allowed);
    EXPECT_EQ(tally.killed, deaths_);
    EXPECT_EQ(tally.mistakes, std::vector<std::string>());
  }

  std::unique_ptr<Load> creates_, handshakes_;
  double failed_at_start_ = 0;
  int deaths_ = 0, terminations_ = 0;
  std::string done_;
};

TEST_P(RotationTest, NoCallFailsWhileTheCaRotatesAndReplicasEnd) {
  const int rotations = embedded() ? 1 : Setting("KUBEXX_ROTATIONS", 3);
  const int calls = embedded() ? 200 : Setting("KUBEXX_ROTATION_CALLS", 10'000);
  // Quick on the embedded server: there is a CA already, which is soon due.
  WebhookCertificateTimes times{
      .ca_lifetime = seconds(180), .leaf_lifetime = seconds(60), .injection_wait = seconds(5), .clock_skew = seconds(2)};
  if (embedded()) {
    PutCa(times, times.ca_lifetime * 2 / 3 - seconds(10));
  } else {
    times = TimesFor(calls);
  }
  if (HasFailure() || IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(Begin(times));
  int full = 0, most_calls = 0, most_handshakes = 0;
  // A rotation with too few calls, on a busy machine, does not count.
  for (int i = 0; full < rotations && i < 2 * rotations + 2; ++i) {
    const int calls_before = AdmissionCallsSoFar(), handshakes_before = handshakes_->calls();
    done_.clear();
    const auto began = steady_clock::now();
    ASSERT_NO_FATAL_FAILURE(Rotate(i));
    const int made = AdmissionCallsSoFar() - calls_before, shaken = handshakes_->calls() - handshakes_before;
    std::printf("rotation %d in %.0f s: %d admission calls, %d handshakes;%s failed so far: %d\n", i + 1, MillisSince(began) / 1000, made,
                shaken, done_.c_str(), creates_->failures().count() + handshakes_->failures().count());
    std::fflush(stdout);
    most_calls = std::max(most_calls, made);
    most_handshakes = std::max(most_handshakes, shaken);
    if (made >= calls && (embedded() || shaken >= kHandshakes)) ++full;
  }
  EXPECT_EQ(full, rotations) << "with enough calls; the most were " << most_calls << " calls and " << most_handshakes << " handshakes";
  if (!embedded()) {
    EXPECT_GE(deaths_, rotations);
  }
  ExpectNothingFailedButWhatWasKilled();
}

TEST_P(RotationTest, NoCallFailsWhenTheSecretIsDeleted) {
  ASSERT_NO_FATAL_FAILURE(Begin({}));
  const std::string bundle = Bundle();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(DeleteSecret());
    const int calls = creates_->calls();
    EXPECT_TRUE(WaitFor([&] { return Ca().ok() && creates_->calls() > calls + 50; }));
    EXPECT_EQ(Bundle(), bundle);
  }
  ExpectNothingFailedButWhatWasKilled();
  EXPECT_EQ(creates_->failures().count() + handshakes_->failures().count(), 0);
}

INSTANTIATE_TEST_SUITE_P(Server, RotationTest, ::testing::Values("embedded", "newest"),
                         [](const ::testing::TestParamInfo<const char*>& server) { return std::string(server.param); });

// How long an API server goes on with the CA that a configuration had: what WebhookCertificateTimes::injection_wait has to cover.
class InjectionDelayTest : public RotationTest {
 protected:
  // Changes the CA of the webhooks of `ns` again and again.
  std::vector<double> Delays(const std::string& ns) {
    core::v1::Namespace made;
    made.metadata.name = ns;
    made.metadata.labels["hooks"] = ns;
    EXPECT_TRUE(admin_->Create(Patience(), made));
    const std::vector<WebhookSpec> specs = Webhooks(ns);
    std::vector<WebhookEndpoint> endpoints;
    for (const WebhookSpec& spec : specs) endpoints.insert(endpoints.end(), spec.endpoints.begin(), spec.endpoints.end());
    std::unique_ptr<WebhookServer> server;
    WebhookConfigurations configurations;
    std::vector<double> delays;
    for (int i = 0; i < 30; ++i) {
      const serve::CertificateAuthority ca = serve::CertificateAuthority::Create("delay").value();
      const serve::KeyPair leaf = ca.Issue({.common_name = "w", .addresses = {"127.0.0.1"}, .server = true}).value();
      const serve::HttpTlsOptions tls{.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem};
      const auto trust = [&](auto& configuration) {
        for (auto& webhook : configuration.webhooks) webhook.client_config.ca_bundle = Bytes(ca.certificate_pem());
      };
      if (server == nullptr) {
        server = WebhookServer::Start(endpoints, tls, {.bind_address = "127.0.0.1", .port = 0}).value();
        configurations =
            MakeWebhookConfigurations(specs, {.name = ns, .ns = ns, .url = "https://127.0.0.1:" + std::to_string(server->port())}).value();
        EXPECT_TRUE(admin_->Create(Patience(), *configurations.mutating));
        EXPECT_TRUE(admin_->Create(Patience(), *configurations.validating));
      } else {
        EXPECT_TRUE(server->SetCertificate(tls));
      }
      auto mutating = admin_->Get<MutatingWebhookConfiguration>(Patience(), {"", String(ns)}).value();
      auto validating = admin_->Get<ValidatingWebhookConfiguration>(Patience(), {"", String(ns)}).value();
      trust(mutating);
      trust(validating);
      EXPECT_TRUE(admin_->Update(Patience(), mutating));
      EXPECT_TRUE(admin_->Update(Patience(), validating));
      const auto injected = steady_clock::now();
      if (!WaitFor([&] { return CreateMap(*admin_, ns, "a").empty(); })) {
        ADD_FAILURE() << "the server does not use a CA that was injected";
        break;
      }
      delays.push_back(MillisSince(injected));
    }
    std::sort(delays.begin(), delays.end());
    if (delays.empty()) return {0};
    EXPECT_TRUE(admin_->Delete<ValidatingWebhookConfiguration>(Patience(), {"", String(ns)}));
    EXPECT_TRUE(admin_->Delete<MutatingWebhookConfiguration>(Patience(), {"", String(ns)}));
    return delays;
  }
};

TEST_P(InjectionDelayTest, AServerSoonReadsAnInjectedCa) {
  const std::vector<double> idle = Delays("idle");
  ASSERT_NO_FATAL_FAILURE(Begin({}));
  const std::vector<double> busy = Delays("busy");
  std::printf("an injected CA is used after: median %.0f ms, most %.0f ms; under load: median %.0f ms, most %.0f ms (%zu changes each)\n",
              idle[idle.size() / 2], idle.back(), busy[busy.size() / 2], busy.back(), busy.size());
  EXPECT_LT(idle.back(), 60'000);
  EXPECT_LT(busy.back(), 60'000);
}

INSTANTIATE_TEST_SUITE_P(Server, InjectionDelayTest, ::testing::Values("newest"),
                         [](const ::testing::TestParamInfo<const char*>& server) { return std::string(server.param); });

}  // namespace
}  // namespace kube::rotation
