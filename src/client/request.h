// From a verb and its options to an HttpRequest: paths, queries, headers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/meta/gvk.h"
#include "kube/transport/http.h"

namespace kube::internal {

// Sorted by name, as Go sends them.
using Query = std::multimap<std::string, std::string>;

// "%2F" and such; for one segment of a path.
std::string EscapePathSegment(std::string_view text);
// "a=1&b=x+y"; empty for no parameters.
std::string EncodeQuery(const Query& query);

// What a segment of a path may not be: ".", "..", or something with '/' or '%'. Errors: kInvalid.
Result<void> CheckPathSegment(std::string_view what, std::string_view text);

// Where a request goes.
struct ResourcePath {
  const Gvr* gvr = nullptr;
  std::string_view ns;
  std::string_view name;         // empty: the collection
  std::string_view subresource;  // may have several segments: "proxy/metrics"

  // "/apis/apps/v1/namespaces/default/deployments/web/status". Errors: kInvalid.
  Result<std::string> ToTarget() const;
  // The same with {namespace} and {name} in the place of theirs.
  std::string ToTemplate() const;
  // "deployments.apps default/web", for error messages.
  std::string Describe() const;
};

Query ToQuery(const ListOptions& options);
Query ToQuery(const WatchOptions& options);
Query ToQuery(const WriteOptions& options);
Query ToQuery(const ApplyOptions& options);
// The body of a DELETE; nothing where there is nothing to say.
std::string ToBody(const DeleteOptions& options);

}  // namespace kube::internal
