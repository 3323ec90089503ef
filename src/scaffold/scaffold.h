// What `kubexx init`, `kubexx create api` and `kubexx create webhook` write.
//
//   Result<Scaffold> made = Init({.name = "guestbook", .domain = "my.domain"});
//   Result<std::vector<Planned>> plan = PlanFiles(folder, made->files);       // which of them are new, changed or user files
//   WriteFiles(folder, made->files);
//
// There are two sorts of files: user files are written once and never changed afterwards; generated files follow PROJECT and are replaced.
// No function here edits a user file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "scaffold/project.h"

namespace kube::scaffold {

struct ScaffoldFile {
  std::string path;  // relative to the project's folder
  std::string text;
  bool generated = false;
};

struct Scaffold {
  Project project;
  std::vector<ScaffoldFile> files;  // sorted by path
  std::string type_header{};        // the new kind's, if there is one
};

struct InitOptions {
  std::string name;
  std::string domain;
  std::string kubexx_version = "0.1";  // for find_package
  bool namespaced = false;             // the program watches only the namespace that it is deployed to
};
Result<Scaffold> Init(const InitOptions& options);

// A kind of another project, whose C++ types are in external/.
struct ExternalOptions {
  std::string path;    // a header of the project, or a Go package of `module`
  std::string domain;  // of the kind's group, instead of the project's
  std::string module;  // "github.com/cert-manager/cert-manager@v1.20.2"
};
struct ExternalKind {
  Resource resource;
  std::vector<ScaffoldFile> files;  // headers made from Go types
};
// Reads the header, or fetches the Go module with the go command and generates headers for the package and its dependencies. Blocking:
// until the module is fetched, up to minutes. Errors: kInvalid, with alternatives to try.
Result<ExternalKind> FindExternalKind(const std::string& folder, const ExternalOptions& options, const std::string& group,
                                      const std::string& version, const std::string& kind);

struct CreateApiOptions {
  std::optional<std::string> group{};  // before the domain; "" is the domain itself. For built-in kinds "core", "apps" ...
  std::string version{};
  std::string kind{};
  std::string plural{};  // empty for the English plural
  bool namespaced = true;
  bool resource = true;              // false: a controller for an existing kind, in PROJECT or in Kubernetes
  std::optional<bool> controller{};  // unset: unless another version of the kind has one
  std::string controller_name{};     // empty for the kind's; another name adds another controller of the kind
  std::optional<ExternalKind> external{};
};
Result<Scaffold> CreateApi(const Project& project, const CreateApiOptions& options);

struct CreateWebhookOptions {
  std::optional<std::string> group{};
  std::string version{};  // may be empty if the kind has one only
  std::string kind{};
  bool defaulting = false;
  bool validation = false;
  bool conversion = false;                           // `version` is the hub
  std::vector<std::string> spokes{};                 // versions; empty: all others
  std::string plural{};                              // empty, or what the kind has
  std::string defaulting_path{}, validation_path{};  // empty: controller-runtime's
  std::optional<ExternalKind> external{};
};
Result<Scaffold> CreateWebhook(const Project& project, const CreateWebhookOptions& options);

enum class FileState : std::uint8_t {
  kNew,
  kSame,      // exists with this text
  kReplaced,  // a generated file that changes
  kUsers,     // a user file with another text: written only with --force
};
struct Planned {
  std::string path;  // with the folder
  FileState state;
};
// Reads the existing files. Errors: kInvalid if one cannot be read, such as a directory of that name.
Result<std::vector<Planned>> PlanFiles(const std::string& folder, const std::vector<ScaffoldFile>& files);
// Writes all files, each atomically, and PROJECT last. Errors: kInvalid with the path.
Result<void> WriteFiles(const std::string& folder, const std::vector<ScaffoldFile>& files);

// Locks the project from before PROJECT is read until everything is written. Does nothing if the directory does not exist.
class ProjectLock {
 public:
  // Blocking: until no other command holds the lock.
  explicit ProjectLock(const std::string& folder);
  ~ProjectLock();
  ProjectLock(const ProjectLock&) = delete;
  ProjectLock& operator=(const ProjectLock&) = delete;

 private:
  int folder_ = -1;
};

// Reads FOLDER/PROJECT. Errors: kInvalid, with how to create one.
Result<Project> ReadProject(const std::string& folder);

}  // namespace kube::scaffold
