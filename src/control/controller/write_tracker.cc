#include "control/controller/write_tracker.h"

#include <algorithm>

#include "client/client_core.h"
#include "kube/base/log.h"
#include "kube/meta/selector.h"
#include "kube/queue/work_queue_base.h"

namespace kube {

using internal::Awaited;
using internal::CombineHash;
using internal::HashTexts;
using internal::InformerCore;
using internal::InformerHandle;
using internal::NextStamp;
using internal::VersionNumber;

namespace {

constexpr std::string_view kWaits = "kubexx_read_your_writes_waits_total";
constexpr std::string_view kTimeouts = "kubexx_read_your_writes_timeouts_total";
constexpr std::string_view kDropped = "kubexx_read_your_writes_dropped_total";
constexpr std::string_view kWaitTime = "kubexx_read_your_writes_wait_seconds";

Logger Log() { return Logger("control"); }

bool Covers(const InformerOptions& informer, const ObjectKey& key) {
  return informer.ns.empty() || key.ns.empty() || informer.ns == key.ns.view();
}

}  // namespace

// Reports writes to the tracker, and identifies the writer to its reads.
class WriteTracker::ScopeObserver : public WriteObserver {
 public:
  ScopeObserver(std::shared_ptr<WriteTracker> tracker, Writer writer) : tracker_(std::move(tracker)), writer_(std::move(writer)) {}
  void Wrote(const ObservedWrite& write) override { tracker_->Wrote(writer_, write); }
  const WriteTracker* tracker() const { return tracker_.get(); }
  const Writer& writer() const { return writer_; }

 private:
  const std::shared_ptr<WriteTracker> tracker_;
  const Writer writer_;
};

// A key that was put aside. Whatever happens first resumes it: the last cache has seen its writes, or the time is over.
struct WriteTracker::Hold {
  void Fire() {
    if (!fired.exchange(true)) resume();
  }
  void Seen() {
    if (left.fetch_sub(1) == 1) Fire();
  }

