#include "apiserver/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "apiserver/errors.h"
#include "codec/json_bytes.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

// Events kept per resource. The real server keeps five minutes of them in etcd and some hundreds in its watch cache.
constexpr std::size_t kHistory = 100'000;

std::string RandomPlaceholder() {
  std::random_device random;
  return fmt::format("@{:08x}{:08x}{:08x}{:08x}@", random(), random(), random(), random());
}

Map<String> StringMap(const Value& value) {
  Map<String> out;
  for (const auto& [key, item] : value.object()) out.Append(key, item.string_value());
  return out;
}

bool InNamespace(const StoredObject& object, std::string_view ns) { return ns.empty() || object.ns == ns; }

}  // namespace

Value StoredObject::Parse() const {
  Result<Value> value = internal::ParseJsonBytes(*json);
  return value ? *std::move(value) : Value();
}

std::string StoreKey(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) {
    key += ns;
    key += '/';
  }
  key += name;
  return key;
}

Store::Store() : placeholder_(RandomPlaceholder()) {}

std::uint64_t Store::version() const {
  MutexLock lock(mu_);
  return version_;
}

Store::Table& Store::TableOf(const std::string& resource) const {
  MutexLock lock(mu_);
  std::unique_ptr<Table>& table = tables_[resource];
  if (!table) {
    table = std::make_unique<Table>();
    table->delivered = version_;
  }
  return *table;
}

ObjectPtr Store::Get(const std::string& resource, std::string_view ns, std::string_view name) const {
  Table& table = TableOf(resource);
  MutexLock lock(mu_);
  auto it = table.objects.find(StoreKey(ns, name));
  return it == table.objects.end() ? nullptr : it->second;
}

std::vector<ObjectPtr> Store::Select(const Table& table, std::string_view ns) {
  std::vector<ObjectPtr> out;
  auto it = table.objects.begin();
  auto end = table.objects.end();
  if (!ns.empty()) {
    // Keys of a namespace stand together: everything between "ns/" and "ns0" ('0' follows '/').
    it = table.objects.lower_bound(std::string(ns) + '/');
    end = table.objects.lower_bound(std::string(ns) + '0');
  } else {
    out.reserve(table.objects.size());
  }
  for (; it != end; ++it) out.push_back(it->second);
  return out;
}

Snapshot Store::List(const std::string& resource, std::string_view ns) const {
  Table& table = TableOf(resource);
  MutexLock lock(mu_);
  return {version_, Select(table, ns)};
}

std::optional<Snapshot> Store::ListAt(const std::string& resource, std::string_view ns, std::uint64_t version) const {
  Table& table = TableOf(resource);
  MutexLock lock(mu_);
  if (version > version_ || version < compacted_) return std::nullopt;
  if (!table.history.empty() && table.history.size() >= kHistory && version < table.history.front().version) return std::nullopt;
  // From the present state, undo every change that is newer.
  std::map<std::string, ObjectPtr, std::less<>> objects;
  for (ObjectPtr& object : Select(table, ns)) {
    std::string key = StoreKey(object->ns, object->name);
    objects.emplace_hint(objects.end(), std::move(key), std::move(object));
  }
  for (auto it = table.history.rbegin(); it != table.history.rend() && it->version > version; ++it) {
    if (!InNamespace(*it->object, ns)) continue;
    std::string key = StoreKey(it->object->ns, it->object->name);
    if (it->previous == nullptr) {
      objects.erase(key);
    } else {
      objects[key] = it->previous;
    }
  }
  Snapshot out{version, {}};
  out.objects.reserve(objects.size());
  for (auto& [key, object] : objects) out.objects.push_back(std::move(object));
  return out;
}

std::size_t Store::size() const {
  MutexLock lock(mu_);
  std::size_t n = 0;
  for (const auto& [name, table] : tables_) n += table->objects.size();
  return n;
}

ObjectPtr Store::Put(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected,
                     std::shared_ptr<const void> form, std::span<const Prerequisite> prerequisites) {
  return Commit(resource, std::move(object), std::move(fields), expected, false, std::move(form), prerequisites);
}

