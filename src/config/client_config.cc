#include "kube/config/client_config.h"

#include <errno.h>
#include <fmt/format.h>

#include <string_view>

#include "config/text.h"
#include "kube/value/time.h"
#include "kube/version.h"

namespace kube {
namespace {

using internal::CleanText;
using internal::ParseUrl;
using internal::Quoted;
using internal::UrlParts;
using internal::WithoutUserInfo;

// "ClientConfig{host: "https://x", token: [redacted]}": what is not set is left out.
class Printer {
 public:
  void Text(std::string_view name, std::string_view value) {
    if (!value.empty()) Raw(name, Quoted(value));
  }
  void Secret(std::string_view name, bool set) {
    if (set) Raw(name, SecretString::kRedacted);
  }
  void Size(std::string_view name, std::string_view data) {
    if (!data.empty()) Raw(name, fmt::format("({} bytes)", data.size()));
  }
  void Flag(std::string_view name, bool value) {
    if (value) Raw(name, "true");
  }
  void Raw(std::string_view name, std::string_view value) {
    if (out_.back() != '{') out_ += ", ";
    out_ += name;
    out_ += ": ";
    out_ += value;
  }
  void Open(std::string_view name) { Raw(name, "{"); }
  void Close() { out_ += '}'; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_ = "ClientConfig{";
};

void PrintExec(const ExecConfig& exec, Printer& out) {
  out.Open("exec");
  out.Text("command", exec.command);
  // Either may hold a secret.
  if (!exec.args.empty()) out.Raw("args", fmt::format("{} {}", exec.args.size(), SecretString::kRedacted));
  for (const auto& [name, value] : exec.env) out.Raw("env " + Quoted(name), SecretString::kRedacted);
  out.Text("api_version", exec.api_version);
  out.Flag("provide_cluster_info", exec.provide_cluster_info);
  out.Secret("cluster_extension", !exec.cluster_extension.is_null());
  out.Close();
}

void PrintImpersonation(const ImpersonationConfig& impersonate, Printer& out) {
  out.Open("impersonate");
  out.Text("user", impersonate.user);
  out.Text("uid", impersonate.uid);
  if (!impersonate.groups.empty()) out.Raw("groups", "[" + internal::QuotedList(impersonate.groups) + "]");
  for (const auto& [key, values] : impersonate.extra) out.Raw("extra " + Quoted(key), "[" + internal::QuotedList(values) + "]");
  out.Close();
}

std::string_view Architecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__arm__)
  return "arm";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#elif defined(__riscv)
  return "riscv64";
#elif defined(__i386__)
  return "386";
#else
  return "unknown";
#endif
}

}  // namespace

std::string ClientConfig::ToString() const {
  Printer out;
  out.Text("host", WithoutUserInfo(host));
  out.Text("ns", ns);
  out.Size("ca_data", tls.ca_data);
  out.Text("ca_file", tls.ca_file);
  out.Text("server_name", tls.server_name);
  out.Flag("insecure", tls.insecure);
  out.Size("certificate_data", tls.certificate_data);
  out.Text("certificate_file", tls.certificate_file);
  out.Secret("key_data", !tls.key_data.empty());
  out.Text("key_file", tls.key_file);
  out.Secret("token", !token.empty());
  out.Text("token_file", token_file);
  out.Text("username", username);
  out.Secret("password", !password.empty());
  if (exec != nullptr) PrintExec(*exec, out);
  if (auth_provider != nullptr) {
    out.Open("auth_provider");
    out.Text("name", auth_provider->name);
    for (const auto& [key, value] : auth_provider->config) out.Raw(Quoted(key), SecretString::kRedacted);
    out.Close();
  }
  if (!impersonate.empty()) PrintImpersonation(impersonate, out);
  out.Text("proxy_url", WithoutUserInfo(proxy_url));
  out.Flag("compression", compression);
  out.Flag("disable_compression", disable_compression);
  out.Flag("disable_http2", disable_http2);
  out.Text("user_agent", user_agent);
  if (qps != 0) out.Raw("qps", fmt::format("{}", qps));
  if (burst != 0) out.Raw("burst", fmt::format("{}", burst));
  if (timeout.count() != 0) out.Raw("timeout", Duration(timeout).ToString());
  out.Text("content_type", content_type);
  out.Close();
  return out.Take();
}

