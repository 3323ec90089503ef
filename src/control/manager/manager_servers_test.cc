// The metrics server of a manager: TLS, access and content; and docs/metrics.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "control/certificates/certificate_files.h"
#include "control/manager/manager_test_util.h"
#include "kube/base/log.h"
#include "kube/config/credentials.h"
#include "kube/serve/certificate.h"
#include "kube/transport/transport.h"
#include "testing/temporary_directory.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Result<Action> Nothing(const Context&, const Request&) { return Action::Done(); }

class ManagerServersTest : public ManagerServerTest {
 protected:
  void SetUp() override {
    ManagerServerTest::SetUp();
    dir_ = testing::internal::TemporaryDirectory::Create("kubexx-manager").value();
  }
  void WriteFile(const std::string& name, const std::string& text) const {
    // Replaced as a whole, as a mounted Secret is.
    std::ofstream(dir_->path() + "/new") << text;
    ASSERT_EQ(std::rename((dir_->path() + "/new").c_str(), (dir_->path() + "/" + name).c_str()), 0);
  }
  static std::shared_ptr<Transport> SecureTo(std::uint16_t port, const std::string& ca_pem) {
    ClientConfig config;
    config.host = "https://127.0.0.1:" + std::to_string(port);
    config.tls.ca_data = ca_pem;
    config.tls.insecure = ca_pem.empty();
    return Client::FromConfig(config, {.max_retries = 0}).value().transport();
  }

  std::unique_ptr<testing::internal::TemporaryDirectory> dir_;
};

TEST_F(ManagerServersTest, WithoutFilesTheCertificateIsSelfSigned) {
  Manager manager(*client_, {.metrics_bind_address = "127.0.0.1:0", .metrics_secure = true});
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0; }));
  EXPECT_THAT(AskServer(SecureTo(manager.metrics_port(), ""), "GET", "/metrics"), HasSubstr("200 "));
  EXPECT_THAT(AskServer(PlainTo(manager.metrics_port()), "GET", "/metrics"), Not(HasSubstr("200 ")));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, Http2IsSpokenWhereItIsWantedOnly) {
  for (const bool wanted : {false, true}) {
    ManagerOptions options{.metrics_bind_address = "127.0.0.1:0", .health_probe_bind_address = "127.0.0.1:0"};
    options.server_limits.http2 = wanted;
    Manager manager(*client_, options);
    RunningManager running(manager);
    ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0 && manager.health_port() != 0; }));
    for (const std::uint16_t port : {manager.metrics_port(), manager.health_port()}) {
      // With prior knowledge: the first frame of a server of HTTP/2 is SETTINGS; one of HTTP/1.1 says "HTTP/1.1 505".
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_port = htons(port);
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
      const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
      ASSERT_EQ(send(fd, preface.data(), preface.size(), MSG_NOSIGNAL), static_cast<ssize_t>(preface.size()));
      std::array<char, 5> first{};
      EXPECT_EQ(recv(fd, first.data(), first.size(), MSG_WAITALL), 5);
      EXPECT_EQ(std::string(first.data(), 4) != "HTTP" && first[3] == 4, wanted);
      close(fd);
    }
    EXPECT_TRUE(running.Stop());
  }
}

