#include "base/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/descriptor.h"

namespace kube::internal {
namespace {

constexpr int kMostLinks = 40;  // as Linux has it

Error Failed(const std::string& path, const std::string& what) { return Error(ErrorKind::kConfig, path + ": " + what); }
Error Failed(const std::string& path, const std::string& what, int code) {
  return Failed(path, what + ": " + std::generic_category().message(code));
}

Result<void> CheckTarget(const std::string& path, const struct stat& found) {
  if (S_ISLNK(found.st_mode)) {
    return Failed(path, "this is a symbolic link, and secrets are not written through links; name the file itself, or remove the link");
  }
  if (!S_ISREG(found.st_mode)) return Failed(path, "this is no regular file, and secrets are written to such files only");
  if (found.st_uid != geteuid()) {
    return Failed(path, "this file belongs to another user (uid " + std::to_string(found.st_uid) +
                            "), who could read the secrets in it; remove it, or name another file");
  }
  return {};
}

// 0, or the error's number.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

// 0, or the error's number, and nothing happened.
int Replace(const std::string& path, std::string_view text, mode_t mode) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));  // new, and 0600
  if (file.get() < 0) return errno;
  int code = fchmod(file.get(), mode) == 0 ? 0 : errno;
  if (code == 0) code = WriteAll(file.get(), text);
  if (!file.Close() && code == 0) code = errno;
  // A link that was put there meanwhile is replaced, not followed.
  if (code == 0 && rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) unlink(temporary.c_str());
  return code;
}

Result<void> Overwrite(const std::string& path, std::string_view text, mode_t mode) {
  // Not to hang on a pipe that was put there meanwhile.
  Descriptor file(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return Failed(path, "cannot write", errno);
  struct stat found {};
  if (fstat(file.get(), &found) != 0) return Failed(path, "cannot write", errno);
  if (Result<void> good = CheckTarget(path, found); !good) return good;
  if (found.st_nlink > 1) return Failed(path, "this file also has another name (a hard link), and secrets are not written there");
  if (fchmod(file.get(), mode) != 0 || ftruncate(file.get(), 0) != 0) return Failed(path, "cannot write", errno);
  if (const int code = WriteAll(file.get(), text); code != 0) return Failed(path, "cannot write", code);
  if (!file.Close()) return Failed(path, "cannot write", errno);
  return {};
}

}  // namespace

Result<void> WriteSecretFile(const std::string& path, std::string_view text, mode_t mode) {
  if (path.empty() || path.find('\0') != std::string::npos) return Failed(path, "cannot write", EINVAL);
  struct stat found {};
  const bool exists = lstat(path.c_str(), &found) == 0;
  if (!exists && errno != ENOENT) return Failed(path, "cannot write", errno);
  if (exists) {
    if (Result<void> good = CheckTarget(path, found); !good) return good;
  }
  const int code = Replace(path, text, mode);
  if (code == 0) return {};
  const bool in_place = code == EACCES || code == EPERM || code == EBUSY || code == EROFS || code == EXDEV;
  if (!exists || !in_place) return Failed(path, "cannot write", code);
  return Overwrite(path, text, mode);
}

Result<std::string> FollowOwnLinks(const std::string& path) {
  std::string at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat found {};
    if (lstat(at.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return at;
    if (found.st_uid != geteuid() && found.st_uid != 0) {
      return Failed(at, "this symbolic link belongs to another user (uid " + std::to_string(found.st_uid) +
                            "), and secrets are not written through such links");
    }
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlink(at.c_str(), target.data(), target.size());
    if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return Failed(at, "cannot read this symbolic link", errno);
    target.resize(static_cast<std::size_t>(size));
    const std::size_t slash = at.rfind('/');
    if (target[0] == '/' || slash == std::string::npos) {
      at = std::move(target);
    } else {
      at.resize(slash + 1);
      at += target;
    }
  }
  return Failed(path, "too many symbolic links", ELOOP);
}

}  // namespace kube::internal
