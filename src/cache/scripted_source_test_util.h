// A scripted server for tests of reflectors and informers.
//
//   auto source = std::make_shared<ScriptedSource>();
//   source->AddList(PageOf({PodAt("a", "1")}, "10"));
//   std::shared_ptr<ScriptedWatch> watch = source->AddWatch();
//   ... start a reflector with it ...
//   watch->Send(WatchEventType::kAdded, PodAt("b", "11"));
//   ASSERT_TRUE(watch->WaitDrained());
//   watch->End();
//   ASSERT_TRUE(source->WaitForWatches(2));                  // the second one waits until AddWatch is called again
//   EXPECT_EQ(source->watches()[1].resource_version, "11");
//
// Requests without a scripted answer wait until there is one, or until their context stops. Waits of tests return false after two minutes
// of real time.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cache/recording_test_util.h"
#include "cache/source.h"
#include "client/raw_object.h"
#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/base/wait_until.h"

namespace kube::internal {

// The test's side of a watch. Thread safety: all functions may be called from any thread.
class ScriptedWatch {
 public:
  // What the reader gets next.
  template <typename T>
  void Send(WatchEventType type, T object) {
    Push({type, [object = std::move(object)](void* out) { *static_cast<T*>(out) = object; }, std::nullopt});
  }
  template <typename T>
  void Added(T object) {
    Send(WatchEventType::kAdded, std::move(object));
  }
  template <typename T>
  void Modified(T object) {
    Send(WatchEventType::kModified, std::move(object));
  }
  template <typename T>
  void Deleted(T object) {
    Send(WatchEventType::kDeleted, std::move(object));
  }
  template <typename T = core::v1::Pod>
  void Bookmark(std::string_view version, std::string_view initial_events_end = {}) {
    if constexpr (std::is_same_v<T, DynamicObject>) {
      T object;
      object.set_resource_version(String(version));
      if (!initial_events_end.empty()) object.set_annotation("k8s.io/initial-events-end", String(initial_events_end));
      Send(WatchEventType::kBookmark, std::move(object));
    } else {
      T object;
      object.metadata.resource_version = String(version);
      if (!initial_events_end.empty()) object.metadata.annotations["k8s.io/initial-events-end"] = String(initial_events_end);
      Send(WatchEventType::kBookmark, std::move(object));
    }
  }
  // The bookmark that completes a streamed list.
  template <typename T = core::v1::Pod>
  void Synced(std::string_view version) {
    Bookmark<T>(version, "true");
  }
  // An event whose object cannot be decoded.
  void Undecodable(WatchEventType type, UndecodableObject object) { Push({type, {}, UndecodableError(object), std::move(object)}); }
  // An ERROR event, which ends the watch.
  void Fail(Error error) { Push({WatchEventType::kError, {}, std::move(error)}); }
  // The server ends the watch after what was sent.
  void End() {
    MutexLock lock(mu_);
    ended_ = true;
    changed_.NotifyAll();
  }
  // From now on, events are available at once: the reader may see several without waiting. Off: only those sent so far.
  void Hold() {
    MutexLock lock(mu_);
    held_ = true;
  }
  void Release() {
    MutexLock lock(mu_);
    held_ = false;
    changed_.NotifyAll();
  }

