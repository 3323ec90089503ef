// Discovery: the kinds that a server offers, their resources and their verbs.
//
//   Discovery           queries the server and caches the result; also its version and its OpenAPI documents
//   ServerApis          the result: groups, resources, and the groups that could not be read
//   ApiResource         one resource ("pods") or subresource ("pods/log")
//
//   Discovery discovery(client);
//   Result<std::shared_ptr<const ServerApis>> apis = discovery.Apis(ctx);
//   for (const ApiResourceList& list : (*apis)->Preferred()) {
//     for (const ApiResource& r : list.resources) Print(r.name, r.gvk.kind, r.namespaced);     // what `kubectl api-resources` shows
//   }
//
// To map a kind or a command-line argument to a resource, see rest_mapper.h.
#pragma once

#include <cstddef>
#include <optional>
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
#include "kube/meta/gvk.h"
#include "kube/value/string.h"

namespace kube {

// The response of /version.
struct KUBE_EXPORT ServerVersion {
  String major{};
  String minor{};        // "36"; "36+" on some clouds
  String git_version{};  // "v1.36.3"
  String git_commit{};
  String git_tree_state{};
  String build_date{};
  String go_version{};
  String compiler{};
  String platform{};  // "linux/amd64"

  // The number without vendor suffixes; 0 if it is not a number.
  int major_number() const;
  int minor_number() const;
  // Whether this is at least version `want_major`.`want_minor`.
  bool AtLeast(int want_major, int want_minor) const;
};

// A resource or subresource of one group-version.
struct KUBE_EXPORT ApiResource {
  String name{};                 // "pods"; "pods/log" for a subresource
  String singular_name{};        // "pod"; may be empty
  GroupVersion group_version{};  // the group-version that serves it
  // The kind of its objects. A subresource may have a kind of another group: deployments/scale is autoscaling/v1, Kind=Scale.
  Gvk gvk{};
  bool namespaced = false;
  std::vector<String> verbs{};
  std::vector<String> short_names{};
  std::vector<String> categories{};

  bool is_subresource() const { return name.view().find('/') != std::string_view::npos; }
  // Whether it has `verb` ("list", "watch" ...).
  bool Supports(std::string_view verb) const;
  Gvr gvr() const { return group_version.WithResource(name); }

  friend bool operator==(const ApiResource&, const ApiResource&) = default;
};

// The resources of one group-version.
struct KUBE_EXPORT ApiResourceList {
  GroupVersion group_version{};
  std::vector<ApiResource> resources{};  // in the server's order, each followed by its subresources

  // Null if there is no resource of that name.
  const ApiResource* Find(std::string_view name) const;

  friend bool operator==(const ApiResourceList&, const ApiResourceList&) = default;
};

// An API group and its versions.
struct KUBE_EXPORT ApiGroup {
  String name{};                   // empty: the core group
  std::vector<String> versions{};  // in the server's order, without stale ones
  String preferred_version{};      // empty if no version is left

  // Whether the group has `version`.
  bool Has(std::string_view version) const;

  friend bool operator==(const ApiGroup&, const ApiGroup&) = default;
};

// A group-version that could not be read, typically because the backend of an aggregated API is down.
struct DiscoveryFailure {
  GroupVersion group_version{};
  Error error;
};

// All groups and resources of a server. Immutable once it is returned.
struct KUBE_EXPORT ServerApis {
  std::vector<ApiGroup> groups{};            // core first, then in the server's order
  std::vector<ApiResourceList> lists{};      // in the order of groups and their versions
  std::vector<DiscoveryFailure> failures{};  // the group-versions missing above

