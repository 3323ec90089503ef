// The names that the user gives to a project and its kinds: what Kubernetes and C++ allow, and what is derived from them.
//
// Each check succeeds, or its error (kInvalid) names the flag, says what is wrong and gives an example.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/result.h"

namespace kube::scaffold {

Result<void> CheckProjectName(std::string_view name);  // a DNS label that leaves room for "-webhook-ca"
Result<void> CheckDomain(std::string_view domain);     // "my.domain"
// The part of the group in front of the domain: "webapp", "foo.policy", or "" for the domain itself.
Result<void> CheckGroup(std::string_view group, std::string_view domain);
Result<void> CheckVersion(std::string_view version);  // "v1", "v1beta2"
Result<void> CheckKind(std::string_view kind);        // "Guestbook"
Result<void> CheckPlural(std::string_view plural);
Result<void> CheckControllerName(std::string_view name);                      // "captain-backup"
Result<void> CheckWebhookPath(std::string_view flag, std::string_view path);  // "/mutate-captain"

// A project name for a folder: "My Project" is my-project.
std::string ProjectNameOf(std::string_view folder);
// "webapp.my.domain"; the domain alone for the empty group.
std::string FullGroup(std::string_view group, std::string_view domain);
// The C++ namespace of a group's kinds, and its folder below api/ if there are several: "foo_policy" of foo.policy.
std::string GroupName(std::string_view group, std::string_view domain);
// "guestbook"
std::string Lower(std::string_view text);

}  // namespace kube::scaffold
