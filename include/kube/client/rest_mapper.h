// RestMapper: maps kinds to resources and back, as the server defines them.
//
//   RestMapper mapper(client);
//   Result<RestMapping> m = mapper.ForKind(ctx, Gvk{"apps", "v1", "Deployment"});     // m->gvr, m->namespaced
//   Result<RestMapping> d = mapper.ForArgument(ctx, "deploy");                        // an argument as kubectl reads it
//   Result<ResourceClient<DynamicObject>> carts = mapper.Resource(ctx, Gvk{"shop.example.com", "v1", "Cart"});
//   if (!m && IsNoMatch(m.error())) ...                                               // the server has no such kind
//
// Kinds with a struct need no mapper: client.Resource<T>() has the resource built in.
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

// A resource and its kind.
struct RestMapping {
  Gvr gvr{};
  Gvk gvk{};
  bool namespaced = false;

  friend bool operator==(const RestMapping&, const RestMapping&) = default;
};

// True if the server has no such kind or resource. False if the server could not be reached, or if the group in question could not be read
// (IsGroupDiscoveryFailed): it may have the kind.
KUBE_EXPORT bool IsNoMatch(const Error& e);

// Options of RestMapper.
struct RestMapperOptions {
  // Looking up an unknown kind makes the mapper query the server again, so that a new CRD is found: at most `refresh_burst` times in a row,
  // and on average once per `refresh_interval` (by the clock of the caller's context).
  std::chrono::nanoseconds refresh_interval = std::chrono::seconds(10);
  int refresh_burst = 5;
  // Called once for each short name that several resources share. Empty: logs a warning.
  std::function<void(const std::string&)> warning_handler{};
};

// Maps between kinds and resources. If several match, the order decides: core v1 first, then groups in the server's order, within each the
// preferred version first.
//
// Thread safety: a cheap handle; all functions may be called from many threads at once.
// Lifetime: independent of the objects it was created from.
// Blocking and cancellation: the first call and each miss wait for Discovery; other calls do not block.
// Errors: IsNoMatch; IsGroupDiscoveryFailed; those of Discovery.
// Cost: a hash lookup. A miss costs two requests, with empty responses if nothing changed (see Discovery), limited by the options.
class KUBE_EXPORT RestMapper {
 public:
  explicit RestMapper(Discovery discovery, RestMapperOptions options = {});
  explicit RestMapper(const Client& client, RestMapperOptions options = {}) : RestMapper(Discovery(client), std::move(options)) {}

  // In the given version; if it is empty, in the first by the order above.
  Result<RestMapping> ForKind(const Context& ctx, const Gvk& gvk) const;
  // In the first of `versions` that has the kind; if `versions` is empty, in the first by the order above.
  Result<RestMapping> ForKind(const Context& ctx, const GroupKind& kind, const std::vector<String>& versions = {}) const;
  // Finds a resource by its plural, singular or short name, ignoring case. Group and version may be empty. The group may be a prefix
  // ("networking") if no group has that full name. A full resource name wins over a short one.
  Result<RestMapping> ForResource(const Context& ctx, const Gvr& resource) const;
  // Resolves a command-line argument: pods, po, Pod, deployments.apps, deployments.v1.apps, deploy.apps, Deployment.v1.apps. The error has
  // kubectl's words: the server doesn't have a resource type "foo".
  Result<RestMapping> ForArgument(const Context& ctx, std::string_view text) const;
  // AllForKind and AllForResource return all matches, in order of preference.
  Result<std::vector<RestMapping>> AllForKind(const Context& ctx, const GroupKind& kind) const;
  Result<std::vector<RestMapping>> AllForResource(const Context& ctx, const Gvr& resource) const;
  // The resources of a category ("all"), each in its preferred version. Errors: IsNoMatch if the category is empty.
  Result<std::vector<RestMapping>> ForCategory(const Context& ctx, std::string_view category) const;

  // All verbs for objects of this kind.
  Result<ResourceClient<DynamicObject>> Resource(const Context& ctx, const Gvk& gvk) const;

  // Clears the cache, including the files of other processes.
  void Reset() const;
  // The Discovery that the mapper reads.
  const Discovery& discovery() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Resolves a kind without a mapper, with one request for the resources of its group-version each time. For programs that make only a few
// calls.
// Errors: IsNoMatch; those of Client::Raw.
KUBE_EXPORT Result<ResourceClient<DynamicObject>> ResourceFor(const Context& ctx, const Client& client, const Gvk& gvk);

}  // namespace kube
