#include "control/helpers/child_object.h"

#include <utility>

#include "codec/base64.h"
#include "control/lru_map.h"
#include "kube/base/mutex.h"
#include "kube/codec/json.h"
#include "kube/control/child_marks.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/owner_reference.h"

namespace kube::internal {
namespace {

using meta::v1::ObjectMeta;
using meta::v1::OwnerReference;

constexpr std::size_t kRememberedDrifts = 20'000;

std::string Hex(std::uint64_t n) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; n >>= 4) out[i] = "0123456789abcdef"[n & 15];
  return out;
}

// A null in a typed object is an empty field that is always written; applied, it would be a wish.
void DropNulls(Value& value) {
  if (value.is_object()) {
    List<String> nulls;
    for (const auto& member : std::as_const(value).object()) {
      if (member.value.is_null()) nulls.push_back(member.key);
    }
    for (const String& key : std::as_const(nulls)) value.MutableObject().Erase(key.view());
    for (const auto& member : Map<Value>(std::as_const(value).object())) {
      if (member.value.is_object() || member.value.is_list()) DropNulls(value[member.key.view()]);
    }
  } else if (value.is_list()) {
    for (Value& item : value.MutableList()) DropNulls(item);
  }
}

// The server accepts stringData and never returns it: it would count as missing in every pass.
void FoldStringData(Value& body) {
  if (body["apiVersion"] != Value("v1") || body["kind"] != Value("Secret")) return;
  const Value strings = std::as_const(body)["stringData"];
  for (const auto& member : strings.object()) {
    std::string encoded;
    AppendBase64(member.value.string_value().view(), encoded);
    body["data"][member.key.view()] = encoded;
  }
  body.MutableObject().Erase("stringData");
}

std::string Describe(const OwnerReference& reference) {
  return reference.kind.str() + " " + reference.name.str() + " (uid " + reference.uid.str() + ")";
}

// Ownership of an object that cannot have an owner reference to this owner.
Ownership OwnershipElsewhere(const ChildOwner& owner, const GroupKind& kind, const ObjectMeta& metadata) {
  if (const OwnerReference* controller = FindController(metadata.owner_references)) {
    return {.message = "it is controlled by " + Describe(*controller)};
  }
  if (SameProof(metadata.annotations.Get(owner.proof_annotation).view(), owner.ProofFor(kind, KeyOf(metadata)))) {
    return {.kind = Ownership::Kind::kOurs};
  }
  const String& set = metadata.labels.Get(owner.set_label);
  const String& mark = metadata.annotations.Get(owner.owner_annotation);
  if (mark.empty() && !metadata.labels.contains(owner.owner_hash_label)) {
    return {.kind = Ownership::Kind::kNobodys, .message = "it exists already and has no owner; delete it, or allow its adoption"};
  }
  if (mark != OwnerMark(owner.gvk.group_kind(), KeyOf(owner.metadata)) || set != owner.set) {
    return {.message = "it is marked as a child of " + (mark.empty() ? "another owner" : mark.str()) + ", set \"" + set.str() + "\""};
  }
  return {.kind = Ownership::Kind::kNobodys,
          .message =
              "it has the marks of this set, but not their proof: they were copied, or made for an earlier owner of that name; "
              "delete it, or allow its adoption"};
}

struct Remembered {
  std::string hash;
  std::uint64_t fingerprint = 0;
};
struct Memory {
  Mutex mu;
  LruMap<Remembered> drifts KUBE_GUARDED_BY(mu){kRememberedDrifts};
};
Memory& TheMemory() {
  static Memory& memory = *new Memory;
  return memory;
}

}  // namespace

ChildOwner::ChildOwner(ObjectMeta owner, Gvk owner_gvk, const DesiredStateOptions& options)
    : metadata(std::move(owner)),
      gvk(std::move(owner_gvk)),
      set_label(options.mark_prefix + "/set"),
      owner_label(options.mark_prefix + "/owner-uid"),
      hash_annotation(options.mark_prefix + "/applied"),
      owner_hash_label(options.mark_prefix + "/owner-hash"),
      owner_annotation(options.mark_prefix + "/owner"),
      proof_annotation(options.mark_prefix + "/proof"),
      record("children." + options.mark_prefix + "/" + options.name),
      proof_key(options.proof_key),
      set(options.name),
      manager(options.field_manager),
      block_owner_deletion(options.block_owner_deletion) {}

