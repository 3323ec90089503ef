// A wanted child on its way to the server: what is applied, whose it is, what was applied before.
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

// Who wants children, and how they are marked.
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
  // The labels of children of this owner and set: of those that refer to their owner, and of those elsewhere.
  Map<String> Marks() const;
  Map<String> MarksElsewhere() const;
  std::string ProofFor(const GroupKind& kind, const ObjectKey& key) const;
};

// What to apply, complete with marks, controller and hash. A child elsewhere has no controller: its marks prove whose it is. Errors:
// kInvalid: no name, a controller that is another one, a child elsewhere unless `anywhere` allows it.
struct PreparedChild {
  DynamicObject body{};
  std::string hash{};
};
Result<PreparedChild> PrepareChild(const ChildOwner& owner, const DynamicObject& wanted, bool namespaced, bool anywhere);

// Whose an existing object is.
struct Ownership {
  enum class Kind {
    kOurs,     // of this owner and set; also if the controller reference or the set's label was removed. Elsewhere: the proof is valid
    kNobodys,  // without a controller
    kForeign,
  };
  Kind kind = Kind::kForeign;
  std::string message{};  // for all but kOurs: why it is left alone
};
Ownership OwnershipOf(const ChildOwner& owner, const GroupKind& kind, const meta::v1::ObjectMeta& metadata);
// Whether pruning may delete it: the marks and the controller, or the proof, say that it is a child of this owner and set.
bool IsMarkedChild(const ChildOwner& owner, const GroupKind& kind, const meta::v1::ObjectMeta& metadata);

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
