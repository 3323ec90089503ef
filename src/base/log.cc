#include "kube/base/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>

namespace kube {
namespace internal {

// What loggers of one component share: how much is wanted. The rank of a record is its verbosity for info, -1 for warn, -2 for error; it is
// wanted if its rank is not above the component's.
struct LogComponent {
  std::string name;  // set once
  std::atomic<int> rank{0};
};

namespace {

int Rank(const LogThreshold& threshold) {
  switch (threshold.level) {
    case LogLevel::kError:
      return -2;
    case LogLevel::kWarn:
      return -1;
    case LogLevel::kInfo:
      return std::max(0, threshold.verbosity);
  }
  return 0;
}

const LogThreshold& Find(const LogSettings& settings, std::string_view component) {
  for (;;) {
    const auto found = settings.components.find(component);
    if (found != settings.components.end()) return found->second;
    const std::size_t dot = component.find_last_of('.');
    if (dot == std::string_view::npos) return settings.everything;
    component = component.substr(0, dot);
  }
}

Result<LogThreshold> ParseThreshold(std::string_view text) {
  if (text == "error") return LogThreshold{LogLevel::kError, 0};
  if (text == "warn") return LogThreshold{LogLevel::kWarn, 0};
  if (text == "info") return LogThreshold{LogLevel::kInfo, 0};
  int verbosity = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), verbosity);
  if (code != std::errc() || end != text.data() + text.size() || verbosity < 0) {
    return Error(ErrorKind::kConfig, "log level \"" + std::string(text) + "\" is none of error, warn, info or a number");
  }
  return LogThreshold{LogLevel::kInfo, verbosity};
}

std::int64_t ThreadId() {
  thread_local const std::int64_t id = syscall(SYS_gettid);
  return id;
}

// Writes the whole line unless the descriptor is broken; then there is no place to report it.
void WriteAll(int fd, std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = write(fd, line.data(), line.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

class LineSink final : public LogSink {
 public:
  using Format = std::string (*)(const LogRecord&);
  LineSink(Format format, LogLineWriter writer) : format_(format), writer_(std::move(writer)) {}
  void Write(const LogRecord& record) noexcept override {
    std::string line = format_(record);
    line.push_back('\n');
    writer_(line);
  }

 private:
  const Format format_;
  const LogLineWriter writer_;
};

}  // namespace
}  // namespace internal

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      return "info";
  }
  return "unknown";
}

LogValue LogValue::Owned() const {
  LogValue copy = *this;
  if (const auto* borrowed = std::get_if<std::string_view>(&value_)) copy.value_ = std::string(*borrowed);
  return copy;
}

LogSink::~LogSink() = default;

LogLineWriter StderrWriter() {
  return [](std::string_view line) { internal::WriteAll(STDERR_FILENO, line); };
}

std::shared_ptr<LogSink> MakeTextSink(LogLineWriter writer) { return std::make_shared<internal::LineSink>(FormatKlog, std::move(writer)); }

std::shared_ptr<LogSink> MakeJsonSink(LogLineWriter writer) { return std::make_shared<internal::LineSink>(FormatJson, std::move(writer)); }

Result<LogSettings> LogSettings::Parse(std::string_view text) {
  LogSettings settings;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == 0) return Error(ErrorKind::kConfig, "log setting \"" + std::string(item) + "\" has no component before the \"=\"");
    Result<LogThreshold> threshold = internal::ParseThreshold(equals == std::string_view::npos ? item : item.substr(equals + 1));
    if (!threshold) return threshold.error();
    if (equals == std::string_view::npos) {
      settings.everything = *threshold;
    } else {
      settings.components[std::string(item.substr(0, equals))] = *threshold;
    }
  }
  return settings;
}

LogBackend::LogBackend(std::shared_ptr<LogSink> sink, LogSettings settings, std::shared_ptr<Clock> clock)
    : clock_(std::move(clock)), sink_(std::move(sink)), settings_(std::move(settings)) {}

LogBackend::~LogBackend() = default;

const std::shared_ptr<LogBackend>& LogBackend::Default() {
  static const std::shared_ptr<LogBackend> backend = std::make_shared<LogBackend>(MakeTextSink());
  return backend;
}

void LogBackend::SetSink(std::shared_ptr<LogSink> sink) {
  MutexLock lock(mu_);
  sink_.swap(sink);  // the old one is destroyed by the caller's copy, after the lock
}

void LogBackend::SetSettings(LogSettings settings) {
  MutexLock lock(mu_);
  settings_ = std::move(settings);
  for (const auto& [name, component] : components_) component->rank = internal::Rank(internal::Find(settings_, name));
}

LogSettings LogBackend::settings() const {
  MutexLock lock(mu_);
  return settings_;
}

std::shared_ptr<internal::LogComponent> LogBackend::Component(std::string_view name) {
  MutexLock lock(mu_);
  const auto found = components_.find(name);
  if (found != components_.end()) return found->second;
  auto component = std::make_shared<internal::LogComponent>();
  component->name = name;
  component->rank = internal::Rank(internal::Find(settings_, name));
  components_.emplace(name, component);
  return component;
}

std::shared_ptr<LogSink> LogBackend::sink() const {
  MutexLock lock(mu_);
  return sink_;
}

Logger::Logger(std::string_view component, std::shared_ptr<LogBackend> backend)
    : backend_(std::move(backend)), component_(backend_->Component(component)) {}

bool Logger::Enabled(int rank) const { return rank <= component_->rank.load(std::memory_order_relaxed); }

Logger Logger::With(LogFields fields) const {
  Logger copy = *this;
  for (const LogField& field : fields) {
    std::erase_if(copy.fields_, [&](const OwnedField& old) { return old.key == field.key; });
    copy.fields_.push_back({std::string(field.key), field.value.Owned()});
  }
  return copy;
}

Logger Logger::Named(std::string_view part) const {
  Logger copy = *this;
  std::string name = component_->name;
  if (!name.empty()) name += '.';
  name += part;
  copy.component_ = backend_->Component(name);
  return copy;
}

void Logger::Write(LogLevel level, int verbosity, const kube::Error* error, std::string_view message, LogFields fields,
                   LogLocation location) const {
  const std::shared_ptr<LogSink> sink = backend_->sink();
  if (sink == nullptr) return;
  LogRecord record{.level = level,
                   .verbosity = verbosity,
                   .time = backend_->clock_->WallNow(),
                   .thread_id = internal::ThreadId(),
                   .location = location,
                   .component = component_->name,
                   .message = message,
                   .error = error,
                   .fields = {}};
  record.fields.reserve(fields_.size() + fields.size());
  const auto add = [&record](std::string_view key, const LogValue& value) {
    std::erase_if(record.fields, [&](const LogField& old) { return old.key == key; });
    record.fields.push_back({key, value});
  };
  for (const OwnedField& field : fields_) add(field.key, field.value);
  for (const LogField& field : fields) add(field.key, field.value);
  sink->Write(record);
}

}  // namespace kube
