// Text from outside that goes into messages, and the parts of URLs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

// Characters that could drive a terminal or forge a line (controls, text-direction marks, private ones) become "U+001B"; what is not
// UTF-8 becomes the replacement character. With `keep_space`, tabs and line ends stay: for texts of several lines.
std::string CleanText(std::string_view text, bool keep_space = false);

// Cleaned, shortened where it is very long, and in double quotes.
KUBE_EXPORT std::string Quoted(std::string_view text);
// "a", "b", "c"; the first few of many.
std::string QuotedList(const std::vector<std::string>& names);

bool IsUtf8(std::string_view text);

// The URL with "[redacted]" in the place of user and password.
std::string WithoutUserInfo(std::string_view url);

// The text before the first and behind the last character that is no white space.
std::string_view Trimmed(std::string_view text);

std::string Joined(const std::vector<std::string>& parts, std::string_view separator);

struct UrlParts {
  std::string scheme;     // in lower case
  std::string authority;  // with user info, as it was
  std::string host;       // without brackets
  std::string port;       // empty: none
  std::string path;       // with its slash, or empty
};

// "scheme://host:port/path?query#fragment"; query and fragment are dropped. Errors: kConfig; the message does not repeat the URL.
Result<UrlParts> ParseUrl(std::string_view url);

// What is wrong with a proxy's URL; empty where nothing is.
std::string ProxyUrlProblem(std::string_view url);

}  // namespace kube::internal
