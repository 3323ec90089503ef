#include "apiserver/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "apiserver/errors.h"
#include "codec/json_bytes.h"
#include "kube/base/mutex.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

std::string_view NameOf(EventType type) {
  switch (type) {
    case EventType::kAdded:
      return "ADDED";
    case EventType::kModified:
      return "MODIFIED";
    case EventType::kDeleted:
      return "DELETED";
  }
  return "";
}

constexpr std::chrono::seconds kConversionRetry{1};

// The frame of one event is the same for all watchers that asked for the same form: the last one is kept per thread, since delivery
// runs through all watchers with one event at a time.
struct FrameCache {
  ObjectPtr object;  // keeps the address from being used again
  EventType type = EventType::kAdded;
  std::string form;
  std::shared_ptr<const std::string> frame;
};

class WatchStream : public Watcher, public std::enable_shared_from_this<WatchStream> {
 public:
  WatchStream(ApiCore& core, Call call, EncodeContext encode, ResourcePtr resource, ListSelection selection,
              std::shared_ptr<serve::HttpExchange> exchange, Faults& faults)
      : core_(core),
        resource_(std::move(resource)),
        encode_(std::move(encode)),
        ns_(std::move(call.ns)),
        selection_(std::move(selection)),
        exchange_(std::move(exchange)),
        faults_(faults) {
    encode_.resource = resource_.get();
    if (!call.name.empty()) name_ = std::move(call.name);
    form_key_ = fmt::format("{}/{}/{}/{}", resource_->api_version(), static_cast<int>(encode_.form.encoding),
                            static_cast<int>(encode_.form.transform), encode_.form.transform_version);
  }

  // `after`: what is not newer is not sent. The version may be one that the server does not have yet.
  void Open(bool bookmarks, std::chrono::seconds timeout, std::uint64_t after) {
    bookmarks_ = bookmarks;
    after_ = after;
    std::weak_ptr<WatchStream> weak = weak_from_this();
    exchange_->OnClose([weak] {
      if (auto self = weak.lock()) self->closed_.store(true, std::memory_order_release);
    });
    MutexLock lock(mu_);
    timer_ = core_.clock()->AddTimerAfter(timeout, [weak, gate = core_.gate()] {
      auto self = weak.lock();
      if (!self) return;
      // The clock may be at this while the server is destroyed.
      auto inside = gate->Enter();
      if (!inside) return;
      // A last word on how far the client got, so that it can go on from there.
      if (self->bookmarks_ && !self->closed()) self->core_.store().SendProgress(self->resource_->storage, *self);
      self->End();
    });
  }

  // The same for a resource whose objects a webhook converts: see Convert.
  bool converts() const { return resource_->custom && resource_->custom->conversion; }

  // A last event, then the end.
  void Fail(const Error& error) {
    exchange_->Write(EncodeEvent("ERROR", ToStatus(error), encode_));
    End();
  }

  void SendInitial(const Snapshot& snapshot) {
    for (const ObjectPtr& object : snapshot.objects) {
      if (closed()) return;
      if (Wants(*object)) Send(EventType::kAdded, object, true);
    }
  }

  void SendBookmark(std::uint64_t version, bool initial_end) {
    if (converts()) {
      Queue({.object = nullptr, .version = version, .initial = initial_end});
    } else {
      WriteBookmark(version, initial_end);
    }
  }

  void WriteBookmark(std::uint64_t version, bool initial_end) {
    Value meta = Value::Object({{"resourceVersion", std::to_string(version)}});
    if (initial_end) meta["annotations"] = Value::Object({{"k8s.io/initial-events-end", "true"}});
    Value object;
    if (encode_.form.transform == Transform::kTable) {
      object = Value::Object({{"kind", "Table"},
                              {"apiVersion", "meta.k8s.io/" + encode_.form.transform_version},
                              {"metadata", Value::Object({{"resourceVersion", std::to_string(version)}})},
                              {"columnDefinitions", Value()},
                              {"rows", Value::Array()}});
    } else {
      bool partial = encode_.form.transform == Transform::kPartialMetadata;
      object = Value::Object({{"kind", partial ? "PartialObjectMetadata" : resource_->kind},
                              {"apiVersion", partial ? "meta.k8s.io/" + encode_.form.transform_version : resource_->api_version()},
                              {"metadata", std::move(meta)}});
    }
    exchange_->Write(EncodeEvent("BOOKMARK", object, encode_));
  }

  // ---- Watcher ----
  void OnEvent(const StoreEvent& event) override {
    if (closed() || event.version <= after_) return;
    if (!held_ && !faults_.any_watch_faults()) {
      Deliver(event);
      return;
    }
    // Faults are for events that this client would see.
    if (!Wants(*event.object) && (event.previous == nullptr || !Wants(*event.previous))) return;
    for (const StoreEvent& e : faults_.FilterEvent(resource_->resource, held_, event)) Deliver(e);
  }

