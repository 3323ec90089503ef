// For configuration tests: a directory of files, an environment, and the captured log.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/folder_test_util.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/config/load.h"

namespace kube::internal {

// Options with this environment and without a service account.
inline LoadOptions OptionsWith(std::map<std::string, std::string> environment) {
  LoadOptions options;
  options.getenv = [environment = std::move(environment)](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found != environment.end() ? std::optional(found->second) : std::nullopt;
  };
  options.service_account_dir = "/nonexistent/serviceaccount";
  return options;
}

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "no error" : result.error().ToString();
}

// Captures the log of the process as lines during its lifetime.
class LogCapture {
 public:
  LogCapture() { LogBackend::Default()->SetSink(std::make_shared<Sink>(state_)); }
  ~LogCapture() { LogBackend::Default()->SetSink(MakeTextSink()); }
  // Message and error of each record.
  std::vector<std::string> lines() const {
    MutexLock lock(state_->mu);
    return state_->lines;
  }

 private:
  struct State {
    Mutex mu;
    std::vector<std::string> lines KUBE_GUARDED_BY(mu);
  };
  class Sink final : public LogSink {
   public:
    explicit Sink(std::shared_ptr<State> state) : state_(std::move(state)) {}
    void Write(const LogRecord& record) noexcept override {
      MutexLock lock(state_->mu);
      state_->lines.push_back(std::string(record.message) + (record.error != nullptr ? ": " + record.error->ToString() : ""));
    }

   private:
    std::shared_ptr<State> state_;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace kube::internal
