// Structured logging: messages with key-value pairs.
//
//   Logger           logs for one component
//   LogBackend       filters records and passes them to a sink; one per process, except in tests
//   LogSink          receives records; MakeTextSink (klog's format) and MakeJsonSink (JSON lines) write them as lines
//   LogSettings      the level and verbosity, global and per component
//
//   static const Logger log("cache.reflector");
//   log.Info("Listed", {{"resource", "pods"}, {"count", 20000}});
//   log.V(4).Info("Watch event", {{"type", "ADDED"}, {"key", "default/web"}});
//   log.Error(error, "Failed to list", {{"resource", "pods"}});
//
//   I0102 15:04:05.000000    4711 reflector.cc:88] "Listed" logger="cache.reflector" resource="pods" count=20000
//
// The library writes to standard error and never to standard output. Wrap secrets in a SecretString (secret_string.h).
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

// The severity of a record.
enum class LogLevel : std::int8_t { kError, kWarn, kInfo };

// The name of the level: "error", "warn" or "info".
KUBE_EXPORT std::string_view ToString(LogLevel level);

// The value of a pair. Strings are borrowed: they must live until the logging call returns (Logger::With makes copies).
class KUBE_EXPORT LogValue {
 public:
  // Stands for a secret.
  struct Redacted {};
  using Strings = std::vector<std::string>;  // a list of texts
  using Variant = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view, std::string, std::chrono::nanoseconds,
                               kube::Error, Strings, Redacted>;  // what a value can hold

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

  // The value by its type.
  const Variant& variant() const { return value_; }
  // Returns a copy that owns its string.
  LogValue Owned() const;

 private:
  Variant value_;
};

// A key-value pair.
struct LogField {
  std::string_view key;
  LogValue value;
};

// The pairs of a record: {{"key", value}, ...}.
using LogFields = std::initializer_list<LogField>;

// The source location of a logging call. Current returns that of its caller.
struct LogLocation {
  const char* file = "";
  int line = 0;
  static constexpr LogLocation Current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// One log entry. It borrows everything, so it is valid only during LogSink::Write. Each key occurs once in `fields`.
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

// Format a record as a line without the final newline. Control characters, invalid UTF-8 and text-direction marks are escaped, so a value
// cannot forge a line or control a terminal. Times are UTC.
KUBE_EXPORT std::string FormatKlog(const LogRecord& record);
KUBE_EXPORT std::string FormatJson(const LogRecord& record);

// Receives records.
//
// Thread safety: Write is called from many threads at once. It must not throw, and must not log to the backend that called it.
class KUBE_EXPORT LogSink {
 public:
  virtual ~LogSink();
  virtual void Write(const LogRecord& record) noexcept = 0;  // receives one record
};

// Receives a line with its newline. Called from many threads at once; must not throw.
using LogLineWriter = std::function<void(std::string_view line)>;

// Writes each line with one write(2) to standard error.
KUBE_EXPORT LogLineWriter StderrWriter();
// Formats records with FormatKlog or FormatJson and passes them to `writer`.
KUBE_EXPORT std::shared_ptr<LogSink> MakeTextSink(LogLineWriter writer = StderrWriter());
KUBE_EXPORT std::shared_ptr<LogSink> MakeJsonSink(LogLineWriter writer = StderrWriter());

// The records to log: those up to `level`, and verbose ones up to V(verbosity).
struct LogThreshold {
  LogLevel level = LogLevel::kInfo;
  int verbosity = 0;
  friend bool operator==(const LogThreshold&, const LogThreshold&) = default;
};

// Thresholds, global and per component.
struct LogSettings {
  LogThreshold everything;
  // Thresholds by component. Names are dotted; the longest entry that equals the component or is a leading part of it applies: "cache"
  // covers "cache.reflector" unless that has its own entry.
  std::map<std::string, LogThreshold, std::less<>> components;

  // Parses "LEVEL,component=LEVEL,...", where LEVEL is error, warn, info or a verbosity: "info,cache=4,queue=error". For flags.
  static Result<LogSettings> Parse(std::string_view text);
};

namespace internal {
struct LogComponent;
}

// Filters records and passes them to a sink. Thread safety: all methods may be called from any thread.
class KUBE_EXPORT LogBackend {
 public:
  // `clock` supplies the time of the records.
  explicit LogBackend(std::shared_ptr<LogSink> sink, LogSettings settings = {}, std::shared_ptr<Clock> clock = Clock::Real());
  ~LogBackend();
  LogBackend(const LogBackend&) = delete;
  LogBackend& operator=(const LogBackend&) = delete;

  // The backend of the process. Initially writes text to standard error at level info.
  static const std::shared_ptr<LogBackend>& Default();

  // Replaces the sink. A record that is being written concurrently may still reach the old one.
  void SetSink(std::shared_ptr<LogSink> sink);
  // Takes effect immediately, also for existing loggers.
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
// Cost: a disabled record costs one atomic read and the evaluation of its arguments.
class KUBE_EXPORT Logger {
 public:
  // Info logs at info with a verbosity. Returned by V(n); use it in the same statement.
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

  // `component` is a dotted name: "cache.reflector".
  explicit Logger(std::string_view component, std::shared_ptr<LogBackend> backend = LogBackend::Default());

  // Log at info, warn and error. A pair of `fields` is {"key", value}.
  void Info(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    if (Enabled(0)) Write(LogLevel::kInfo, 0, nullptr, message, fields, location);
  }
  void Warn(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    if (Enabled(-1)) Write(LogLevel::kWarn, 0, nullptr, message, fields, location);
  }
  void Error(std::string_view message, LogFields fields = {}, LogLocation location = LogLocation::Current()) const {
    Write(LogLevel::kError, 0, nullptr, message, fields, location);
  }
  // Also logs `error`, the cause, under the key `err`.
  void Error(const kube::Error& error, std::string_view message, LogFields fields = {},
             LogLocation location = LogLocation::Current()) const {
    Write(LogLevel::kError, 0, &error, message, fields, location);
  }

  // Verbosity as in klog: higher numbers are more detailed. 2 is useful in production, 4 for debugging, 6 and up for wire details.
  Verbose V(int verbosity) const { return Verbose(*this, verbosity); }

  // Returns a logger that adds `fields` to every record. A pair of the record itself replaces one with the same key.
  [[nodiscard]] Logger With(LogFields fields) const;

  // Returns a logger for a part of this component, "cache" -> "cache.reflector", with the same pairs.
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
