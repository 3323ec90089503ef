// What a process logs, in tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/log.h"
#include "kube/base/mutex.h"

namespace kube::internal {

// Takes what the process logs while it lives. Thread safety: all functions from any thread.
class ProcessLog {
 public:
  ProcessLog() {
    LogBackend::Default()->SetSink(MakeTextSink([lines = lines_](std::string_view line) {
      MutexLock lock(lines->mu);
      lines->all.emplace_back(line);
    }));
  }
  ~ProcessLog() { LogBackend::Default()->SetSink(MakeTextSink()); }
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;

  std::vector<std::string> lines() const {
    MutexLock lock(lines_->mu);
    return lines_->all;
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) all += line;
    return all;
  }

 private:
  struct Lines {
    Mutex mu;
    std::vector<std::string> all KUBE_GUARDED_BY(mu);
  };
  const std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
};

}  // namespace kube::internal
