#include "kube/control/desired_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "control/helpers/child_object.h"
#include "control/helpers/owner_record.h"
#include "kube/meta/owner_reference.h"
#include "kube/meta/validation.h"

namespace kube::internal {
namespace {

using Outcome = ChildChange::Outcome;

constexpr int kAttempts = 3;  // where others write the same object

// Where the objects of a kind are.
struct ChildTarget {
  Gvk gvk{};
  const TypeInfo* type = nullptr;
  Gvr gvr{};
  bool namespaced = false;
};

void Fail(ChildChange& change, Error error) {
  change.outcome = Outcome::kFailed;
  change.error = std::move(error);
}

// Another manager owns a field, and force was not allowed.
bool IsFieldConflict(const Error& error) {
  const auto& causes = error.causes();
  return IsConflict(error) &&
         std::any_of(causes.begin(), causes.end(), [](const ErrorCause& cause) { return cause.reason == "FieldManagerConflict"; });
}

bool IsNamespaceTerminating(const Error& error) {
  const auto& causes = error.causes();
  return IsForbidden(error) &&
         std::any_of(causes.begin(), causes.end(), [](const ErrorCause& cause) { return cause.reason == "NamespaceTerminating"; });
}

// The lists, both desired and live, that the server's error is about, in their desired form; by JSON pointer.
std::vector<std::pair<std::string, Value>> RefusedLists(const Error& error, const Value& wanted, const Value& live) {
  std::vector<std::pair<std::string, Value>> lists;
  for (const ErrorCause& cause : error.causes()) {
    const std::string path = cause.field.substr(0, cause.field.find('['));  // "spec.ports[0].name"
    if (path.size() == cause.field.size()) continue;
    std::string pointer;
    const Value *in_wanted = &wanted, *in_live = &live;
    for (std::size_t start = 0; start <= path.size() && in_wanted != nullptr && in_live != nullptr;) {
      const std::size_t end = std::min(path.find('.', start), path.size());
      const std::string name = path.substr(start, end - start);
      pointer += "/" + name;
      in_wanted = in_wanted->Find(name);
      in_live = in_live->Find(name);
      start = end + 1;
    }
    if (in_wanted == nullptr || in_live == nullptr || !in_wanted->is_list() || !in_live->is_list()) continue;
    const auto same = [&](const auto& known) { return known.first == pointer; };
    if (std::none_of(lists.begin(), lists.end(), same)) lists.emplace_back(pointer, *in_wanted);
  }
  return lists;
}

}  // namespace

class DesiredStateCore::Impl {
 public:
  Impl(Client client, std::shared_ptr<const CachedClientCore> cached, meta::v1::ObjectMeta owner, ChildKind owner_kind,
       DesiredStateOptions options)
      : client_(std::move(client)),
        cached_(std::move(cached)),
        options_(std::move(options)),
        owner_kind_(std::move(owner_kind)),
        owner_(std::move(owner), owner_kind_.gvk, options_) {}

  void Anywhere() { anywhere_ = true; }
  void Manage(ChildKind kind) {
    const auto same = [&](const ChildKind& k) { return k.gvk.group_kind() == kind.gvk.group_kind(); };
    const auto found = std::find_if(kinds_.begin(), kinds_.end(), same);
    if (found == kinds_.end()) {
      kinds_.push_back(std::move(kind));
    } else if (found->type == nullptr) {
      *found = std::move(kind);
    }
  }
  void Want(ChildKind kind, Result<DynamicObject> child) {
    Manage(kind);
    wanted_.push_back({std::move(kind), std::move(child)});
  }
  void ReadFrom(const Gvk& gvk, ChildCache cache) { caches_[gvk] = std::move(cache); }