ObjectPtr Store::Remove(const std::string& resource, const ObjectPtr& expected, Value last) {
  return Commit(resource, std::move(last), expected->fields, expected, true, expected->form, {});
}

bool Store::MeetsLocked(std::span<const Prerequisite> prerequisites) const {
  return std::all_of(prerequisites.begin(), prerequisites.end(), [this](const Prerequisite& wanted) {
    mu_.AssertHeld();
    auto table = tables_.find(wanted.resource);
    if (table == tables_.end()) return false;
    auto found = table->second->objects.find(wanted.name);
    if (found == table->second->objects.end() || found->second->deleting) return false;
    return wanted.uid.empty() || found->second->uid == wanted.uid;
  });
}

ObjectPtr Store::Commit(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected, bool remove,
                        std::shared_ptr<const void> form, std::span<const Prerequisite> prerequisites) {
  auto stored = std::make_shared<StoredObject>();
  stored->form = std::move(form);
  Value& metadata = object["metadata"];
  metadata["resourceVersion"] = placeholder_;
  const Value& meta = metadata;
  stored->ns = meta["namespace"].string_value().str();
  stored->name = meta["name"].string_value().str();
  stored->uid = meta["uid"].string_value().str();
  stored->labels = StringMap(meta["labels"]);
  stored->fields = std::move(fields);
  for (const Value& owner : meta["ownerReferences"].list()) stored->owners.push_back(owner["uid"].string_value().str());
  stored->deleting = meta.Find("deletionTimestamp") != nullptr;
  // Kind and version first: the items of a list leave them out (encoder.cc).
  Value type_meta = Value::Object({{"kind", std::as_const(object)["kind"]}, {"apiVersion", std::as_const(object)["apiVersion"]}});
  std::string text = fmt::format(R"({{"kind":{},"apiVersion":{},)", ToJson(std::as_const(type_meta)["kind"]),
                                 ToJson(std::as_const(type_meta)["apiVersion"]));
  object.MutableObject().Erase("kind");
  object.MutableObject().Erase("apiVersion");
  text += std::string_view(internal::ToJsonBytes(object)).substr(1);
  std::size_t at = text.find(placeholder_);
  std::string key = StoreKey(stored->ns, stored->name);

  Table& table = TableOf(resource);
  StoreEvent event;
  {
    MutexLock lock(mu_);
    auto it = table.objects.find(key);
    const ObjectPtr& current = it == table.objects.end() ? nullptr : it->second;
    if (current != expected || !MeetsLocked(prerequisites)) return nullptr;
    stored->version = ++version_;
    text.replace(at, placeholder_.size(), std::to_string(version_));
    stored->json = std::make_shared<const std::string>(std::move(text));
    event.version = version_;
    event.previous = expected;
    event.object = stored;
    if (remove) {
      event.type = EventType::kDeleted;
      table.objects.erase(it);
    } else if (expected != nullptr) {
      event.type = EventType::kModified;
      it->second = stored;
    } else {
      table.objects.emplace(std::move(key), stored);
    }
    table.history.push_back(event);
    if (table.history.size() > kHistory) table.history.pop_front();
  }
  Deliver(table);
  for (const auto& callback : on_change_) callback(resource, event);
  return stored;
}

void Store::Deliver(Table& table) {
  MutexLock delivery(table.delivery);
  DeliverLocked(table);
}

void Store::DeliverLocked(Table& table, Snapshot* list) {
  std::vector<StoreEvent> events;
  {
    MutexLock lock(mu_);
    auto it = table.history.end();
    while (it != table.history.begin() && std::prev(it)->version > table.delivered) --it;
    events.assign(it, table.history.end());
    if (!events.empty()) table.delivered = events.back().version;
    if (list != nullptr) *list = {version_, Select(table, "")};
  }
  std::erase_if(table.watchers, [](const std::shared_ptr<Watcher>& w) { return w->closed(); });
  for (const StoreEvent& event : events) {
    for (const std::shared_ptr<Watcher>& watcher : table.watchers) watcher->OnEvent(event);
  }
}

