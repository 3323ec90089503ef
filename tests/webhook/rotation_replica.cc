// One replica of a program with webhooks for ConfigMaps, which rotation_test ends by SIGTERM and by kill -9.
//
// Beside the flags of all managers:
//   --own-namespace, --url                where it runs, and how API servers reach it
//   --ca-lifetime, --leaf-lifetime, --injection-wait, --clock-skew, --ready-wait
//   --report FILE                         written when it serves: "<port of webhooks> <port of health>"
//   --die-at FILE                         a step of a rotation, such as "before promote": the first replica that comes there removes the
//                                         file and kills itself. Steps are requests: next, bundle, promote, drop; before or after each.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "codec/base64.h"
#include "control/certificates/ca_state.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/control/manager.h"
#include "kube/control/manager_flags.h"
#include "kube/transport/transport.h"
#include "kube/webhook/webhook.h"
#include "rotation_webhooks.h"

namespace kube::rotation {
namespace {

using core::v1::Secret;
using internal::CaState;

std::optional<CaState> StateOf(std::string_view json) {
  Result<CaState> state = CaState::Parse(json);
  return state ? std::optional(*std::move(state)) : std::nullopt;
}

class DyingTransport : public TransportDecorator {
 public:
  // `reader` is another client of the same server.
  DyingTransport(std::shared_ptr<Transport> next, std::string die_at, Client reader, ObjectKey secret)
      : TransportDecorator(std::move(next)), die_at_(std::move(die_at)), reader_(std::move(reader)), secret_(std::move(secret)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    const std::string step = request.method == "PATCH" && !Order().empty() ? StepOf(ctx, request) : "";
    if (step.empty()) return next().RoundTrip(ctx, std::move(request));
    DieAt("before " + step);
    Result<HttpResponse> answer = next().RoundTrip(ctx, std::move(request));
    if (answer && answer->code < 300) DieAt("after " + step);
    return answer;
  }

 private:
  std::string Order() const {
    std::ifstream file(die_at_);
    std::string order;
    std::getline(file, order);
    return order;
  }
  // One replica dies of an order.
  void DieAt(const std::string& place) const {
    if (Order() == place && ::unlink(die_at_.c_str()) == 0) (void)::kill(::getpid(), SIGKILL);
  }

  std::string StepOf(const Context& ctx, const HttpRequest& request) const {
    if (request.target.find("webhookconfigurations/") != std::string::npos) return "bundle";
    if (request.target.find("/secrets/") == std::string::npos) return "";
    const Result<Value> patch = ParseJson(request.body);
    std::string json;
    if (!patch || !internal::DecodeBase64((*patch)["data"]["ca.json"].string_value().view(), json)) return "";
    const Result<Secret> stored = reader_.Get<Secret>(ctx, secret_);
    const auto* const stored_json = stored ? stored->data.Find("ca.json") : nullptr;
    const std::optional<CaState> to = StateOf(json);
    const std::optional<CaState> from = stored_json == nullptr ? std::nullopt : StateOf(stored_json->view());
    if (!from || !to) return "";
    if (from->current.info.fingerprint != to->current.info.fingerprint) return "promote";
    if (!from->next && to->next) return "next";
    return to->retired.size() < from->retired.size() ? "drop" : "";
  }

  const std::string die_at_;
  const Client reader_;
  const ObjectKey secret_;
};

int Run(int argc, char** argv) {
  ManagerFlags flags("rotation-replica");
  std::string ns, url, report, die_at;
  WebhookCertificateTimes times;
  flags.Add("own-namespace", &ns, "the namespace of the Secret");
  flags.Add("url", &url, "where API servers reach the webhooks");
  flags.Add("ca-lifetime", &times.ca_lifetime, "of the CA");
  flags.Add("leaf-lifetime", &times.leaf_lifetime, "of a replica's certificate");
  flags.Add("injection-wait", &times.injection_wait, "for API servers to read a new CA");
  flags.Add("clock-skew", &times.clock_skew, "of API servers");
  flags.Add("ready-wait", &times.ready_wait, "before the replica is ready");
  flags.Add("report", &report, "where the ports are written to");
  flags.Add("die-at", &die_at, "where the step is written to that kills a replica");
  if (const Result<void> parsed = flags.Parse(argc, argv); !parsed) return flags.Fail(parsed.error());
  WebhookOptions& webhooks = flags.options.webhooks;
  webhooks.ns = ns;
  webhooks.url = url;
  webhooks.times = times;
  flags.options.preflight = Preflight::kSkip;

  const Result<Client> reader = flags.NewClient();
  if (!reader) return flags.Fail(reader.error());
  const ObjectKey secret{String(ns), String(webhooks.name + "-webhook-ca")};
  const Result<Client> client = flags.NewClient({.wrap_transport = [&](std::shared_ptr<Transport> next) {
    return std::make_shared<DyingTransport>(std::move(next), die_at, *reader, secret);
  }});
  if (!client) return flags.Fail(client.error());
  Manager manager(*client, flags.options);
  for (WebhookSpec& spec : Webhooks(ns)) {
    if (const Result<void> added = manager.Add(std::move(spec)); !added) return flags.Fail(added.error());
  }
  const Result<void> added = manager.Add(Runnable{.name = "report",
                                                  .run = [&](const Context& ctx) -> Result<void> {
                                                    while (manager.webhook_port() == 0 || manager.health_port() == 0) {
                                                      if (!ctx.SleepFor(std::chrono::milliseconds(1))) return {};
                                                    }
                                                    std::ofstream(report + ".new")
                                                        << manager.webhook_port() << " " << manager.health_port();
                                                    (void)::rename((report + ".new").c_str(), report.c_str());
                                                    ctx.WaitUntilStopped();
                                                    return {};
                                                  },
                                                  .needs_leader = false});
  if (!added) return flags.Fail(added.error());
  return flags.Run(manager);
}

}  // namespace
}  // namespace kube::rotation

int main(int argc, char** argv) { return kube::rotation::Run(argc, argv); }
