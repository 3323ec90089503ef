#include "scaffold/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generate/names.h"
#include "kube/meta/validation.h"

namespace kube::scaffold {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Error Invalid(std::string_view flag, std::string_view value, std::string_view what) {
  return Error::Invalid(fmt::format("{}: \"{}\" {}", flag, value, what));
}

// Takes "12" off `text`; false if it does not begin with a number from 1.
bool TakeNumber(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  if (digits == 0 || text[0] == '0') return false;
  text.remove_prefix(digits);
  return true;
}

// Names of the files' own functions and classes, of macros and classes of GoogleTest, and types of the C library.
constexpr auto kTaken = std::to_array<std::string_view>({"ClusterTest", "Environment", "Eventually", "Expectation",  "FAIL",         "FILE",
                                                         "DIR",         "InstallCrds", "Reconcile",  "Run",          "SUCCEED",      "Set",
                                                         "SetDefaults", "SetUp",       "Setup",      "SetupProject", "StartCluster", "TEST",
                                                         "TearDown",    "Test",        "TestBody",   "Validate"});

}  // namespace

Result<void> CheckProjectName(std::string_view name) {
  constexpr std::size_t kMost = kMaxDnsLabelLength - std::string_view("-webhook-ca").size();
  if (name.size() > kMost)
    return Invalid("--project-name", name,
                   fmt::format("is too long: objects in the cluster are named after it, so it may have {} letters", kMost));
  if (!ValidateDnsLabel(name) || !IsLower(name[0]))
    return Invalid("--project-name", name, "cannot name objects in the cluster: use lower case letters, digits and '-', such as guestbook");
  if (name == "kube")
    return Invalid("--project-name", name, "would be deployed to the namespace kube-system, which is Kubernetes' own: choose another one");
  return {};
}

Result<void> CheckDomain(std::string_view domain) {
  if (!ValidateDnsSubdomain(domain))
    return Invalid("--domain", domain, "is no domain: use lower case letters, digits, '-' and '.', such as my.domain");
  return {};
}

Result<void> CheckGroup(std::string_view group, std::string_view domain) {
  if (!group.empty() && !ValidateDnsSubdomain(group))
    return Invalid("--group", group, "is no group: use lower case letters, digits, '-' and '.', such as webapp");
  if (!domain.empty() && group == domain)
    return Invalid("--group", group, "is the project's domain, which is added to groups: use --group \"\" for the domain itself");
  if (!domain.empty() && group.ends_with("." + std::string(domain)))
    return Invalid(
        "--group", group,
        fmt::format("has the project's domain, which is added to groups: use {}", group.substr(0, group.size() - domain.size() - 1)));
  const std::string full = FullGroup(group, domain);
  if (full.find('.') == std::string::npos)
    return Invalid("--group", group, fmt::format("makes the group {}, which servers refuse: it needs a dot", full));
  if (full.size() > kMaxDnsSubdomainLength)
    return Invalid("--group", group, fmt::format("is too long with the domain: {} letters of {}", full.size(), kMaxDnsSubdomainLength));
  return {};
}

Result<void> CheckVersion(std::string_view version) {
  std::string_view rest = version;
  bool good = rest.starts_with('v');
  if (good) rest.remove_prefix(1);
  good = good && TakeNumber(rest);
  if (good && !rest.empty()) {
    good = rest.starts_with("alpha") || rest.starts_with("beta");
    if (good) rest.remove_prefix(rest.starts_with("alpha") ? 5 : 4);
    good = good && TakeNumber(rest) && rest.empty();
  }
  if (!good) return Invalid("--version", version, "is no version: use v1, v1beta1 or v1alpha1");
  return {};
}

Result<void> CheckKind(std::string_view kind) {
  const bool letters = std::all_of(kind.begin(), kind.end(), [](char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); });
  if (kind.empty() || !letters || !IsUpper(kind[0]) || kind.size() > kMaxDnsLabelLength)
    return Invalid("--kind", kind, "is no kind: use letters and digits, a capital letter first, such as Guestbook");
  if (kind.ends_with("List") && kind.size() > 4)
    return Invalid("--kind", kind, fmt::format("is the name of the list of {}: choose another one", kind.substr(0, kind.size() - 4)));
  if (generate::IsReservedName(kind)) return Invalid("--kind", kind, "cannot name a C++ struct: choose another one");
  if (std::find(kTaken.begin(), kTaken.end(), kind) != kTaken.end())
    return Invalid("--kind", kind, "is a name that the project's own code needs: choose another one");
  return {};
}

Result<void> CheckPlural(std::string_view plural) {
  if (!ValidateDnsLabel(plural))
    return Invalid("--plural", plural, "is no resource: use lower case letters, digits and '-', such as guestbooks");
  return {};
}

Result<void> CheckControllerName(std::string_view name) {
  if (!ValidateDnsLabel(name) || !IsLower(name[0]))
    return Invalid("--controller-name", name, "names no controller: use lower case letters, digits and '-', such as captain-backup");
  return {};
}

Result<void> CheckWebhookPath(std::string_view flag, std::string_view path) {
  const auto good = [](char c) {
    return IsUpper(c) || IsLower(c) || IsDigit(c) || std::string_view("/-_.~").find(c) != std::string_view::npos;
  };
  if (path.size() < 2 || path[0] != '/' || path.find("//") != std::string_view::npos || !std::all_of(path.begin(), path.end(), good))
    return Invalid(flag, path, "is no path of a URL: use letters, digits, '/' and '-', such as /mutate-captain");
  return {};
}

std::string ProjectNameOf(std::string_view folder) {
  std::string out;
  for (const char c : Lower(folder)) {
    if (IsLower(c) || (IsDigit(c) && !out.empty())) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string FullGroup(std::string_view group, std::string_view domain) {
  if (group.empty() || domain.empty()) return std::string(group.empty() ? domain : group);
  return fmt::format("{}.{}", group, domain);
}

std::string GroupName(std::string_view group, std::string_view domain) {
  if (group.empty()) return generate::NamespaceOfGroup(domain);
  std::string name(group);
  std::replace(name.begin(), name.end(), '.', '-');
  return generate::NamespaceOfGroup(name);
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace kube::scaffold
