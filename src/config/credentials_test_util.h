// Shared by the tests of credentials: a directory with scripts, certificates, and the log.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "config/folder_test_util.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/serve/certificate.h"

namespace kube::internal {

// Waits until `condition` holds; for events in other processes.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline const serve::CertificateAuthority& TestCa() {
  static const auto* const ca = new serve::CertificateAuthority(serve::CertificateAuthority::Create("kubexx test CA").value());
  return *ca;
}

inline serve::KeyPair TestPair(const std::string& name, serve::CertificateRequest request = {}) {
  request.common_name = name;
  request.client = true;
  return TestCa().Issue(request).value();
}

// Captures the log of the process during its lifetime.
class CapturedLog {
 public:
  CapturedLog() : lines_(std::make_shared<Lines>()) {
    LogBackend::Default()->SetSink(MakeTextSink([lines = lines_](std::string_view line) {
      MutexLock lock(lines->mu);
      lines->text += line;
    }));
  }
  ~CapturedLog() { LogBackend::Default()->SetSink(MakeTextSink()); }
  std::string text() const {
    MutexLock lock(lines_->mu);
    return lines_->text;
  }

 private:
  struct Lines {
    Mutex mu;
    std::string text KUBE_GUARDED_BY(mu);
  };
  std::shared_ptr<Lines> lines_;
};

}  // namespace kube::internal
