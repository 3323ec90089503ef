// PROJECT: what `kubexx create` has made. A JSON file, which kubexx_project() in CMake reads without the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"

namespace kube::scaffold {

// A header of the user, and the function in it that kubexx_project() calls: {"src/guestbook_controller.h", "SetupGuestbookController"}.
struct Part {
  std::string header;
  std::string setup;
  bool defaulting = false, validation = false;  // what a webhook does

  bool exists() const { return !header.empty(); }
};

struct Resource {
  std::string group;  // with the domain: "webapp.my.domain"; "" for core
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = true;
  bool built_in = false;  // a struct of kubexx
  bool external = false;  // another project's kind: the headers are here, the CRD is not
  std::string header;     // that declares the struct: "api/v1/guestbook_types.h"
  // Headers of an external kind that `header` includes.
  std::vector<std::string> includes{};
  std::string type;  // the C++ struct: "webapp::v1::Guestbook"
  std::vector<Part> controllers{}, webhooks{};
  Part conversion{};

  bool own() const { return !built_in && !external; }
};

struct Project {
  std::string name;
  std::string domain;
  std::vector<Resource> resources{};  // in the order in which they were created

  // Null if there is none.
  const Resource* Find(std::string_view group, std::string_view version, std::string_view kind) const;
  Resource* Find(std::string_view group, std::string_view version, std::string_view kind);
};

std::string ToText(const Project& project);
// Errors: kInvalid for a text that is no PROJECT of this version of kubexx.
Result<Project> ParseProject(std::string_view text);

}  // namespace kube::scaffold
