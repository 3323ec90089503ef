// Two locks. Every writer takes `writer_mu_` first, for all of its work; `mu_` protects what readers see, and is held alone only for the
// change itself. So user code (index functions) and long operations (building a table of 100,000 objects, freeing the old one) do not block
// readers.
#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/shared_mutex.h"
#include "cache/store_index.h"
#include "cache/undecodable_set.h"
#include "kube/base/log.h"
#include "kube/cache/indexer.h"
#include "kube/codec/footprint.h"

namespace kube::internal {
namespace {

// Label indexes are made by what is asked for; this many are kept.
constexpr std::size_t kMaxLabelIndexes = 16;
// Looking at so few objects is cheaper than keeping an index.
constexpr std::size_t kWorthAnIndex = 32;

struct NamedIndex {
  std::string name;
  IdIndex ids{};
};

struct LabelIndex {
  explicit LabelIndex(String label) : key(std::move(label)) {}
  String key;
  IdIndex ids{};
  std::atomic<std::uint64_t> last_used{0};  // by readers, as a count of questions
};

// What readers see.
struct State {
  explicit State(const ObjectForm& form) : entries(form) {}

  EntryTable entries;
  IdIndex namespaces{};
  std::vector<NamedIndex> named{};
  std::vector<std::unique_ptr<LabelIndex>> labels{};

  const LabelIndex* FindLabel(std::string_view key) const {
    for (const auto& index : labels) {
      if (index->key == key) return index.get();
    }
    return nullptr;
  }
  void CopyTo(const IdIndex::Bucket& ids, std::vector<ObjectRef>* out) const {
    for (const EntryId id : ids) out->push_back(entries.At(id));
  }
  std::vector<ObjectRef> CopyBucket(const IdIndex::Bucket* ids) const {
    std::vector<ObjectRef> out;
    if (ids == nullptr) return out;
    out.reserve(ids->size());
    CopyTo(*ids, &out);
    return out;
  }
  std::vector<ObjectRef> CopyAll() const {
    std::vector<ObjectRef> out;
    out.reserve(entries.size());
    for (EntryId id = 0; id < entries.limit(); ++id) {
      if (entries.At(id) != nullptr) out.push_back(entries.At(id));
    }
    return out;
  }
};

// A requirement that only certain values of a label satisfy.
struct ExactLabel {
  String key;
  std::vector<String> values;
};

std::vector<ExactLabel> ExactLabels(const Selector& selector) {
  std::vector<ExactLabel> out;
  for (const LabelRequirement& requirement : selector.requirements()) {
    const SelectorOperator op = requirement.op();
    if (op != SelectorOperator::kEquals && op != SelectorOperator::kDoubleEquals && op != SelectorOperator::kIn) continue;
    ExactLabel label{requirement.key(), {requirement.values().begin(), requirement.values().end()}};
    std::sort(label.values.begin(), label.values.end());
    label.values.erase(std::unique(label.values.begin(), label.values.end()), label.values.end());
    out.push_back(std::move(label));
  }
  return out;
}

std::span<const String> AsSpan(const std::optional<String>& value) {
  return value ? std::span<const String>(&*value, 1) : std::span<const String>();
}

}  // namespace

class Store::Impl {
 public:
  explicit Impl(const ObjectForm& form) : form_(form), state_(std::make_unique<State>(form)) {}
  const ObjectForm& form() const { return form_; }

  // ---- Reads ----

