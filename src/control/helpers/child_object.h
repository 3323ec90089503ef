// A wanted child on its way to the server: what to apply, its owner, and what was applied before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/helpers/child_compare.h"
#include "kube/base/result.h"
#include "kube/control/desired_state.h"
#include "kube/meta/v1.h"

namespace kube::internal {

// The owner of children, and their marks.
struct ChildOwner {
  meta::v1::ObjectMeta metadata{};
  Gvk gvk{};
  std::string set_label{};    // its value is `set`
  std::string owner_label{};  // its value is the owner's UID
  std::string hash_annotation{};
  // Marks of children outside of the owner's namespace, which have no owner reference (kube/control/child_marks.h).
  std::string owner_hash_label{};
  std::string owner_annotation{};
  std::string proof_annotation{};
  std::string record{};  // name of the finalizer and of the annotation on the owner: owner_record.h
  std::string proof_key{};
  std::string set{};
  std::string manager{};
  std::optional<bool> block_owner_deletion{};

  ChildOwner(meta::v1::ObjectMeta owner, Gvk owner_gvk, const DesiredStateOptions& options);
  // Whether an object in this namespace, or in none, cannot have an owner reference to this owner.
  bool IsElsewhere(const String& ns) const { return !metadata.namespace_.empty() && ns != metadata.namespace_; }
  // The labels of children of this owner and set: of those with an owner reference, and of those elsewhere.
  Map<String> Marks() const;
  Map<String> MarksElsewhere() const;
  std::string ProofFor(const GroupKind& kind, const ObjectKey& key) const;
};

// Returns what to apply, complete with marks, controller and hash. A child elsewhere has no controller: its marks prove its owner. Errors:
// kInvalid for a child without a name, with another controller, or elsewhere unless `anywhere` allows it.
struct PreparedChild {
  DynamicObject body{};
  std::string hash{};
};
Result<PreparedChild> PrepareChild(const ChildOwner& owner, const DynamicObject& wanted, bool namespaced, bool anywhere);

// The owner of an existing object.
struct Ownership {
  enum class Kind {
    // A child of this owner and set, even if the controller reference or the set's label was removed. Elsewhere: the proof is valid.
    kOurs,
    kNobodys,  // has no controller
    kForeign,
  };
  Kind kind = Kind::kForeign;
  std::string message{};  // for all but kOurs: why it is not changed
};
Ownership OwnershipOf(const ChildOwner& owner, const GroupKind& kind, const meta::v1::ObjectMeta& metadata);
// Whether pruning may delete it: the marks and the controller, or the proof, show that it is a child of this owner and set.
bool IsMarkedChild(const ChildOwner& owner, const GroupKind& kind, const meta::v1::ObjectMeta& metadata);

// Whether the object has everything wanted; a changed or missing hash counts as drift.
Drift CompareChild(const ChildOwner& owner, const TypeInfo* type, const PreparedChild& wanted, const DynamicObject& live);

// A child is created by POST, so its fields are owned as by an update, and an apply would not remove fields that are no longer wanted.
// Returns its managedFields with that entry turned into one of an apply, or without it if there is one already; nullopt if there is no such
// entry.
std::optional<Value> FieldsAsApplied(const ChildOwner& owner, const DynamicObject& live);

// The difference for users: without server-managed fields and without the hash in our marks.
std::vector<Difference> DiffChild(const ChildOwner& owner, const TypeInfo* type, const DynamicObject& before, const DynamicObject& after);

// What the server made of an apply if it differs from what was applied, by the object's UID. For the whole process, bounded. Thread safety:
// any thread.
bool IsAcceptedDrift(const String& uid, const PreparedChild& wanted, const Drift& drift);
void AcceptDrift(const String& uid, const PreparedChild& wanted, const Drift& drift);
// For tests: resets it, as in a new process.
void ForgetAcceptedDrift();

}  // namespace kube::internal
