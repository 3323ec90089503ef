// Discovery: which kinds a server has, where it keeps them and what can be done with them.
//
//   Discovery           asks the server, and remembers; also its version and its OpenAPI documents
//   ServerApis          all that was found: groups, resources, and what could not be read
//   ApiResource         one resource: "pods", or a subresource: "pods/log"
//
//   Discovery discovery(client);
//   Result<std::shared_ptr<const ServerApis>> apis = discovery.Apis(ctx);
//   for (const ApiResourceList& list : (*apis)->Preferred()) {
//     for (const ApiResource& r : list.resources) Print(r.name, r.gvk.kind, r.namespaced);     // what `kubectl api-resources` shows
//   }
//
// From a kind to its resource and back, or from what people type to either: rest_mapper.h.
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

// What /version says.
struct KUBE_EXPORT ServerVersion {
  String major{};
  String minor{};        // "36", on some clouds "36+"
  String git_version{};  // "v1.36.3"
  String git_commit{};
  String git_tree_state{};
  String build_date{};
  String go_version{};
  String compiler{};
  String platform{};  // "linux/amd64"

  // Without what clouds append; 0 where it is no number.
  int major_number() const;
  int minor_number() const;
  bool AtLeast(int want_major, int want_minor) const;
};

// A resource, or a subresource, of one version of a group.
struct KUBE_EXPORT ApiResource {
  String name{};                 // "pods"; of a subresource "pods/log"
  String singular_name{};        // "pod"; may be empty
  GroupVersion group_version{};  // where it is served
  // What its objects are. For subresources often of another group: deployments/scale is autoscaling/v1, Kind=Scale.
  Gvk gvk{};
  bool namespaced = false;
  std::vector<String> verbs{};
  std::vector<String> short_names{};
  std::vector<String> categories{};

  bool is_subresource() const { return name.view().find('/') != std::string_view::npos; }
  bool Supports(std::string_view verb) const;
  Gvr gvr() const { return group_version.WithResource(name); }

  friend bool operator==(const ApiResource&, const ApiResource&) = default;
};

struct KUBE_EXPORT ApiResourceList {
  GroupVersion group_version{};
  std::vector<ApiResource> resources{};  // each followed by its subresources, as the server has them

  // Null where there is none of that name.
  const ApiResource* Find(std::string_view name) const;

  friend bool operator==(const ApiResourceList&, const ApiResourceList&) = default;
};

struct KUBE_EXPORT ApiGroup {
  String name{};                   // empty: core
  std::vector<String> versions{};  // in the server's order; without those that were stale
  String preferred_version{};      // empty where the group has no version left

  bool Has(std::string_view version) const;

  friend bool operator==(const ApiGroup&, const ApiGroup&) = default;
};

// A group-version that could not be read: most often an aggregated API whose backend is down.
struct DiscoveryFailure {
  GroupVersion group_version{};
  Error error;
};

// All that a server has. Immutable once handed out.
struct KUBE_EXPORT ServerApis {
  std::vector<ApiGroup> groups{};            // core first, then in the server's order
  std::vector<ApiResourceList> lists{};      // in the order of groups and their versions
  std::vector<DiscoveryFailure> failures{};  // what is missing above

  const ApiGroup* FindGroup(std::string_view name) const;
  const ApiResourceList* Find(const GroupVersion& group_version) const;
  // Each resource once, without subresources: in the preferred version of its group, or in the first that has it. Lists without resources
  // are left out; `keep` picks (ApiResource::namespaced, Supports("list") ...), empty: all.
  std::vector<ApiResourceList> Preferred(const std::function<bool(const ApiResource&)>& keep = {}) const;
  // Nothing where all could be read; else an error that names each failure, IsGroupDiscoveryFailed.
  std::optional<Error> error() const;
};

// True for ServerApis::error(): some groups could not be read, others may well be fine.
KUBE_EXPORT bool IsGroupDiscoveryFailed(const Error& e);

// An OpenAPI v3 document that a server offers.
struct OpenApiPath {
  String path{};  // "apis/apps/v1", "api/v1", "version"
  String url{};   // "/openapi/v3/apis/apps/v1?hash=...": another one when the document changes
};