  Result<Changes> TryApply(const Context& outer) {
    const Context ctx = cached_ != nullptr ? cached_->Writing(outer) : outer;
    if (Result<void> r = Check(); !r) return r.error().WithContext("apply the desired state of " + OwnerName());
    Changes changes{.dry_run = options_.dry_run};
    const bool recorded = OwnerRecord::Of(owner_.metadata, owner_.record).finalizer;
    if (recorded && !anywhere_) {
      return Error::Invalid(OwnerName() + " has children outside of its namespace (finalizer " + owner_.record +
                            "): call DesiredState::Anywhere()");
    }
    confirmed_ = false;
    unrecorded_.reset();
    if (owner_.metadata.deletion_timestamp.IsZero() && anywhere_) {
      elsewhere_ = KindsElsewhere(ctx);
      if (!Record(ctx, changes)) return changes;
    }
    if (!owner_.metadata.deletion_timestamp.IsZero()) return CleanUp(ctx, std::move(changes));
    Keep keep;
    for (const Wanted& wanted : wanted_) {
      ChildChange change{.gvk = wanted.kind.gvk};
      ApplyOne(ctx, wanted, keep, change, changes);
      if (changes.owner_deleted) {
        if (!owner_.metadata.deletion_timestamp.IsZero()) return CleanUp(ctx, std::move(changes));
        return changes;
      }
      changes.children.push_back(std::move(change));
    }
    if (options_.prune) {
      for (const ChildKind& kind : kinds_) {
        if (keep.unsure.count(kind.gvk.group_kind()) == 0) Prune(ctx, kind, Place::kWithOwner, keep, changes);
      }
      if (anywhere_) {
        if (Result<void> r = PruneElsewhere(ctx, keep, changes); !r) return r.error();
      }
    }
    return changes;
  }

 private:
  struct Wanted {
    ChildKind kind;
    Result<DynamicObject> object;
  };
  // What pruning must leave alone.
  struct Keep {
    std::set<std::pair<GroupKind, ObjectKey>> objects{};
    std::set<GroupKind> unsure{};  // a child of this kind is desired, but its name is unknown
  };
  // Where pruning looks, and by which marks.
  enum class Place {
    kWithOwner,        // children with an owner reference
    kElsewhereCached,  // as far as a cache knows; without any caches, on the server
    kElsewhere,
    kElsewhereLive,  // on the server: for the last look
  };

  std::string OwnerName() const { return owner_.gvk.kind.str() + " " + KeyOf(owner_.metadata).ToString(); }

  Result<void> Check() const {
    if (options_.field_manager.empty()) return Error::Invalid("set DesiredStateOptions::field_manager");
    if (options_.name.empty()) return Error::Invalid("set DesiredStateOptions::name, the name of the set of children");
    if (Result<void> r = ValidateLabelValue(options_.name); !r) return r.error().WithContext("DesiredStateOptions::name");
    if (Result<void> r = ValidateLabelKey(owner_.set_label); !r) return r.error().WithContext("DesiredStateOptions::mark_prefix");
    if (owner_.gvk.kind.empty() || owner_.metadata.name.empty()) return Error::Invalid("the owner has no kind or no name");
    if (owner_.metadata.uid.empty()) {
      return Error::Invalid("the owner has no UID: pass the object that the server returned, not a local one");
    }
    return {};
  }

  // ---- Children elsewhere ----

