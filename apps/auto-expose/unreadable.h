// The hosts of Ingresses and HTTPRoutes that a cache cannot decode and has no earlier version of. Such objects are in no index, but they
// hold their hosts: their JSON is read from the API server, and hosts and paths are extracted whatever the shape of the rest.
//
// An object whose JSON cannot be read either holds nothing. Otherwise one object of one tenant would block all grants.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "claims.h"
#include "kube/base/mutex.h"
#include "kube/cache/indexer.h"
#include "kube/client/client.h"
#include "seeds.h"

namespace auto_expose {

// Thread safety: all functions may be called from any thread.
// Cost: one request per version of such an object; at most eight objects per namespace and 64 in total count.
class UnreadableHolders {
 public:
  struct Source {
    std::string kind{};  // Ingress, HTTPRoute
    kube::Gvr gvr{};
    std::function<std::vector<kube::UndecodableObject>(std::size_t most)> undecodable{};  // undecodable objects of the cache
    std::function<bool(const kube::ObjectKey& key)> cached{};                             // whether the cache has a version of the object
    std::function<std::vector<Claim>(const kube::Value& object)> claims{};
  };
  // Reads the objects that are currently undecodable. Errors: those of the requests.
  kube::Result<void> Refresh(const kube::Context& ctx, const kube::Client& client, const std::vector<Source>& sources);
  // Returns the holders whose hosts overlap with the claim's, one entry per claim, as of the last Refresh.
  std::vector<ClaimBoard::Holder> HoldersOf(const Claim& claim) const;
  // The seeds of workloads with such children of this kind. Patterns of a Namespace's annotation do not count.
  std::vector<Seed> Seeds(const kube::Gvr& gvr, const Settings& settings) const;

 private:
  struct Known {
    kube::String uid{};
    kube::String resource_version{};
    kube::Gvr gvr{};
    bool deleting = false;
    std::optional<ChildOwner> owner{};
    kube::String controller{};
    std::vector<Claim> claims{};
  };
  // Reads the object from the API server; returns nothing if it no longer exists.
  static kube::Result<Known> Ask(const kube::Context& ctx, const kube::Client& client, const Source& source,
                                 const kube::UndecodableObject& object);
  using Objects = std::map<std::pair<std::string, kube::ObjectKey>, Known>;  // by kind and key

  mutable kube::Mutex mu_;
  Objects objects_ KUBE_GUARDED_BY(mu_);
};

}  // namespace auto_expose
