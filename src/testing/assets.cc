#include "testing/assets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "base/secret_file.h"
#include "codec/base64.h"
#include "kube/codec/yaml.h"

namespace kube::testing::internal {
namespace {

// Ports from here to the start of the ephemeral range.
constexpr int kLowestPort = 20000;
constexpr int kPortTries = 200;

int EphemeralStart() {
  std::ifstream in("/proc/sys/net/ipv4/ip_local_port_range");
  int low = 0;
  return in >> low ? low : 32768;
}

bool CanBind(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int reuse = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return bound;
}

// `name`-data in base64, or the file that `name` names.
Result<std::string> DataOrFile(const Value& from, const std::string& name, const std::string& folder) {
  if (const Value* data = from.Find(name + "-data")) {
    std::string out;
    if (!kube::internal::DecodeBase64(data->string_value().view(), out))
      return Error(ErrorKind::kConfig, "kubeconfig: " + name + "-data is not base64");
    return out;
  }
  const std::string path = from[name].string_value().str();
  if (path.empty()) return std::string();
  return ReadFile(path[0] == '/' ? path : folder + "/" + path);
}

const Value& Named(const Value& list, std::string_view name, std::string_view member) {
  static const Value none;
  for (const Value& item : list.list()) {
    if (item["name"].string_value() == name) return item[member];
  }
  return none;
}

}  // namespace

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

std::string ControlPlaneCache() {
  std::string cache = Environment("KUBEXX_CACHE");
  if (cache.empty()) {
    std::string base = Environment("XDG_CACHE_HOME");
    if (base.empty()) base = Environment("HOME") + "/.cache";
    cache = base + "/kubexx";
  }
  return cache + "/control-plane";
}

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

Result<std::uint16_t> PickPort() {
  std::random_device random;
  std::uniform_int_distribution<int> ports(kLowestPort, std::max(kLowestPort + 1000, EphemeralStart() - 1));
  for (int i = 0; i < kPortTries; ++i) {
    const auto port = static_cast<std::uint16_t>(ports(random));
    if (CanBind(port)) return port;
  }
  return Error(ErrorKind::kTransport, "no free port on 127.0.0.1");
}

Result<ExistingCluster> FindExistingCluster() {
  std::vector<std::string> paths;
  std::istringstream list(Environment("KUBECONFIG"));
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) paths.push_back(path);
  }
  if (paths.empty()) paths.push_back(Environment("HOME") + "/.kube/config");
  for (const std::string& path : paths) {
    Result<std::string> text = ReadFile(path);
    if (!text) continue;
    const std::size_t slash = path.rfind('/');
    return ReadKubeconfig(*text, slash == std::string::npos ? "." : path.substr(0, slash));
  }
  return Error(ErrorKind::kConfig, "USE_EXISTING_CLUSTER is set, and there is no kubeconfig: " + paths.front());
}

Result<ExistingCluster> ReadKubeconfig(const std::string& text, const std::string& folder) {
  Result<std::vector<Value>> documents = ParseYaml(text);
  if (!documents) return documents.error().WithContext("kubeconfig");
  if (documents->empty()) return Error(ErrorKind::kConfig, "the kubeconfig is empty");
  const Value& config = documents->front();
  const Value& context = Named(config["contexts"], config["current-context"].string_value(), "context");
  const Value& cluster = Named(config["clusters"], context["cluster"].string_value(), "cluster");
  const Value& user = Named(config["users"], context["user"].string_value(), "user");
  ExistingCluster out;
  out.kubeconfig = text;
  out.url = cluster["server"].string_value().str();
  if (out.url.empty()) return Error(ErrorKind::kConfig, "the kubeconfig's current context leads to no server");
  while (!out.url.empty() && out.url.back() == '/') out.url.pop_back();
  const std::pair<const Value*, std::pair<std::string, std::string*>> parts[] = {
      {&cluster, {"certificate-authority", &out.identity.ca_pem}},
      {&user, {"client-certificate", &out.identity.certificate_pem}},
      {&user, {"client-key", &out.identity.key_pem}},
  };
  for (const auto& [from, what] : parts) {
    Result<std::string> pem = DataOrFile(*from, what.first, folder);
    if (!pem) return pem.error();
    *what.second = *pem;
  }
  out.identity.token = user["token"].string_value().str();
  return out;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(ErrorKind::kConfig, path + ": " + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Result<void> WriteFile(const std::string& path, std::string_view text) { return kube::internal::WriteSecretFile(path, text); }

std::string TailOf(const std::string& path, int lines) {
  Result<std::string> text = ReadFile(path);
  if (!text) return "";
  std::size_t from = text->size();
  if (from > 0 && text->back() == '\n') --from;  // ends the last line, starts none
  for (int i = 0; i < lines; ++i) {
    const std::size_t before = from == 0 ? std::string::npos : text->rfind('\n', from - 1);
    if (before == std::string::npos) return *text;
    from = before;
  }
  return text->substr(from + 1);
}

}  // namespace kube::testing::internal
