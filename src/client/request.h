// Builds an HttpRequest from a verb and its options: path, query, headers.
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

// Sorted by name, as in Go.
using Query = std::multimap<std::string, std::string>;

// Percent-encodes text for one path segment: "%2F".
std::string EscapePathSegment(std::string_view text);
// "a=1&b=x+y"; empty without parameters.
std::string EncodeQuery(const Query& query);

// Rejects invalid path segments: ".", "..", and any text with '/' or '%'. Errors: kInvalid.
Result<void> CheckPathSegment(std::string_view what, std::string_view text);

// The target of a request.
struct ResourcePath {
  const Gvr* gvr = nullptr;
  std::string_view ns;
  std::string_view name;         // empty: the collection
  std::string_view subresource;  // may have several segments: "proxy/metrics"

  // "/apis/apps/v1/namespaces/default/deployments/web/status". Errors: kInvalid.
  Result<std::string> ToTarget() const;
  // The same with {namespace} and {name} instead of their values.
  std::string ToTemplate() const;
  // "deployments.apps default/web", for error messages.
  std::string Describe() const;
};

Query ToQuery(const ListOptions& options);
Query ToQuery(const WatchOptions& options);
Query ToQuery(const WriteOptions& options);
Query ToQuery(const ApplyOptions& options);
// The body of a DELETE; nothing if all options are unset.
std::string ToBody(const DeleteOptions& options);

}  // namespace kube::internal
