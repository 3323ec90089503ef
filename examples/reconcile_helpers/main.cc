// Helpers for reconcilers, step by step, against the embedded server. docs/reconcile-helpers.md shows these lines.
#include <chrono>
#include <iostream>
#include <string>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/client/client.h"
#include "kube/control/create_or_update.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/status.h"
#include "kube/meta/owner_reference.h"
#include "kube/testing/api_server.h"

using kube::Changes;
using kube::Client;
using kube::Context;
using kube::DesiredState;
using kube::Finalizers;
using kube::KeyOf;
using kube::OperationResult;
using kube::Result;
using kube::SetControllerReference;
using kube::StatusWriter;
using kube::apps::v1::Deployment;
using kube::core::v1::ConfigMap;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

namespace {

Service ServiceFor(const Deployment& deployment) {
  // [child]
  Service service;
  service.metadata.name = deployment.metadata.name;
  service.spec.selector = deployment.spec.selector->match_labels;
  kube::core::v1::ServicePort port;
  port.name = "http";
  port.port = 80;
  port.target_port = kube::IntOrString(8080);
  service.spec.ports.push_back(port);
  // [end]
  return service;
}

Result<void> Children(const Context& ctx, const Client& client, const Deployment& deployment) {
  const Service service = ServiceFor(deployment);
  // [desired]
  DesiredState desired(client, deployment, {.field_manager = "auto-expose", .name = "expose"});
  desired.Manage<Service, Ingress>();  // these are pruned if they are not wanted
  desired.Want(service);
  Result<Changes> changes = desired.Apply(ctx);
  if (!changes) return changes.error();  // a child failed
  std::cout << changes->Summary() << "\n" << changes->ToString();
  if (Result<void> r = changes->ToResult(); !r) return r;  // conflicts, too
  // [end]

  // [dry-run]
  DesiredState preview(client, deployment, {.field_manager = "auto-expose", .name = "expose", .dry_run = true});
  Result<Changes> would = preview.Manage<Service>().Apply(ctx);  // nothing is wanted
  if (!would) return would.error();
  std::cout << would->Summary() << "\n";  // 1 pruned (dry run)
  // [end]
  return {};
}

Result<void> OneObject(const Context& ctx, const Client& client, const Deployment& owner) {
  // [create-or-update]
  ConfigMap settings;
  settings.metadata.namespace_ = "default";
  settings.metadata.name = "settings";
  Result<OperationResult> done = CreateOrUpdate(ctx, client, settings, [&](ConfigMap& map) {
    map.data["level"] = "info";  // what is not touched stays as it is
    return SetControllerReference(owner, map);
  });
  if (!done) return done.error();
  std::cout << ToString(*done) << "\n";  // created, updated or unchanged
  // [end]
  return {};
}

Result<void> EmptyBucket(const Context&, const ConfigMap&) { return {}; }
Result<void> ReleaseName(const Context&, const ConfigMap&) { return {}; }

// [finalizers]
const Finalizers<ConfigMap>& BucketFinalizers() {
  static const auto& finalizers = *new Finalizers<ConfigMap>(Finalizers<ConfigMap>()
                                                                 .Add("shop.example.com/empty", EmptyBucket)      // first
                                                                 .Add("shop.example.com/release", ReleaseName));  // then this one
  return finalizers;
}
// [end]

Result<void> ReconcileBucket(const Context& ctx, const Client& client, ConfigMap bucket) {
  // [run-finalizers]
  Result<kube::FinalizerResult> state = BucketFinalizers().Run(ctx, client, bucket);
  if (!state) return state.error();  // names the finalizer; the reconciler is called again
  if (!state->proceed) return {};    // the bucket is going, and all is done for it
  // [end]
  return {};
}

Result<void> Bucket(const Context& ctx, const Client& client) {
  ConfigMap bucket;
  bucket.metadata.namespace_ = "default";
  bucket.metadata.name = "bucket";
  Result<ConfigMap> made = client.Create(ctx, bucket);
  if (!made) return made.error();
  if (Result<void> r = ReconcileBucket(ctx, client, *made); !r) return r;
  if (Result<void> r = client.Delete<ConfigMap>(ctx, KeyOf(*made)); !r) return r;
  Result<ConfigMap> going = client.Get<ConfigMap>(ctx, KeyOf(*made));
  if (!going) return going.error();
  if (Result<void> r = ReconcileBucket(ctx, client, *going); !r) return r;
  const Result<ConfigMap> gone = client.Get<ConfigMap>(ctx, KeyOf(*made));
  if (gone) return kube::Error::Internal("the bucket is still there");
  return {};
}

Result<void> Status(const Context& ctx, const Client& client) {
  Result<Service> service = client.Get<Service>(ctx, {"default", "web"});
  if (!service) return service.error();
  // [status]
  StatusWriter<Service> status(client, *service);
  status->load_balancer.ingress.push_back({.ip = "192.0.2.1"});
  status.SetCondition({.type = "Ready", .status = "True", .reason = "Exposed", .message = "reachable"});
  Result<bool> written = status.Write(ctx);  // one request, or none
  if (!written) return written.error();
  // [end]
  return {};
}

Result<void> Run(const Context& ctx) {
  Result<std::unique_ptr<kube::testing::ApiServer>> server = kube::testing::ApiServer::Start();
  if (!server) return server.error();
  Result<Client> client = (*server)->NewClient();
  if (!client) return client.error();

  Deployment deployment;
  deployment.metadata.namespace_ = "default";
  deployment.metadata.name = "web";
  deployment.spec.selector.Mutable().match_labels["app"] = "web";
  deployment.spec.template_.metadata.labels["app"] = "web";
  kube::core::v1::Container container;
  container.name = "web";
  container.image = "web:1";
  deployment.spec.template_.spec.containers.push_back(container);
  Result<Deployment> owner = client->Create(ctx, deployment);
  if (!owner) return owner.error();

  for (int pass = 0; pass < 2; ++pass) {
    if (Result<void> r = Children(ctx, *client, *owner); !r) return r;
    if (Result<void> r = OneObject(ctx, *client, *owner); !r) return r;
  }
  if (Result<void> r = Bucket(ctx, *client); !r) return r;
  return Status(ctx, *client);
}

}  // namespace

int main() {
  const Result<void> done = Run(Context::Background().WithTimeout(std::chrono::seconds(60)));
  if (done) return 0;
  std::cerr << done.error().ToString() << "\n";
  return 1;
}