  std::vector<Gvk> KindsElsewhere(const Context& ctx) {
    std::vector<Gvk> kinds;
    for (const Wanted& wanted : wanted_) {
      if (!wanted.object) continue;  // reported later, as is a kind that cannot be found
      const Result<ChildTarget> target = TargetOf(ctx, wanted.kind);
      if (!target) continue;
      const String& ns = wanted.object->namespace_();
      if (target->namespaced ? ns.empty() || !owner_.IsElsewhere(ns) : !owner_.IsElsewhere({})) continue;
      if (std::find(kinds.begin(), kinds.end(), wanted.kind.gvk) == kinds.end()) kinds.push_back(wanted.kind.gvk);
    }
    return kinds;
  }
  // Before the first child of a kind is created: it could not be found again. False: the owner does not exist any more.
  bool Record(const Context& ctx, Changes& changes) {
    if (OwnerRecord::Of(owner_.metadata, owner_.record).Covers(elsewhere_)) return true;
    const Result<bool> exists = WriteRecord(ctx, {.add = elsewhere_}, changes);
    if (!exists) unrecorded_ = exists.error().WithContext("add the finalizer " + owner_.record + " to " + OwnerName());
    confirmed_ = exists.ok();
    changes.owner_deleted = exists && !*exists;
    return !changes.owner_deleted;
  }
  // Before the first create of a pass, unless the record has just been written. The owner may come from a stale cache, above all after a
  // change of the leader: if it has been deleted or has lost its finalizer, the child would be left behind. False: do not create.
  bool Confirm(const Context& ctx, Changes& changes) {
    if (confirmed_) return true;
    const Result<ChildTarget> target = TargetOf(ctx, owner_kind_);
    Result<meta::v1::PartialObjectMetadata> live =
        target ? client_.Metadata(target->gvr).Get(ctx, KeyOf(owner_.metadata)) : Result<meta::v1::PartialObjectMetadata>(target.error());
    if (!live && !IsNotFound(live.error())) {
      unrecorded_ = live.error().WithContext("look whether " + OwnerName() + " still exists");
      return false;
    }
    confirmed_ = true;
    changes.owner_deleted = !live || live->metadata.uid != owner_.metadata.uid || !live->metadata.deletion_timestamp.IsZero();
    if (live && live->metadata.uid == owner_.metadata.uid) owner_.metadata = live->metadata;
    if (changes.owner_deleted) return false;
    return Record(ctx, changes) && !unrecorded_;
  }
  Result<bool> WriteRecord(const Context& ctx, const RecordEdit& edit, Changes& changes) {
    const Result<ChildTarget> target = TargetOf(ctx, owner_kind_);
    if (!target) return target.error();
    return WriteOwnerRecord(ctx, ClientFor(*target), owner_.record, edit,
                            {.dry_run = options_.dry_run, .field_manager = options_.field_manager}, owner_.metadata, changes.writes);
  }
  // Drops kinds without children elsewhere from the record, and the finalizer with the last of them.
  Result<void> DropFromRecord(const Context& ctx, std::vector<Gvk> kinds, Changes& changes) {
    if (Result<bool> dropped = WriteRecord(ctx, {.drop = std::move(kinds)}, changes); !dropped) {
      return dropped.error().WithContext("remove the finalizer " + owner_.record + " from " + OwnerName());
    }
    return {};
  }
  // The record's kinds, with the structs of those that were named here.
  std::vector<ChildKind> RecordedKinds() const {
    const OwnerRecord record = OwnerRecord::Of(owner_.metadata, owner_.record);
    std::vector<ChildKind> kinds;
    for (const Gvk& gvk : record.kinds) {
      const auto same = [&](const ChildKind& kind) { return kind.gvk.group_kind() == gvk.group_kind(); };
      const auto known = std::find_if(kinds_.begin(), kinds_.end(), same);
      kinds.push_back(known != kinds_.end() ? *known : ChildKind{gvk});
    }
    return kinds;
  }
  // Kinds of which nothing is wanted elsewhere any more are looked for on the server, and leave the record when all is pruned.
  Result<void> PruneElsewhere(const Context& ctx, const Keep& keep, Changes& changes) {
    const OwnerRecord record = OwnerRecord::Of(owner_.metadata, owner_.record);
    std::set<GroupKind> done;
    std::vector<Gvk> dropped;
    for (const ChildKind& kind : RecordedKinds()) {
      const GroupKind group_kind = kind.gvk.group_kind();
      done.insert(group_kind);
      if (keep.unsure.count(group_kind) > 0) continue;
      const auto same = [&](const Gvk& wanted) { return wanted.group_kind() == group_kind; };
      const bool wanted = std::any_of(elsewhere_.begin(), elsewhere_.end(), same);
      const std::size_t failed = changes.Count(Outcome::kFailed);
      Prune(ctx, kind, wanted ? Place::kElsewhere : Place::kElsewhereLive, keep, changes);
      if (!wanted && changes.Count(Outcome::kFailed) == failed) dropped.push_back(kind.gvk);
    }
    // Also if the record was lost: a replace of the owner drops it.
    const bool lost = record.finalizer && record.kinds.empty();
    const std::size_t failed = changes.Count(Outcome::kFailed);
    for (const ChildKind& kind : kinds_) {
      if (done.count(kind.gvk.group_kind()) + keep.unsure.count(kind.gvk.group_kind()) == 0) {
        Prune(ctx, kind, lost ? Place::kElsewhereLive : Place::kElsewhereCached, keep, changes);
      }
    }
    const bool release = lost && elsewhere_.empty() && keep.unsure.empty() && changes.Count(Outcome::kFailed) == failed;
    if (dropped.empty() && !release) return {};
    return DropFromRecord(ctx, std::move(dropped), changes);
  }
  // The owner is being deleted. Children with an owner reference are the garbage collector's.
  Result<Changes> CleanUp(const Context& ctx, Changes changes) {
    changes.owner_deleted = true;
    const OwnerRecord record = OwnerRecord::Of(owner_.metadata, owner_.record);
    if (!record.finalizer) return changes;
    const std::size_t failed = changes.Count(Outcome::kFailed);
    for (const ChildKind& kind : record.kinds.empty() ? kinds_ : RecordedKinds()) {  // none: the annotation was lost
      Prune(ctx, kind, Place::kElsewhereLive, {}, changes);
    }
    if (changes.Count(Outcome::kFailed) > failed) return changes;
    if (Result<void> r = DropFromRecord(ctx, record.kinds, changes); !r) return r.error();
    return changes;
  }

