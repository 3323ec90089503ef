// Objects that cannot be decoded: what stays in the cache, what is deleted, and which handlers are called. See docs/informers.md.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cache/informer_core.h"
#include "kube/base/metrics.h"

namespace kube::internal {
namespace {

// The log names so many of them in each minute.
constexpr std::size_t kNamedAtOnce = 10;
constexpr std::chrono::minutes kNamedEach{1};

}  // namespace

bool InformerCore::OlderThanUndecodable(const ObjectKey& key, std::optional<std::uint64_t> version) const {
  if (!version) return false;
  const std::optional<UndecodableObject> mark = store_->FindUndecodable(key);
  return mark && *version < VersionNumber(mark->resource_version.view()).value_or(0);
}

bool InformerCore::IsAnother(const ObjectRef& object, const String& uid) const {
  return !uid.empty() && !form_.Uid(object.get()).empty() && form_.Uid(object.get()) != uid;
}

void InformerCore::KeepUndecodable(std::vector<ObjectRef>& objects, std::vector<UndecodableObject>& undecodable) {
  for (const UndecodableObject& object : undecodable) SayUndecodable(object);
  std::map<ObjectKey, const UndecodableObject*> named;
  for (const UndecodableObject& object : undecodable) {
    if (object.named()) named[object.key] = &object;
  }
  const std::size_t unnamed = static_cast<std::size_t>(
      std::count_if(undecodable.begin(), undecodable.end(), [](const UndecodableObject& object) { return !object.named(); }));

  // An object that is listed twice, once in a decodable form, counts as decodable, unless that version is the older one.
  std::set<ObjectKey> outdated;
  std::vector<ObjectKey> listed;
  if (unnamed > 0) listed.reserve(objects.size());
  for (const ObjectRef& object : objects) {
    ObjectKey key = form_.Key(object.get());
    if (const auto found = named.find(key); found != named.end()) {
      const std::optional<std::uint64_t> good = VersionNumber(form_.ResourceVersion(object.get()).view());
      const std::optional<std::uint64_t> bad = VersionNumber(found->second->resource_version.view());
      if (good && bad && *good < *bad) {
        outdated.insert(key);
      } else {
        named.erase(found);
      }
    }
    if (unnamed > 0) listed.push_back(std::move(key));
  }
  std::erase_if(undecodable, [&](const UndecodableObject& object) { return object.named() && !named.contains(object.key); });

  for (const auto& [key, object] : named) {
    if (outdated.contains(key)) continue;
    ObjectRef last = store_->Get(key.ns.view(), key.name.view());
    // An object of the same name that was created since is another one: the cached one is deleted.
    if (last != nullptr && !IsAnother(last, object->uid)) objects.push_back(std::move(last));
  }
  if (unnamed == 0) return;

  // Whatever the list lacks may be one of those whose name could not be read: all of it stays, and reads of it fail. Where all of those
  // have a namespace, that of other namespaces is known.
  std::set<String> namespaces;
  for (const UndecodableObject& object : undecodable) {
    if (!object.named()) namespaces.insert(object.key.ns);
  }
  const bool everywhere = namespaces.contains(String());
  std::sort(listed.begin(), listed.end());
  std::vector<UndecodableObject> doubtful;
  for (ObjectRef& object : store_->List()) {
    ObjectKey key = form_.Key(object.get());
    if (!everywhere && !namespaces.contains(key.ns)) continue;
    if (named.contains(key) || std::binary_search(listed.begin(), listed.end(), key)) continue;
    doubtful.push_back({.key = std::move(key),
                        .uid = form_.Uid(object.get()),
                        .error = "the server's list has " + std::to_string(unnamed) +
                                 " objects that cannot be decoded and whose names cannot be read, and this may be one of them"});
    objects.push_back(std::move(object));
  }
  std::move(doubtful.begin(), doubtful.end(), std::back_inserter(undecodable));
}

void InformerCore::ApplyUndecodable(UndecodableObject object, bool deleted, std::vector<Notification>& out) {
  const std::optional<std::uint64_t> version = VersionNumber(object.resource_version.view());
  const ObjectRef current = store_->Get(object.key.ns.view(), object.key.name.view());
  bool late = OlderThanUndecodable(object.key, version);
  if (current != nullptr && version) {
    const std::optional<std::uint64_t> held = VersionNumber(form_.ResourceVersion(current.get()).view());
    late = late || (held && (*version < *held || (*version == *held && !deleted)));
  }
  if (current == nullptr && version && *version < newest_ && !deleted) late = late || DeletedSince(object.key, *version);
  if (late) {
    log_.V(4).Info("An event that cannot be decoded arrived late or twice", {{"key", object.key.ToString()}});
    return;
  }
  if (version) newest_ = std::max(newest_, *version);
  if (deleted && version) RememberDeleted(object.key, *version);

  const String resource_version = object.resource_version;
  if (deleted || (current != nullptr && IsAnother(current, object.uid))) {
    Store::Write write{.key = object.key};
    store_->Apply({&write, 1}, resource_version.view());
    if (current != nullptr) out.push_back({.kind = Notification::Kind::kDelete, .flag = true, .before = current});
  }
  if (deleted) return;
  SayUndecodable(object);
  store_->MarkUndecodable(std::move(object));
  if (!resource_version.empty()) store_->SetResourceVersion(resource_version.view());
}

void InformerCore::Undecodable(UndecodableObject object, bool deleted) {
  told_.clear();
  {
    MutexLock lock(mu_);
    ApplyUndecodable(std::move(object), deleted, told_);
    Tell(told_, true);
  }
  Seen(newest_, false);
  for (const std::shared_ptr<HandlerThread>& handler : assist_) handler->Assist();
  assist_.clear();
}

void InformerCore::SayUndecodable(const UndecodableObject& object) {
  if (metrics_ != nullptr) metrics_->Add("kubexx_cache_undecodable_total", {{"resource", what_}, {"namespace", options_.ns}});
  const std::string key = object.key.ToString();
  const LogFields fields = {
      {"key", key}, {"uid", object.uid.view()}, {"resourceVersion", object.resource_version.view()}, {"err", object.error}};
  const std::optional<UndecodableObject> known = object.named() ? store_->FindUndecodable(object.key) : std::nullopt;
  const Clock::TimePoint now = clock_->Now();
  if (!named_since_ || now - *named_since_ >= kNamedEach) {
    if (named_ > kNamedAtOnce) {
      log_.Warn("More objects could not be decoded than the log named", {{"objects", named_ - kNamedAtOnce}});
    }
    named_since_ = now;
    named_ = 0;
  }
  // Beyond a limit the reason is not kept, so that each list does not log those objects again.
  if (known && (known->error.empty() || (known->uid == object.uid && known->error == object.error))) {
    log_.V(4).Info("An object still cannot be decoded", fields);
  } else if (++named_ <= kNamedAtOnce) {
    log_.Warn("An object cannot be decoded: the cache continues without it, and keeps the last version that was decoded", fields);
  } else {
    log_.V(4).Info("An object cannot be decoded", fields);
  }
}

}  // namespace kube::internal
