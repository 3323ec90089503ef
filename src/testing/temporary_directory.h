// TemporaryDirectory: a directory that is removed with its owner, even if the owner's process is killed.
//
// There are three levels: the destructor removes it; if the process died, a shell that waits for that removes it; and what both missed (the
// machine went down) is removed by the next TemporaryDirectory with the same prefix.
// both missed (the machine went down) is found and removed by the next one of the same prefix.
#pragma once

#include <memory>
#include <string>

#include "base/process.h"
#include "kube/base/result.h"

namespace kube::testing::internal {

using kube::internal::Process;

// Thread safety: none needed.
class TemporaryDirectory {
 public:
  // <TMPDIR or /tmp>/<prefix>-XXXXXX, readable for this user only. Errors: kConfig if it cannot be created.
  static Result<std::unique_ptr<TemporaryDirectory>> Create(const std::string& prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory() = default;

  std::string path_;
  int lock_fd_ = -1;       // held while the owner lives: distinguishes a stale directory from one in use
  int cleaner_pipe_ = -1;  // its end is the cleaner's signal
  std::unique_ptr<Process> cleaner_;
};

// Removes stale directories <TMPDIR>/<prefix>-* of this user. Returns how many.
int RemoveStaleDirectories(const std::string& prefix);

// The directory for temporary files: $TMPDIR, or /tmp.
std::string TemporaryRoot();

}  // namespace kube::testing::internal