  std::function<void()> resume{};
  Clock::TimePoint begin{}, deadline{};
  std::atomic<bool> fired = false;
  std::atomic<int> left = 1;  // conditions that are not met, and one for the thread that sets them up
  std::vector<std::pair<std::weak_ptr<InformerCore>, std::uint64_t>> watches{};
  Timer timer{};
};

std::size_t WriteTracker::Hash::operator()(const Writer& writer) const {
  return CombineHash(HashTexts({}, writer.controller), HashTexts(writer.key.ns, writer.key.name));
}
std::size_t WriteTracker::Hash::operator()(const Object& object) const {
  return CombineHash(HashTexts(object.resource.group, object.resource.resource), HashTexts(object.key.ns, object.key.name));
}

WriteTracker::WriteTracker(const Client& client, std::shared_ptr<InformerFactory> informers, Options options)
    : client_(client.shared_core()), informers_(std::move(informers)), options_(std::move(options)) {}

WriteTracker::~WriteTracker() = default;

// ---- Whose context ----

Context WriteTracker::Scope(const Context& ctx, const String& controller, const ObjectKey& key) {
  if (!options_.enabled) return ctx;
  auto scope = std::make_shared<ScopeObserver>(shared_from_this(), Writer{controller, key});
  return ObserveWrites(ctx, scope).WithValue(std::move(scope));
}

Context WriteTracker::Observed(const Context& ctx) {
  if (!options_.enabled) return ctx;
  const std::shared_ptr<ScopeObserver> scope = ctx.Value<ScopeObserver>();
  return scope != nullptr && scope->tracker() == this ? ctx : Scope(ctx, {}, {});
}

// ---- What was written ----

// By address, so that a second client of the same server counts too.
bool WriteTracker::SameServer(const ClientCore& other) const {
  return &other == client_.get() || other.config.host == client_->config.host;
}

void WriteTracker::Wrote(const Writer& writer, const ObservedWrite& write) {
  const std::optional<std::uint64_t> version = VersionNumber(write.resource_version.view());
  const bool stored = write.effect == ObservedWrite::Effect::kStored;
  if ((stored && !version) || !SameServer(write.client)) return;
  Record record{.writer = writer, .object = {write.gvr.group_resource(), write.key}, .labels = write.labels};
  if (Covering(record.object).empty()) return;
  record.awaited = {.key = write.key, .version = version.value_or(0), .stamp = NextStamp()};
  if (!stored) {
    using Deletion = Awaited::Deletion;
    record.awaited.deletion = write.effect == ObservedWrite::Effect::kGone ? Deletion::kDone : Deletion::kAskedFor;
    record.awaited.uid = write.uid;
  }
  Insert(std::move(record));
  Shrink();
}

void WriteTracker::Insert(Record record) {
  {
    MutexLock lock(mu_);
    if (const auto found = by_object_.find(record.object); found != by_object_.end()) {
      std::optional<std::uint64_t> before;
      for (const std::uint64_t id : found->second) {
        const Record& known = records_.at(id);
        // A cache that has not seen the creation does not have the object either: that is not what its deletion looks like.
        if (known.awaited.version > record.awaited.version) {
          record.awaited.version = known.awaited.version;
          // A version of before a restore of the server must not outlive it.
          record.awaited.stamp = known.awaited.stamp;
        }
        if (known.writer == record.writer) before = id;
      }
      if (before) EraseLocked(*before);
    }
    record.id = next_id_++;
    by_writer_[record.writer].insert(record.id);
    by_object_[record.object].insert(record.id);
    records_.emplace(record.id, record);
  }
  // As after a write that changed nothing.
  if (Look(record) == Sight::kSeen) Erase({record});
}

// Memory is bounded, and what caches have seen meanwhile is dropped bit by bit.
void WriteTracker::Shrink() {
  constexpr std::size_t kLooks = 2;
  Records oldest;
  std::optional<Record> too_many;
  {
    MutexLock lock(mu_);
    for (auto at = records_.begin(); at != records_.end() && oldest.size() < kLooks; ++at) oldest.push_back(at->second);
    if (records_.size() > options_.most) {
      too_many = records_.begin()->second;
      EraseLocked(too_many->id);
    }
  }
  if (too_many && Look(*too_many) == Sight::kUnseen) Count(kDropped, *too_many);
  DropSeen(std::move(oldest));
}

// Those that all caches have seen.
void WriteTracker::DropSeen(Records records) {
  std::erase_if(records, [&](const Record& record) { return Look(record) != Sight::kSeen; });
  Erase(records);
}

void WriteTracker::Erase(const Records& records) {
  if (records.empty()) return;
  MutexLock lock(mu_);
  for (const Record& record : records) EraseLocked(record.id);
}

void WriteTracker::EraseLocked(std::uint64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end()) return;  // changed or gone meanwhile
  const auto remove = [id](auto& index, const auto& key) {
    const auto at = index.find(key);
    at->second.erase(id);
    if (at->second.empty()) index.erase(at);
  };
  remove(by_writer_, found->second.writer);
  remove(by_object_, found->second.object);
  records_.erase(found);
}

std::size_t WriteTracker::records() const {
  MutexLock lock(mu_);
  return records_.size();
}
std::size_t WriteTracker::holds() const {
  MutexLock lock(mu_);
  return holds_.size();
}

// ---- What caches have seen ----

std::vector<std::shared_ptr<InformerHandle>> WriteTracker::Covering(const Object& object) const {
  std::vector<std::shared_ptr<InformerHandle>> informers = informers_->Existing(object.resource);
  std::erase_if(informers, [&](const auto& informer) {
    const InformerCore& core = informer->core();
    return core.stopped() || !(core.HasSynced() || core.started()) || !Covers(core.options(), object.key);
  });
  return informers;
}

Awaited WriteTracker::For(const Record& record, const InformerCore& informer) const {
  Awaited awaited = record.awaited;
  if (const std::string& text = informer.options().label_selector; !text.empty() && record.labels) {
    const Result<Selector> selector = Selector::Parse(text);
    awaited.unselected = selector && !selector->Matches(*record.labels);
  }
  return awaited;
}