  void OnProgress(std::uint64_t version) override {
    if (bookmarks_ && !closed() && version >= after_) SendBookmark(version, false);
  }

  void OnEnd() override { End(); }

  bool closed() const override { return closed_.load(std::memory_order_acquire); }

  void End() {
    closed_.store(true, std::memory_order_release);
    exchange_->Finish();
  }

 private:
  bool Wants(const StoredObject& object) const {
    if (!ns_.empty() && object.ns != ns_) return false;
    if (!name_.empty() && object.name != name_) return false;
    return selection_.empty() || selection_.Matches(object);
  }

  // Delivers the event as a watcher that selects only part of the objects sees it.
  void Deliver(const StoreEvent& event) {
    bool now = event.type != EventType::kDeleted && Wants(*event.object);
    bool before = event.previous != nullptr && Wants(*event.previous);
    if (now && before) {
      Send(EventType::kModified, event.object);
    } else if (now) {
      Send(EventType::kAdded, event.object);
    } else if (before) {
      if (event.type == EventType::kDeleted) {
        Send(EventType::kDeleted, event.object);
        return;
      }
      // It left the selection: its last state that was seen, with the version of the change.
      auto last = std::make_shared<StoredObject>(*event.previous);
      Value value = last->Parse();
      value["metadata"]["resourceVersion"] = std::to_string(event.version);
      last->version = event.version;
      last->json = std::make_shared<const std::string>(internal::ToJsonBytes(value));
      Send(EventType::kDeleted, last);
    }
  }

  void Send(EventType type, const ObjectPtr& object, bool initial = false) {
    if (converts()) {
      Queue({.type = type, .object = object, .initial = initial});
    } else {
      WriteEvent(type, object, initial);
    }
  }

  // ---- Conversion. The thread that delivers an event must not wait for a webhook, so events wait here, and a worker converts what there
  // is with one call. While the webhook fails, nothing is sent: the real server's watches stand still, too. ----

  struct Waiting {
    EventType type = EventType::kAdded;
    ObjectPtr object;  // null: a bookmark
    std::uint64_t version = 0;
    bool initial = false;
  };

  void Queue(Waiting event) {
    MutexLock lock(mu_);
    if (event.object) waiting_bytes_ += event.initial ? 0 : event.object->json->size();
    if (waiting_bytes_ > core_.max_watch_backlog()) {
      closed_.store(true, std::memory_order_release);
      waiting_.clear();
      exchange_->Abort();
      return;
    }
    waiting_.push_back(std::move(event));
    if (!std::exchange(working_, true)) Work();
  }

  void Work() {
    core_.workers().Post([self = shared_from_this()] { self->SendWaiting(); });
  }