Result<void> Store::Watch(const std::string& resource, std::uint64_t version, const std::shared_ptr<Watcher>& watcher) {
  Table& table = TableOf(resource);
  MutexLock delivery(table.delivery);
  DeliverLocked(table);
  std::vector<StoreEvent> backlog;
  {
    MutexLock lock(mu_);
    bool forgotten = table.history.size() >= kHistory && version + 1 < table.history.front().version;
    if (version < compacted_ || forgotten) {
      std::uint64_t oldest = forgotten ? table.history.front().version : compacted_;
      return Expired(fmt::format("too old resource version: {} ({})", version, oldest));
    }
    auto it = std::upper_bound(table.history.begin(), table.history.end(), version,
                               [](std::uint64_t v, const StoreEvent& e) { return v < e.version; });
    // Changes that were committed since DeliverLocked come by delivery.
    for (; it != table.history.end() && it->version <= table.delivered; ++it) backlog.push_back(*it);
  }
  for (const StoreEvent& event : backlog) watcher->OnEvent(event);
  table.watchers.push_back(watcher);
  return {};
}

void Store::WatchFromNow(const std::string& resource, const std::shared_ptr<Watcher>& watcher,
                         const std::function<void(const Snapshot&)>& initial) {
  Table& table = TableOf(resource);
  MutexLock delivery(table.delivery);
  // The list and the mark of what is delivered are taken at one moment: every change is in the list or comes as an event, never both.
  Snapshot now;
  DeliverLocked(table, &now);
  initial(now);
  table.watchers.push_back(watcher);
}

void Store::EndWatches(const std::string& resource) {
  Table& table = TableOf(resource);
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    MutexLock lock(table.delivery);
    watchers.swap(table.watchers);
  }
  for (const std::shared_ptr<Watcher>& watcher : watchers) watcher->OnEnd();
}

void Store::SendProgress() {
  std::vector<Table*> tables;
  {
    MutexLock lock(mu_);
    for (auto& [name, table] : tables_) tables.push_back(table.get());
  }
  for (Table* table : tables) {
    MutexLock delivery(table->delivery);
    std::uint64_t now = version();  // before the delivery, so that nothing up to it is missing after
    DeliverLocked(*table);
    for (const std::shared_ptr<Watcher>& watcher : table->watchers) watcher->OnProgress(now);
  }
}

void Store::SendProgress(const std::string& resource, Watcher& watcher) {
  Table& table = TableOf(resource);
  MutexLock delivery(table.delivery);
  std::uint64_t now = version();
  DeliverLocked(table);
  watcher.OnProgress(now);
}

void Store::StartAt(std::uint64_t version) {
  MutexLock lock(mu_);
  if (version <= version_) return;
  version_ = version;
  compacted_ = version;
}

void Store::Compact() {
  MutexLock lock(mu_);
  compacted_ = version_;
  for (auto& [name, table] : tables_) {
    while (!table->history.empty() && table->history.front().version <= table->delivered) table->history.pop_front();
  }
}

void Store::Clear() {
  std::vector<Table*> tables;
  {
    MutexLock lock(mu_);
    ++version_;
    compacted_ = version_;
    for (auto& [name, table] : tables_) tables.push_back(table.get());
  }
  for (Table* table : tables) {
    MutexLock delivery(table->delivery);
    table->watchers.clear();
    MutexLock lock(mu_);
    table->objects.clear();
    table->history.clear();
    table->delivered = version_;
  }
}

std::vector<std::pair<std::string, ObjectPtr>> Store::All() const {
  MutexLock lock(mu_);
  std::vector<std::pair<std::string, ObjectPtr>> out;
  for (const auto& [name, table] : tables_) {
    for (const auto& [key, object] : table->objects) out.emplace_back(name, object);
  }
  return out;
}

void Store::OnChange(std::function<void(const std::string&, const StoreEvent&)> callback) { on_change_.push_back(std::move(callback)); }

}  // namespace kube::apiserver