TEST_F(ManagerServersTest, TheCertificateIsReadAgainWhenItChanges) {
  const serve::CertificateAuthority first = serve::CertificateAuthority::Create("first").value();
  const serve::CertificateAuthority second = serve::CertificateAuthority::Create("second").value();
  const auto issue = [](const serve::CertificateAuthority& ca) {
    return ca.Issue({.common_name = "metrics", .addresses = {"127.0.0.1"}, .server = true}).value();
  };
  const serve::KeyPair one = issue(first), two = issue(second);
  WriteFile("tls.crt", one.certificate_pem);
  WriteFile("tls.key", one.key_pem);
  const auto metrics = std::make_shared<MetricsRegistry>();
  Manager manager(*client_, {.metrics = metrics,
                             .metrics_bind_address = "127.0.0.1:0",
                             .metrics_secure = true,
                             .metrics_cert_path = dir_->path(),
                             .metrics_cert_poll = milliseconds(2)});
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0; }));
  const auto works = [&](const serve::CertificateAuthority& ca) {
    return AskServer(SecureTo(manager.metrics_port(), ca.certificate_pem()), "GET", "/metrics").starts_with("200 ");
  };
  EXPECT_TRUE(works(first));
  EXPECT_FALSE(works(second));
  // One of the two files alone does not fit: the old certificate stays.
  WriteFile("tls.crt", two.certificate_pem);
  EXPECT_TRUE(Eventually([&] { return metrics->Render().find("certwatcher_read_certificate_errors_total ") != std::string::npos; }));
  EXPECT_TRUE(works(first));
  WriteFile("tls.key", two.key_pem);
  EXPECT_TRUE(Eventually([&] { return works(second); }));
  EXPECT_FALSE(works(first));
  // Gone for a moment: nothing changes.
  std::remove((dir_->path() + "/tls.crt").c_str());
  EXPECT_TRUE(works(second));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, FilesThatAreNotThereAreSaid) {
  Manager manager(*client_, {.metrics_bind_address = "127.0.0.1:0", .metrics_secure = true, .metrics_cert_path = dir_->path()});
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(), HasSubstr("metrics_cert_path: read the certificate file " + dir_->path() + "/tls.crt: No such file"));
}

TEST_F(ManagerServersTest, APortThatIsTakenIsSaidWithTheRemedy) {
  Manager first(*client_, {.health_probe_bind_address = "127.0.0.1:0"});
  RunningManager running(first);
  ASSERT_TRUE(Eventually([&] { return first.health_port() != 0; }));
  const std::string address = "127.0.0.1:" + std::to_string(first.health_port());
  Manager second(*client_, {.health_probe_bind_address = address});
  const Result<void> ran = second.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(), HasSubstr("health_probe_bind_address (another address, or \"0\" for none): listen on " + address));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, OnlyUsersOfTheClusterReadMetricsWhereThatIsWanted) {
  Manager manager(*client_, {.metrics_bind_address = "127.0.0.1:0", .metrics_authorization = true});
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0; }));
  const auto transport = PlainTo(manager.metrics_port());
  EXPECT_EQ(AskServer(transport, "GET", "/metrics"), "401 Unauthorized\n");
  EXPECT_EQ(AskServer(transport, "GET", "/debug/controllers"), "401 Unauthorized\n");
  EXPECT_EQ(AskServer(transport, "GET", "/metrics", "wrong"), "401 Unauthorized\n");
  const std::string token = server_->AddUser("prometheus");
  EXPECT_THAT(AskServer(transport, "GET", "/metrics", token), HasSubstr("200 # HELP"));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, TheLogLevelIsThereWhereItIsWantedOnly) {
  const LogSettings before = LogBackend::Default()->settings();
  for (const bool debug : {true, false}) {
    for (const bool log_level : {true, false}) {
      Manager manager(*client_, {.metrics_bind_address = "127.0.0.1:0", .debug_endpoint = debug, .log_level_endpoint = log_level});
      RunningManager running(manager);
      ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0; }));
      const auto transport = PlainTo(manager.metrics_port());
      EXPECT_EQ(AskServer(transport, "GET", "/debug/controllers").substr(0, 4), debug ? "200 " : "404 ");
      const std::string answer = AskServer(transport, "PUT", "/debug/log-level", "", "info,cache=3");
      if (debug && log_level) {
        EXPECT_EQ(answer, "200 info,cache=3\n");
        EXPECT_EQ(LogBackend::Default()->settings().components.at("cache").verbosity, 3);
        EXPECT_EQ(AskServer(transport, "GET", "/debug/log-level"), "200 info,cache=3\n");
        LogBackend::Default()->SetSettings(before);
      } else {
        EXPECT_THAT(answer, Not(HasSubstr("200 ")));
        EXPECT_EQ(LogBackend::Default()->settings().components.count("cache"), 0U);
      }
      EXPECT_TRUE(running.Stop());
    }
  }
}

