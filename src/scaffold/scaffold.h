// What `kubexx init`, `kubexx create api` and `kubexx create webhook` write.
//
//   Result<Scaffold> made = Init({.name = "guestbook", .domain = "my.domain"});
//   Result<std::vector<Planned>> plan = PlanFiles(folder, made->files);       // which of them are new, changed or the user's
//   WriteFiles(folder, made->files);
//
// Two sorts of files: those of the user are written once and stay as they are from then on; generated ones follow PROJECT and are replaced.
// No function here edits a file of the user.
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
  std::string kubexx_version = "0.1";  // that find_package asks for
  bool namespaced = false;             // the program watches the namespace that it is deployed to
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
// Reads the header, or fetches the Go module with Go's command and makes headers of the package and of what it uses.
// Blocking: until the module is fetched, minutes at most. Errors: kInvalid, which say what else to try.
Result<ExternalKind> FindExternalKind(const std::string& folder, const ExternalOptions& options, const std::string& group,
                                      const std::string& version, const std::string& kind);

struct CreateApiOptions {
  std::optional<std::string> group{};  // in front of the domain; "" is the domain itself. Of built-in kinds "core", "apps" ...
  std::string version{};
  std::string kind{};
  std::string plural{};  // empty: by the rules of English
  bool namespaced = true;
  bool resource = true;              // false: a controller for a kind that exists, in PROJECT or in Kubernetes
  std::optional<bool> controller{};  // unset: unless another version of the kind has one
  std::string controller_name{};     // empty: the kind's; another one makes another controller of the kind
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
  kUsers,     // a file of the user with another text: written with --force only
};
struct Planned {
  std::string path;  // with the folder
  FileState state;
};
// Reads the files that exist. Errors: kInvalid for one that cannot be read, such as a folder of that name.
Result<std::vector<Planned>> PlanFiles(const std::string& folder, const std::vector<ScaffoldFile>& files);
// Writes all of them, each as a whole, and PROJECT last. Errors: kInvalid with the path.
Result<void> WriteFiles(const std::string& folder, const std::vector<ScaffoldFile>& files);

// Keeps other commands out of a project from before PROJECT is read until everything is written. Without the folder there is nothing to
// keep.
class ProjectLock {
 public:
  // Blocking: until no other command has it.
  explicit ProjectLock(const std::string& folder);
  ~ProjectLock();
  ProjectLock(const ProjectLock&) = delete;
  ProjectLock& operator=(const ProjectLock&) = delete;

 private:
  int folder_ = -1;
};

// Reads FOLDER/PROJECT. Errors: kInvalid, which says how to make one.
Result<Project> ReadProject(const std::string& folder);

}  // namespace kube::scaffold