WriteTracker::Sight WriteTracker::Look(const Record& record) const {
  Sight sight = Sight::kSeen;
  for (const std::shared_ptr<InformerHandle>& informer : Covering(record.object)) {
    if (informer->core().HasSeen(For(record, informer->core()))) continue;
    if (informer->core().HasSynced()) return Sight::kUnseen;
    sight = Sight::kUnknown;
  }
  return sight;
}

// ---- Reads ----

Result<void> WriteTracker::BeforeGet(const Context& ctx, InformerCore& informer, const ObjectKey& key) {
  Records records;
  {
    MutexLock lock(mu_);
    if (records_.empty()) return {};
    const auto found = by_object_.find({informer.gvr().group_resource(), key});
    if (found == by_object_.end()) return {};
    for (const std::uint64_t id : found->second) records.push_back(records_.at(id));
  }
  return Await(ctx, informer, std::move(records));
}

Result<void> WriteTracker::BeforeList(const Context& ctx, InformerCore& informer, std::string_view ns) {
  const std::shared_ptr<ScopeObserver> scope = ctx.Value<ScopeObserver>();
  const Writer writer = scope != nullptr && scope->tracker() == this ? scope->writer() : Writer();
  const GroupResource resource = informer.gvr().group_resource();
  Records records;
  {
    MutexLock lock(mu_);
    if (records_.empty()) return {};
    const auto found = by_writer_.find(writer);
    if (found == by_writer_.end()) return {};
    for (const std::uint64_t id : found->second) {
      const Record& record = records_.at(id);
      if (record.object.resource == resource && (ns.empty() || record.object.key.ns == ns)) records.push_back(record);
    }
  }
  return Await(ctx, informer, std::move(records));
}

Result<void> WriteTracker::Await(const Context& ctx, InformerCore& informer, Records records) {
  Records seen_here;
  std::erase_if(records, [&](const Record& record) {
    if (!Covers(informer.options(), record.object.key)) return true;
    if (!informer.HasSeen(For(record, informer))) return false;
    seen_here.push_back(record);
    return true;
  });
  DropSeen(std::move(seen_here));
  if (records.empty()) return {};
  const Record& first = records.front();
  Count(kWaits, first);
  const Clock::TimePoint begin = ctx.clock()->Now();
  const Context limited = ctx.WithTimeout(options_.timeout);
  Result<void> seen;
  for (const Record& record : records) {
    seen = informer.WaitUntilSeen(limited, For(record, informer));
    if (!seen) break;
  }
  const Clock::Duration waited = ctx.clock()->Now() - begin;
  Observe(first, waited);
  if (!seen && ctx.stopped()) return ctx.Check();
  // An informer that has stopped has nothing to wait for; what it held can still be read.
  if (!seen && !informer.stopped()) {
    std::erase_if(records, [&](const Record& record) { return informer.HasSeen(For(record, informer)); });
    GiveUp(records, waited);
    return {};
  }
  DropSeen(std::move(records));
  return {};
}

void WriteTracker::GiveUp(const Records& records, Clock::Duration waited) {
  if (records.empty()) return;
  const Record& first = records.front();
  Count(kTimeouts, first);
  Log().Warn("A cache has not seen a write of this program; continuing without it",
             {{"controller", first.writer.controller.str()},
              {"key", first.writer.key.ToString()},
              {"resource", first.object.resource.ToString()},
              {"object", first.object.key.ToString()},
              {"version", first.awaited.version},
              {"deleted", first.awaited.deletion != Awaited::Deletion::kNone},
              {"writes", records.size()},
              {"seconds", std::chrono::duration<double>(waited).count()}});
  Erase(records);
}

// ---- Runs ----

