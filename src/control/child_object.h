// A wanted child on its way to the server: what is applied, whose it is, what was applied before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/child_compare.h"
#include "kube/base/result.h"
#include "kube/control/desired_state.h"
#include "kube/meta/v1.h"

namespace kube::internal {

// Who wants children, and how they are marked.
struct ChildOwner {
  meta::v1::ObjectMeta metadata{};
  Gvk gvk{};
  std::string set_label{};    // its value is `set`
  std::string owner_label{};  // its value is the owner's UID
  std::string hash_annotation{};
  std::string set{};
  std::string manager{};
  std::optional<bool> block_owner_deletion{};

  ChildOwner(meta::v1::ObjectMeta owner, Gvk owner_gvk, const DesiredStateOptions& options);
  // Which objects carry the marks of this owner and set.
  Map<String> Marks() const;
};

// What to apply, complete with marks, controller and hash. Errors: kInvalid: no name, a controller that is another one, an owner in
// another namespace.
struct PreparedChild {
  DynamicObject body{};
  std::string hash{};
};
Result<PreparedChild> PrepareChild(const ChildOwner& owner, const DynamicObject& wanted, bool namespaced);

// Whose an existing object is.
struct Ownership {
  enum class Kind {
    kOurs,     // of this owner and set; also where somebody took the controller reference or the set's label off
    kNobodys,  // without a controller
    kForeign,
  };
  Kind kind = Kind::kForeign;
  std::string message{};  // for all but kOurs: why it is left alone
};
Ownership OwnershipOf(const ChildOwner& owner, const meta::v1::ObjectMeta& metadata);

// Whether the object has all that is wanted; a changed or missing hash counts as drift.
Drift CompareChild(const ChildOwner& owner, const TypeInfo* type, const PreparedChild& wanted, const DynamicObject& live);

// A child is made by POST, so that its fields are ours as those of an update; what an apply no longer names would stay. These are its
// managedFields without that: its entry is one of an apply now, or gone where there is one already. Nothing where there is no such entry.
std::optional<Value> FieldsAsApplied(const ChildOwner& owner, const DynamicObject& live);

// What is different between the two for a person: without what the server keeps for itself and without our own marks' hash.
std::vector<Difference> DiffChild(const ChildOwner& owner, const TypeInfo* type, const DynamicObject& before, const DynamicObject& after);

// What the server made of an apply where that is not what was asked for: by the object's UID. For the whole process, bounded.
// Thread safety: from many threads.
bool IsAcceptedDrift(const String& uid, const PreparedChild& wanted, const Drift& drift);
void AcceptDrift(const String& uid, const PreparedChild& wanted, const Drift& drift);
// For tests: as in a process that has just started.
void ForgetAcceptedDrift();

}  // namespace kube::internal
