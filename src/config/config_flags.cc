#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text.h"
#include "kube/config/load.h"
#include "kube/value/time.h"

namespace kube {
namespace {

using internal::Quoted;

// Empty where the value was taken; else what is wrong with it.
using Setter = std::string (*)(LoadOptions&, std::string_view);

template <std::string LoadOptions::*member>
std::string SetText(LoadOptions& options, std::string_view value) {
  options.*member = value;
  return {};
}

template <std::optional<bool> LoadOptions::*member>
std::string SetFlag(LoadOptions& options, std::string_view value) {
  const bool yes = value == "true" || value == "True" || value == "TRUE" || value == "1" || value == "t" || value == "T";
  const bool no = value == "false" || value == "False" || value == "FALSE" || value == "0" || value == "f" || value == "F";
  if (!yes && !no) return "expected true or false, not " + Quoted(value);
  options.*member = yes;
  return {};
}

// "ns/web", "namespace/web" and "namespaces/web" are "web": what kubectl prints can be pasted.
std::string SetNamespace(LoadOptions& options, std::string_view value) {
  for (std::string_view prefix : {std::string_view("namespaces/"), std::string_view("namespace/"), std::string_view("ns/")}) {
    bool same = value.size() > prefix.size();
    for (std::size_t i = 0; same && i < prefix.size(); ++i) same = (value[i] | (value[i] == '/' ? 0 : 0x20)) == prefix[i];
    if (!same) continue;
    value.remove_prefix(prefix.size());
    break;
  }
  options.ns = value;
  return {};
}

std::string SetExtra(LoadOptions& options, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || equals == 0) return "expected key=value";
  options.impersonate.extra[std::string(value.substr(0, equals))].emplace_back(value.substr(equals + 1));
  return {};
}

std::string SetTimeout(LoadOptions& options, std::string_view value) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size() && seconds >= 0 && seconds <= 9'000'000'000) {
    options.timeout = std::chrono::seconds(seconds);
    return {};
  }
  Result<Duration> duration = Duration::Parse(value);
  if (!duration || *duration < Duration()) return "expected seconds or a time such as 90s, 2m, 1h, not " + Quoted(value);
  options.timeout = std::chrono::nanoseconds(duration->nanoseconds());
  return {};
}

struct Flag {
  std::string_view name;
  Setter set;
  bool takes_value;
  std::string_view argument;  // for --help; empty: not shown
  std::string_view help;
};

constexpr Flag kFlags[] = {
    {"kubeconfig", &SetText<&LoadOptions::kubeconfig>, true, "FILE", "read this kubeconfig and no other"},
    {"context", &SetText<&LoadOptions::context>, true, "NAME", "the context to use, instead of the current one"},
    {"master", &SetText<&LoadOptions::master>, true, "URL", "the server, instead of the kubeconfig's"},
    {"server", &SetText<&LoadOptions::master>, true, "", ""},
    {"namespace", &SetNamespace, true, "NAME", "the namespace, instead of the context's (also -n)"},
    {"n", &SetNamespace, true, "", ""},
    {"cluster", &SetText<&LoadOptions::cluster>, true, "NAME", "the cluster, instead of the context's"},
    {"user", &SetText<&LoadOptions::user>, true, "NAME", "the user, instead of the context's"},
    {"token", &SetText<&LoadOptions::token>, true, "TOKEN", "a bearer token"},
    {"username", &SetText<&LoadOptions::username>, true, "NAME", "for basic authentication"},
    {"password", &SetText<&LoadOptions::password>, true, "TEXT", "for basic authentication"},
    {"client-certificate", &SetText<&LoadOptions::certificate_file>, true, "FILE", "a client certificate"},
    {"client-key", &SetText<&LoadOptions::key_file>, true, "FILE", "its key"},
    {"certificate-authority", &SetText<&LoadOptions::ca_file>, true, "FILE", "what signs the server's certificate"},
    {"insecure-skip-tls-verify", &SetFlag<&LoadOptions::insecure>, false, "", "accept any certificate: not safe"},
    {"tls-server-name", &SetText<&LoadOptions::tls_server_name>, true, "NAME", "the name that the server's certificate has to have"},
    {"proxy-url", &SetText<&LoadOptions::proxy_url>, true, "URL", "connect through this proxy"},
    {"disable-compression", &SetFlag<&LoadOptions::disable_compression>, false, "", "do not ask for compressed answers"},
    {"request-timeout", &SetTimeout, true, "TIME", "give a request up after this time; 0: never"},
    {"as",
     [](LoadOptions& options, std::string_view value) {
       options.impersonate.user = value;
       return std::string();
     },
     true, "USER", "the user to impersonate"},
    {"as-uid",
     [](LoadOptions& options, std::string_view value) {
       options.impersonate.uid = value;
       return std::string();
     },
     true, "UID", "the UID to impersonate"},
    {"as-group",
     [](LoadOptions& options, std::string_view value) {
       options.impersonate.groups.emplace_back(value);
       return std::string();
     },
     true, "GROUP", "a group to impersonate; may be repeated"},
    {"as-user-extra", &SetExtra, true, "KEY=VALUE", "more of the user to impersonate; may be repeated"},
};

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

// "-n", "--namespace"
std::string Shown(const Flag& flag) { return (flag.name.size() == 1 ? "-" : "--") + std::string(flag.name); }

}  // namespace

Result<std::vector<std::string>> ConfigFlags::Parse(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return Parse(arguments);
}

Result<std::vector<std::string>> ConfigFlags::Parse(const std::vector<std::string>& arguments) {
  LoadOptions parsed = options;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const std::size_t dashes = argument.substr(0, 2) == "--" ? 2 : argument.substr(0, 1) == "-" ? 1 : 0;
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(dashes, equals == std::string_view::npos ? equals : equals - dashes);
    // One dash is enough, as Go's own flags have it; but --n is nobody's.
    const Flag* flag = dashes == 0 || (dashes == 2 && name.size() == 1) ? nullptr : FindFlag(name);
    if (flag == nullptr) {
      rest.emplace_back(argument);
      continue;
    }
    std::string_view value = "true";
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (flag->takes_value) {
      if (++i == arguments.size()) return Error::Invalid(Shown(*flag) + " needs a value");
      value = arguments[i];
    }
    if (std::string problem = flag->set(parsed, value); !problem.empty()) return Error::Invalid(Shown(*flag) + ": " + problem);
  }
  options = std::move(parsed);
  return rest;
}

bool ConfigFlags::Set(std::string_view name, std::string_view value) {
  const Flag* flag = FindFlag(name);
  return flag != nullptr && flag->set(options, value).empty();
}

std::string ConfigFlags::Help() {
  std::string out;
  for (const Flag& flag : kFlags) {
    if (flag.help.empty()) continue;
    const std::string left = Shown(flag) + (flag.argument.empty() ? "" : "=" + std::string(flag.argument));
    out += fmt::format("  {:<28} {}\n", left, flag.help);
  }
  return out;
}

}  // namespace kube
