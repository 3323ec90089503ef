// WebhookCertificates: the part of CaKeeper with I/O. Maintains the Secret of the CA, the certificate of this replica, and the CA in the
// objects from which API servers read it.
//
// A single thread works in passes: it reads the objects, then the Secret, and writes what follows from them, always with a resource
// version. In this order, a replica that has not read of a CA yet never removes it from an object. Watches by name only trigger a pass.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/certificates/ca_injection.h"
#include "control/certificates/ca_keeper.h"
#include "control/certificates/ca_state.h"
#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/base/metrics.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/control/event_recorder.h"
#include "kube/control/webhooks.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

// Thread safety: Run once, on one thread; everything else from any thread.
class WebhookCertificates {
 public:
  struct Parts {
    Client client;
    std::string name{};                // of the program
    std::string ns{}, secret{};        // where the CA is
    std::vector<std::string> hosts{};  // in the certificate
    WebhookCertificateTimes times{};
    bool inject = true, install = false;
    std::vector<InjectionTarget> targets{};
    std::shared_ptr<MetricsSink> metrics{};
    std::shared_ptr<Clock> clock{};
    std::function<bool()> leads{};
    // Called with a new certificate. Errors end Run.
    std::function<Result<void>(const serve::HttpTlsOptions&)> use{};
    EventRecorder events{};
  };

  explicit WebhookCertificates(Parts parts);

  // Runs until the context stops. Errors: those of Parts::use, and of OpenSSL; kInvalid if the program does not convert all versions of a
  // definition when that is first read.
  Result<void> Run(const Context& ctx);
  // Waits until there is a certificate and its CA has been written wherever that is possible now. Returns the CA for further objects.
  Result<std::string> Await(const Context& ctx) const;
  // Triggers a pass for a change that no watch reports: this replica is now the leader.
  void Wake();
  // Whether API servers that call this program's webhooks trust this replica; if not, the reason. Missing objects do not count: a replica
  // is ready before its configurations exist, because a Service must have endpoints before a configuration may name it.
  Result<void> Ready() const;
  // The objects that are missing or incomplete.
  std::string Note() const;
  // For the debug page. No keys.
  Value Report() const;
  void Collect(MetricsSink& sink) const;

 private:
  struct Seen {
    bool read = false;     // since the last error
    bool checked = false;  // InjectionTarget::check was called
    bool found = false;
    InjectionPlan plan{};
    bool refused = false;  // this program may not read it
    std::optional<DynamicObject> object{};
    std::optional<Clock::WallTime> absent_since{};
    bool told = false;  // its absence was logged
  };
  // When the next pass is due.
  struct Outcome {
    std::optional<Clock::WallTime> again{};
    bool at_once = false;
  };

  // Watches the Secret and the targets. Each change triggers a pass.
  Result<std::vector<HandlerRegistration>> WatchAll(InformerFactory& informers);
  Result<void> Pass(const Context& ctx, Outcome& outcome);
  Result<void> ReadTargets(const Context& ctx);
  void ReadSecret(const Context& ctx);
  void Inject(const Context& ctx, Outcome& outcome);
  Result<void> WriteSecret(const Context& ctx, Outcome& outcome);
  void ReportSecret();
  Result<core::v1::Secret> SendSecret(const Context& ctx, const CaKeeper::Write& write) const;
  Result<void> RenewLeaf(Outcome& outcome);
  void UpdateTrust();
  // An event, if an object has been missing for a while.
  void ReportMissing(Outcome& outcome);
  // The certificates that are in all places of this program.
  std::optional<std::vector<std::string>> TrustedEverywhere() const;
  void Publish();
  void Problem(const std::string& where, const Error& error);
  void Solved(const std::string& where);
  void Tell(EventType type, std::string_view reason, const std::string& note);
  ResourceClient<DynamicObject> ClientOf(const InjectionTarget& target) const {
    return parts_.client.ResourceAt({.gvr = target.resource, .gvk = target.kind, .namespaced = !target.ns.empty()});
  }
  Clock::WallTime now() const { return parts_.clock->WallNow(); }

  const Parts parts_;
  // For the thread of Run.
  CaKeeper keeper_;
  TrustLog trust_;
  std::optional<WebhookLeaf> leaf_;
  std::vector<Seen> seen_;
  bool secret_read_ = false;
  std::string secret_uid_;
  std::map<std::string, std::string> problems_;

  // Read by other threads.
  struct Status {
    std::optional<serve::CertificateInfo> leaf{}, ca{};
    std::string phase{}, secret_problem{};
    std::int64_t revision = 0;
    std::optional<Clock::WallTime> trusted_since{};
    struct Target {
      std::string kind{}, name{}, state{};
      std::vector<std::string> missing{};
      bool is_service = false;
      bool complete = false;  // nothing is missing, and it has the CA
    };
    std::vector<Target> targets{};
    std::vector<std::string> problems{};
    std::optional<Clock::WallTime> rotates_at{};
  };
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool due_ KUBE_GUARDED_BY(mu_) = true;
  std::optional<std::string> settled_ KUBE_GUARDED_BY(mu_);  // what Await returns
  Status status_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
