// Structured logging: a message and key-value pairs.
//
//   Logger           what code logs with; one per component
//   LogBackend       where records go and which are wanted; one for the process unless a test makes its own
//   LogSink          receives records; MakeTextSink (klog's form) and MakeJsonSink (JSON lines) write them as lines
//   LogSettings      which records are wanted, for everything and per component
//
//   static const Logger log("cache.reflector");
//   log.Info("Listed", {{"resource", "pods"}, {"count", 20000}});
//   log.V(4).Info("Watch event", {{"type", "ADDED"}, {"key", "default/web"}});
//   log.Error(error, "Failed to list", {{"resource", "pods"}});
//
//   I0102 15:04:05.000000    4711 reflector.cc:88] "Listed" logger="cache.reflector" resource="pods" count=20000
//
// The library writes to standard error and never to standard output. Wrap what must not be read in a SecretString (secret_string.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

enum class LogLevel : std::int8_t { kError, kWarn, kInfo };

KUBE_EXPORT std::string_view ToString(LogLevel level);

// The value of a pair. Strings are borrowed: they have to live until the logging call returns (Logger::With makes copies).
class KUBE_EXPORT LogValue {
 public:
  struct Redacted {};
  using Strings = std::vector<std::string>;
  using Variant = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view, std::string, std::chrono::nanoseconds,
                               kube::Error, Strings, Redacted>;

  // NOLINTBEGIN(google-explicit-constructor): converting at the call site is what this type is for.
  LogValue(bool value) : value_(value) {}
  template <std::signed_integral T>
  LogValue(T value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  LogValue(T value) : value_(static_cast<std::uint64_t>(value)) {}
  LogValue(double value) : value_(value) {}
  LogValue(std::string_view value) : value_(value) {}
  LogValue(const char* value) : value_(std::string_view(value)) {}
  LogValue(const std::string& value) : value_(std::string_view(value)) {}
  template <typename Rep, typename Period>
  LogValue(std::chrono::duration<Rep, Period> value) : value_(std::chrono::duration_cast<std::chrono::nanoseconds>(value)) {}
  LogValue(const kube::Error& value) : value_(value) {}
  LogValue(const Strings& value) : value_(value) {}
  LogValue(const SecretString&) : value_(Redacted{}) {}
  // NOLINTEND(google-explicit-constructor)

  const Variant& variant() const { return value_; }
  // A copy that owns its string.
  LogValue Owned() const;

 private:
  Variant value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};

using LogFields = std::initializer_list<LogField>;

// Where a logging call stands in the source.
struct LogLocation {
  const char* file = "";
  int line = 0;
  static constexpr LogLocation Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// One thing to log. Everything in it is borrowed and dies after LogSink::Write. A key occurs once in `fields`.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  int verbosity = 0;
  Clock::WallTime time;
  std::int64_t thread_id = 0;
  LogLocation location;
  std::string_view component;
  std::string_view message;
  const kube::Error* error = nullptr;
  std::vector<LogField> fields;
};

// Lines without the newline at the end. Control characters, broken UTF-8 and text-direction marks are escaped: a value cannot forge a
// line or drive a terminal. Times are UTC.
KUBE_EXPORT std::string FormatKlog(const LogRecord& record);
KUBE_EXPORT std::string FormatJson(const LogRecord& record);

// Receives records.
//
// Thread safety: Write is called from many threads at once. It must not throw, and must not log to the backend that calls it.
class KUBE_EXPORT LogSink {
 public:
  virtual ~LogSink();
  virtual void Write(const LogRecord& record) noexcept = 0;
};

// Receives a line, newline included. Called from many threads at once; must not throw.
using LogLineWriter = std::function<void(std::string_view line)>;

// Writes each line with one write(2) to standard error.
KUBE_EXPORT LogLineWriter StderrWriter();
KUBE_EXPORT std::shared_ptr<LogSink> MakeTextSink(LogLineWriter writer = StderrWriter());
KUBE_EXPORT std::shared_ptr<LogSink> MakeJsonSink(LogLineWriter writer = StderrWriter());

// How much is wanted: records up to `level`, and of the verbose ones those up to V(verbosity).
struct LogThreshold {
  LogLevel level = LogLevel::kInfo;
  int verbosity = 0;
  friend bool operator==(const LogThreshold&, const LogThreshold&) = default;
};

struct LogSettings {
  LogThreshold everything;
  // By component. Names have dots; the longest name that is the component or a leading part of it counts: "cache" rules
  // "cache.reflector" unless that has an entry of its own.
  std::map<std::string, LogThreshold, std::less<>> components;

