// TemporaryDirectory: a folder that goes away with its owner, also where the owner's process is killed.
//
// Three nets, one below the other: the destructor removes it; where the process died, a shell that waits for that removes it; and what
// both missed (the machine went down) is found and removed by the next one of the same prefix.
#pragma once

#include <memory>
#include <string>

#include "base/process.h"
#include "kube/base/result.h"

namespace kube::testing::internal {

using kube::internal::Process;

// Thread safety: none needed, it is made and destroyed.
class TemporaryDirectory {
 public:
  // <TMPDIR or /tmp>/<prefix>-XXXXXX, readable for this user only. Errors: kConfig where it cannot be made.
  static Result<std::unique_ptr<TemporaryDirectory>> Create(const std::string& prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory() = default;

  std::string path_;
  int lock_fd_ = -1;       // held as long as the owner lives: what tells a stale folder from one in use
  int cleaner_pipe_ = -1;  // its end is the cleaner's signal
  std::unique_ptr<Process> cleaner_;
};

// Removes the folders <TMPDIR>/<prefix>-* of this user that nobody holds any more. Returns how many.
int RemoveStaleDirectories(const std::string& prefix);

// Where temporary things go: $TMPDIR, else /tmp.
std::string TemporaryRoot();

}  // namespace kube::testing::internal