bool WriteTracker::HoldBack(const String& controller, const ObjectKey& key, const std::shared_ptr<Clock>& clock,
                            std::function<void()> resume) {
  if (!options_.enabled) return false;
  const Writer writer{controller, key};
  Records seen, unseen;
  std::shared_ptr<Hold> before;
  {
    MutexLock lock(mu_);
    if (const auto found = holds_.find(writer); found != holds_.end()) before = found->second;
    if (const auto found = by_writer_.find(writer); found != by_writer_.end()) {
      for (const std::uint64_t id : found->second) unseen.push_back(records_.at(id));
    }
  }
  std::erase_if(unseen, [&](const Record& record) {
    const Sight sight = Look(record);
    if (sight == Sight::kSeen) seen.push_back(record);
    return sight != Sight::kUnseen;
  });
  Erase(seen);
  const Clock::TimePoint now = clock->Now();
  const auto go = [&](const std::shared_ptr<Hold>& hold, const Record* record) {
    if (hold == nullptr) return false;
    if (record != nullptr) Observe(*record, now - hold->begin);
    Release(writer, hold);
    return false;
  };
  if (unseen.empty()) return go(before, seen.empty() ? nullptr : &seen.front());
  if (before != nullptr && now >= before->deadline) {
    const Record first = unseen.front();
    GiveUp(unseen, now - before->begin);
    return go(before, &first);
  }
  if (before != nullptr && !before->fired) return true;  // a change came by while it is held

  const auto hold = std::make_shared<Hold>();
  hold->resume = std::move(resume);
  hold->begin = before != nullptr ? before->begin : now;
  hold->deadline = hold->begin + options_.timeout;
  if (before != nullptr) {
    Release(writer, before);
  } else {
    Count(kWaits, unseen.front());
  }
  NotifyWhenSeen(hold, unseen);
  hold->timer = clock->AddTimer(hold->deadline, [weak = std::weak_ptr<Hold>(hold)] {
    if (const std::shared_ptr<Hold> self = weak.lock()) self->Fire();
  });
  {
    MutexLock lock(mu_);
    holds_[writer] = hold;
  }
  if (hold->left.fetch_sub(1) != 1) return true;
  // They have all been seen in the meantime.
  Erase(unseen);
  return go(hold, &unseen.front());
}

void WriteTracker::NotifyWhenSeen(const std::shared_ptr<Hold>& hold, const Records& records) const {
  for (const Record& record : records) {
    for (const std::shared_ptr<InformerHandle>& informer : Covering(record.object)) {
      if (!informer->core().HasSynced()) continue;
      ++hold->left;
      const std::optional<std::uint64_t> watch = informer->core().NotifyWhenSeen(For(record, informer->core()), [hold] { hold->Seen(); });
      if (watch) {
        hold->watches.emplace_back(informer->shared_core(), *watch);
      } else {
        --hold->left;
      }
    }
  }
}

void WriteTracker::Release(const Writer& writer, const std::shared_ptr<Hold>& hold) {
  {
    MutexLock lock(mu_);
    if (const auto found = holds_.find(writer); found != holds_.end() && found->second == hold) holds_.erase(found);
  }
  hold->fired = true;
  for (const auto& [informer, id] : hold->watches) {
    if (const std::shared_ptr<InformerCore> core = informer.lock()) core->CancelNotify(id);
  }
  hold->timer = Timer();
}

void WriteTracker::Forget(const String& controller) {
  std::vector<std::pair<Writer, std::shared_ptr<Hold>>> holds;
  {
    MutexLock lock(mu_);
    for (const auto& [writer, hold] : holds_) {
      if (writer.controller == controller) holds.emplace_back(writer, hold);
    }
    for (auto at = records_.begin(); at != records_.end();) {
      const Record& record = (at++)->second;
      if (record.writer.controller == controller) EraseLocked(record.id);
    }
  }
  for (const auto& [writer, hold] : holds) Release(writer, hold);
}

// ---- Metrics ----

void WriteTracker::Count(std::string_view counter, const Record& record) const {
  if (options_.metrics == nullptr) return;
  options_.metrics->Add(counter, {{"controller", record.writer.controller.view()}, {"resource", record.object.resource.ToString()}});
}

void WriteTracker::Observe(const Record& record, Clock::Duration waited) const {
  if (options_.metrics == nullptr) return;
  options_.metrics->Observe(kWaitTime, {{"controller", record.writer.controller.view()}, {"resource", record.object.resource.ToString()}},
                            std::chrono::duration<double>(waited).count());
}

}  // namespace kube
