// Telling the observers of a context what was written (kube/client/write_observer.h). All of it costs nothing where nobody observes.
#pragma once

#include <string_view>

#include "kube/base/context.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/meta/gvk.h"
#include "kube/meta/v1.h"
#include "kube/transport/http.h"

namespace kube::internal {

// What was asked for.
struct WriteCall {
  const ResourceTarget& target;
  std::string_view verb{};  // of RBAC
  std::string_view subresource{};
};

// The answer to a write, of the target's form.
void ReportWrite(const ClientCore& core, const Context& ctx, const WriteCall& call, const void* answer);
// Metadata of an answer of another kind, such as Scale: counts where it is the object's own.
void ReportMetadata(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key,
                    const meta::v1::ObjectMeta& metadata);
// The answer to a deletion: a Status, or the object.
void ReportDeletion(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, const DeleteOptions& options,
                    const HttpResponse& response);
// The answer to the deletion of a collection: what it had.
void ReportDeletions(const ClientCore& core, const Context& ctx, const WriteCall& call, const HttpResponse& response);
// A deletion that says nothing of the object, such as an eviction.
void ReportDeleting(const ClientCore& core, const Context& ctx, const WriteCall& call, const ObjectKey& key, std::string_view uid);

}  // namespace kube::internal