Map<String> ChildOwner::Marks() const { return {{String(set_label), String(set)}, {String(owner_label), metadata.uid}}; }

Map<String> ChildOwner::MarksElsewhere() const {
  return {{String(set_label), String(set)}, {String(owner_hash_label), String(OwnerHash(metadata.uid.view()))}};
}

std::string ChildOwner::ProofFor(const GroupKind& kind, const ObjectKey& key) const {
  return ChildProof(metadata.uid.view(), proof_key, set, kind, key);
}

Result<PreparedChild> PrepareChild(const ChildOwner& owner, const DynamicObject& wanted, bool namespaced, bool anywhere) {
  if (wanted.name().empty()) {
    return Error::Invalid("a desired " + wanted.kind().str() + " has no name: set one, because a generated name cannot be found again");
  }
  PreparedChild out;
  out.body = DynamicObject(wanted.gvk(), wanted.key());
  if (!namespaced) out.body.set_namespace({});
  if (namespaced && out.body.namespace_().empty()) out.body.set_namespace(owner.metadata.namespace_);
  const bool elsewhere = owner.IsElsewhere(out.body.namespace_());
  // What stands there may have been copied from the owner, or from another child.
  Map<String> labels = wanted.labels();
  labels.Erase(elsewhere ? owner.owner_label : owner.owner_hash_label);
  for (const auto& mark : elsewhere ? owner.MarksElsewhere() : owner.Marks()) labels[mark.key.view()] = mark.value;
  out.body.set_labels(labels);
  Map<String> annotations = wanted.annotations();
  annotations.Erase(owner.hash_annotation);
  annotations.Erase(owner.record);
  annotations.Erase(owner.owner_annotation);
  annotations.Erase(owner.proof_annotation);
  if (elsewhere) {
    annotations[owner.owner_annotation] = OwnerMark(owner.gvk.group_kind(), KeyOf(owner.metadata));
    annotations[owner.proof_annotation] = owner.ProofFor(wanted.gvk().group_kind(), out.body.key());
  }
  out.body.set_annotations(annotations);
  List<String> finalizers;
  for (const String& finalizer : wanted.finalizers()) {
    if (finalizer != owner.record) finalizers.push_back(finalizer);  // it would never be removed
  }
  out.body.set_finalizers(finalizers);
  if (Result<void> r = out.body.SetOwnerReferences(wanted.owner_references()); !r) return r.error();
  if (elsewhere && anywhere) {
    if (const List<OwnerReference> others = wanted.owner_references(); FindController(others) != nullptr) {
      return Error::Invalid("it names the controller " + Describe(*FindController(others)) +
                            "; a child outside of its owner's namespace has none");
    }
  }
  const OwnerReferenceOptions reference{.block_owner_deletion = owner.block_owner_deletion};
  if (!elsewhere || !anywhere) {
    Result<void> owned = ObjectTraits<DynamicObject>::EditOwnerReferences(
        out.body, [&](ObjectMeta& metadata) { return SetControllerReference(owner.metadata, owner.gvk, metadata, reference); });
    if (!owned && elsewhere) return Error::Invalid(owned.error().message() + "; DesiredState::Anywhere() allows such children");
    if (!owned) return owned.error();
  }
  for (const auto& member : wanted.value().object()) {
    if (member.key == "apiVersion" || member.key == "kind" || member.key == "metadata" || member.key == "status") continue;
    out.body[member.key.view()] = member.value;
  }
  DropNulls(out.body.mutable_value());
  FoldStringData(out.body.mutable_value());
  out.hash = Hex(HashText(ToJson(out.body.value()), HashText(owner.manager)));
  out.body.set_annotation(owner.hash_annotation, String(out.hash));
  return out;
}

