#include "kube/control/desired_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "control/child_object.h"
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

// Of the lists that are both wanted and there, those that the server's error is about, as they are wanted; by JSON pointer.
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
  Impl(Client client, std::shared_ptr<const CachedClientCore> cached, meta::v1::ObjectMeta owner, Gvk owner_gvk,
       DesiredStateOptions options)
      : client_(std::move(client)),
        cached_(std::move(cached)),
        options_(std::move(options)),
        owner_(std::move(owner), std::move(owner_gvk), options_) {}

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
    changes.owner_deleted = !owner_.metadata.deletion_timestamp.IsZero();
    if (changes.owner_deleted) return changes;
    Keep keep;
    for (const Wanted& wanted : wanted_) {
      ChildChange change{.gvk = wanted.kind.gvk};
      ApplyOne(ctx, wanted, keep, change, changes);
      changes.children.push_back(std::move(change));
    }
    if (options_.prune) {
      for (const ChildKind& kind : kinds_) {
        if (keep.unsure.count(kind.gvk.group_kind()) == 0) Prune(ctx, kind, keep, changes);
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
    std::set<GroupKind> unsure{};  // a child of this kind is wanted, and nobody knows which one
  };

  std::string OwnerName() const { return owner_.gvk.kind.str() + " " + KeyOf(owner_.metadata).ToString(); }

  Result<void> Check() const {
    if (options_.field_manager.empty()) return Error::Invalid("set DesiredStateOptions::field_manager");
    if (options_.name.empty()) return Error::Invalid("set DesiredStateOptions::name, the name of the set of children");
    if (Result<void> r = ValidateLabelValue(options_.name); !r) return r.error().WithContext("DesiredStateOptions::name");
    if (Result<void> r = ValidateLabelKey(owner_.set_label); !r) return r.error().WithContext("DesiredStateOptions::mark_prefix");
    if (owner_.gvk.kind.empty() || owner_.metadata.name.empty()) return Error::Invalid("the owner has no kind or no name");
    if (owner_.metadata.uid.empty()) {
      return Error::Invalid("the owner has no UID: pass the object that the server returned, not one that was made here");
    }
    return {};
  }

  Result<ChildTarget> TargetOf(const Context& ctx, const ChildKind& kind) {
    if (kind.type != nullptr) {
      const KindInfo& info = KindOf(*kind.type);
      if (info.resource.empty()) return Error::Invalid(std::string(kind.type->name) + " is no kind that a server has as a resource");
      return ChildTarget{kind.gvk, kind.type, GvrOf(*kind.type), info.namespaced};
    }
    if (kind.gvk.kind.empty()) return Error::Invalid("a wanted object has no kind");
    if (!options_.mapper) options_.mapper = cached_ != nullptr ? cached_->mapper() : RestMapper(client_);
    Result<RestMapping> mapping = options_.mapper->ForKind(ctx, kind.gvk);
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

  // Whether nothing has to be done, as far as this object tells.
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
    if (target->namespaced && change.key.ns.empty()) change.key.ns = owner_.metadata.namespace_;
    const bool first = keep.objects.emplace(change.gvk.group_kind(), change.key).second;
    if (!first) return Fail(change, Error::Invalid("it is wanted twice"));
    Result<PreparedChild> prepared = PrepareChild(owner_, *wanted.object, target->namespaced);
    if (!prepared) return change.key.name.empty() ? give_up(prepared.error()) : Fail(change, prepared.error());

    Drift drift;
    bool known_missing = false;
    if (std::optional<CachedClientCore::Known> known = LookUp(ctx, *target, change.key)) {
      std::optional<DynamicObject>& cached = known->object;
      known_missing = !cached;
      if (cached && cached->deletion_timestamp().IsZero() && OwnershipOf(owner_, cached->metadata()).kind == Ownership::Kind::kOurs &&
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

  // One attempt. False: somebody else was faster, look again.
  bool Settle(const Context& ctx, const ChildTarget& target, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
              bool known_missing, bool last, ChildChange& change, Changes& changes) const {
    if (known_missing) return Create(ctx, target, resource, wanted, last, change, changes);
    Result<DynamicObject> live = resource.Get(ctx, change.key);
    if (!live) {
      if (IsNotFound(live.error())) return Create(ctx, target, resource, wanted, last, change, changes);
      Fail(change, live.error());
      return true;
    }
    Ownership ownership = OwnershipOf(owner_, live->metadata());
    const bool adopts = ownership.kind == Ownership::Kind::kNobodys && options_.adopt;
    change.object = *live;
    if (ownership.kind != Ownership::Kind::kOurs && !adopts) {
      change.outcome = Outcome::kConflict;
      change.message = std::move(ownership.message);
      return true;
    }
    if (!live->deletion_timestamp().IsZero()) {
      change.outcome = Outcome::kDeleting;
      change.message = "its deletion is under way";
      return true;
    }
    Drift drift;
    if (IsSettled(target, wanted, *live, drift)) return true;
    return Update(ctx, target, resource, wanted, *live, std::move(drift), last, change, changes);
  }

  // By POST, not by an apply: it never takes over what somebody else has just made, so nothing has to be read before.
  bool Create(const Context& ctx, const ChildTarget& target, const ResourceClient<DynamicObject>& resource, const PreparedChild& wanted,
              bool last, ChildChange& change, Changes& changes) const {
    Result<DynamicObject> made = resource.Create(ctx, wanted.body, {.dry_run = options_.dry_run, .field_manager = options_.field_manager});
    if (!made && IsAlreadyExists(made.error()) && !last) return false;
    ++changes.writes;
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
    if (fields && hash_changes && options_.dry_run) change.message = "fields that are no longer wanted would go, too";
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
      // Perhaps it is so only together with what somebody else put into our lists: a changed key is a second element beside ours.
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
    // Where it was deleted and made anew in between, it is another object, and maybe somebody else's: the server refuses then.
    body.set_uid(before.uid());
    ++changes.writes;
    return resource.Apply(ctx, body, {.field_manager = options_.field_manager, .force = options_.force, .dry_run = options_.dry_run});
  }

  // New values at these places. Refused where the object is no longer the one that was read.
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
    const meta::v1::OwnerReference* controller = FindController(metadata.owner_references);
    return controller != nullptr && controller->uid == owner_.metadata.uid && metadata.labels.Get(owner_.set_label) == owner_.set &&
           metadata.deletion_timestamp.IsZero() && keep.objects.count({kind, KeyOf(metadata)}) == 0;
  }

  void Prune(const Context& ctx, const ChildKind& kind, const Keep& keep, Changes& changes) {
    const auto fail = [&](Error error) {
      ChildChange change{.gvk = kind.gvk};
      Fail(change, error.WithContext("find the children that are no longer wanted"));
      changes.children.push_back(std::move(change));
    };
    Result<ChildTarget> target = TargetOf(ctx, kind);
    if (!target) {
      if (!IsNoMatch(target.error())) fail(target.error());  // a kind that the server does not have has no objects
      return;
    }
    const std::string ns = owner_.metadata.namespace_.str();
    if (!ns.empty() && !target->namespaced) return;  // cannot be children of this owner
    const GroupKind group_kind = kind.gvk.group_kind();
    const Selector selector = Selector::FromLabels(owner_.Marks());
    const ResourceClient<meta::v1::PartialObjectMetadata> metadata = client_.Metadata(target->gvr);
    std::vector<meta::v1::ObjectMeta> left_over;
    if (const std::optional<std::vector<DynamicObject>> known = Select(ctx, *target, ns, selector)) {
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
      // Somebody wrote it meanwhile: it may not be ours any more.
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
  ChildOwner owner_;
  std::vector<ChildKind> kinds_;
  std::vector<Wanted> wanted_;
  std::map<Gvk, ChildCache> caches_;
};

DesiredStateCore::DesiredStateCore(Client client, std::shared_ptr<const CachedClientCore> cached, meta::v1::ObjectMeta owner, Gvk owner_gvk,
                                   DesiredStateOptions options)
    : impl_(std::make_unique<Impl>(std::move(client), std::move(cached), std::move(owner), std::move(owner_gvk), std::move(options))) {}
DesiredStateCore::~DesiredStateCore() = default;
DesiredStateCore::DesiredStateCore(DesiredStateCore&&) noexcept = default;
DesiredStateCore& DesiredStateCore::operator=(DesiredStateCore&&) noexcept = default;

void DesiredStateCore::Manage(ChildKind kind) { impl_->Manage(std::move(kind)); }
void DesiredStateCore::Want(ChildKind kind, Result<DynamicObject> child) { impl_->Want(std::move(kind), std::move(child)); }
void DesiredStateCore::ReadFrom(const Gvk& gvk, ChildCache cache) { impl_->ReadFrom(gvk, std::move(cache)); }
Result<Changes> DesiredStateCore::TryApply(const Context& ctx) const { return impl_->TryApply(ctx); }

}  // namespace kube::internal