  Result<ChildTarget> TargetOf(const Context& ctx, const ChildKind& kind, bool any_version = false) {
    if (kind.type != nullptr) {
      const KindInfo& info = KindOf(*kind.type);
      if (info.resource.empty()) return Error::Invalid(std::string(kind.type->name) + " is not a kind that servers have a resource for");
      return ChildTarget{kind.gvk, kind.type, GvrOf(*kind.type), info.namespaced};
    }
    if (kind.gvk.kind.empty()) return Error::Invalid("a desired object has no kind");
    if (!options_.mapper) options_.mapper = cached_ != nullptr ? cached_->mapper() : RestMapper(client_);
    Result<RestMapping> mapping = options_.mapper->ForKind(ctx, kind.gvk);
    if (!mapping && any_version && IsNoMatch(mapping.error())) mapping = options_.mapper->ForKind(ctx, kind.gvk.group_kind());
    if (!mapping) return mapping.error();
    return ChildTarget{mapping->gvk, nullptr, mapping->gvr, mapping->namespaced};
  }
  ResourceClient<DynamicObject> ClientFor(const ChildTarget& target) const {
    return client_.ResourceAt({.gvr = target.gvr, .gvk = target.gvk, .namespaced = target.namespaced});
  }
  // Nothing: no cache can say.
  std::optional<CachedClientCore::Known> LookUp(const Context& ctx, const ChildTarget& target, const ObjectKey& key) const {
    if (const ChildCache* cache = CacheFor(target.gvk); cache != nullptr && cache->get) return CachedClientCore::Known{cache->get(key)};
    return cached_ != nullptr ? cached_->LookUp(ctx, target.gvr, key) : std::nullopt;
  }
  std::optional<std::vector<DynamicObject>> Select(const Context& ctx, const ChildTarget& target, std::string_view ns,
                                                   const Selector& selector) const {
    if (const ChildCache* cache = CacheFor(target.gvk); cache != nullptr && cache->list) return cache->list(ns, selector);
    return cached_ != nullptr ? cached_->Select(ctx, target.gvr, ns, selector) : std::nullopt;
  }
  const ChildCache* CacheFor(const Gvk& gvk) const {
    const auto found = caches_.find(gvk);
    return found == caches_.end() ? nullptr : &found->second;
  }

  // Whether nothing has to be done, judging by this object.
  bool IsSettled(const ChildTarget& target, const PreparedChild& wanted, const DynamicObject& live, Drift& drift) const {
    drift = CompareChild(owner_, target.type, wanted, live);
    return drift.empty() || IsAcceptedDrift(live.uid(), wanted, drift);
  }

  void ApplyOne(const Context& ctx, const Wanted& wanted, Keep& keep, ChildChange& change, Changes& changes) {
    const auto give_up = [&](const Error& error) {
      keep.unsure.insert(change.gvk.group_kind());
      Fail(change, error);
    };
    if (!wanted.object) return give_up(wanted.object.error());
    change.key = wanted.object->key();
    Result<ChildTarget> target = TargetOf(ctx, wanted.kind);
    if (!target) return give_up(target.error());
    if (!target->namespaced) change.key.ns = {};
    if (target->namespaced && change.key.ns.empty()) change.key.ns = owner_.metadata.namespace_;
    const bool first = keep.objects.emplace(change.gvk.group_kind(), change.key).second;
    if (!first) return Fail(change, Error::Invalid("the desired state has it twice"));
    Result<PreparedChild> prepared = PrepareChild(owner_, *wanted.object, target->namespaced, anywhere_);
    if (!prepared) return change.key.name.empty() ? give_up(prepared.error()) : Fail(change, prepared.error());
    if (unrecorded_ && owner_.IsElsewhere(change.key.ns)) return Fail(change, *unrecorded_);

    Drift drift;
    bool known_missing = false;
    if (std::optional<CachedClientCore::Known> known = LookUp(ctx, *target, change.key)) {
      std::optional<DynamicObject>& cached = known->object;
      known_missing = !cached;
      if (cached && cached->deletion_timestamp().IsZero() &&
          OwnershipOf(owner_, change.gvk.group_kind(), cached->metadata()).kind == Ownership::Kind::kOurs &&
          IsSettled(*target, *prepared, *cached, drift)) {
        change.object = std::move(cached);
        return;
      }
    }
    const ResourceClient<DynamicObject> resource = ClientFor(*target);
    for (int attempt = 1;; ++attempt) {
      if (Settle(ctx, *target, resource, *prepared, known_missing, attempt == kAttempts, change, changes)) return;
      known_missing = false;
    }
  }

