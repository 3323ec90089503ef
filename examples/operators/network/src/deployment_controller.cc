#include "src/deployment_controller.h"

#include <kube/api/apps/v1.h>
#include <kube/base/log.h>
#include <kube/control/controller.h>
#include <kube/control/event_recorder.h>
#include <kube/meta/owner_reference.h>

#include <string>
#include <utility>
#include <vector>

#include "api/v1/network_types.h"
#include "src/address_range.h"

using kube::apps::v1::Deployment;
using samplecrd::v1::Network;

namespace {

const kube::Logger kLog("deployment");

// Gives each Deployment a Network of its name, with the first free range of 10.0.0.0/8. From then on the Network belongs to its user: it
// may be edited, and is recreated if it is deleted.
class DeploymentReconciler {
 public:
  // `ns` is the namespace that the program watches; empty means all.
  DeploymentReconciler(kube::CachedClient cached, kube::EventRecorder events, std::string ns)
      : cached_(std::move(cached)), events_(std::move(events)), ns_(std::move(ns)) {}

  // Called with each Deployment that is created or changes. An error is logged, and the call repeated with backoff.
  kube::Result<kube::Action> operator()(const kube::Context& ctx, const Deployment& deployment) const {
    if (!deployment.metadata.deletion_timestamp.IsZero()) return kube::Action::Done();
    const kube::ObjectKey key = kube::KeyOf(deployment);
    const kube::Result<kube::Ptr<Network>> found = cached_.Get<Network>(ctx, key);
    if (found) {
      // Networks enqueue the Deployment of their name, so this runs again if that one is deleted.
      if (!kube::IsControlledBy(**found, deployment)) {
        events_.Event(deployment, kube::EventType::kWarning, "NetworkExists", "CreateNetwork",
                      "Network " + key.name.str() + " does not belong to this Deployment and is left alone");
      }
      return kube::Action::Done();
    }
    if (!kube::IsNotFound(found.error())) return found.error();
    return CreateNetwork(ctx, deployment);
  }

 private:
  kube::Result<kube::Action> CreateNetwork(const kube::Context& ctx, const Deployment& deployment) const {
    // From the server, as caches may be behind: the Deployment still exists, and these are all ranges that are taken.
    const auto live = cached_.Live().Get<Deployment>(ctx, kube::KeyOf(deployment));
    if (!live && !kube::IsNotFound(live.error())) return live.error();
    if (!live || live->metadata.uid != deployment.metadata.uid) return kube::Action::Done();
    const auto networks = cached_.Live().List<Network>(ctx, {.ns = ns_});
    if (!networks) return networks.error();
    std::vector<AddressRange> taken;
    for (const Network& network : *networks) {
      if (const kube::Result<AddressRange> range = AddressRange::Parse(network.spec.cidr)) taken.push_back(*range);
    }
    const std::string prefix = FreePrefix(taken);
    if (prefix.empty()) return kube::Error::Internal("no range of 10.0.0.0/8 is free");

    // [create]
    Network network;
    network.metadata.name = deployment.metadata.name;
    network.metadata.namespace_ = deployment.metadata.namespace_;
    network.spec = {.cidr = prefix + ".0/24", .gateway = prefix + ".1"};
    // Without blockOwnerDeletion, which takes a permission for Deployments on some clusters.
    if (kube::Result<void> owned = kube::SetControllerReference(deployment, network, {.block_owner_deletion = false}); !owned) {
      return owned.error();
    }
    if (kube::Result<Network> created = cached_.Create(ctx, network); !created) return created.error();
    // [end]
    const std::string object = kube::KeyOf(deployment).ToString();
    kLog.Info("Created the Network of a Deployment", {{"object", object}, {"cidr", network.spec.cidr.view()}});
    events_.Event(deployment, kube::EventType::kNormal, "NetworkCreated", "CreateNetwork",
                  "created Network " + network.metadata.name.str() + " with " + network.spec.cidr.str());
    return kube::Action::Done();
  }

  kube::CachedClient cached_;
  kube::EventRecorder events_;
  std::string ns_;
};

std::vector<kube::ObjectKey> DeploymentsOf(const Network& network) {
  return {kube::KeyOf(network)};
}

}  // namespace

// [setup]
kube::Result<void> SetupDeploymentController(kube::Manager& manager) {
  return manager.Add(
      kube::ControllerFor<Deployment>("deployment")
          .For({.when = kube::GenerationChanged()})
          .Watches<Network>(DeploymentsOf, {.when = kube::OfKind({kube::ChangeKind::kDeleted})})
          .MayWrite<Network>({"list", "create"})
          .Needs({.group = "apps", .resource = "deployments", .verbs = {"get"}})
          .Reconcile(DeploymentReconciler(manager.cached(), manager.events("deployment"), manager.informers().defaults().ns)));
}
// [end]
