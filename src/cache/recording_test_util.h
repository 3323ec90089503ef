// A sink and a log that write down what they are given, for tests of reflectors and informers.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait_test_util.h"
#include "cache/reflector.h"
#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"

namespace kube::internal {

// Writes down what a reflector does. Thread safety: all functions from any thread.
class RecordingSink : public DeltaSink {
 public:
  explicit RecordingSink(const ObjectForm& form = ObjectForm::Of<core::v1::Pod>()) : form_(form) {}

  void Add(ObjectRef object) override { Put("add", std::move(object)); }
  void Update(ObjectRef object) override { Put("update", std::move(object)); }
  void Delete(ObjectRef object) override {
    MutexLock lock(mu_);
    const std::string key = form_.Key(object.get()).ToString();
    objects_.erase(key);
    Note("delete " + key);
  }
  void Replace(std::vector<ObjectRef> objects, const std::string& resource_version,
               std::vector<UndecodableObject> undecodable = {}) override {
    MutexLock lock(mu_);
    skipped_.clear();
    reasons_ = 0;
    for (const UndecodableObject& object : undecodable) {
      skipped_.push_back(object.key.ToString());
      reasons_ += object.error.capacity() > std::string().capacity() ? 1 : 0;
    }
    objects_.clear();
    for (ObjectRef& object : objects) {
      std::string key = form_.Key(object.get()).ToString();
      objects_[std::move(key)] = std::move(object);
    }
    Note("replace " + std::to_string(objects_.size()) + " @" + resource_version);
  }
  void Undecodable(UndecodableObject object, bool deleted) override {
    MutexLock lock(mu_);
    Note(std::string(deleted ? "undecodable deleted " : "undecodable ") + object.key.ToString());
  }
  void Bookmark(const std::string& resource_version) override {
    MutexLock lock(mu_);
    Note("bookmark @" + resource_version);
  }
  Result<void> Resync() override {
    MutexLock lock(mu_);
    Note("resync");
    if (resync_error_) return *resync_error_;
    return {};
  }
  void Flush() override {
    MutexLock lock(mu_);
    ++flushes_;
    changed_.NotifyAll();
  }

  void FailResyncs(std::optional<Error> error) {
    MutexLock lock(mu_);
    resync_error_ = std::move(error);
  }
  // "add default/web", "replace 3 @17", "bookmark @18", "resync", ...
  std::vector<std::string> calls() const {
    MutexLock lock(mu_);
    return calls_;
  }
  // What the last Replace had besides its objects.
  std::vector<std::string> skipped() const {
    MutexLock lock(mu_);
    return skipped_;
  }
  // How many of these came with a reason.
  std::size_t reasons() const {
    MutexLock lock(mu_);
    return reasons_;
  }
  std::size_t flushes() const {
    MutexLock lock(mu_);
    return flushes_;
  }
  // By key: the version of the object.
  std::map<std::string, std::string> content() const {
    MutexLock lock(mu_);
    return Versions();
  }
  ObjectRef Get(const std::string& key) const {
    MutexLock lock(mu_);
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  bool WaitForCalls(std::size_t n) {
    return WaitBounded(mu_, changed_, [this, n]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return calls_.size() >= n; });
  }
  bool WaitForContent(const std::map<std::string, std::string>& content) {
    return WaitBounded(mu_, changed_, [this, &content]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return Versions() == content; });
  }

 private:
  void Put(std::string_view call, ObjectRef object) {
    MutexLock lock(mu_);
    const std::string key = form_.Key(object.get()).ToString();
    objects_[key] = std::move(object);
    Note(std::string(call) + ' ' + key);
  }
  void Note(std::string call) KUBE_REQUIRES(mu_) {
    calls_.push_back(std::move(call));
    changed_.NotifyAll();
  }
  std::map<std::string, std::string> Versions() const KUBE_REQUIRES(mu_) {
    std::map<std::string, std::string> out;
    for (const auto& [key, object] : objects_) out[key] = form_.ResourceVersion(object.get()).str();
    return out;
  }

  const ObjectForm& form_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<std::string, ObjectRef> objects_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> skipped_ KUBE_GUARDED_BY(mu_);
  std::size_t reasons_ KUBE_GUARDED_BY(mu_) = 0;
  std::vector<std::string> calls_ KUBE_GUARDED_BY(mu_);
  std::size_t flushes_ KUBE_GUARDED_BY(mu_) = 0;
  std::optional<Error> resync_error_ KUBE_GUARDED_BY(mu_);
};

// Keeps lines: "W text key=value ...". Thread safety: all functions from any thread.
class RecordingLog : public LogSink {
 public:
  void Write(const LogRecord& record) noexcept override {
    std::string line(1, record.level == LogLevel::kWarn ? 'W' : record.level == LogLevel::kError ? 'E' : 'I');
    if (record.verbosity > 0) line += std::to_string(record.verbosity);
    line += ' ';
    const std::string text = FormatKlog(record);
    line += text.substr(text.find("] ") + 2);
    MutexLock lock(mu_);
    lines_.push_back(std::move(line));
    changed_.NotifyAll();
  }
  // How many lines have all of it.
  std::size_t Count(std::string_view part) const {
    MutexLock lock(mu_);
    return CountLocked(part);
  }
  bool WaitFor(std::string_view part, std::size_t n = 1) {
    return WaitBounded(mu_, changed_, [this, part, n]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return CountLocked(part) >= n; });
  }
  std::string text() const {
    MutexLock lock(mu_);
    std::string out;
    for (const std::string& line : lines_) out += line + '\n';
    return out;
  }

 private:
  std::size_t CountLocked(std::string_view part) const KUBE_REQUIRES(mu_) {
    std::size_t n = 0;
    for (const std::string& line : lines_) n += line.find(part) != std::string::npos ? 1 : 0;
    return n;
  }
  mutable Mutex mu_;
  CondVar changed_;
  std::vector<std::string> lines_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
