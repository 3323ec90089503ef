#include "apiserver/names.h"

#include <fmt/format.h>

namespace kube::apiserver {
namespace {

constexpr std::string_view kLabelRegex = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kLabel1035Regex = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kNameRegex = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool Lower(char c) { return c >= 'a' && c <= 'z'; }
bool Digit(char c) { return c >= '0' && c <= '9'; }
bool Alphanumeric(char c) { return Lower(c) || Digit(c) || (c >= 'A' && c <= 'Z'); }

bool IsLabel(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text) {
    if (!Lower(c) && !Digit(c) && c != '-') return false;
  }
  return text.front() != '-' && text.back() != '-';
}

bool IsName(std::string_view text) {
  if (text.empty() || !Alphanumeric(text.front()) || !Alphanumeric(text.back())) return false;
  for (char c : text) {
    if (!Alphanumeric(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

bool IsSubdomain(std::string_view text) {
  for (;;) {
    std::size_t dot = text.find('.');
    if (!IsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string TooLongMessage(std::size_t limit, std::string_view unit) { return fmt::format("must be no more than {} {}", limit, unit); }

// "<rule> (e.g. 'a',  or 'b', regex used for validation is '<regex>')"
std::string RegexMessage(std::string_view rule, std::string_view regex, std::initializer_list<std::string_view> examples) {
  std::string out = fmt::format("{} (e.g. ", rule);
  bool first = true;
  for (std::string_view example : examples) {
    out += fmt::format("{}'{}', ", first ? "" : " or ", example);
    first = false;
  }
  return out + fmt::format("regex used for validation is '{}')", regex);
}

}  // namespace

Problems DnsLabelProblems(std::string_view text) {
  Problems out;
  if (text.size() > 63) out.push_back(TooLongMessage(63, "characters"));
  if (!IsLabel(text) && text.find('.') != std::string_view::npos && IsSubdomain(text)) {
    out.emplace_back("must not contain dots");
  } else if (!IsLabel(text)) {
    out.push_back(
        RegexMessage("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
                     "end with an alphanumeric character",
                     kLabelRegex, {"my-name", "123-abc"}));
  }
  return out;
}

Problems Dns1035LabelProblems(std::string_view text) {
  Problems out;
  if (text.size() > 63) out.push_back(TooLongMessage(63, "characters"));
  if (text.find('.') != std::string_view::npos && IsSubdomain(text)) {
    out.emplace_back("must not contain dots");
  } else if (!IsLabel(text) || !Lower(text.front())) {
    out.push_back(
        RegexMessage("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
                     "character, and end with an alphanumeric character",
                     kLabel1035Regex, {"my-name", "abc-123"}));
  }
  return out;
}

Problems DnsSubdomainProblems(std::string_view text) {
  Problems out;
  if (text.size() > 253) out.push_back(TooLongMessage(253, "characters"));
  if (!IsSubdomain(text)) {
    out.push_back(
        RegexMessage("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
                     "start and end with an alphanumeric character",
                     fmt::format("{0}(\\.{0})*", kLabelRegex), {"example.com"}));
  }
  return out;
}

Problems PathSegmentProblems(std::string_view text) {
  if (text == "." || text == "..") return {fmt::format("may not be '{}'", text)};
  Problems out;
  for (std::string_view illegal : {"/", "%"}) {
    if (text.find(illegal) != std::string_view::npos) out.push_back(fmt::format("may not contain '{}'", illegal));
  }
  return out;
}

Problems QualifiedNameProblems(std::string_view text) {
  Problems out;
  std::string_view name = text;
  if (std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {fmt::format("a valid label key {}",
                          RegexMessage("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
                                       "alphanumeric character",
                                       kNameRegex, {"MyName", "my.name", "123-abc"})) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& problem : DnsSubdomainProblems(prefix)) out.push_back("prefix part " + problem);
    }
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    out.push_back("name part " + TooLongMessage(63, "bytes"));
  }
  if (!IsName(name)) {
    out.push_back("name part " + RegexMessage("must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
                                              "alphanumeric character",
                                              kNameRegex, {"MyName", "my.name", "123-abc"}));
  }
  return out;
}

Problems LabelValueProblems(std::string_view text) {
  Problems out;
  if (text.size() > 63) out.push_back(TooLongMessage(63, "bytes"));
  if (!text.empty() && !IsName(text)) {
    out.push_back(
        RegexMessage("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
                     "start and end with an alphanumeric character",
                     "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", {"MyValue", "my_value", "12345"}));
  }
  return out;
}

}  // namespace kube::apiserver
