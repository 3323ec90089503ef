// Reading small files.
#pragma once

#include <cstddef>
#include <string>

namespace kube::internal {

inline constexpr std::size_t kMaxConfigFileBytes = std::size_t{64} << 20;

struct FileText {
  std::string text;
  int error_number = 0;  // 0: the file was read

  bool ok() const { return error_number == 0; }
  bool missing() const;
  // "No such file or directory".
  std::string problem() const;
};

// Reads a whole file, which may be a pipe. A file larger than kMaxConfigFileBytes returns EFBIG.
FileText ReadFile(const std::string& path);

// Why a file cannot be read; empty if it can. Neither reads the file nor waits for the other end of a pipe.
std::string ReadProblem(const std::string& path);

}  // namespace kube::internal
