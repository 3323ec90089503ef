// Attacks on the ports of a manager that any client in the cluster can reach. The attackers are a separate process; during the attack, the
// server's own gauges stay within their bounds, and a scrape with a good token is answered. bench/ports measures the memory of the process
// and the duration of a scrape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "base/helper_test_util.h"
#include "control/manager/manager_test_util.h"
#include "ports_test_util.h"

namespace kube::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  std::string mode;
  bool tls = false;
  std::string from = "127.0.0.2";  // 127.0.0.1: the address of the scraper, too
  int peers = 1;                   // addresses of the attackers
};

class PortsAttackTest : public ManagerServerTest, public ::testing::WithParamInterface<Case> {
 protected:
  // HTTP/2 is on, so that there is more to attack. Every time limit is the default.
  ManagerOptions Options() const {
    ManagerOptions options{.metrics_bind_address = "127.0.0.1:0",
                           .health_probe_bind_address = "127.0.0.1:0",
                           .metrics_secure = GetParam().tls,
                           .metrics_authorization = true};
    options.server_limits.http2 = true;
    return options;
  }
  // As Prometheus does it, with a connection that lives on; its clients retry if the server closed it.
  static std::shared_ptr<Transport> Scraper(std::uint16_t port) {
    ClientConfig config;
    config.host = std::string(GetParam().tls ? "https" : "http") + "://127.0.0.1:" + std::to_string(port);
    config.tls.insecure = GetParam().tls;
    return Client::FromConfig(config, {.max_retries = 3}).value().transport();
  }
};

TEST_P(PortsAttackTest, BoundsHoldAndTheScrapeIsAnswered) {
  Manager manager(*client_, Options());
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.metrics_port() != 0 && manager.health_port() != 0; }));
  const std::string token = server_->AddUser("prometheus");
  const std::shared_ptr<Transport> scraper = Scraper(manager.metrics_port());
  ASSERT_THAT(AskServer(scraper, "GET", "/metrics", token), StartsWith("200 "));
  const serve::HttpLimits limits = Options().server_limits;
  // Connections of the attackers and the scraper. An answer, and a read, may be added.
  const std::size_t peers = static_cast<std::size_t>(GetParam().peers) + (GetParam().from == "127.0.0.1" ? 0 : 1);
  const double most_bytes = static_cast<double>(std::min(limits.max_bytes, limits.max_bytes_per_peer * peers)) + 512 * 1024;

  std::vector<Helper> attackers;
  for (const std::uint16_t port : {manager.metrics_port(), manager.health_port()}) {
    std::vector<std::string> argv = {"ports_attacker", std::to_string(port), GetParam().mode, "--from=" + GetParam().from,
                                     "--peers=" + std::to_string(GetParam().peers)};
    if (GetParam().tls && port == manager.metrics_port()) argv.emplace_back("--tls");
    attackers.push_back(StartAttacker(argv));
    ASSERT_THAT(attackers.back().line, StartsWith("ready: "));
  }

  // While the attack goes on. A new connection has to get through, as well as an old one.
  int old_answered = 0;
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text = Answered([&] { return AskServer(Scraper(manager.metrics_port()), "GET", "/metrics", token); });
    ASSERT_NE(text, "") << "scrape " << i;
    for (const std::string server : {"metrics", "health"}) {
      EXPECT_LE(ValueOf(text, "kubexx_http_server_bytes_held{server=\"" + server + "\"}"), most_bytes);
      EXPECT_GE(ValueOf(text, "kubexx_http_server_bytes_held{server=\"" + server + "\"}"), 0);
      EXPECT_LE(ValueOf(text, "kubexx_http_server_connections{server=\"" + server + "\"}"), static_cast<double>(limits.max_connections));
    }
    if (AskServer(scraper, "GET", "/metrics", token).starts_with("200 ")) ++old_answered;
    EXPECT_NE(Answered([&] { return AskServer(PlainTo(manager.health_port()), "GET", "/healthz"); }), "") << "probe " << i;
  }
  EXPECT_GE(old_answered, 1);
  if (GetParam().peers > 1) {
    EXPECT_GE(ValueOf(text, R"(kubexx_http_server_closed_total{reason="connections",server="health"})"), 1)
        << "the limits were not reached";
  }
  // A scraper that starts during the attack: its token is not remembered.
  if (GetParam().mode == "tokens-kept-alive") {
    const std::string late = server_->AddUser("late");
    EXPECT_NE(Answered([&] { return AskServer(Scraper(manager.metrics_port()), "GET", "/metrics", late); }), "");
  }
  for (const Helper& attacker : attackers) attacker.process->Signal(SIGKILL);
  // All of it is released.
  EXPECT_TRUE(Eventually([&] {
    const std::string after = AskServer(scraper, "GET", "/metrics", token);
    return ValueOf(after, "kubexx_http_server_connections{server=\"metrics\"}") <= 4 &&
           ValueOf(after, "kubexx_http_server_bytes_held{server=\"metrics\"}") < 1 << 20;
  }));
  EXPECT_TRUE(running.Stop());
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.mode + (info.param.tls ? "Tls" : "Plain") + (info.param.from == "127.0.0.1" ? "SamePeer" : "") +
                     (info.param.peers > 1 ? "ManyPeers" : "");
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Attacks, PortsAttackTest,
                         ::testing::Values(Case{"zero-window"}, Case{"zero-window", true}, Case{"zero-window", false, "127.0.0.1"},
                                           Case{"slow-loris"}, Case{"slow-loris", false, "127.0.0.1"}, Case{"rapid-reset"},
                                           Case{"continuation"}, Case{"idle"}, Case{"hello", true}, Case{"unread"}, Case{"tokens", true},
                                           Case{"tokens", false, "127.0.0.1"}, Case{"tokens-kept-alive"},
                                           Case{"tokens-kept-alive", false, "127.0.0.1"}, Case{"many-headers"},
                                           Case{"many-headers", false, "127.0.0.2", 8}, Case{"slow-loris", false, "127.0.0.2", 8},
                                           Case{"idle", false, "127.0.0.2", 8}, Case{"unread", true, "127.0.0.2", 8}),
                         NameOf);

}  // namespace
}  // namespace kube::internal
