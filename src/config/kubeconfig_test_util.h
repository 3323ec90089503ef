// For tests about configuration: a folder of files, an environment, and what was logged.
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

#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/config/load.h"

namespace kube::internal {

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    const char* root = ::getenv("TMPDIR");
    path_ = std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/kubexx-config-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make " << path_;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string At(const std::string& name) const { return path_ + "/" + name; }
  // Makes its folders as well. Returns the path.
  std::string Write(const std::string& name, std::string_view text) const {
    const std::string path = At(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(At(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(At(name)); }
  int Mode(const std::string& name) const {
    struct stat status {};
    return stat(At(name).c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 07777) : -1;
  }

 private:
  std::string path_;
};

// Options whose environment is this one and whose service account is nowhere.
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

// Takes what the process logs, as lines, as long as it lives.
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