  // All was read, and the reader waits for more.
  bool WaitDrained() {
    return WaitBounded(mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return events_.empty() && waiting_; });
  }
  bool IsDrained() const {
    MutexLock lock(mu_);
    return events_.empty() && waiting_;
  }
  // The reader got the error that ends the watch, and no longer waits.
  bool WaitOver() {
    return WaitBounded(mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return over_; });
  }
  // The reader has stopped the watch.
  bool WaitStopped() {
    return WaitBounded(mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return stops_ > 0; });
  }
  int stops() const {
    MutexLock lock(mu_);
    return stops_;
  }

  // ---- The reader's side ----
  Result<bool> Next(const Context& ctx, WatchEventType& type, void* object, std::optional<Error>& error) {
    MutexLock lock(mu_);
    waiting_ = true;
    changed_.NotifyAll();
    const Result<void> waited = WaitUntil(
        ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return stops_ > 0 || (!held_ && (!events_.empty() || ended_)); });
    waiting_ = false;
    if (!waited) return waited.error();
    if (stops_ > 0 || events_.empty()) return false;
    Event event = std::move(events_.front());
    events_.pop_front();
    type = event.type;
    error = event.error;
    undecodable_ = std::move(event.undecodable);
    if (event.fill) event.fill(object);
    if (event.type == WatchEventType::kError) {
      ended_ = true;
      over_ = true;
      events_.clear();
      changed_.NotifyAll();
    }
    return true;
  }
  void Stop() {
    MutexLock lock(mu_);
    ++stops_;
    changed_.NotifyAll();
  }
  UndecodableObject TakeUndecodable() {
    MutexLock lock(mu_);
    return std::exchange(undecodable_, {});
  }
  bool Ready() const {
    MutexLock lock(mu_);
    return !held_ && (!events_.empty() || ended_);
  }

 private:
  struct Event {
    WatchEventType type{};
    std::function<void(void*)> fill{};
    std::optional<Error> error{};
    UndecodableObject undecodable{};
  };
  void Push(Event event) {
    MutexLock lock(mu_);
    events_.push_back(std::move(event));
    changed_.NotifyAll();
  }

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<Event> events_ KUBE_GUARDED_BY(mu_);
  UndecodableObject undecodable_ KUBE_GUARDED_BY(mu_);  // of the event that was read last
  bool ended_ KUBE_GUARDED_BY(mu_) = false;
  bool held_ KUBE_GUARDED_BY(mu_) = false;
  bool over_ KUBE_GUARDED_BY(mu_) = false;
  bool waiting_ KUBE_GUARDED_BY(mu_) = false;
  int stops_ KUBE_GUARDED_BY(mu_) = 0;
};

class ScriptedStream : public WatchStream {
 public:
  explicit ScriptedStream(std::shared_ptr<ScriptedWatch> watch) : watch_(std::move(watch)) {}
  Result<bool> Next(const Context& ctx, WatchEventType& type, void* object, std::optional<Error>& error) override {
    return watch_->Next(ctx, type, object, error);
  }
  void Stop() override { watch_->Stop(); }
  UndecodableObject TakeUndecodable() override { return watch_->TakeUndecodable(); }
  bool Ready() const override { return watch_->Ready(); }

 private:
  const std::shared_ptr<ScriptedWatch> watch_;
};

// Thread safety: all functions may be called from any thread.
class ScriptedSource : public ObjectSource {
 public:
  // ---- The script: one answer per request, in this order ----
  void AddList(Result<ListPage> answer) {
    MutexLock lock(mu_);
    list_answers_.push_back(std::move(answer));
    changed_.NotifyAll();
  }
  std::shared_ptr<ScriptedWatch> AddWatch() {
    auto watch = std::make_shared<ScriptedWatch>();
    MutexLock lock(mu_);
    watch_answers_.emplace_back(watch);
    changed_.NotifyAll();
    return watch;
  }
  void AddWatchError(Error error) {
    MutexLock lock(mu_);
    watch_answers_.emplace_back(std::move(error));
    changed_.NotifyAll();
  }
  // Answers lists from now on, unless an answer was added.
  void AnswerLists(std::function<Result<ListPage>(const ListOptions&)> answer) {
    MutexLock lock(mu_);
    answer_list_ = std::move(answer);
    changed_.NotifyAll();
  }
  // The server's versions are lower than before: checks of versions fail until an empty error is set.
  void FailChecks(std::optional<Error> error) {
    MutexLock lock(mu_);
    check_error_ = std::move(error);
  }