ClientConfig ClientConfig::Anonymous() const {
  ClientConfig copy;  // lists what is safe: a field that is added later stays out until it is added here
  copy.host = host;
  copy.ns = ns;
  copy.tls.ca_data = tls.ca_data;
  copy.tls.ca_file = tls.ca_file;
  copy.tls.server_name = tls.server_name;
  copy.tls.insecure = tls.insecure;
  copy.proxy_url = proxy_url;
  copy.compression = compression;
  copy.disable_compression = disable_compression;
  copy.disable_http2 = disable_http2;
  copy.user_agent = user_agent;
  copy.qps = qps;
  copy.burst = burst;
  copy.timeout = timeout;
  copy.content_type = content_type;
  return copy;
}

Result<void> ClientConfig::Validate() const {
  std::vector<std::string> problems;
  if (Result<std::string> url = BaseUrl(); !url) problems.push_back(url.error().message());
  if (tls.insecure && tls.has_ca()) problems.push_back("tls.insecure together with a CA: it would not be used; remove one of them");
  const bool has_key = !tls.key_data.empty() || !tls.key_file.empty();
  if (tls.has_certificate() && !has_key) problems.push_back("a client certificate without its key: set tls.key_file or tls.key_data");
  if (!tls.has_certificate() && has_key) {
    problems.push_back("a client key without its certificate: set tls.certificate_file or tls.certificate_data");
  }
  const bool has_token = !token.empty() || !token_file.empty();
  const bool has_basic = !username.empty() || !password.empty();
  if (has_token && has_basic) problems.push_back("both a token and a username or password: keep one of them");
  if (exec != nullptr && auth_provider != nullptr) problems.push_back("both exec and auth_provider: keep one of them");
  if (exec != nullptr) {
    if (exec->command.empty()) problems.push_back("exec.command is empty");
    if (exec->api_version.empty()) problems.push_back("exec.api_version is empty");
  }
  if (impersonate.user.empty() && !impersonate.empty())
    problems.push_back("impersonate.uid, groups or extra without impersonate.user: set the user");
  if (!proxy_url.empty()) {
    if (std::string what = internal::ProxyUrlProblem(proxy_url); !what.empty())
      problems.push_back("proxy_url " + Quoted(WithoutUserInfo(proxy_url)) + ": " + what);
  }
  if (burst < 0) problems.push_back("burst is less than 0");
  if (timeout.count() < 0) problems.push_back("timeout is less than 0");
  for (char c : user_agent) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      problems.push_back("user_agent has a control character");
      break;
    }
  }
  if (problems.empty()) return {};
  return Error(ErrorKind::kConfig, "client config: " + internal::Joined(problems, "; "));
}

Result<std::string> ClientConfig::BaseUrl() const {
  const std::string shown = Quoted(WithoutUserInfo(host));
  std::string url = host.empty() ? "localhost" : host;
  const bool has_scheme = url.find("://") != std::string::npos;
  if (!has_scheme) url = (tls.has_ca() || tls.has_certificate() || tls.insecure ? "https://" : "http://") + url;
  Result<UrlParts> parts = ParseUrl(url);
  if (!parts) return Error(ErrorKind::kConfig, "host " + shown + ": " + parts.error().message());
  if (parts->scheme != "http" && parts->scheme != "https") {
    return Error(ErrorKind::kConfig, "host " + shown + ": the scheme has to be http or https");
  }
  while (!parts->path.empty() && parts->path.back() == '/') parts->path.pop_back();
  if (!has_scheme && !parts->path.empty()) {
    return Error(ErrorKind::kConfig, "host " + shown + ": has to be a URL or host:port; with a path, write the scheme too");
  }
  return parts->scheme + "://" + parts->authority + parts->path;
}

std::string DefaultUserAgent() {
  std::string program;
  for (std::string_view rest = program_invocation_short_name; char c : rest) {
    // What RFC 9110 allows in a product's name.
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    program += fits ? c : '_';
  }
  if (program.empty()) program = "unknown";
  return fmt::format("{}/v{} (linux/{}) kubexx/{}", program, KUBE_VERSION_STRING, Architecture(), KUBE_VERSION_STRING);
}

}  // namespace kube
