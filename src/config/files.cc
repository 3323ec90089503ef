#include "config/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace kube::internal {
namespace {

std::string Describe(int error_number) { return std::generic_category().message(error_number); }

int Open(const std::string& path, int flags) {
  if (path.find('\0') != std::string::npos) {
    errno = EINVAL;
    return -1;
  }
  int fd = -1;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

bool FileText::missing() const { return error_number == ENOENT; }
std::string FileText::problem() const { return Describe(error_number); }

FileText ReadFile(const std::string& path) {
  FileText file;
  const int fd = Open(path, 0);
  if (fd < 0) {
    file.error_number = errno;
    return file;
  }
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file.error_number = errno;
    if (n > 0 && file.text.size() + static_cast<std::size_t>(n) > kMaxConfigFileBytes) file.error_number = EFBIG;
    if (n <= 0 || !file.ok()) break;
    file.text.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  return file;
}

std::string ReadProblem(const std::string& path) {
  const int fd = Open(path, O_NONBLOCK);
  if (fd < 0) return Describe(errno);
  struct stat status {};
  const bool folder = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
  close(fd);
  return folder ? Describe(EISDIR) : std::string();
}

}  // namespace kube::internal
