// The state that the copies of a Discovery share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/discovery_files.h"
#include "client/discovery_parse.h"
#include "kube/base/mutex.h"
#include "kube/client/discovery.h"
#include "kube/transport/http.h"

namespace kube {

class Discovery::Impl {
 public:
  Impl(Client client, DiscoveryOptions options);

  using Apis = std::shared_ptr<const ServerApis>;
  using Document = std::shared_ptr<const std::string>;

  // Returns the cached result, or loads it. `force`: always loads, unless `seen` is given and the cached result has changed since.
  Result<Apis> Load(const Context& ctx, bool force, const Apis& seen);
  void Invalidate();
  bool fresh() const;

  Result<std::vector<OpenApiPath>> OpenApiPaths(const Context& ctx, bool again);
  Result<Document> OpenApi(const Context& ctx, std::string_view path);

  // Sends a GET with discovery's timeout and limits. A response other than 200 is an error, except 304 if `etag` is set.
  Result<HttpResponse> Get(const Context& ctx, std::string target, std::string accept, const std::string& etag = {}) const;

  const Client& client() const { return client_; }

 private:
  // The last response of /api or /apis.
  struct CachedRoot {
    std::string etag;  // empty: none; request the full document
    std::shared_ptr<const internal::DiscoveryRoot> root;
  };
  struct Roots {
    CachedRoot api, apis;
  };
  struct Loaded {
    Apis apis;
    bool fresh = true;
    bool full = false;  // load everything again
    Roots roots;
  };
  using Lists = std::map<GroupVersion, ApiResourceList>;

  Result<Loaded> LoadNow(const Context& ctx, bool force, bool files, const Apis& known, Roots roots);
  Result<Loaded> FromServer(const Context& ctx, Roots roots);
  std::optional<Loaded> FromFiles(const Context& ctx);
  Result<CachedRoot> FetchRoot(const Context& ctx, bool core, const CachedRoot& before) const;
  Result<ApiResourceList> FetchList(const Context& ctx, const GroupVersion& group_version) const;
  // Loads several lists in parallel. Stores the lists in `lists` and returns the failures.
  std::vector<DiscoveryFailure> FetchLists(const Context& ctx, const std::vector<GroupVersion>& wanted, Lists& lists) const;
  std::vector<GroupVersion> Missing(const std::vector<ApiGroup>& groups, const Lists& lists) const;
  static Apis Assemble(std::vector<ApiGroup> groups, Lists lists, std::vector<DiscoveryFailure> failures);

  const Client client_;
  const DiscoveryOptions options_;
  const internal::DiscoveryFiles files_;

  mutable Mutex mu_;
  CondVar done_;
  Apis apis_ KUBE_GUARDED_BY(mu_);
  bool fresh_ KUBE_GUARDED_BY(mu_) = false;
  bool invalidated_ KUBE_GUARDED_BY(mu_) = false;  // ignore files of other processes
  std::uint64_t epoch_ KUBE_GUARDED_BY(mu_) = 0;   // how often Invalidate was called
  Roots roots_ KUBE_GUARDED_BY(mu_);
  // Loads are numbered. Only one runs at a time.
  bool loading_ KUBE_GUARDED_BY(mu_) = false;
  std::uint64_t started_ KUBE_GUARDED_BY(mu_) = 0;
  std::uint64_t finished_ KUBE_GUARDED_BY(mu_) = 0;
  std::uint64_t finished_full_ KUBE_GUARDED_BY(mu_) = 0;  // the last full load
  std::optional<Error> last_error_ KUBE_GUARDED_BY(mu_);  // of load `finished_`

  std::optional<std::vector<OpenApiPath>> openapi_paths_ KUBE_GUARDED_BY(mu_);
  struct CachedDocument {
    String url;
    Document document;
  };
  std::map<std::string, CachedDocument, std::less<>> openapi_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube
