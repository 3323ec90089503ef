// Reading small files.
#pragma once

#include <cstddef>
#include <string>

namespace kube::internal {

inline constexpr std::size_t kMaxConfigFileBytes = std::size_t{64} << 20;

struct FileText {
  std::string text;
  int error_number = 0;  // 0: it was read

  bool ok() const { return error_number == 0; }
  bool missing() const;
  // "No such file or directory".
  std::string problem() const;
};

// The whole file; it may be a pipe. Files beyond kMaxConfigFileBytes give EFBIG.
FileText ReadFile(const std::string& path);

// Why a file cannot be read; empty where it can. Does not read, and does not wait for the other end of a pipe.
std::string ReadProblem(const std::string& path);

}  // namespace kube::internal
