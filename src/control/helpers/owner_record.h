// What an owner carries while it has children outside of its namespace: a finalizer, and an annotation with the kinds of these children,
// so that all of them are found even by a program that has forgotten one of the kinds.
#pragma once

#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/v1.h"

namespace kube::internal {

struct OwnerRecord {
  bool finalizer = false;
  std::vector<Gvk> kinds{};  // at most kMostKinds: a tenant that may write the owner can write anything there

  static constexpr std::size_t kMostKinds = 32;

  // Both have the same name.
  static OwnerRecord Of(const meta::v1::ObjectMeta& owner, const std::string& name);
  bool Covers(const std::vector<Gvk>& wanted) const;
};

struct RecordEdit {
  std::vector<Gvk> add{};
  std::vector<Gvk> drop{};  // by group and kind
};
// A record without kinds is taken off. `owner` becomes what the server has; if that is being deleted, nothing is added. Returns false if
// the owner does not exist any more. Counts its writes.
Result<bool> WriteOwnerRecord(const Context& ctx, const ResourceClient<DynamicObject>& owners, const std::string& name,
                              const RecordEdit& edit, const PatchOptions& options, meta::v1::ObjectMeta& owner, int& writes);

}  // namespace kube::internal