  // Reads "LEVEL,component=LEVEL,...", where LEVEL is error, warn, info or a verbosity: "info,cache=4,queue=error". For flags.
  static Result<LogSettings> Parse(std::string_view text);
};

namespace internal {
struct LogComponent;
}

// Where records go. Thread safety: all methods may be called from any thread.
class KUBE_EXPORT LogBackend {
 public:
  explicit LogBackend(std::shared_ptr<LogSink> sink, LogSettings settings = {}, std::shared_ptr<Clock> clock = Clock::Real());
  ~LogBackend();
  LogBackend(const LogBackend&) = delete;
  LogBackend& operator=(const LogBackend&) = delete;

  // The one for the process: text on standard error at level info until somebody changes that.
  static const std::shared_ptr<LogBackend>& Default();

  // A record that is being written at this moment may still go to the old sink.
  void SetSink(std::shared_ptr<LogSink> sink);
  void SetSettings(LogSettings settings);
  LogSettings settings() const;

 private:
  friend class Logger;
  std::shared_ptr<internal::LogComponent> Component(std::string_view name);
  std::shared_ptr<LogSink> sink() const;

  const std::shared_ptr<Clock> clock_;
  mutable Mutex mu_;
  std::shared_ptr<LogSink> sink_ KUBE_GUARDED_BY(mu_);
  LogSettings settings_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<internal::LogComponent>, std::less<>> components_ KUBE_GUARDED_BY(mu_);
};

// Logs for one component. Cheap to copy.
//
// Thread safety: immutable; may be used from many threads at once.
// Cost: a record that is not wanted costs one atomic read and the evaluation of the arguments.
class KUBE_EXPORT Logger {
 public:
  // Info at one verbosity: what `log.V(n)` gives. Use it in the same statement.
  class Verbose {
   public:
    bool enabled() const { return logger_.Enabled(verbosity_); }
    explicit operator bool() const { return enabled(); }
    void Info(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
      if (enabled()) logger_.Write(LogLevel::kInfo, verbosity_, nullptr, message, fields, location);
    }

   private:
    friend class Logger;
    Verbose(const Logger& logger, int verbosity) : logger_(logger), verbosity_(verbosity) {}
    const Logger& logger_;
    int verbosity_;
  };

  explicit Logger(std::string_view component, std::shared_ptr<LogBackend> backend = LogBackend::Default());

  void Info(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    if (Enabled(0)) Write(LogLevel::kInfo, 0, nullptr, message, fields, location);
  }
  void Warn(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    if (Enabled(-1)) Write(LogLevel::kWarn, 0, nullptr, message, fields, location);
  }
  void Error(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    Write(LogLevel::kError, 0, nullptr, message, fields, location);
  }
  // With the error that is the reason, as `err`.
  void Error(const kube::Error& error, std::string_view message, LogFields fields = {},
             LogLocation location = LogLocation::Current()) const {
    Write(LogLevel::kError, 0, &error, message, fields, location);
  }

  // Verbosity as in klog: the higher the number, the more talkative. 2 is useful in production, 4 for debugging, 6 and up for wire details.
  Verbose V(int verbosity) const { return Verbose(*this, verbosity); }

  // The same logger with pairs that every record gets. A pair of the record itself replaces one with the same key.
  [[nodiscard]] Logger With(LogFields fields) const;

  // A logger for a part of this component, "cache" -> "cache.reflector", with the same pairs.
  [[nodiscard]] Logger Named(std::string_view part) const;

 private:
  struct OwnedField {
    std::string key;
    LogValue value;
  };
  bool Enabled(int rank) const;
  void Write(LogLevel level, int verbosity, const kube::Error* error, std::string_view message, LogFields fields,
             LogLocation location) const;

  std::shared_ptr<LogBackend> backend_;
  std::shared_ptr<internal::LogComponent> component_;
  std::vector<OwnedField> fields_;
};

}  // namespace kube
