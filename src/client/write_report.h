// Reports writes to the observers of a context (kube/client/write_observer.h). Costs nothing without observers.
#pragma once

#include <string_view>

#include "kube/base/context.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/meta/gvk.h"
#include "kube/meta/v1.h"
#include "kube/transport/http.h"

namespace kube::internal {

// The request.
struct WriteCall {
  const ResourceTarget& target;
  std::string_view verb{};  // as RBAC names it
  std::string_view subresource{};
};

// `answer` is the response to a write, in the form of the target.
void ReportWrite(const ClientCore& core, const Context& ctx, const WriteCall& call, const void* answer);
// For the metadata of a response of another kind, such as Scale; used if it is the object's own.
void ReportMetadata(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key,
                    const meta::v1::ObjectMeta& metadata);
// For the response to a deletion: a Status or the object.
void ReportDeletion(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, const DeleteOptions& options,
                    const HttpResponse& response);
// For the response to the deletion of a collection: the deleted objects.
void ReportDeletions(const ClientCore& core, const Context& ctx, const WriteCall& call, const HttpResponse& response);
// For a deletion whose response does not describe the object, such as an eviction.
void ReportDeleting(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, std::string_view uid);

}  // namespace kube::internal
