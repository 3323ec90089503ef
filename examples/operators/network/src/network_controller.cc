#include "src/network_controller.h"

#include <kube/base/log.h>
#include <kube/control/controller.h>
#include <kube/control/event_recorder.h>
#include <kube/control/status.h>

#include <utility>

#include "api/v1/network_types.h"
#include "src/address_range.h"
#include "src/fabric.h"

using samplecrd::v1::Network;
using samplecrd::v1::NetworkSpec;

namespace {

const kube::Logger kLog("network");

// What the schema cannot check.
kube::Result<void> Check(const NetworkSpec& spec) {
  const kube::Result<AddressRange> range = AddressRange::Parse(spec.cidr);
  if (!range) return range.error().WithContext("spec.cidr");
  if (!range->Contains(spec.gateway)) {
    return kube::Error::Invalid("spec.gateway: expected an address of " + spec.cidr.str() + ", got \"" + spec.gateway.str() + "\"");
  }
  return {};
}

class NetworkReconciler {
 public:
  NetworkReconciler(kube::CachedClient cached, kube::EventRecorder events, std::shared_ptr<Fabric> fabric)
      : cached_(std::move(cached)), events_(std::move(events)), fabric_(std::move(fabric)) {}

  // [reconcile]
  // Called with the key of each Network that is created, changed or deleted. An error is logged, and the call repeated with backoff.
  kube::Result<kube::Action> operator()(const kube::Context& ctx, const kube::Request& request) const {
    const kube::Result<kube::Ptr<Network>> network = cached_.Get<Network>(ctx, request.key);  // the desired state
    if (!network && !kube::IsNotFound(network.error())) return network.error();
    kube::Result<std::optional<FabricNetwork>> actual = fabric_->Get(ctx, request.key);
    if (!network) {
      if (!actual) return actual.error();
      return *actual ? Delete(ctx, request.key) : kube::Action::Done();
    }

    kube::StatusWriter<Network> status(cached_, **network);
    const auto not_ready = [&](std::string_view reason, const kube::Error& error) {
      status.SetCondition({.type = "Ready", .status = "False", .reason = reason, .message = error.ToString()});
      if (status.changed()) events_.Event(**network, kube::EventType::kWarning, reason, "Reconcile", error.ToString());
    };
    kube::Result<void> done;
    if (const kube::Result<void> good = Check((*network)->spec); !good) {
      not_ready("InvalidSpec", good.error());  // the next change of the spec enqueues it
    } else {
      done = actual ? Reconcile(ctx, **network, *actual) : kube::Result<void>(actual.error());
      if (done) {
        status.SetCondition(
            {.type = "Ready", .status = "True", .reason = "Reconciled", .message = "the network has the addresses of spec"});
      } else {
        not_ready("FabricFailed", done.error());
      }
    }
    if (kube::Result<bool> written = status.Write(ctx); !written) return written.error();
    if (!done) return done.error();
    return kube::Action::Done();
  }
  // [end]

 private:
  // [actual]
  kube::Result<void> Reconcile(const kube::Context& ctx, const Network& network, const std::optional<FabricNetwork>& actual) const {
    const kube::ObjectKey key = kube::KeyOf(network);
    const FabricNetwork desired{.cidr = network.spec.cidr.str(), .gateway = network.spec.gateway.str()};
    if (actual == desired) return {};
    const std::string object = key.ToString();
    kLog.Info(actual ? "Updating a network" : "Creating a network",
              {{"object", object}, {"cidr", desired.cidr}, {"gateway", desired.gateway}});
    return actual ? fabric_->Update(ctx, key, desired) : fabric_->Create(ctx, key, desired);
  }
  // [end]

  kube::Result<kube::Action> Delete(const kube::Context& ctx, const kube::ObjectKey& key) const {
    kLog.Info("Deleting a network", {{"object", key.ToString()}});
    if (kube::Result<void> deleted = fabric_->Delete(ctx, key); !deleted) return deleted.error();
    return kube::Action::Done();
  }

  kube::CachedClient cached_;
  kube::EventRecorder events_;
  std::shared_ptr<Fabric> fabric_;
};

}  // namespace

// [setup]
kube::Result<void> AddNetworkController(kube::Manager& manager, std::shared_ptr<Fabric> fabric) {
  kLog.Info("Setting up event handlers");
  const kube::Result<void> added = manager.Add(kube::ControllerFor<Network>("network").MayWriteStatus().Reconcile(
      NetworkReconciler(manager.cached(), manager.events("network"), std::move(fabric))));
  if (!added) return added;
  // The manager starts the controller, waits for its cache and starts its workers. This prints the document's lines meanwhile.
  return manager.Add(kube::Runnable{.name = "network-progress", .run = [&manager](const kube::Context& ctx) -> kube::Result<void> {
                                      kLog.Info("Starting Network control loop");
                                      kLog.Info("Waiting for informer caches to sync");
                                      if (manager.controller("network")->WaitForSync(ctx)) kLog.Info("Starting workers");
                                      return {};
                                    }});
}
// [end]

kube::Result<void> SetupNetworkController(kube::Manager& manager) {
  return AddNetworkController(manager, std::make_shared<MemoryFabric>());
}