// ---- What is served, and what is written about it ----

// Name and type of what /metrics says; of histograms the name without _bucket and so on.
std::map<std::string, std::string> TypesOf(const std::string& text) {
  std::map<std::string, std::string> types;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, type;
    if (words >> hash >> what >> name >> type && hash == "#" && what == "TYPE") types[name] = type;
  }
  return types;
}

// Name and type of each row "| `name` | type | ..." of docs/metrics.md.
std::map<std::string, std::string> DocumentedTypes() {
  std::map<std::string, std::string> types;
  std::ifstream in("docs/metrics.md");
  EXPECT_TRUE(in.is_open()) << "tests run in the root of the source tree";
  const std::regex row(R"(^\| `([a-z_0-9]+)` \| (counter|gauge|histogram) \|.*)");
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) types[match[1]] = match[2];
  }
  return types;
}

TEST_F(ManagerServersTest, EveryMetricIsDescribedInTheDocs) {
  Create("a");
  const auto metrics = std::make_shared<MetricsRegistry>();
  std::atomic<int> runs = 0;
  Manager manager(NewClient({.metrics = metrics}), {.leader_election = LeaderElectionOptions{.name = "full", .ns = "default"},
                                                    .metrics = metrics,
                                                    .metrics_bind_address = "127.0.0.1:0"});
  const EventRecorder events = manager.events("full");
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("full").Reconcile([&](const Context&, const Request& request) -> Result<Action> {
    ++runs;
    if (request.attempt == 1) return Error::Internal("not yet");
    return Action::Done();
  })));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return runs >= 2 && manager.metrics_port() != 0; }));
  const std::string text = AskServer(PlainTo(manager.metrics_port()), "GET", "/metrics").substr(4);
  EXPECT_TRUE(running.Stop());

  const std::map<std::string, std::string> documented = DocumentedTypes();
  for (const auto& [name, type] : TypesOf(text)) {
    EXPECT_EQ(documented.count(name), 1U) << name << " is served, and docs/metrics.md does not have it";
    if (documented.count(name) == 1) {
      EXPECT_EQ(documented.at(name), type) << name;
    }
    EXPECT_NE(KnownHelp(name), "") << name << " has no HELP text: src/base/metrics_names.cc";
  }
  for (const char* expected :
       {"controller_runtime_reconcile_total", "workqueue_depth", "leader_election_master_status", "rest_client_requests_total",
        "kubexx_cache_objects", "kubexx_cache_bytes", "kubexx_cache_silence_seconds", "process_cpu_seconds_total"})
    EXPECT_THAT(text, HasSubstr(std::string("# TYPE ") + expected + " "));
}

// Names of metrics that the sources report: their literals, wherever they stand.
std::set<std::string> ReportedNames() {
  std::set<std::string> names;
  const std::regex literal("\"([a-z][a-z_]+)\"");
  for (const auto& entry : std::filesystem::recursive_directory_iterator("src")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cc") || path.ends_with("_test.cc") || path.ends_with("metrics_names.cc")) continue;
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), literal), end; at != end; ++at) {
      if (KnownHelp((*at)[1].str()) != "") names.insert((*at)[1]);
    }
  }
  return names;
}

TEST(MetricsDocTest, DescribesWhatIsReportedAndNothingElse) {
  const std::set<std::string> reported = ReportedNames();
  EXPECT_GT(reported.size(), 40U);
  std::set<std::string> documented;
  for (const auto& [name, type] : DocumentedTypes()) documented.insert(name);
  for (const std::string& name : reported) EXPECT_EQ(documented.count(name), 1U) << name << " is missing in docs/metrics.md";
  for (const std::string& name : documented) EXPECT_EQ(reported.count(name), 1U) << name << " of docs/metrics.md is reported by nobody";
}

