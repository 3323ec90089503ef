// A folder, or a file, that is removed at the end of the test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace kube::internal {

class TestFolder {
 public:
  TestFolder() : path_(::testing::TempDir() + "kubexx-test-XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string At(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file atomically and creates its directories. Returns the path.
  std::string Write(const std::string& name, std::string_view text, mode_t mode = 0600) const {
    const std::string path = At(name);
    const std::string part = path + ".new";
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(part, std::ios::binary) << text;
    EXPECT_EQ(chmod(part.c_str(), mode), 0);
    EXPECT_EQ(rename(part.c_str(), path.c_str()), 0);
    return path;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(At(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(At(name)); }
  void Remove(const std::string& name) const { std::filesystem::remove(At(name)); }
  int Mode(const std::string& name) const {
    struct stat status {};
    return stat(At(name).c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 07777) : -1;
  }

 private:
  std::string path_;
};

class TestFile {
 public:
  explicit TestFile(std::string_view content) : path_(folder_.Write("file", content)) {}
  const std::string& path() const { return path_; }

 private:
  const TestFolder folder_;
  const std::string path_;
};

}  // namespace kube::internal
