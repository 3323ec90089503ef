// Which kind a command line means, and the names of what is made for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "scaffold/files.h"
#include "scaffold/project.h"

namespace kube::scaffold {

// As on the command line: `group` is without the domain, "core" for the core group; unset if there was no --group.
struct KindName {
  std::optional<std::string> group;
  std::string version;  // may be empty
  std::string kind;
};

// A kind of PROJECT, or one of kubexx's own: whatever matches. Errors: kInvalid, which lists the candidates if there are several.
Result<Resource> FindResource(const Project& project, const KindName& name);

// Versions of a kind in PROJECT, in the order in which they were created.
std::vector<const Resource*> VersionsOf(const Project& project, std::string_view group, std::string_view kind);

// What a part of a resource is named after.
struct PartRequest {
  std::string_view part;     // "controller", "webhook", "conversion"
  bool versioned = false;    // each version has a part of its own
  std::string_view name{};   // of a controller, if it is not that of its kind: "captain-backup"
  std::string_view about{};  // "validation": of the second webhook of a kind
};
// The names of a part of a resource that no other part has.
struct PartNames {
  std::string header;  // "src/guestbook_controller.h"
  std::string source;  // "src/guestbook_controller.cc"
  std::string test;    // "tests/guestbook_controller_test.cc"
  std::string id;      // "Guestbook": of C++ functions
  std::string setup;   // "SetupGuestbookController"
  std::string prefix;  // what a name in a cluster needs in front to be unique: "", "v2-", "ship-"
};
// Errors: kInvalid if each of them is taken.
Result<PartNames> NamePart(const Project& project, const Resource& resource, const PartRequest& request);

// Sets the variables that describe the kind: group, version, kind, plural, lower, header, type, namespaced, in_default_namespace, own,
// include.
void DescribeKind(const Resource& resource, Variables& variables);

}  // namespace kube::scaffold