TEST_F(ManagerServersTest, CachesAreCounted) {
  Create("a");
  Create("b");
  const auto metrics = std::make_shared<MetricsRegistry>();
  Manager manager(*client_, {.informers = {.ns = "default"}, .metrics = metrics, .metrics_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  RunningManager running(manager);
  const auto has = [&](const std::string& line) { return metrics->Render().find(line) != std::string::npos; };
  EXPECT_TRUE(Eventually([&] { return has("kubexx_cache_objects{resource=\"configmaps\",namespace=\"default\"} 2\n"); }));
  EXPECT_TRUE(Eventually([&] { return has("kubexx_cache_synced{resource=\"configmaps\",namespace=\"default\"} 1\n"); }));
  EXPECT_TRUE(has("kubexx_cache_silence_seconds{resource=\"configmaps\",namespace=\"default\"} 0"));
  EXPECT_TRUE(Eventually([&] { return has("kubexx_cache_pending_notifications{resource=\"configmaps\",namespace=\"default\"} 0\n"); }));
  // Rates are right from the first one on.
  for (const char* result : {"success", "error", "requeue", "requeue_after"})
    EXPECT_TRUE(has(std::string("controller_runtime_reconcile_total{controller=\"maps\",result=\"") + result + "\"}")) << result;
  EXPECT_TRUE(has("controller_runtime_reconcile_timeouts_total{controller=\"maps\"} 0\n"));
  EXPECT_TRUE(running.Stop());
}

// In lists, objects with the label spoil=yes have labels of the wrong shape.
class SpoilsLists : public TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (request.method == "GET") request.headers.Set("Accept", "application/json");
    Result<HttpResponse> response = next().RoundTrip(ctx, std::move(request));
    if (!response || response->stream != nullptr) return response;
    const std::string good = R"("spoil":"yes")", bad = R"("spoil":["yes"])";
    for (std::size_t at = 0; (at = response->body.find(good, at)) != std::string::npos; at += bad.size()) {
      response->body.replace(at, good.size(), bad);
    }
    return response;
  }
};