  // One attempt. False: another client was faster, so read again.
  bool Settle(const Context& ctx, const ChildTarget& target, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
              bool known_missing, bool last, ChildChange& change, Changes& changes) {
    if (known_missing) return Create(ctx, target, resource, wanted, last, change, changes);
    Result<DynamicObject> live = resource.Get(ctx, change.key);
    if (!live) {
      if (IsNotFound(live.error())) return Create(ctx, target, resource, wanted, last, change, changes);
      Fail(change, live.error());
      return true;
    }
    Ownership ownership = OwnershipOf(owner_, change.gvk.group_kind(), live->metadata());
    const bool adopts = ownership.kind == Ownership::Kind::kNobodys && options_.adopt;
    change.object = *live;
    if (ownership.kind != Ownership::Kind::kOurs && !adopts) {
      change.outcome = Outcome::kConflict;
      change.message = std::move(ownership.message);
      return true;
    }
    if (!live->deletion_timestamp().IsZero()) {
      change.outcome = Outcome::kDeleting;
      change.message = "it is being deleted";
      return true;
    }
    Drift drift;
    if (IsSettled(target, wanted, *live, drift)) return true;
    return Update(ctx, target, resource, wanted, *live, std::move(drift), last, change, changes);
  }

  // By POST, not by an apply: a create never adopts an object that was created concurrently, so no read is needed first.
  bool Create(const Context& ctx, const ChildTarget& target, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
              bool last, ChildChange& change, Changes& changes) {
    if (owner_.IsElsewhere(change.key.ns) && !Confirm(ctx, changes)) {
      if (unrecorded_) Fail(change, *unrecorded_);
      return true;
    }
    Result<DynamicObject> made = resource.Create(ctx, wanted.body, {.dry_run = options_.dry_run, .field_manager = options_.field_manager});
    if (!made && IsAlreadyExists(made.error()) && !last) return false;
    ++changes.writes;
    if (!made && IsNamespaceTerminating(made.error())) {
      change.outcome = Outcome::kDeleting;
      change.message = "its namespace is being deleted";
      return true;
    }
    if (!made) {
      Fail(change, made.error());
      return true;
    }
    RememberDrift(target, wanted, *made);
    change.outcome = Outcome::kCreated;
    change.object = *std::move(made);
    return true;
  }

  bool Update(const Context& ctx, const ChildTarget& target, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
              const DynamicObject& before, Drift drift, bool last, ChildChange& change, Changes& changes) const {
    const bool hash_changes = before["metadata"]["annotations"][owner_.hash_annotation].string_value() != wanted.hash;
    const std::optional<Value> fields = FieldsAsApplied(owner_, before);
    if (fields && hash_changes && options_.dry_run) change.message = "fields that are no longer desired would also be removed";
    if (fields && hash_changes && !options_.dry_run) {
      Result<DynamicObject> handed = Replace(ctx, resource, before, {{"/metadata/managedFields", *fields}}, changes);
      if (!handed && IsConflict(handed.error()) && !last) return false;
      if (!handed) {
        Fail(change, handed.error());
        return true;
      }
    }
    Result<DynamicObject> after = ApplyTo(ctx, resource, wanted, before, changes);
    if (!after && IsInvalid(after.error())) {
      // It may be invalid only together with what another client added to our lists: a changed key is a second element beside ours.
      const std::vector<std::pair<std::string, Value>> lists = RefusedLists(after.error(), wanted.body.value(), before.value());
      Result<DynamicObject> live = lists.empty() ? after : resource.Get(ctx, change.key);
      // Another object may have taken its place meanwhile, which is left alone.
      const bool ours = !lists.empty() && live && live->uid() == before.uid();
      if (ours) live = Replace(ctx, resource, *live, lists, changes);
      if (ours && live) after = options_.dry_run ? std::move(live) : ApplyTo(ctx, resource, wanted, *live, changes);
    }
    if (!after) {
      if (IsFieldConflict(after.error())) {
        change.outcome = Outcome::kConflict;
        change.message = after.error().message();
      } else {
        Fail(change, after.error());
      }
      return true;
    }
    RememberDrift(target, wanted, *after);
    change.diff = DiffChild(owner_, target.type, before, *after);
    // The first apply after a create writes managedFields, whatever else it does.
    const bool by_fields = options_.dry_run || fields.has_value();
    const bool same = by_fields ? change.diff.empty() && !hash_changes : before.resource_version() == after->resource_version();
    change.outcome = same ? Outcome::kUnchanged : Outcome::kUpdated;
    change.reasons = std::move(drift.reasons);
    change.object = *std::move(after);
    return true;
  }

