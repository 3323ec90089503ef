// What the tests of credentials share: a folder, scripts in it, certificates, and the log.
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

#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/serve/certificate.h"

namespace kube::internal {

// A folder that goes away with the test.
class TestFolder {
 public:
  TestFolder() : path_(::testing::TempDir() + "kubexx-config-test-XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, std::string_view text, mode_t mode = 0600) const {
    const std::string path = Path(name);
    const std::string part = path + ".new";  // readers see the old text or the new one
    std::ofstream(part, std::ios::binary) << text;
    EXPECT_EQ(chmod(part.c_str(), mode), 0);
    EXPECT_EQ(rename(part.c_str(), path.c_str()), 0);
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(Path(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }
  void Remove(const std::string& name) const { std::filesystem::remove(Path(name)); }

 private:
  std::string path_;
};

// Until it holds; for things that other processes do.
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

// Takes the log of the process as long as it lives.
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