TEST_F(ManagerServersTest, ObjectsThatCannotBeDecodedAreCountedAndNamed) {
  Create("a");
  Create("bad");
  Create("worse");
  const auto label = [&](const char* name, const std::string& value) {
    EXPECT_TRUE(
        client_->Patch<ConfigMap>(Patience(), {"default", name}, Patch::Merge(R"({"metadata":{"labels":{"spoil":)" + value + "}}}")));
  };
  label("bad", R"("yes")");
  label("worse", R"("yes")");
  const auto metrics = std::make_shared<MetricsRegistry>();
  Manager manager(
      NewClient({.wrap_transport = [](std::shared_ptr<Transport> next) { return std::make_shared<SpoilsLists>(std::move(next)); }}),
      {.informers = {.ns = "default", .watch_list = false}, .metrics = metrics, .health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  RunningManager running(manager);
  const auto ready = [&] { return manager.health_port() != 0 && AskServer(PlainTo(manager.health_port()), "GET", "/readyz") == "200 ok"; };
  ASSERT_TRUE(Eventually(ready)) << "all others are served";
  const auto verbose = [&] { return AskServer(PlainTo(manager.health_port()), "GET", "/readyz?verbose"); };

  std::string text = metrics->Render();
  EXPECT_THAT(text, HasSubstr("kubexx_cache_objects{resource=\"configmaps\",namespace=\"default\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kubexx_cache_undecodable_objects{resource=\"configmaps\",namespace=\"default\"} 2\n"));
  for (const char* name : {"bad", "worse"}) {
    EXPECT_THAT(text, HasSubstr("kubexx_cache_undecodable_object{resource=\"configmaps\",namespace=\"default\",name=\"" +
                                std::string(name) + "\"} 1\n"));
  }
  EXPECT_THAT(verbose(), HasSubstr("200 [+]maps ok: configmaps: 2 objects cannot be decoded: default/bad ("));
  EXPECT_THAT(verbose(), HasSubstr("), default/worse ("));
  EXPECT_THAT(verbose(), HasSubstr("metadata.labels"));

  // Mended one after the other, as events of the watch show.
  label("bad", R"("no")");
  EXPECT_TRUE(Eventually([&] { return verbose().find("1 object cannot be decoded: default/worse (") != std::string::npos; }));
  text = metrics->Render();
  EXPECT_THAT(text, HasSubstr("kubexx_cache_undecodable_objects{resource=\"configmaps\",namespace=\"default\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("name=\"bad\"}")));
  label("worse", "null");
  EXPECT_TRUE(Eventually([&] { return verbose().find("[+]maps ok\n") != std::string::npos; }));
  text = metrics->Render();
  EXPECT_THAT(text, HasSubstr("kubexx_cache_undecodable_objects{resource=\"configmaps\",namespace=\"default\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("kubexx_cache_undecodable_object{")));
  EXPECT_TRUE(running.Stop());
}

// Answers to access reviews wait until they are let through.
class HoldsReviews : public TransportDecorator {
 public:
  HoldsReviews(std::shared_ptr<Transport> next, std::shared_future<void> released)
      : TransportDecorator(std::move(next)), released_(std::move(released)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (request.target.find("accessreviews") != std::string::npos) released_.wait();
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  const std::shared_future<void> released_;
};

TEST_F(ManagerServersTest, IsNotReadyBeforeItsWatchesHaveStarted) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Manager manager(
      NewClient(
          {.wrap_transport = [&](std::shared_ptr<Transport> next) { return std::make_shared<HoldsReviews>(std::move(next), released); }}),
      {.health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return manager.health_port() != 0; }));
  EXPECT_EQ(AskServer(PlainTo(manager.health_port()), "GET", "/readyz"),
            "500 [-]maps failed: its watches have not started yet\nreadyz check failed\n");
  release.set_value();
  EXPECT_TRUE(Eventually([&] { return AskServer(PlainTo(manager.health_port()), "GET", "/readyz") == "200 ok"; }));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, KindsWithoutNamespacesAreWatchedWhateverTheNamespaceOfTheManager) {
  Manager manager(*client_, {.informers = {.ns = "default"}});
  std::atomic<int> runs = 0;
  ASSERT_TRUE(manager.Add(ControllerFor<core::v1::Namespace>("namespaces").Reconcile([&](const Context&, const Request&) -> Result<Action> {
    ++runs;
    return Action::Done();
  })));
  const SharedInformer<meta::v1::PartialObjectMetadata> metadata = manager.informers().ForMetadata<core::v1::Namespace>();
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return runs > 0; }));
  EXPECT_TRUE(metadata.WaitForSync(Patience()));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerServersTest, BytesOfCaches) {
  Create("a");
  const auto metrics = std::make_shared<MetricsRegistry>();
  Manager manager(*client_, {.informers = {.ns = "default"}, .metrics = metrics});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.is_leader() && manager.controller("maps")->HasSynced(); }));
  const std::string text = metrics->Render();  // the first look: later ones may be a minute old
  for (const char* name : {"kubexx_cache_bytes", "kubexx_cache_logical_bytes"}) {
    const std::string start = std::string(name) + "{resource=\"configmaps\",namespace=\"default\"} ";
    const std::size_t at = text.find("\n" + start);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_GT(std::stod(text.substr(at + 1 + start.size())), 100) << name;
  }
  EXPECT_TRUE(running.Stop());
}

}  // namespace
}  // namespace kube::internal
