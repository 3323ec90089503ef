// Cleans external text for messages, and parses URLs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

// Replaces characters that could control a terminal or forge a line (control, text-direction and private-use characters) by "U+001B" and
// invalid UTF-8 by the replacement character. With `keep_space`, keeps tabs and line ends, for multi-line text.
std::string CleanText(std::string_view text, bool keep_space = false);

// Cleaned, shortened if it is very long, and in double quotes.
KUBE_EXPORT std::string Quoted(std::string_view text);
// "a", "b", "c"; shortened if there are many.
std::string QuotedList(const std::vector<std::string>& names);

bool IsUtf8(std::string_view text);

// The URL with user and password replaced by "[redacted]".
std::string WithoutUserInfo(std::string_view url);

// The text without leading and trailing white space.
std::string_view Trimmed(std::string_view text);

std::string Joined(const std::vector<std::string>& parts, std::string_view separator);

struct UrlParts {
  std::string scheme;     // in lower case
  std::string authority;  // with user info, unchanged
  std::string host;       // without brackets
  std::string port;       // empty: none
  std::string path;       // with its leading slash, or empty
};

// Parses "scheme://host:port/path?query#fragment" and drops query and fragment. Errors: kConfig; the message does not repeat the URL.
Result<UrlParts> ParseUrl(std::string_view url);

// Why a proxy URL is invalid; empty if it is valid.
std::string ProxyUrlProblem(std::string_view url);

}  // namespace kube::internal