  // ---- The requests received ----
  std::vector<ListOptions> checks() const {
    MutexLock lock(mu_);
    return checks_;
  }
  std::vector<ListOptions> lists() const {
    MutexLock lock(mu_);
    return lists_;
  }
  std::vector<WatchOptions> watches() const {
    MutexLock lock(mu_);
    return watches_;
  }
  // "list", "watch", ... in their order.
  std::vector<std::string> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }
  bool WaitForLists(std::size_t n) {
    return WaitBounded(mu_, changed_, [this, n]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return lists_.size() >= n; });
  }
  bool WaitForWatches(std::size_t n) {
    return WaitBounded(mu_, changed_, [this, n]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return watches_.size() >= n; });
  }

  // ---- The reflector's side ----
  Result<ListPage> List(const Context& ctx, const ListOptions& options) override {
    MutexLock lock(mu_);
    lists_.push_back(options);
    requests_.emplace_back("list");
    changed_.NotifyAll();
    const Result<void> waited = WaitUntil(
        ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !list_answers_.empty() || answer_list_ != nullptr; });
    if (!waited) return waited.error();
    if (list_answers_.empty()) return answer_list_(options);
    Result<ListPage> answer = std::move(list_answers_.front());
    list_answers_.pop_front();
    return answer;
  }
  Result<void> CheckVersion(const Context&, const ListOptions& options) override {
    MutexLock lock(mu_);
    checks_.push_back(options);
    if (check_error_) return *check_error_;
    return {};
  }
  Result<std::unique_ptr<WatchStream>> Watch(const Context& ctx, const WatchOptions& options) override {
    MutexLock lock(mu_);
    watches_.push_back(options);
    requests_.emplace_back("watch");
    changed_.NotifyAll();
    const Result<void> waited = WaitUntil(ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !watch_answers_.empty(); });
    if (!waited) return waited.error();
    auto answer = std::move(watch_answers_.front());
    watch_answers_.pop_front();
    if (const Error* const error = std::get_if<Error>(&answer)) return *error;
    return std::unique_ptr<WatchStream>(std::make_unique<ScriptedStream>(std::get<0>(std::move(answer))));
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<Result<ListPage>> list_answers_ KUBE_GUARDED_BY(mu_);
  std::function<Result<ListPage>(const ListOptions&)> answer_list_ KUBE_GUARDED_BY(mu_);
  std::deque<std::variant<std::shared_ptr<ScriptedWatch>, Error>> watch_answers_ KUBE_GUARDED_BY(mu_);
  std::optional<Error> check_error_ KUBE_GUARDED_BY(mu_);
  std::vector<ListOptions> checks_ KUBE_GUARDED_BY(mu_);
  std::vector<ListOptions> lists_ KUBE_GUARDED_BY(mu_);
  std::vector<WatchOptions> watches_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> requests_ KUBE_GUARDED_BY(mu_);
};

inline core::v1::Pod PodAt(std::string_view name, std::string_view version, std::string_view ns = "default") {
  core::v1::Pod pod;
  pod.metadata.name = String(name);
  pod.metadata.namespace_ = String(ns);
  pod.metadata.resource_version = String(version);
  return pod;
}

template <typename T>
ListPage PageOf(std::vector<T> objects, std::string_view version, std::string_view continue_token = {}) {
  ListPage page{.resource_version = std::string(version), .continue_token = std::string(continue_token)};
  for (T& object : objects) page.objects.push_back(std::make_shared<T>(std::move(object)));
  return page;
}

// ---- Errors as servers return them ----
inline Error ApiError(int code, std::string reason, std::string message) {
  return Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = code, .reason = std::move(reason), .message = std::move(message)});
}
inline Error Expired() { return ApiError(410, "Expired", "too old resource version: 1 (5)"); }
inline Error TooLarge() { return ApiError(504, "Timeout", "Timeout: Too large resource version: 10, current: 3"); }
inline Error TooManyRequests() { return ApiError(429, "TooManyRequests", "too many requests"); }

}  // namespace kube::internal