  // FindGroup and Find return null if the server has no such group or group-version.
  const ApiGroup* FindGroup(std::string_view name) const;
  const ApiResourceList* Find(const GroupVersion& group_version) const;
  // Each resource once, without subresources, in the preferred version of its group or else in the first version that has it. Lists without
  // resources are left out. `keep` filters (ApiResource::namespaced, Supports("list") ...); empty: keeps all.
  std::vector<ApiResourceList> Preferred(const std::function<bool(const ApiResource&)>& keep = {}) const;
  // Nothing if every group could be read; else an error that names each failure (IsGroupDiscoveryFailed).
  std::optional<Error> error() const;
};

// True for ServerApis::error(): some groups could not be read; the others are usable.
KUBE_EXPORT bool IsGroupDiscoveryFailed(const Error& e);

// An OpenAPI v3 document of the server.
struct OpenApiPath {
  String path{};  // "apis/apps/v1", "api/v1", "version"
  String url{};   // "/openapi/v3/apis/apps/v1?hash=..."; changes with the document
};

// Options of Discovery.
struct DiscoveryOptions {
  // Never requests the aggregated form; for servers or proxies that serve it incorrectly.
  bool legacy = false;
  // If several API servers share one address: lists only what the answering server serves itself (profile=nopeer).
  bool no_peer = false;
  // Directory for cache files that outlive the process, laid out as kubectl's ~/.kube/cache/discovery (DefaultDiscoveryCacheDir()); it may
  // be shared, because each host has a folder of its own in it. Empty: memory only.
  std::string cache_dir{};
  std::chrono::seconds ttl = std::chrono::hours(6);  // how long cache files are valid
  // Timeout of each request if the client's config has none.
  std::chrono::nanoseconds timeout = std::chrono::seconds(32);
  // Servers without the aggregated form (before 1.27) need one request per group-version; this many run in parallel.
  std::size_t parallel = 8;
};

// $KUBECACHEDIR/discovery, or kubectl's ~/.kube/cache/discovery. Empty if there is no home directory.
KUBE_EXPORT std::string DefaultDiscoveryCacheDir();

// Queries and caches what a server offers. A cheap handle: copies share the cache. The first call queries the server (two requests, plus
// one per group-version on servers before 1.27). Later calls answer from memory until Invalidate or Refresh.
//
// Failures: an error of /api or /apis is returned and not cached, except that /api may be missing, as on aggregated API servers. A
// group-version that cannot be read is retried once and then reported in ServerApis::failures until Invalidate or Refresh. Transient
// failures (refused, reset, timeout, 429, 5xx) are retried by the next call.
//
// Thread safety: all functions may be called from many threads at once; concurrent calls for the same data share one load.
// Lifetime: independent of the Client it was created from.
// Blocking and cancellation: as Client. A caller whose context stops returns at once; other callers that wait for the same load continue.
// Errors: those of Client::Raw; kDecode for a response that cannot be parsed. The disk cache never causes an error: an unreadable file is a
//   cache miss, a failed write is logged.
// Cost: a lock and a reference count if the data is cached. A load reads about 200 KB from a plain cluster. A refresh of the aggregated
//   form sends the ETag and costs two empty responses if nothing changed. The client's rate limit applies with a burst of 300, unless the
//   client was given its own limiter.
class KUBE_EXPORT Discovery {
 public:
  explicit Discovery(Client client, DiscoveryOptions options = {});

  // All groups and resources. Partial failures are in ServerApis::failures.
  Result<std::shared_ptr<const ServerApis>> Apis(const Context& ctx) const;
  // The groups alone.
  Result<std::vector<ApiGroup>> Groups(const Context& ctx) const;
  // The resources and subresources of one group-version. Errors: the reason why it could not be read; IsNotFound if the server does not
  // have it.
  Result<ApiResourceList> Resources(const Context& ctx, const GroupVersion& group_version) const;
  // The server's version. Never cached.
  Result<ServerVersion> Version(const Context& ctx) const;

  // ---- OpenAPI documents, as JSON text that the caller parses ----
  // The list of OpenAPI v3 documents. Cached until Invalidate or Refresh.
  Result<std::vector<OpenApiPath>> OpenApiPaths(const Context& ctx) const;
  // One OpenAPI v3 document. Cached by its URL, also on disk. Errors: IsNotFound if the server has no such document.
  Result<std::shared_ptr<const std::string>> OpenApi(const Context& ctx, const GroupVersion& group_version) const;
  Result<std::shared_ptr<const std::string>> OpenApi(const Context& ctx, std::string_view path) const;
  // The single OpenAPI v2 document, never cached: JSON, or protobuf (message Document of gnostic's openapiv2).
  Result<std::string> OpenApiV2(const Context& ctx, bool protobuf = false) const;

  // ---- Cache control ----
  // Discards what was read before, unless the server confirms it by its ETag. Files of other processes are no longer used.
  void Invalidate() const;
  // Queries the server now; if that fails, the cached result stays. With `seen`, queries only if `seen` is still the cached result, so that
  // many callers that miss the same kind cause one refresh. Null: always queries.
  Result<std::shared_ptr<const ServerApis>> Refresh(const Context& ctx, const std::shared_ptr<const ServerApis>& seen = nullptr) const;
  // Whether the cached result came from the server during the life of this object, not from files. False if nothing is cached.
  bool fresh() const;

  // The client that queries the server.
  const Client& client() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