  void SendWaiting() {
    std::vector<Waiting> batch;
    {
      MutexLock lock(mu_);
      if (waiting_.empty() || closed()) {
        working_ = false;
        return;
      }
      batch = waiting_;
    }
    std::vector<ObjectPtr> objects;
    for (const Waiting& event : batch) {
      if (event.object) objects.push_back(event.object);
    }
    Result<std::vector<ObjectPtr>> converted = core_.converter().ConvertStored(core_.workers().context(), *resource_, std::move(objects));
    if (!converted) {
      RetryLater();
      return;
    }
    auto next = converted->begin();
    for (const Waiting& event : batch) {
      if (closed()) break;
      if (event.object) {
        WriteEvent(event.type, *next++, event.initial);
      } else {
        WriteBookmark(event.version, event.initial);
      }
    }
    MutexLock lock(mu_);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(batch.size(), waiting_.size())));
    waiting_bytes_ = 0;
    for (const Waiting& event : waiting_) waiting_bytes_ += event.object && !event.initial ? event.object->json->size() : 0;
    Work();
  }

  void RetryLater() {
    std::weak_ptr<WatchStream> weak = weak_from_this();
    Timer timer = core_.clock()->AddTimerAfter(kConversionRetry, [weak, gate = core_.gate()] {
      auto self = weak.lock();
      if (!self) return;
      auto inside = gate->Enter();
      if (inside) self->Work();
    });
    MutexLock lock(mu_);
    std::swap(retry_, timer);
  }

  void WriteEvent(EventType type, const ObjectPtr& object, bool initial) {
    thread_local FrameCache cache;
    bool table = encode_.form.transform == Transform::kTable;
    if (!table && cache.object == object && cache.type == type && cache.form == form_key_) {
      Write(cache.frame, initial);
      return;
    }
    encode_.now = core_.Now();
    Result<std::shared_ptr<const std::string>> frame = EncodeEvent(NameOf(type), *object, encode_, first_);
    if (!frame) {
      Fail(frame.error());
      return;
    }
    first_ = false;
    if (!table) cache = {object, type, form_key_, *frame};
    Write(*std::move(frame), initial);
  }

  void Write(const std::shared_ptr<const std::string>& frame, bool initial) {
    if (initial) {
      may_wait_ += frame->size();
    } else if (exchange_->buffered_bytes() > may_wait_) {
      closed_.store(true, std::memory_order_release);
      exchange_->Abort();
      return;
    }
    if (!exchange_->Write(frame)) closed_.store(true, std::memory_order_release);
  }

  ApiCore& core_;
  ResourcePtr resource_;
  EncodeContext encode_;
  std::string ns_, name_, form_key_;
  ListSelection selection_;
  std::shared_ptr<serve::HttpExchange> exchange_;
  Faults& faults_;
  bool bookmarks_ = false;
  bool first_ = true;  // used by the delivering thread only, as the next ones
  std::uint64_t after_ = 0;
  std::size_t may_wait_ = core_.max_watch_backlog();
  std::optional<StoreEvent> held_;  // a fault keeps it back until the next event
  std::atomic<bool> closed_{false};
  Mutex mu_;
  Timer timer_ KUBE_GUARDED_BY(mu_);
  Timer retry_ KUBE_GUARDED_BY(mu_);
  std::vector<Waiting> waiting_ KUBE_GUARDED_BY(mu_);
  std::size_t waiting_bytes_ KUBE_GUARDED_BY(mu_) = 0;
  bool working_ KUBE_GUARDED_BY(mu_) = false;  // a worker has the events, or a timer will
};

}  // namespace

Result<void> StartWatch(ApiCore& core, Call& call, const EncodeContext& encode, const std::shared_ptr<serve::HttpExchange>& exchange,
                        serve::HttpHeaders headers, Faults& faults) {
  const Query& q = call.query;
  if (auto ok = CheckListOptions(q, true); !ok) return ok;
  Result<ListSelection> selection = core.ParseSelection(call);
  if (!selection) return selection.error();
  std::string_view version_text = q.Get("resourceVersion");
  Result<std::uint64_t> version = ParseVersion(version_text);
  if (!version) return UnforeseenError(version.error().message());
  bool bookmarks = q.Flag("allowWatchBookmarks");
  // A watch from no version with bookmarks is a streaming list.
  bool initial_events = q.Has("sendInitialEvents") ? q.Flag("sendInitialEvents") : bookmarks && *version == 0;
  if (std::uint64_t current = core.store().version(); initial_events && *version > current) return TooLargeVersion(*version, current);
  // Without a limit the real server ends a watch after 30 to 60 minutes.
  std::chrono::seconds timeout(1800 + static_cast<std::int64_t>(std::hash<std::string>()(exchange->request().peer) % 1800));
  if (std::string_view text = q.Get("timeoutSeconds"); !text.empty()) {
    std::int64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) {
      return BadRequest(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
    }
    if (n > 0) timeout = std::chrono::seconds(n);
  }
  ResourcePtr resource = call.resource;
  auto stream = std::make_shared<WatchStream>(core, call, encode, resource, *std::move(selection), exchange, faults);
  headers.Add("content-type", WatchContentType(encode.form));
  headers.Add("cache-control", "no-cache, private");
  exchange->Start(200, std::move(headers));
  stream->Open(bookmarks, timeout, initial_events ? 0 : *version);
  if (faults.TakeGone("watch", resource->resource, call.ns, call.name)) {
    stream->Fail(Expired("too old resource version: the test asked for it"));
    return {};
  }
  bool from_now = *version == 0 && version_text != "0" ? !q.Has("sendInitialEvents") || initial_events : *version == 0;
  if (initial_events || from_now) {
    // Start with existing objects as ADDED events, unless the client said that it does not want them.
    bool send = initial_events || !q.Has("sendInitialEvents");
    core.store().WatchFromNow(resource->storage, stream, [&](const Snapshot& snapshot) {
      if (send) stream->SendInitial(snapshot);
      if (initial_events && bookmarks) stream->SendBookmark(snapshot.version, true);
    });
  } else if (Result<void> ok = core.store().Watch(resource->storage, *version, stream); !ok) {
    stream->Fail(ok.error());
  }
  // A definition that changed meanwhile did not see this watch.
  if (resource->custom && core.registry().current()->Find(resource->group, resource->version, resource->resource) != resource)
    stream->End();
  return {};
}

}  // namespace kube::apiserver