  ObjectRef Get(std::string_view ns, std::string_view name) {
    ReaderLock lock(mu_);
    const EntryId id = state_->entries.Find(ns, name);
    return id == kNoEntry ? nullptr : state_->entries.At(id);
  }
  Result<ObjectRef> Read(std::string_view ns, std::string_view name) {
    ReaderLock lock(mu_);
    const EntryId id = state_->entries.Find(ns, name);
    if (!undecodable_.empty()) {
      if (std::optional<Error> error = undecodable_.ErrorOf({String(ns), String(name)}, id != kNoEntry)) return *error;
    }
    return id == kNoEntry ? nullptr : state_->entries.At(id);
  }
  std::size_t undecodable() const { return undecodable_count_.load(std::memory_order_acquire); }
  bool undecodable_incomplete() {
    ReaderLock lock(mu_);
    return undecodable_.incomplete();
  }
  std::vector<UndecodableObject> FirstUndecodable(std::size_t n) {
    ReaderLock lock(mu_);
    return undecodable_.First(n);
  }
  std::optional<UndecodableObject> FindUndecodable(const ObjectKey& key) {
    ReaderLock lock(mu_);
    if (key.name.empty()) return undecodable_.doubtful() ? std::optional<UndecodableObject>(std::in_place) : std::nullopt;
    return undecodable_.Find(key);
  }
  std::vector<ObjectRef> List() {
    ReaderLock lock(mu_);
    return state_->CopyAll();
  }
  std::size_t size() {
    ReaderLock lock(mu_);
    return state_->entries.size();
  }
  std::string resource_version() {
    ReaderLock lock(mu_);
    return version_;
  }

  std::vector<ObjectRef> Select(std::optional<std::string_view> ns, const Selector& selector) {
    if (selector.MatchesNothing()) return {};
    std::vector<ObjectRef> found;
    if (selector.empty()) {
      if (!ns) return List();
      ReaderLock lock(mu_);
      return state_->CopyBucket(state_->namespaces.Find(*ns));
    }
    const std::vector<ExactLabel> exact = ExactLabels(selector);
    const String* missing = nullptr;
    found = Candidates(ns, exact, &missing);
    if (missing != nullptr && MakeLabelIndex(*missing)) {
      found.clear();
      found = Candidates(ns, exact, &missing);
    }
    // Outside of the lock: here objects are looked at.
    std::erase_if(found, [&](const ObjectRef& object) {
      if (ns && form_.Namespace(object.get()).view() != *ns) return true;
      return !selector.Matches(form_.Labels(object.get()));
    });
    return found;
  }

  Result<std::vector<ObjectRef>> ByIndex(std::string_view index, std::string_view value) {
    ReaderLock lock(mu_);
    const IdIndex* ids = FindIndex(index);
    if (ids == nullptr) return UnknownIndex(index);
    return state_->CopyBucket(ids->Find(value));
  }
  Result<std::vector<String>> IndexValues(std::string_view index) {
    std::vector<String> values;
    {
      ReaderLock lock(mu_);
      const IdIndex* ids = FindIndex(index);
      if (ids == nullptr) return UnknownIndex(index);
      values = ids->Values();
    }
    std::sort(values.begin(), values.end());
    return values;
  }
  std::vector<String> LabelIndexes() {
    ReaderLock lock(mu_);
    std::vector<String> keys;
    for (const auto& index : state_->labels) keys.push_back(index->key);
    return keys;
  }

  // ---- Indexes ----

  Result<void> AddIndex(std::string name, IndexFunction function) {
    if (!function) return Error::Invalid("index \"" + name + "\" has no function");
    MutexLock writer(writer_mu_);
    {
      ReaderLock lock(mu_);
      if (FindIndex(name) != nullptr) return Error::Invalid("index \"" + name + "\": an index of this name exists already");
    }
    functions_.push_back({name, std::move(function)});
    NamedIndex index{std::move(name)};
    FillNamed(functions_.back(), Snapshot(), &index.ids);
    WriterLock lock(mu_);
    state_->named.push_back(std::move(index));
    return {};
  }

  // ---- Writes ----

