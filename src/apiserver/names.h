// The rules for names, in the words of the server. Each function gives the messages of all rules that the text breaks; none: it is fine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube::apiserver {

using Problems = std::vector<std::string>;

Problems DnsLabelProblems(std::string_view text);
// A DNS label that starts with a letter: Services.
Problems Dns1035LabelProblems(std::string_view text);
Problems DnsSubdomainProblems(std::string_view text);
// Names that are only parts of a URL's path: RBAC.
Problems PathSegmentProblems(std::string_view text);
// "prefix/name": label keys, finalizers, ...
Problems QualifiedNameProblems(std::string_view text);
Problems LabelValueProblems(std::string_view text);

}  // namespace kube::apiserver