  Result<DynamicObject> ApplyTo(const Context& ctx, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
                                const DynamicObject& before, Changes& changes) const {
    DynamicObject body = wanted.body;
    // If it was deleted and recreated in between, it is another object, perhaps another owner's: the server refuses then.
    body.set_uid(before.uid());
    ++changes.writes;
    return resource.Apply(ctx, body, {.field_manager = options_.field_manager, .force = options_.force, .dry_run = options_.dry_run});
  }

  // New values at these places. Refused if the object is no longer the one that was read.
  Result<DynamicObject> Replace(const Context& ctx, const ResourceClient<DynamicObject>& resource, const DynamicObject& live,
                                const std::vector<std::pair<std::string, Value>>& places, Changes& changes) const {
    List<Value> operations;
    const auto replace = [&](const std::string& path, const Value& value) {
      operations.push_back(Value::Object({{"op", Value("replace")}, {"path", Value(path)}, {"value", value}}));
    };
    for (const auto& [path, value] : places) replace(path, value);
    replace("/metadata/resourceVersion", Value(live.resource_version()));
    ++changes.writes;
    return resource.Patch(ctx, live.key(), Patch::Json(Value(std::move(operations))),
                          {.dry_run = options_.dry_run, .field_manager = options_.field_manager});
  }

  void RememberDrift(const ChildTarget& target, const PreparedChild& wanted, const DynamicObject& after) const {
    if (options_.dry_run) return;
    if (const Drift rest = CompareChild(owner_, target.type, wanted, after); !rest.empty()) AcceptDrift(after.uid(), wanted, rest);
  }

  // Whether this owner's set has the object, and it is neither wanted nor on its way out.
  bool IsLeftOver(const meta::v1::ObjectMeta& metadata, const GroupKind& kind, const Keep& keep) const {
    return metadata.deletion_timestamp.IsZero() && keep.objects.count({kind, KeyOf(metadata)}) == 0 &&
           IsMarkedChild(owner_, kind, metadata);
  }

  void Prune(const Context& ctx, const ChildKind& kind, Place place, const Keep& keep, Changes& changes) {
    const auto fail = [&](Error error) {
      ChildChange change{.gvk = kind.gvk};
      Fail(change, error.WithContext("find the children that are no longer desired"));
      changes.children.push_back(std::move(change));
    };
    // A record may name a version that the server no longer has.
    Result<ChildTarget> target = TargetOf(ctx, kind, place != Place::kWithOwner);
    if (!target) {
      if (!IsNoMatch(target.error())) fail(target.error());  // a kind that the server does not have has no objects
      return;
    }
    const bool elsewhere = place != Place::kWithOwner;
    if (elsewhere && owner_.metadata.namespace_.empty()) return;  // such an owner can be referred to from everywhere
    const std::string ns = elsewhere ? "" : owner_.metadata.namespace_.str();
    if (!ns.empty() && !target->namespaced) return;  // cannot refer to this owner
    const GroupKind group_kind = kind.gvk.group_kind();
    const Selector selector = Selector::FromLabels(elsewhere ? owner_.MarksElsewhere() : owner_.Marks());
    const ResourceClient<meta::v1::PartialObjectMetadata> metadata = client_.Metadata(target->gvr);
    std::vector<meta::v1::ObjectMeta> left_over;
    const std::optional<std::vector<DynamicObject>> known =
        place == Place::kElsewhereLive ? std::nullopt : Select(ctx, *target, ns, selector);
    if (!known && place == Place::kElsewhereCached && cached_ != nullptr) return;
    if (known) {
      for (const DynamicObject& object : *known) {
        if (!IsLeftOver(object.metadata(), group_kind, keep)) continue;
        Result<meta::v1::PartialObjectMetadata> live = metadata.Get(ctx, object.key());
        if (live && IsLeftOver(live->metadata, group_kind, keep)) left_over.push_back(live->metadata);
        if (!live && !IsNotFound(live.error())) fail(live.error());
      }
    } else {
      Result<ObjectList<meta::v1::PartialObjectMetadata>> list = metadata.List(ctx, {.ns = ns, .label_selector = selector.ToString()});
      if (!list) {
        if (!IsNotFound(list.error())) fail(list.error());
        return;
      }
      for (const meta::v1::PartialObjectMetadata& item : *list) {
        if (IsLeftOver(item.metadata, group_kind, keep)) left_over.push_back(item.metadata);
      }
    }
    for (const meta::v1::ObjectMeta& item : left_over) Delete(ctx, *target, item, keep, changes);
  }