struct DiscoveryOptions {
  // Never ask for the aggregated form, as for a server or proxy that does it wrong.
  bool legacy = false;
  // Of several API servers behind one address, only what this one serves itself (profile=nopeer).
  bool no_peer = false;
  // A folder for files that outlive the process, laid out as kubectl's ~/.kube/cache/discovery (DefaultDiscoveryCacheDir()), which may be
  // shared: a folder per host in it is used. Empty: memory only.
  std::string cache_dir{};
  std::chrono::seconds ttl = std::chrono::hours(6);  // how long files count
  // Of each request, where the config of the client has none.
  std::chrono::nanoseconds timeout = std::chrono::seconds(32);
  // Servers without the aggregated form (before 1.27) are asked for each group-version: so many at a time.
  std::size_t parallel = 8;
};

// $KUBECACHEDIR/discovery, or ~/.kube/cache/discovery as kubectl has it. Empty where there is no home.
KUBE_EXPORT std::string DefaultDiscoveryCacheDir();

// A cheap handle: copies share what they know. The first call asks the server (two requests; one per group-version more where it is older
// than 1.27), later ones answer from memory, until Invalidate or Refresh.
//
// What failed: an error of /api or /apis is returned and not remembered (but /api may be missing, as with aggregated API servers). A
// group-version that cannot be read is tried once more, and then becomes a failure beside the others; it stays one until Invalidate or
// Refresh, unless it was of the passing kind (refused, reset, timeout, 429, 5xx): those are tried again by the next call.
//
// Thread safety: all functions from many threads at once; calls that need the same answer share one load.
// Lifetime: independent of the Client it was made of.
// Blocking and cancellation: as Client; a caller whose context stops leaves at once, and who waited with it goes on.
// Errors: those of Client::Raw; kDecode for answers that are none. The disk is never a reason to fail: what cannot be read is a miss, what
//   cannot be written is logged.
// Cost: in memory a lock and a reference count. A load reads about 200 KB from a plain cluster; a refresh of the aggregated form sends the
//   ETag and costs two empty answers where nothing changed. The client's rate limit counts with a burst of 300, unless the client was
//   given a limiter of its own.
class KUBE_EXPORT Discovery {
 public:
  explicit Discovery(Client client, DiscoveryOptions options = {});

  // Everything, with partial failures inside.
  Result<std::shared_ptr<const ServerApis>> Apis(const Context& ctx) const;
  Result<std::vector<ApiGroup>> Groups(const Context& ctx) const;
  // The resources of one group-version with their subresources. Errors: why it could not be read; IsNotFound where the server has none.
  Result<ApiResourceList> Resources(const Context& ctx, const GroupVersion& group_version) const;
  // Asked each time.
  Result<ServerVersion> Version(const Context& ctx) const;

  // ---- OpenAPI: documents as JSON text, for the caller to parse ----
  // The list is remembered until Invalidate or Refresh.
  Result<std::vector<OpenApiPath>> OpenApiPaths(const Context& ctx) const;
  // Remembered by its URL, on disk as well. Errors: IsNotFound where the server has no document for it.
  Result<std::shared_ptr<const std::string>> OpenApi(const Context& ctx, const GroupVersion& group_version) const;
  Result<std::shared_ptr<const std::string>> OpenApi(const Context& ctx, std::string_view path) const;
  // The one old document, asked each time: JSON, or the protobuf form (message Document of gnostic's openapiv2).
  Result<std::string> OpenApiV2(const Context& ctx, bool protobuf = false) const;

  // ---- How new it is ----
  // From now on nothing is used that was read before, unless the server confirms it by its ETag. Files of other processes count no more.
  void Invalidate() const;
  // Asks the server now. What is known stays where that fails. `seen`: only if that is still what is known, so that many who miss the same
  // thing ask once; null: in any case.
  Result<std::shared_ptr<const ServerApis>> Refresh(const Context& ctx, const std::shared_ptr<const ServerApis>& seen = nullptr) const;
  // Whether what is known came from the server in the life of this object, and not from files. False while nothing is known.
  bool fresh() const;

  const Client& client() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kube
