#include "apiserver/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/secret_file.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

std::string PathIn(const std::string& dir) { return dir + "/apiserver.json"; }

Error Bad(const std::string& path, std::string why) { return Error(ErrorKind::kConfig, path + ": " + std::move(why)); }
Error FromErrno(const std::string& path) { return Bad(path, std::strerror(errno)); }

// Nothing: there is no such file.
Result<std::string> ReadPrivate(const std::string& path) {
  const internal::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::string();
    return FromErrno(path);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return FromErrno(path);
  if (!S_ISREG(info.st_mode)) return Bad(path, "not a regular file");
  if (info.st_uid != ::geteuid() || (info.st_mode & 077U) != 0) {
    return Bad(path, "holds keys, and another user owns it or can reach it; remove it, or make it private (chmod 600)");
  }
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(path);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<Identity> ReadIdentity(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return FromErrno(dir);
  const std::string path = PathIn(dir);
  const Result<std::string> text = ReadPrivate(path);
  if (!text) return text.error();
  Identity out;
  if (text->empty()) return out;
  const Result<Value> value = ParseJson(*text);
  if (!value) return Bad(path, value.error().message());
  const std::int64_t port = (*value)["port"].int_value();
  out.admin_token = (*value)["adminToken"].string_value().str();
  out.ca = {(*value)["caCertificate"].string_value().str(), (*value)["caKey"].string_value().str()};
  if (port <= 0 || port > 65535 || out.admin_token.empty()) return Bad(path, "not a file of kubexx apiserver; remove it");
  out.port = static_cast<std::uint16_t>(port);
  return out;
}

Result<void> WriteIdentity(const std::string& dir, const Identity& identity) {
  const Value value = Value::Object({{"port", std::int64_t{identity.port}},
                                     {"adminToken", identity.admin_token},
                                     {"caCertificate", identity.ca.certificate_pem},
                                     {"caKey", identity.ca.key_pem}});
  return internal::WriteSecretFile(PathIn(dir), ToJson(value) + "\n");
}

}  // namespace kube::apiserver
