#include "client/discovery_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "client/discovery_parse.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

const Logger& Log() {
  static const Logger log("client.discovery");
  return log;
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '(' || c == ')';
}

// Names come from a server, and a server must not choose where files go.
bool IsSafePath(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (segment.empty() || segment.front() == '.' || segment.size() > 255) return false;
    if (!std::all_of(segment.begin(), segment.end(), [](char c) { return IsWordCharacter(c) || c == '-'; })) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::optional<std::string> ReadFile(const std::string& path, std::optional<Clock::WallTime> oldest) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const Clock::WallTime written(std::chrono::duration_cast<Clock::WallTime::duration>(std::chrono::seconds(info.st_mtim.tv_sec) +
                                                                                      std::chrono::nanoseconds(info.st_mtim.tv_nsec)));
  if (oldest && written < *oldest) return std::nullopt;
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (text.empty()) return std::nullopt;
  return text;
}

// The folder of `path`, and those above it.
bool MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0750) != 0 && errno != EEXIST) return false;
  }
  return true;
}

bool WriteAllBytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// Into a file beside it, which then takes its place.
bool TryReplaceFile(const std::string& path, std::string_view bytes) {
  if (!MakeFolders(path)) return false;
  std::string temporary = path + ".XXXXXX";
  Descriptor file(::mkstemp(temporary.data()));
  if (file.get() < 0) return false;
  const bool done =
      WriteAllBytes(file.get(), bytes) && ::fchmod(file.get(), 0660) == 0 && file.Close() && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) {
    const int why = errno;
    ::unlink(temporary.c_str());
    errno = why;
  }
  return done;
}

void ReplaceFile(const std::string& path, std::string_view bytes) {
  if (TryReplaceFile(path, bytes)) return;
  Log().V(1).Info("Could not write a discovery file", {{"path", path}, {"why", std::strerror(errno)}});
}

// FNV-1a: detects that a file was truncated or edited, no more.
std::string Checksum(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

std::string OpenApiHeader(std::string_view url, std::string_view document) { return std::string(url) + " " + Checksum(document) + "\n"; }

}  // namespace

std::string HostFolder(std::string_view host) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (host.starts_with(scheme)) host.remove_prefix(scheme.size());
  }
  std::string out;
  while (!host.empty()) {
    const std::size_t slash = host.find('/');
    const std::string_view segment = host.substr(0, slash);
    host = slash == std::string_view::npos ? std::string_view() : host.substr(slash + 1);
    if (segment.empty() || segment == ".") continue;
    if (!out.empty()) out += '/';
    if (segment == "..") {
      out += "__";
      continue;
    }
    for (const char c : segment) out += IsWordCharacter(c) ? c : '_';
  }
  return out.empty() ? "localhost" : out;
}

DiscoveryFiles::DiscoveryFiles(const std::string& dir, std::string_view host, std::chrono::seconds ttl)
    : root_(dir.empty() ? std::string() : dir + "/" + HostFolder(host)), ttl_(ttl) {}

std::optional<std::vector<ApiGroup>> DiscoveryFiles::ReadGroups(Clock::WallTime now) const {
  if (!enabled()) return std::nullopt;
  const std::optional<std::string> text = ReadFile(root_ + "/servergroups.json", now - ttl_);
  if (!text) return std::nullopt;
  Result<std::vector<ApiGroup>> groups = ReadApiGroups(*text);
  if (!groups || groups->empty()) return std::nullopt;
  return *std::move(groups);
}

std::optional<ApiResourceList> DiscoveryFiles::ReadResources(const GroupVersion& group_version, Clock::WallTime now) const {
  const std::string name = group_version.ToString();
  if (!enabled() || !IsSafePath(name)) return std::nullopt;
  const std::optional<std::string> text = ReadFile(root_ + "/" + name + "/serverresources.json", now - ttl_);
  if (!text) return std::nullopt;
  Result<ApiResourceList> list = ParseApiResourceList(group_version, *text);
  if (!list || list->resources.empty()) return std::nullopt;
  return *std::move(list);
}

void DiscoveryFiles::WriteAll(const ServerApis& apis) const {
  if (!enabled()) return;
  for (const ApiResourceList& list : apis.lists) {
    const std::string name = list.group_version.ToString();
    if (list.resources.empty() || !IsSafePath(name)) continue;
    ReplaceFile(root_ + "/" + name + "/serverresources.json", WriteApiResourceList(list));
  }
  // Last: a reader that finds this file also finds the others.
  if (!apis.groups.empty()) ReplaceFile(root_ + "/servergroups.json", WriteApiGroups(apis.groups));
}

std::optional<std::string> DiscoveryFiles::ReadOpenApi(std::string_view path, std::string_view url) const {
  if (!enabled() || !IsSafePath(path)) return std::nullopt;
  std::optional<std::string> text = ReadFile(root_ + "/openapi/v3/" + std::string(path) + ".json", std::nullopt);
  if (!text) return std::nullopt;
  const std::size_t line = text->find('\n');
  if (line == std::string::npos) return std::nullopt;
  std::string document = text->substr(line + 1);
  if (text->substr(0, line + 1) != OpenApiHeader(url, document)) return std::nullopt;
  return document;
}

void DiscoveryFiles::WriteOpenApi(std::string_view path, std::string_view url, std::string_view document) const {
  if (!enabled() || !IsSafePath(path)) return;
  ReplaceFile(root_ + "/openapi/v3/" + std::string(path) + ".json", OpenApiHeader(url, document).append(document));
}

}  // namespace kube::internal