  void Apply(std::span<Write> writes, std::string_view resource_version) {
    std::string version(resource_version);
    MutexLock writer(writer_mu_);
    // Everything that can be done before readers have to wait.
    std::vector<std::vector<String>> named(writes.size() * functions_.size());
    std::vector<std::optional<String>> labels(writes.size() * label_keys_.size());
    for (std::size_t f = 0; f < functions_.size(); ++f) {
      Failures failures(*this, functions_[f]);
      for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i].object != nullptr) named[i * functions_.size() + f] = failures.Call(writes[i].object.get());
      }
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      writes[i].before.reset();
      if (writes[i].object == nullptr || label_keys_.empty()) continue;
      const Map<String> all = form_.Labels(writes[i].object.get());
      for (std::size_t k = 0; k < label_keys_.size(); ++k) labels[i * label_keys_.size() + k] = ValueOf(all, label_keys_[k]);
    }

    WriterLock lock(mu_);
    State& state = *state_;
    for (std::size_t i = 0; i < writes.size(); ++i) {
      Write& write = writes[i];
      if (!undecodable_.empty()) {
        write.object == nullptr ? undecodable_.Deleted(write.key) : undecodable_.Healed(form_.Key(write.object.get()));
        CountUndecodable();
      }
      if (write.object == nullptr) {
        Erase(state, write);
        continue;
      }
      EntryTable::Put put = state.entries.Set(write.object);
      if (put.before == nullptr) state.namespaces.Set(put.id, {&form_.Namespace(write.object.get()), 1});
      for (std::size_t f = 0; f < state.named.size(); ++f) state.named[f].ids.Set(put.id, named[i * functions_.size() + f]);
      for (std::size_t k = 0; k < state.labels.size(); ++k) {
        state.labels[k]->ids.Set(put.id, AsSpan(labels[i * label_keys_.size() + k]));
      }
      write.before = std::move(put.before);
    }
    if (!version.empty()) version_.swap(version);
  }

  void MarkUndecodable(UndecodableObject object) {
    MutexLock writer(writer_mu_);
    WriterLock lock(mu_);
    const bool cached = state_->entries.Find(object.key.ns.view(), object.key.name.view()) != kNoEntry;
    undecodable_.Add(std::move(object), cached);
    CountUndecodable();
  }

  Replaced Replace(const std::vector<ObjectRef>& objects, std::string_view resource_version, std::vector<UndecodableObject> undecodable) {
    std::unique_ptr<State> old;  // goes last, after all locks
    UndecodableSet marks;
    std::string version(resource_version);
    Replaced result;
    result.before.resize(objects.size());
    MutexLock writer(writer_mu_);

    auto fresh = std::make_unique<State>(form_);
    std::vector<std::size_t> place;  // by new id: which of the objects it is
    fresh->entries.Reserve(objects.size());
    place.reserve(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (objects[i] == nullptr) continue;
      const EntryId id = fresh->entries.Set(objects[i]).id;
      if (id == place.size()) place.push_back(i);
      place[id] = i;
    }
    for (UndecodableObject& object : undecodable) {
      const bool cached = fresh->entries.Find(object.key.ns.view(), object.key.name.view()) != kNoEntry;
      marks.Add(std::move(object), cached);
    }
    std::vector<Indexed> all(place.size());
    fresh->namespaces.Reserve(place.size());
    for (EntryId id = 0; id < place.size(); ++id) {
      all[id] = {id, objects[place[id]].get()};
      fresh->namespaces.Set(id, {&form_.Namespace(all[id].object), 1});
    }
    for (const NamedFunction& function : functions_) FillNamed(function, all, &fresh->named.emplace_back(NamedIndex{function.name}).ids);
    for (const String& key : label_keys_) {
      FillLabel(key, all, &fresh->labels.emplace_back(std::make_unique<LabelIndex>(key))->ids);
    }
    std::vector<EntryId> old_ids(place.size());
    {
      ReaderLock lock(mu_);
      for (EntryId id = 0; id < place.size(); ++id) {
        old_ids[id] = state_->entries.Find(form_.Namespace(all[id].object).view(), form_.Name(all[id].object).view());
      }
      for (std::size_t k = 0; k < fresh->labels.size(); ++k) {
        fresh->labels[k]->last_used.store(state_->labels[k]->last_used.load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
    }

    {
      WriterLock lock(mu_);
      old = std::exchange(state_, std::move(fresh));
      std::swap(undecodable_, marks);
      CountUndecodable();
      if (!version.empty()) version_.swap(version);
    }

    // The old state is no longer visible to readers.
    for (EntryId id = 0; id < place.size(); ++id) {
      if (old_ids[id] != kNoEntry) result.before[place[id]] = old->entries.Take(old_ids[id]);
    }
    for (EntryId id = 0; id < old->entries.limit(); ++id) {
      if (old->entries.At(id) != nullptr) result.removed.push_back(old->entries.Take(id));
    }
    return result;
  }

  void SetResourceVersion(std::string_view resource_version) {
    std::string version(resource_version);
    MutexLock writer(writer_mu_);
    WriterLock lock(mu_);
    version_.swap(version);
  }

 private:
  struct NamedFunction {
    std::string name;
    IndexFunction function;
  };
  struct Indexed {
    EntryId id = kNoEntry;
    const void* object = nullptr;
  };

  // Calls a user's function, and says once for all objects what it threw.
  class Failures {
   public:
    Failures(Impl& store, const NamedFunction& function) : store_(store), function_(function) {}
    ~Failures() {
      if (count_ == 0) return;
      store_.log_.Error("Index function threw; the objects are not in this index",
                        {{"index", function_.name}, {"objects", count_}, {"first", first_}, {"what", what_}});
    }
    Failures(const Failures&) = delete;
    Failures& operator=(const Failures&) = delete;

    std::vector<String> Call(const void* object) {
      try {
        return function_.function(object);
      } catch (const std::exception& e) {
        Count(object, e.what());
      } catch (...) {
        Count(object, "something that is not a std::exception");
      }
      return {};
    }

   private:
    void Count(const void* object, const char* what) {
      if (++count_ > 1) return;
      first_ = store_.form_.Key(object).ToString();
      what_ = what;
    }
    Impl& store_;
    const NamedFunction& function_;
    std::size_t count_ = 0;
    std::string first_, what_;
  };

  static std::optional<String> ValueOf(const Map<String>& labels, std::string_view key) {
    const String* found = labels.Find(key);
    return found == nullptr ? std::nullopt : std::optional<String>(*found);
  }

  void FillNamed(const NamedFunction& function, const std::vector<Indexed>& objects, IdIndex* ids) KUBE_REQUIRES(writer_mu_) {
    Failures failures(*this, function);
    for (const Indexed& each : objects) ids->Set(each.id, failures.Call(each.object));
  }
  void FillLabel(const String& key, const std::vector<Indexed>& objects, IdIndex* ids) {
    for (const Indexed& each : objects) ids->Set(each.id, AsSpan(ValueOf(form_.Labels(each.object), key.view())));
  }
  // They stay as long as the writer's lock is held: no other thread can remove them.
  std::vector<Indexed> Snapshot() KUBE_REQUIRES(writer_mu_) {
    ReaderLock lock(mu_);
    std::vector<Indexed> out;
    out.reserve(state_->entries.size());
    for (EntryId id = 0; id < state_->entries.limit(); ++id) {
      if (state_->entries.At(id) != nullptr) out.push_back({id, state_->entries.At(id).get()});
    }
    return out;
  }

  static void Erase(State& state, Write& write) {
    const EntryId id = state.entries.Find(write.key.ns.view(), write.key.name.view());
    if (id == kNoEntry) return;
    state.namespaces.Erase(id);
    for (NamedIndex& index : state.named) index.ids.Erase(id);
    for (const auto& index : state.labels) index->ids.Erase(id);
    write.before = state.entries.Erase(id);
  }

  void CountUndecodable() KUBE_REQUIRES(mu_) { undecodable_count_.store(undecodable_.size(), std::memory_order_release); }

  const IdIndex* FindIndex(std::string_view name) KUBE_REQUIRES_SHARED(mu_) {
    if (name == kNamespaceIndex) return &state_->namespaces;
    for (const NamedIndex& index : state_->named) {
      if (index.name == name) return &index.ids;
    }
    return nullptr;
  }
  Error UnknownIndex(std::string_view name) KUBE_REQUIRES_SHARED(mu_) {
    std::string message = "index \"" + std::string(name) + "\" does not exist; there are: " + std::string(kNamespaceIndex);
    for (const NamedIndex& index : state_->named) message += ", " + index.name;
    return Error::Invalid(std::move(message));
  }

  // The smallest set that has all objects that match. `missing`: a label that an index would be good for.
  std::vector<ObjectRef> Candidates(std::optional<std::string_view> ns, const std::vector<ExactLabel>& exact, const String** missing) {
    *missing = nullptr;
    ReaderLock lock(mu_);
    const State& state = *state_;
    const IdIndex::Bucket* in_namespace = ns ? state.namespaces.Find(*ns) : nullptr;
    if (ns && in_namespace == nullptr) return {};
    std::size_t fewest = ns ? in_namespace->size() : state.entries.size();
    const LabelIndex* best = nullptr;
    const ExactLabel* best_label = nullptr;
    for (const ExactLabel& label : exact) {
      const LabelIndex* index = state.FindLabel(label.key.view());
      if (index == nullptr) {
        if (*missing == nullptr) *missing = &label.key;
        continue;
      }
      std::size_t count = 0;
      for (const String& value : label.values) count += index->ids.Count(value.view());
      if (count > fewest || (count == fewest && best != nullptr)) continue;
      fewest = count;
      best = index;
      best_label = &label;
    }
    if (fewest <= kWorthAnIndex) *missing = nullptr;
    if (best == nullptr) return ns ? state.CopyBucket(in_namespace) : state.CopyAll();
    const_cast<LabelIndex*>(best)->last_used.store(questions_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::vector<ObjectRef> out;
    out.reserve(fewest);
    for (const String& value : best_label->values) {
      if (const IdIndex::Bucket* ids = best->ids.Find(value.view())) state.CopyTo(*ids, &out);
    }
    return out;
  }

  // False while a writer works: a reader does not wait for it, but reads more objects this time.
  bool MakeLabelIndex(const String& key) noexcept {
    if (!writer_mu_.TryLock()) return false;
    std::unique_ptr<LabelIndex> index = BuildLabelIndex(key);
    writer_mu_.Unlock();
    return true;  // `index`, if anything, is one that had to go
  }
  std::unique_ptr<LabelIndex> BuildLabelIndex(const String& key) KUBE_REQUIRES(writer_mu_) {
    if (std::find(label_keys_.begin(), label_keys_.end(), key) != label_keys_.end()) return nullptr;
    auto index = std::make_unique<LabelIndex>(key);
    FillLabel(key, Snapshot(), &index->ids);
    index->last_used.store(questions_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    WriterLock lock(mu_);
    if (label_keys_.size() < kMaxLabelIndexes) {
      label_keys_.push_back(key);
      state_->labels.push_back(std::move(index));
      return nullptr;
    }
    const auto oldest = std::min_element(state_->labels.begin(), state_->labels.end(), [](const auto& a, const auto& b) {
      return a->last_used.load(std::memory_order_relaxed) < b->last_used.load(std::memory_order_relaxed);
    });
    label_keys_[static_cast<std::size_t>(oldest - state_->labels.begin())] = key;
    oldest->swap(index);
    return index;
  }

  const ObjectForm& form_;
  const Logger log_{"cache.store"};
  std::atomic<std::uint64_t> questions_{0};

  Mutex writer_mu_ KUBE_ACQUIRED_BEFORE(mu_);
  std::vector<NamedFunction> functions_ KUBE_GUARDED_BY(writer_mu_);  // in the order of State::named
  std::vector<String> label_keys_ KUBE_GUARDED_BY(writer_mu_);        // in the order of State::labels

  SharedMutex mu_;
  std::unique_ptr<State> state_ KUBE_GUARDED_BY(mu_) KUBE_PT_GUARDED_BY(mu_);
  std::string version_ KUBE_GUARDED_BY(mu_);
  UndecodableSet undecodable_ KUBE_GUARDED_BY(mu_);
  std::atomic<std::size_t> undecodable_count_{0};  // its size: writers check it for each event
};

namespace {
std::vector<ObjectKey> KeysOf(const ObjectForm& form, const std::vector<ObjectRef>& objects) {
  std::vector<ObjectKey> keys;
  keys.reserve(objects.size());
  for (const ObjectRef& object : objects) keys.push_back(form.Key(object.get()));
  return keys;
}
}  // namespace

Store::Store(const ObjectForm& form) : impl_(std::make_unique<Impl>(form)) {}
Store::~Store() = default;
const ObjectForm& Store::form() const { return impl_->form(); }

ObjectRef Store::Get(std::string_view ns, std::string_view name) const { return impl_->Get(ns, name); }
Result<ObjectRef> Store::Read(std::string_view ns, std::string_view name) const { return impl_->Read(ns, name); }
std::size_t Store::undecodable() const { return impl_->undecodable(); }
bool Store::undecodable_incomplete() const { return impl_->undecodable_incomplete(); }
std::vector<UndecodableObject> Store::FirstUndecodable(std::size_t n) const { return impl_->FirstUndecodable(n); }
std::optional<UndecodableObject> Store::FindUndecodable(const ObjectKey& key) const { return impl_->FindUndecodable(key); }
void Store::MarkUndecodable(UndecodableObject object) { impl_->MarkUndecodable(std::move(object)); }
std::vector<ObjectRef> Store::List() const { return impl_->List(); }
std::vector<ObjectRef> Store::Select(std::optional<std::string_view> ns, const Selector& selector) const {
  return impl_->Select(ns, selector);
}
std::vector<ObjectKey> Store::Keys() const { return KeysOf(form(), List()); }
Result<std::vector<ObjectRef>> Store::ByIndex(std::string_view index, std::string_view value) const { return impl_->ByIndex(index, value); }
Result<std::vector<ObjectKey>> Store::KeysByIndex(std::string_view index, std::string_view value) const {
  const Result<std::vector<ObjectRef>> objects = impl_->ByIndex(index, value);
  if (!objects) return objects.error();
  std::vector<ObjectKey> keys = KeysOf(form(), *objects);
  std::sort(keys.begin(), keys.end());
  return keys;
}
Result<std::vector<String>> Store::IndexValues(std::string_view index) const { return impl_->IndexValues(index); }
std::vector<String> Store::LabelIndexes() const { return impl_->LabelIndexes(); }
std::size_t Store::size() const { return impl_->size(); }
std::string Store::resource_version() const { return impl_->resource_version(); }

CacheStats Store::Stats() const {
  const std::vector<ObjectRef> objects = List();
  Footprint footprint;
  for (const ObjectRef& object : objects) {
    if (form().type() == nullptr) {
      footprint.Add(static_cast<const DynamicObject*>(object.get())->value());
    } else {
      footprint.Add(*form().type(), object.get());
    }
  }
  return {.objects = objects.size(), .logical_bytes = footprint.logical_bytes(), .real_bytes = footprint.real_bytes()};
}

Result<void> Store::AddIndex(std::string name, IndexFunction function) { return impl_->AddIndex(std::move(name), std::move(function)); }
void Store::Apply(std::span<Write> writes, std::string_view resource_version) { impl_->Apply(writes, resource_version); }
Store::Replaced Store::Replace(const std::vector<ObjectRef>& objects, std::string_view resource_version,
                               std::vector<UndecodableObject> undecodable) {
  return impl_->Replace(objects, resource_version, std::move(undecodable));
}
void Store::SetResourceVersion(std::string_view resource_version) { impl_->SetResourceVersion(resource_version); }

}  // namespace kube::internal
