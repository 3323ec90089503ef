// ConfigFlags: kubectl's flags, and the frame of command line programs.
#include "kube/client/config_flags.h"

#include <charconv>
#include <utility>

#include "config/text.h"
#include "kube/value/time.h"

namespace kube {
namespace {

using internal::Quoted;

// "ns/web", "namespace/web" and "namespaces/web" are "web": what kubectl prints can be pasted.
Result<std::string> ReadNamespace(const std::string& text) {
  std::string_view value = text;
  for (std::string_view prefix : {std::string_view("namespaces/"), std::string_view("namespace/"), std::string_view("ns/")}) {
    bool same = value.size() > prefix.size();
    for (std::size_t i = 0; same && i < prefix.size(); ++i) same = (value[i] | (value[i] == '/' ? 0 : 0x20)) == prefix[i];
    if (!same) continue;
    value.remove_prefix(prefix.size());
    break;
  }
  return std::string(value);
}

Result<std::chrono::nanoseconds> ReadTimeout(const std::string& value) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size() && seconds >= 0 && seconds <= 9'000'000'000)
    return std::chrono::nanoseconds(std::chrono::seconds(seconds));
  const Result<Duration> duration = Duration::Parse(value);
  if (!duration || *duration < Duration()) return Error::Invalid("expected seconds or a time such as 90s, 2m, 1h, not " + Quoted(value));
  return std::chrono::nanoseconds(duration->nanoseconds());
}

}  // namespace

void ConfigFlags::AddTo(FlagSet& flags, LoadOptions& options) {
  flags.Add("kubeconfig", &options.kubeconfig, "read this kubeconfig and no other").Value("FILE");
  flags.Add("context", &options.context, "the context to use, instead of the current one").Value("NAME").NotInEnvironment();
  flags.Add("master", &options.master, "the server, instead of the kubeconfig's").Value("URL").Alias("server").NotInEnvironment();
  flags.Add("namespace", &options.ns, &ReadNamespace, "the namespace, instead of the context's")
      .Letter('n')
      .Value("NAME")
      .NotInEnvironment();
  flags.Add("cluster", &options.cluster, "the cluster, instead of the context's").Value("NAME").NotInEnvironment();
  flags.Add("user", &options.user, "the user, instead of the context's").Value("NAME").NotInEnvironment();
  flags.Add("token", &options.token, "a bearer token").Value("TOKEN").Secret().NotInEnvironment();
  flags.Add("username", &options.username, "for basic authentication").Value("NAME").NotInEnvironment();
  flags.Add("password", &options.password, "for basic authentication").Secret().NotInEnvironment();
  flags.Add("client-certificate", &options.certificate_file, "a client certificate").Value("FILE").NotInEnvironment();
  flags.Add("client-key", &options.key_file, "its key").Value("FILE").NotInEnvironment();
  flags.Add("certificate-authority", &options.ca_file, "what signs the server's certificate").Value("FILE").NotInEnvironment();
  flags.Add("insecure-skip-tls-verify", &options.insecure, "accept any certificate: not safe").NotInEnvironment();
  flags.Add("tls-server-name", &options.tls_server_name, "the expected name in the server's certificate").Value("NAME").NotInEnvironment();
  flags.Add("proxy-url", &options.proxy_url, "connect through this proxy").Value("URL").Secret().NotInEnvironment();  // may hold a password
  flags.Add("disable-compression", &options.disable_compression, "do not request compressed responses");
  flags.Add("request-timeout", &options.timeout, &ReadTimeout, "the deadline of a request; 0 means none").Value("TIME");
  flags.Add("as", &options.impersonate.user, "the user to impersonate").Value("USER").NotInEnvironment();
  flags.Add("as-uid", &options.impersonate.uid, "the UID to impersonate").Value("UID").NotInEnvironment();
  flags.Add("as-group", &options.impersonate.groups, "a group to impersonate; may be repeated").Value("GROUP").Whole().NotInEnvironment();
  const auto add_extra = [&options](const std::string& value) -> Result<void> {
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) return Error::Invalid("expected key=value");
    options.impersonate.extra[value.substr(0, equals)].push_back(value.substr(equals + 1));
    return {};
  };
  flags.Call("as-user-extra", add_extra, "more of the user to impersonate; may be repeated").Value("KEY=VALUE").NotInEnvironment();
}

void ConfigFlags::UseEnvironmentOf(FlagSet& flags, const LoadOptions& options) {
  if (!options.getenv) return;
  std::vector<std::string> variables;
  for (const std::string& name : flags.Variables()) {
    if (const std::optional<std::string> value = options.getenv(name)) variables.push_back(name + "=" + *value);
  }
  flags.SetEnvironment(std::move(variables));
}

FlagSet ConfigFlags::All(LoadOptions& to) const {
  FlagSet all = *this;
  all.Group("cluster");
  AddTo(all, to);
  if (!has_environment()) UseEnvironmentOf(all, to);
  return all;
}

Result<void> ConfigFlags::Parse(int argc, const char* const* argv) { return Parse(Start(argc, argv)); }

Result<void> ConfigFlags::Parse(const std::vector<std::string>& arguments) {
  LoadOptions parsed = options;
  if (Result<void> done = All(parsed).Parse(arguments); !done) return done;
  options = std::move(parsed);
  return {};
}

std::string ConfigFlags::Help() const {
  LoadOptions shown = options;
  return All(shown).Help();
}

Result<Client> ConfigFlags::NewClient(ClientOptions client_options) const {
  const Result<ClientConfig> config = Load();
  if (!config) return config.error();
  return Client::FromConfig(*config, std::move(client_options));
}

int ConfigFlags::RunBody(int argc, const char* const* argv, const Context& ctx, const Body& body) {
  const auto all = [&]() -> Result<int> {
    if (Result<void> parsed = Parse(argc, argv); !parsed) return parsed.error();
    const Result<Client> client = NewClient();
    if (!client) return client.error();
    Result<int> code = 0;
    try {
      code = body(ctx, *client);
    } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
      code = e.error();
    }
    if (!code && ctx.stopped() && IsCancelled(code.error())) return 0;  // it was asked to stop, and did
    return code;
  };
  return Finish(all);
}

}  // namespace kube