Ownership OwnershipOf(const ChildOwner& owner, const GroupKind& kind, const ObjectMeta& metadata) {
  if (owner.IsElsewhere(metadata.namespace_)) return OwnershipElsewhere(owner, kind, metadata);
  const String& set = metadata.labels.Get(owner.set_label);
  const bool marked = set == owner.set && metadata.labels.Get(owner.owner_label) == owner.metadata.uid;
  const OwnerReference* controller = FindController(metadata.owner_references);
  if (controller == nullptr) {
    if (marked) return {.kind = Ownership::Kind::kOurs};
    return {.kind = Ownership::Kind::kNobodys, .message = "it exists already and has no controller; delete it, or allow its adoption"};
  }
  if (controller->uid == owner.metadata.uid) {
    if (set.empty() || set == owner.set) return {.kind = Ownership::Kind::kOurs};
    return {.message = "it belongs to the set \"" + set.str() + "\" of the same owner, this one is \"" + owner.set + "\""};
  }
  if (ReferToSameObject(*controller, NewOwnerRef(owner.metadata, owner.gvk))) {
    return {.message = "it belongs to an earlier " + Describe(*controller) + "; it can be recreated once it is garbage-collected"};
  }
  return {.message = "it is controlled by " + Describe(*controller)};
}

bool IsMarkedChild(const ChildOwner& owner, const GroupKind& kind, const ObjectMeta& metadata) {
  if (metadata.labels.Get(owner.set_label) != owner.set) return false;
  if (owner.IsElsewhere(metadata.namespace_)) return OwnershipElsewhere(owner, kind, metadata).kind == Ownership::Kind::kOurs;
  const OwnerReference* controller = FindController(metadata.owner_references);
  return controller != nullptr && controller->uid == owner.metadata.uid;
}

Drift CompareChild(const ChildOwner& owner, const TypeInfo* type, const PreparedChild& wanted, const DynamicObject& live) {
  // The annotation with the hash is one of the wanted fields, so another hash is drift even if all other fields are as wanted: what is
  // no longer wanted has to go too.
  Drift drift = FindDrift(type, wanted.body.value(), live.value(), owner.manager);
  const String& applied = live["metadata"]["annotations"][owner.hash_annotation].string_value();
  if (applied == wanted.hash) return drift;
  // For people it is put in other words.
  std::erase_if(drift.reasons, [&](const std::string& line) { return line.find(owner.hash_annotation) != std::string::npos; });
  drift.reasons.push_back(applied.empty() ? "not applied before, or the annotation " + owner.hash_annotation + " was removed"
                                          : "the desired state differs from what was applied last");
  return drift;
}

std::optional<Value> FieldsAsApplied(const ChildOwner& owner, const DynamicObject& live) {
  Value entries = live["metadata"]["managedFields"];
  const Value* ours = FindFieldsOf(entries, owner.manager, "Update");
  if (ours == nullptr) return std::nullopt;
  const auto index = static_cast<std::size_t>(ours - std::as_const(entries).list().begin());
  if (FindFieldsOf(entries, owner.manager, "Apply") != nullptr) {
    entries.MutableList().erase(index);
  } else {
    entries.MutableList()[index]["operation"] = "Apply";
  }
  return entries;
}

std::vector<Difference> DiffChild(const ChildOwner& owner, const TypeInfo* type, const DynamicObject& before, const DynamicObject& after) {
  const auto cleaned = [&](DynamicObject object) {
    object.RemoveManagedFields();
    object.set_resource_version({});
    object.set_generation(0);
    object.set_annotation(owner.hash_annotation, {});
    object.mutable_value().MutableObject().Erase("status");
    if (object.annotations().empty()) object.set_annotations({});
    return object;
  };
  const DynamicObject a = cleaned(before), b = cleaned(after);
  if (type != nullptr) {
    const Result<AnyObject> x = FromDynamic(*type, a), y = FromDynamic(*type, b);
    if (x && y) return Diff(*type, x->data(), y->data());
  }
  return Diff(a.value(), b.value());
}

bool IsAcceptedDrift(const String& uid, const PreparedChild& wanted, const Drift& drift) {
  Memory& memory = TheMemory();
  MutexLock lock(memory.mu);
  const Remembered* found = memory.drifts.Find(uid.view());
  return found != nullptr && found->hash == wanted.hash && found->fingerprint == drift.fingerprint;
}

void AcceptDrift(const String& uid, const PreparedChild& wanted, const Drift& drift) {
  Memory& memory = TheMemory();
  MutexLock lock(memory.mu);
  memory.drifts.Remove(uid.view());
  memory.drifts.Insert(uid.str(), {wanted.hash, drift.fingerprint});
}

void ForgetAcceptedDrift() {
  Memory& memory = TheMemory();
  MutexLock lock(memory.mu);
  while (memory.drifts.size() > 0) memory.drifts.RemoveOldest();
}

}  // namespace kube::internal
