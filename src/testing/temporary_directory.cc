#include "testing/temporary_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace kube::testing::internal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "lock";
// A folder without a held lock may be one whose owner is about to take it.
constexpr time_t kYoungSeconds = 60;

// Waits for the end of its input, then removes $1. Children of the dead process may be writing in there for a moment more: it tries again
// for a while.
constexpr const char* kCleaner = R"sh(
trap '' HUP INT TERM
while read -r _; do :; done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  rm -rf -- "$1" 2> /dev/null
  [ -e "$1" ] || exit 0
  sleep 0.1
done
)sh";

bool HasPrefix(const std::string& text, const std::string& prefix) { return text.compare(0, prefix.size(), prefix) == 0; }

}  // namespace

std::string TemporaryRoot() {
  const char* from_environment = getenv("TMPDIR");
  std::string root = from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp";
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return root;
}

int RemoveStaleDirectories(const std::string& prefix) {
  int removed = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(TemporaryRoot(), ignored)) {
    if (!HasPrefix(entry.path().filename().string(), prefix + "-")) continue;
    const int folder = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) continue;
    struct stat info {};
    const int lock = fstat(folder, &info) == 0 && info.st_uid == geteuid() ? openat(folder, kLockFile, O_RDWR | O_CLOEXEC) : -1;
    const bool young = time(nullptr) - info.st_mtime < kYoungSeconds;
    const bool mine = info.st_uid == geteuid();
    bool stale = mine && !young;
    if (stale && lock >= 0) stale = flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (stale) {
      fs::remove_all(entry.path(), ignored);
      ++removed;
    }
    if (lock >= 0) close(lock);
    close(folder);
  }
  return removed;
}

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Create(const std::string& prefix) {
  RemoveStaleDirectories(prefix);
  std::string pattern = TemporaryRoot() + "/" + prefix + "-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error(ErrorKind::kConfig, "cannot make a folder in " + TemporaryRoot() + ": " + std::strerror(errno));
  }
  std::unique_ptr<TemporaryDirectory> directory(new TemporaryDirectory());
  directory->path_ = pattern;
  directory->lock_fd_ = open((pattern + "/" + kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (directory->lock_fd_ < 0 || flock(directory->lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorKind::kConfig, "cannot lock " + pattern + ": " + std::strerror(errno));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error::Internal(std::string("no pipe: ") + std::strerror(errno));
  directory->cleaner_pipe_ = ends[1];
  Result<std::unique_ptr<Process>> cleaner = Process::Start(
      {.argv = {"/bin/sh", "-c", kCleaner, "kubexx-cleaner", pattern}, .directory = "/", .stdin_fd = ends[0], .die_with_parent = false});
  close(ends[0]);
  if (!cleaner) return cleaner.error();
  directory->cleaner_ = std::move(*cleaner);
  return directory;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (cleaner_pipe_ >= 0) close(cleaner_pipe_);
  if (cleaner_ != nullptr) cleaner_->Wait(std::chrono::steady_clock::now() + std::chrono::seconds(5));
  if (lock_fd_ >= 0) close(lock_fd_);
}

}  // namespace kube::testing::internal
