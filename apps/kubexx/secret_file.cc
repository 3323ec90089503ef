#include "secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace kube::app {

Result<void> WriteSecretFile(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Error(ErrorKind::kConfig, path + ": " + std::strerror(errno));
  int failed = fchmod(fd, 0600) == 0 ? 0 : errno;
  std::string_view rest = text;
  while (failed == 0 && !rest.empty()) {
    const ssize_t written = write(fd, rest.data(), rest.size());
    if (written < 0) {
      failed = errno;
    } else {
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  close(fd);
  if (failed != 0) return Error(ErrorKind::kConfig, path + ": " + std::strerror(failed));
  return {};
}

}  // namespace kube::app