  void Delete(const Context& ctx, const ChildTarget& target, meta::v1::ObjectMeta item, const Keep& keep, Changes& changes) const {
    ChildChange change{.outcome = Outcome::kPruned, .gvk = target.gvk, .key = KeyOf(item)};
    const ResourceClient<DynamicObject> resource = ClientFor(target);
    for (int attempt = 1;; ++attempt) {
      ++changes.writes;
      const DeleteOptions options{.propagation = options_.propagation,
                                  .uid = item.uid.str(),
                                  .resource_version = item.resource_version.str(),
                                  .dry_run = options_.dry_run};
      Result<void> deleted = resource.Delete(ctx, change.key, options);
      if (deleted) break;
      if (IsNotFound(deleted.error())) return;
      if (!IsConflict(deleted.error()) || attempt == kAttempts) {
        Fail(change, deleted.error());
        break;
      }
      // Another client wrote it meanwhile: it may not be ours any more.
      Result<meta::v1::PartialObjectMetadata> live = client_.Metadata(target.gvr).Get(ctx, change.key);
      if (!live && IsNotFound(live.error())) return;
      if (!live) {
        Fail(change, live.error());
        break;
      }
      if (!IsLeftOver(live->metadata, target.gvk.group_kind(), keep)) return;
      item = live->metadata;
    }
    changes.children.push_back(std::move(change));
  }

  Client client_;
  std::shared_ptr<const CachedClientCore> cached_;
  DesiredStateOptions options_;
  ChildKind owner_kind_;
  ChildOwner owner_;
  bool anywhere_ = false;
  // What this pass found out about children elsewhere.
  std::vector<Gvk> elsewhere_;       // kinds of wanted ones
  bool confirmed_ = false;           // the server has the owner, with its record
  std::optional<Error> unrecorded_;  // why none must be created
  std::vector<ChildKind> kinds_;
  std::vector<Wanted> wanted_;
  std::map<Gvk, ChildCache> caches_;
};

DesiredStateCore::DesiredStateCore(Client client, std::shared_ptr<const CachedClientCore> cached, meta::v1::ObjectMeta owner,
                                   ChildKind owner_kind, DesiredStateOptions options)
    : impl_(std::make_unique<Impl>(std::move(client), std::move(cached), std::move(owner), std::move(owner_kind), std::move(options))) {}
DesiredStateCore::~DesiredStateCore() = default;
DesiredStateCore::DesiredStateCore(DesiredStateCore&&) noexcept = default;
DesiredStateCore& DesiredStateCore::operator=(DesiredStateCore&&) noexcept = default;

void DesiredStateCore::Anywhere() { impl_->Anywhere(); }
void DesiredStateCore::Manage(ChildKind kind) { impl_->Manage(std::move(kind)); }
void DesiredStateCore::Want(ChildKind kind, Result<DynamicObject> child) { impl_->Want(std::move(kind), std::move(child)); }
void DesiredStateCore::ReadFrom(const Gvk& gvk, ChildCache cache) { impl_->ReadFrom(gvk, std::move(cache)); }
Result<Changes> DesiredStateCore::TryApply(const Context& ctx) const { return impl_->TryApply(ctx); }

}  // namespace kube::internal
