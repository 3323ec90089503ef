// Leader election and events, step by step, against the embedded server. docs/leader-election.md shows these lines.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/client/client.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"
#include "kube/serve/metrics_registry.h"
#include "kube/testing/api_server.h"

using kube::Client;
using kube::Context;
using kube::Result;
using kube::core::v1::ConfigMap;

namespace {

Result<void> AmITheLeader(const Client& client, const Context& ctx) {
  // [candidate]
  Result<kube::LeaderCandidate> candidate = kube::LeaderCandidate::Start(client, {.name = "backup", .ns = "default"});
  if (!candidate) return candidate.error();
  Result<Context> lead = candidate->WaitForLeadership(ctx);
  if (!lead) return lead.error();
  while (!lead->stopped() && candidate->is_leader()) {
    std::cout << candidate->leader() << " makes a backup\n";
    break;  // one is enough here
  }
  // [end]
  return {};
}

Result<void> Callbacks(const Client& client, const Context& ctx) {
  auto [stop, source] = ctx.WithCancel();
  const kube::CancelSource& done = source;
  // [elector]
  kube::LeaderElectionOptions options{.name = "controller", .ns = "default", .labels = {{"app", "shop"}}};
  Result<kube::LeaderElector> elector =
      kube::LeaderElector::Create(client, options,
                                  {
                                      .on_started_leading =
                                          [&](const Context& leading) {
                                            std::cout << "leading\n";
                                            done.Cancel();  // a real program works here, until `leading` stops
                                            leading.WaitUntilStopped();
                                          },
                                      .on_stopped_leading = [] { std::cout << "stopped, and the lease is free\n"; },
                                      .on_new_leader = [](const std::string& identity) { std::cout << identity << " leads\n"; },
                                  });
  if (!elector) return elector.error();
  Result<void> ran = elector->Run(stop);
  if (!ran && IsLeadershipLost(ran.error())) std::cerr << ran.error().ToString() << "\n";  // exit, and let the pod start again
  // [end]
  return ran;
}

void Events(const Client& client, const ConfigMap& map) {
  // [events]
  kube::EventRecorder events(client, {.controller = "shop.example.com/backup"});
  events.Event(map, kube::EventType::kNormal, "BackupMade", "Backup", "wrote 17 objects");
  events.Event(map, kube::EventType::kWarning, "BackupIncomplete", "Backup", "3 objects were locked");
  // [end]
  if (!events.Flush()) std::cerr << "the events take long\n";
}

void Metrics() {
  // [metrics]
  auto metrics = std::make_shared<kube::serve::MetricsRegistry>();
  metrics->Describe("backups_total", "Backups made, by result.");
  metrics->Add("backups_total", {{"result", "ok"}});
  const kube::serve::MetricsRegistry::Collector collector =
      metrics->AddCollector([](kube::MetricsSink& sink) { sink.Set("backup_age_seconds", {}, 12); });
  std::cout << metrics->Render();  // what /metrics answers
  // [end]
}

int Fail(const kube::Error& error) {
  std::cerr << "leading: " << error.ToString() << "\n";
  return 1;
}

}  // namespace

int main() {
  Result<std::unique_ptr<kube::testing::ApiServer>> server = kube::testing::ApiServer::Start();
  if (!server) return Fail(server.error());
  const Result<Client> client = (*server)->NewClient();
  if (!client) return Fail(client.error());
  const Context ctx = Context::Background().WithTimeout(std::chrono::minutes(1));

  ConfigMap settings;
  settings.metadata = {.name = "settings", .namespace_ = "default"};
  const Result<ConfigMap> made = client->Create(ctx, settings);
  if (!made) return Fail(made.error());
  if (Result<void> done = AmITheLeader(*client, ctx); !done) return Fail(done.error());
  if (Result<void> done = Callbacks(*client, ctx); !done) return Fail(done.error());
  Events(*client, *made);
  Metrics();
  return 0;
}
