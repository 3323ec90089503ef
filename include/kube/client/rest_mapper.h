// RestMapper: from a kind to its resource and back, as the server has them.
//
//   RestMapper mapper(client);
//   Result<RestMapping> m = mapper.ForKind(ctx, Gvk{"apps", "v1", "Deployment"});     // m->gvr, m->namespaced
//   Result<RestMapping> d = mapper.ForArgument(ctx, "deploy");                        // what people type, as kubectl reads it
//   Result<ResourceClient<DynamicObject>> carts = mapper.Resource(ctx, Gvk{"shop.example.com", "v1", "Cart"});
//   if (!m && IsNoMatch(m.error())) ...                                               // the server has no such kind
//
// For kinds that have a struct no mapper is needed: client.Resource<T>() knows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/client/client.h"
#include "kube/client/discovery.h"
#include "kube/meta/gvk.h"

namespace kube {

struct RestMapping {
  Gvr gvr{};
  Gvk gvk{};
  bool namespaced = false;

  friend bool operator==(const RestMapping&, const RestMapping&) = default;
};

// True where the server has no such kind or resource. Not where it could not be asked, or where the group that should have it could not be
// read (IsGroupDiscoveryFailed): those may have it.
KUBE_EXPORT bool IsNoMatch(const Error& e);

struct RestMapperOptions {
  // Who asks for something unknown makes the mapper ask the server anew, so that a CRD that was just created is found: `refresh_burst`
  // times at once, and on average once per `refresh_interval` (by the clock of the caller's context).
  std::chrono::nanoseconds refresh_interval = std::chrono::seconds(10);
  int refresh_burst = 5;
  // Called once for each short name that several resources have. Empty: logged as a warning.
  std::function<void(const std::string&)> warning_handler{};
};

// Of several that fit, the order decides: core v1, then groups as the server has them, in each the preferred version first.
//
// Thread safety: a cheap handle; all functions from many threads at once.
// Lifetime: independent of what it was made of.
// Blocking and cancellation: the first call, and one that misses, wait for Discovery; others do not wait.
// Errors: IsNoMatch; IsGroupDiscoveryFailed; those of Discovery.
// Cost: a hash lookup. A miss: two requests, which are empty where nothing changed (see Discovery), no more often than the options say.
class KUBE_EXPORT RestMapper {
 public:
  explicit RestMapper(Discovery discovery, RestMapperOptions options = {});
  explicit RestMapper(const Client& client, RestMapperOptions options = {}) : RestMapper(Discovery(client), std::move(options)) {}

  // In the version that is named; with none, in the one that the order above says.
  Result<RestMapping> ForKind(const Context& ctx, const Gvk& gvk) const;
  // In the first of `versions` that has it; with none of them given as above.
  Result<RestMapping> ForKind(const Context& ctx, const GroupKind& kind, const std::vector<String>& versions = {}) const;
  // A resource by its plural or singular name or a short name, in any case; group and version may be empty, and the group may be cut short
  // at its end where nothing has it in full ("networking"). A full name goes before a short one.
  Result<RestMapping> ForResource(const Context& ctx, const Gvr& resource) const;
  // What people type: pods, po, Pod, deployments.apps, deployments.v1.apps, deploy.apps, Deployment.v1.apps. The error says what kubectl
  // says: the server doesn't have a resource type "foo".
  Result<RestMapping> ForArgument(const Context& ctx, std::string_view text) const;
  // All that fit, in order.
  Result<std::vector<RestMapping>> AllForKind(const Context& ctx, const GroupKind& kind) const;
  Result<std::vector<RestMapping>> AllForResource(const Context& ctx, const Gvr& resource) const;
  // The resources of a category ("all"), each in its preferred version. Errors: IsNoMatch where no resource is in it.
  Result<std::vector<RestMapping>> ForCategory(const Context& ctx, std::string_view category) const;

  // All verbs on objects of this kind.
  Result<ResourceClient<DynamicObject>> Resource(const Context& ctx, const Gvk& gvk) const;

  // Forgets everything, files of other processes included.
  void Reset() const;
  const Discovery& discovery() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Without a mapper: one request, for the resources of that group-version, each time. For a program that does a thing or two.
// Errors: IsNoMatch; those of Client::Raw.
KUBE_EXPORT Result<ResourceClient<DynamicObject>> ResourceFor(const Context& ctx, const Client& client, const Gvk& gvk);

}  // namespace kube
