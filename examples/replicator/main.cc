// replicator: copies ConfigMaps into other namespaces and keeps the copies as their source is.
//
//   kubectl annotate configmap settings replicator.kubexx.dev/to=team=red       # a selector of namespaces, by their labels
//
// New namespaces get the copy, namespaces that are no longer selected lose it, edits are undone, and deleting the source (or the
// annotation) deletes the copies. Whoever may annotate a ConfigMap can write into all namespaces: where tenants do not trust each other,
// let only a trusted namespace have sources, by For({.informer = kube::InformerOptions{.ns = "shared"}}).
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/main.h"
#include "kube/control/manager.h"

using kube::Action;
using kube::Context;
using kube::KeyOf;
using kube::ObjectKey;
using kube::Ptr;
using kube::Result;
using kube::core::v1::ConfigMap;
using kube::core::v1::Namespace;

constexpr std::string_view kTo = "replicator.kubexx.dev/to";

// [main]
int main(int argc, char** argv) {
  return kube::Main(argc, argv, "replicator", [](kube::Manager& manager) -> Result<void> {
    const auto replicate = [cached = manager.cached()](const Context& ctx, const ConfigMap& source) -> Result<Action> {
      kube::DesiredState desired(cached, source, "replicator");
      desired.Anywhere().Manage<ConfigMap>();
      if (source.metadata.annotations.contains(kTo) && source.metadata.deletion_timestamp.IsZero()) {
        const Result<std::vector<Ptr<Namespace>>> selected =
            cached.List<Namespace>(ctx, {.label_selector = source.metadata.annotations.Get(kTo).str()});
        if (!selected) return Action::GiveUp(selected.error());  // not a selector
        for (const Ptr<Namespace>& ns : *selected) {
          if (ns->metadata.name == source.metadata.namespace_ || !ns->metadata.deletion_timestamp.IsZero()) continue;
          ConfigMap copy;
          copy.metadata.name = source.metadata.name;
          copy.metadata.namespace_ = ns->metadata.name;
          copy.data = source.data;
          copy.binary_data = source.binary_data;
          desired.Want(copy);
        }
      }
      const Result<kube::Changes> changes = desired.Apply(ctx);  // also cleans up if the source is being deleted
      if (!changes) return changes.error();
      if (changes->changed()) std::cout << KeyOf(source).ToString() + ": " + changes->Summary() + "\n" << std::flush;
      return Action::Done();
    };
    // A namespace may concern every source.
    const auto sources = [maps = manager.informers().For<ConfigMap>().lister()](const Namespace&) {
      std::vector<ObjectKey> keys;
      for (const Ptr<ConfigMap>& map : maps.List()) {
        if (map->metadata.annotations.contains(kTo)) keys.push_back(KeyOf(*map));
      }
      return keys;
    };
    return manager.Add(kube::ControllerFor<ConfigMap>("replicator")
                           .OwnsAnywhere<ConfigMap>()  // watched and cached in all namespaces, and in the role of --print-rbac
                           .Watches<Namespace>(sources)
                           .Reconcile(replicate));
  });  // until SIGTERM
}
// [end]
