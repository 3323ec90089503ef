#include <utility>

#include "client/discovery_impl.h"
#include "kube/codec/json.h"
#include "kube/config/client_config.h"

namespace kube {
namespace {

constexpr std::string_view kJson = "application/json";

// Servers behind a proxy may name URLs with the prefix that requests get anyway.
std::string_view WithoutPrefix(std::string_view url, std::string_view host) {
  const std::size_t scheme = host.find("://");
  const std::size_t slash = host.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  if (slash == std::string_view::npos) return url;
  std::string_view prefix = host.substr(slash);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!prefix.empty() && url.starts_with(prefix) && url.substr(prefix.size()).starts_with('/')) url.remove_prefix(prefix.size());
  return url;
}

Error NoDocument(std::string_view path) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 404;
  payload.reason = "NotFound";
  payload.message = "the server has no OpenAPI v3 document for \"" + std::string(path) + "\"";
  return Error(std::move(payload));
}

}  // namespace

Result<std::vector<OpenApiPath>> Discovery::Impl::OpenApiPaths(const Context& ctx, bool again) {
  std::uint64_t epoch = 0;
  {
    MutexLock lock(mu_);
    if (openapi_paths_ && !again) return *openapi_paths_;
    epoch = epoch_;
  }
  Result<HttpResponse> response = Get(ctx, "/openapi/v3", std::string(kJson));
  if (!response) return response.error();
  Result<Value> parsed = ParseJson(response->body);
  if (!parsed) return parsed.error().WithContext("read the answer of GET /openapi/v3");
  const Value& document = *parsed;
  std::vector<OpenApiPath> paths;
  for (const auto& [path, entry] : document["paths"].object()) {
    const std::string_view url = WithoutPrefix(entry["serverRelativeURL"].string_value().view(), client_.config().host);
    if (url.starts_with('/')) paths.push_back({path, String(url)});
  }
  MutexLock lock(mu_);
  if (epoch_ == epoch) {
    openapi_paths_ = paths;
    // Drop documents that no longer exist.
    std::map<std::string, CachedDocument, std::less<>> kept;
    for (const OpenApiPath& p : paths) {
      if (auto node = openapi_.extract(p.path.str())) kept.insert(std::move(node));
    }
    openapi_ = std::move(kept);
  }
  return paths;
}

Result<Discovery::Impl::Document> Discovery::Impl::OpenApi(const Context& ctx, std::string_view path) {
  for (bool again = false;; again = true) {
    Result<std::vector<OpenApiPath>> paths = OpenApiPaths(ctx, again);
    if (!paths) return paths.error();
    const OpenApiPath* found = nullptr;
    for (const OpenApiPath& p : *paths) {
      if (p.path == path) found = &p;
    }
    if (found == nullptr) return NoDocument(path);
    const bool keyed = found->url.view().find("hash=") != std::string_view::npos;  // else it may change under the same URL
    if (keyed) {
      MutexLock lock(mu_);
      const auto known = openapi_.find(path);
      if (known != openapi_.end() && known->second.url == found->url) return known->second.document;
    }
    Document document;
    if (std::optional<std::string> file = keyed ? files_.ReadOpenApi(path, found->url) : std::nullopt) {
      document = std::make_shared<const std::string>(*std::move(file));
    } else {
      Result<HttpResponse> response = Get(ctx, found->url.str(), std::string(kJson));
      if (!response) {
        // A document that changed after the list was read is elsewhere now: the list has to be read again.
        const int code = response.error().http_code();
        if (!again && ((code >= 301 && code <= 308) || code == 404)) continue;
        return response.error();
      }
      document = std::make_shared<const std::string>(std::move(response->body));
      if (keyed) files_.WriteOpenApi(path, found->url, *document);
    }
    if (keyed) {
      MutexLock lock(mu_);
      openapi_[std::string(path)] = {found->url, document};
    }
    return document;
  }
}

}  // namespace kube
