// The hosts of Ingresses and HTTPRoutes that a cache cannot decode, and of which it has no earlier version. Such objects are in no index,
// and hold their hosts all the same: their JSON is read from the server, and hosts and paths taken from it, whatever shape the rest has.
//
// An object whose JSON cannot be read either holds nothing. Otherwise one object of one tenant would stop all grants.
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

// Thread safety: all functions from any thread.
// Cost: one request for each version of such an object; at most eight objects of a namespace and 64 in all count.
class UnreadableHolders {
 public:
  struct Source {
    std::string kind{};  // Ingress, HTTPRoute
    kube::Gvr gvr{};
    std::function<std::vector<kube::UndecodableObject>(std::size_t most)> undecodable{};  // of the cache
    std::function<bool(const kube::ObjectKey& key)> cached{};                             // the cache has a version of it
    std::function<std::vector<Claim>(const kube::Value& object)> claims{};
  };
  // Reads the objects that are undecodable now. Errors: those of the requests.
  kube::Result<void> Refresh(const kube::Context& ctx, const kube::Client& client, const std::vector<Source>& sources);
  // Those whose hosts overlap with the claim's, one entry for each of their claims. As of the last Refresh.
  std::vector<ClaimBoard::Holder> HoldersOf(const Claim& claim) const;
  // What workloads hold by such children of this kind. Patterns of a Namespace's annotation do not count.
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
  // What the server says of the object; nothing if it does not exist any more.
  static kube::Result<Known> Ask(const kube::Context& ctx, const kube::Client& client, const Source& source,
                                 const kube::UndecodableObject& object);
  using Objects = std::map<std::pair<std::string, kube::ObjectKey>, Known>;  // by kind and key

  mutable kube::Mutex mu_;
  Objects objects_ KUBE_GUARDED_BY(mu_);
};

}  // namespace auto_expose
