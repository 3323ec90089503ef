#include "kube/meta/owner_reference.h"

namespace kube {

namespace {

using meta::v1::ObjectMeta;
using meta::v1::OwnerReference;

constexpr char kAlreadyOwned[] = "AlreadyOwned";

std::string Describe(const OwnerReference& reference) {
  return reference.kind.str() + " " + reference.name.str() + " (" + reference.api_version.str() + ")";
}

// An object that was deleted and recreated is another one: the garbage collector deletes what the old one owned. References without a UID,
// which no server stores, are compared by name.
bool IsSameOwner(const OwnerReference& a, const OwnerReference& b) {
  return ReferToSameObject(a, b) && (a.uid.empty() || b.uid.empty() || a.uid == b.uid);
}

// The garbage collector looks for a namespaced owner in the object's own namespace only and would delete the object.
Result<void> CheckNamespaces(const ObjectMeta& owner, const ObjectMeta& object) {
  if (owner.namespace_.empty()) return {};
  std::string owner_text = KeyOf(owner).ToString();
  if (object.namespace_.empty()) {
    return Error::Invalid("cluster-scoped object " + object.name.str() + " cannot have the namespaced owner " + owner_text);
  }
  if (object.namespace_ != owner.namespace_) {
    return Error::Invalid("object " + KeyOf(object).ToString() + " cannot have the owner " + owner_text + " of another namespace");
  }
  return {};
}

std::size_t IndexOf(const List<OwnerReference>& references, const OwnerReference& wanted) {
  std::size_t i = 0;
  while (i < references.size() && !IsSameOwner(references[i], wanted)) ++i;
  return i;
}

void Upsert(ObjectMeta& object, OwnerReference reference) {
  std::size_t i = IndexOf(object.owner_references, reference);
  if (i == object.owner_references.size()) {
    object.owner_references.push_back(std::move(reference));
  } else if (std::as_const(object.owner_references)[i] != reference) {
    object.owner_references[i] = std::move(reference);
  }
}

Error NotOwned(const ObjectMeta& object, const OwnerReference& owner, std::string_view what) {
  return Error::Invalid("object " + KeyOf(object).ToString() + " does not have " + Describe(owner) + " as " + std::string(what));
}

}  // namespace

OwnerReference NewOwnerRef(const ObjectMeta& owner, const Gvk& owner_gvk) {
  OwnerReference reference;
  reference.api_version = owner_gvk.api_version();
  reference.kind = owner_gvk.kind;
  reference.name = owner.name;
  reference.uid = owner.uid;
  return reference;
}

OwnerReference NewControllerRef(const ObjectMeta& owner, const Gvk& owner_gvk) {
  OwnerReference reference = NewOwnerRef(owner, owner_gvk);
  reference.controller = true;
  reference.block_owner_deletion = true;
  return reference;
}

const OwnerReference* FindController(const List<OwnerReference>& references) {
  for (const OwnerReference& reference : references) {
    if (reference.controller.value_or(false)) return &reference;
  }
  return nullptr;
}

bool ReferToSameObject(const OwnerReference& a, const OwnerReference& b) {
  if (a.kind != b.kind || a.name != b.name) return false;
  Result<GroupVersion> a_version = GroupVersion::Parse(a.api_version);
  Result<GroupVersion> b_version = GroupVersion::Parse(b.api_version);
  return a_version && b_version && a_version->group == b_version->group;
}

Result<void> SetControllerReference(const ObjectMeta& owner, const Gvk& owner_gvk, ObjectMeta& object,
                                    const OwnerReferenceOptions& options) {
  if (auto r = CheckNamespaces(owner, object); !r) return r;
  OwnerReference reference = NewControllerRef(owner, owner_gvk);
  if (options.block_owner_deletion) reference.block_owner_deletion = options.block_owner_deletion;
  const OwnerReference* controller = FindController(object.owner_references);
  if (controller != nullptr && !IsSameOwner(*controller, reference)) {
    const bool earlier = ReferToSameObject(*controller, reference);
    Error::Payload payload;
    payload.kind = ErrorKind::kInvalid;
    payload.reason = kAlreadyOwned;
    payload.message = "object " + KeyOf(object).ToString() + " is already controlled by " + Describe(*controller) +
                      (earlier ? ", which was another object of the same name: UID " + controller->uid.str() + ", not " +
                                     reference.uid.str() + "; let the garbage collector remove what it left"
                               : "; it cannot have a second controller " + Describe(reference));
    payload.name = object.name.str();
    return Error(std::move(payload));
  }
  Upsert(object, std::move(reference));
  return {};
}

Result<void> SetOwnerReference(const ObjectMeta& owner, const Gvk& owner_gvk, ObjectMeta& object, const OwnerReferenceOptions& options) {
  if (auto r = CheckNamespaces(owner, object); !r) return r;
  OwnerReference reference = NewOwnerRef(owner, owner_gvk);
  reference.block_owner_deletion = options.block_owner_deletion;
  Upsert(object, std::move(reference));
  return {};
}

Result<void> RemoveOwnerReference(const ObjectMeta& owner, const Gvk& owner_gvk, ObjectMeta& object) {
  OwnerReference reference = NewOwnerRef(owner, owner_gvk);
  std::size_t i = IndexOf(object.owner_references, reference);
  if (i == object.owner_references.size()) return NotOwned(object, reference, "an owner");
  object.owner_references.erase(i);
  return {};
}

Result<void> RemoveControllerReference(const ObjectMeta& owner, const Gvk& owner_gvk, ObjectMeta& object) {
  OwnerReference reference = NewOwnerRef(owner, owner_gvk);
  std::size_t i = IndexOf(object.owner_references, reference);
  const auto& references = std::as_const(object.owner_references);
  if (i == references.size() || !references[i].controller.value_or(false)) return NotOwned(object, reference, "its controller");
  object.owner_references.erase(i);
  return {};
}

bool HasOwnerReference(const List<OwnerReference>& references, const ObjectMeta& owner, const Gvk& owner_gvk) {
  return IndexOf(references, NewOwnerRef(owner, owner_gvk)) != references.size();
}

bool IsAlreadyOwned(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == kAlreadyOwned; }

}  // namespace kube
