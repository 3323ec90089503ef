// CustomResourceDefinitions at run time: install them, wait for them.
//
//   Result<std::vector<CrdSource>> crds = ReadCrds({"config/crd"});                 // files and folders
//   Result<std::vector<InstalledCrd>> done = InstallCrds(ctx, client, *crds);       // returns once all of them are served
//
//   manager.Add(ManagedCrds{.crds = *crds, .migrate_storage = true});               // a manager does it as the leader, before controllers
//
// crd_compat.h defines the changes that are refused; storage_migration.h rewrites objects in a new storage version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/control/access.h"
#include "kube/control/crd_compat.h"
#include "kube/control/storage_migration.h"
#include "kube/meta/dynamic_object.h"

namespace kube {

class Client;

// A definition and its origin.
struct CrdSource {
  DynamicObject crd{};
  std::string where{};  // "crds.yaml: document 2 (line 12)", for messages; may be empty
};

// Parses all definitions of a YAML or JSON text, including several documents and lists (kubectl get crds -o yaml). `where` names the text
// in messages. Errors: kInvalid, naming the document, if the text cannot be parsed, or has an object of another kind or a definition
// without a name.
KUBE_EXPORT Result<std::vector<CrdSource>> ParseCrds(std::string_view text, std::string_view where);
// The same for files, and for the files *.yaml, *.yml and *.json of folders, in the order of their names. Errors: also kConfig if a file
// cannot be read or a folder has no such file.
KUBE_EXPORT Result<std::vector<CrdSource>> ReadCrds(const std::vector<std::string>& paths);

// Options of InstallCrds.
struct InstallCrdsOptions {
  // Owns the fields of the manifests. Values that other field managers set for them are overwritten.
  std::string field_manager = "kubexx-crds";
  // Installs changes that break stored objects or clients. The server still refuses some, such as removing a stored version.
  bool allow_breaking = false;
  // Keeps scale subresources that the manifest does not have. Server-side apply alone would remove them, because a version is owned as a
  // whole.
  bool keep_scale = true;
  // Only checks, with server-side dry runs, and does not wait.
  bool dry_run = false;
  std::chrono::nanoseconds timeout = std::chrono::minutes(1);  // for everything, until all definitions are served
};

// What InstallCrds did to a definition.
enum class CrdChange : std::uint8_t { kUnchanged, kCreated, kUpdated };
KUBE_EXPORT std::string_view ToString(CrdChange change);  // "unchanged", "created", "updated"

// One installed definition.
struct InstalledCrd {
  std::string name{};
  CrdChange change = CrdChange::kUnchanged;
  std::vector<CrdFinding> findings{};  // what CompareCrds found about the change
};

// Applies the definitions (server-side apply), then watches until each is Established, has its names accepted and its versions served.
// Every definition is checked by a dry run before any is written, so one refusal leaves all unchanged. The write applies to the checked
// object: if another client writes the definition in between, it is read and checked again.
//
// Fields that the manifest does not have are kept. The conversion webhook's caBundle is taken from the manifest if the definition has none,
// or if only options.field_manager owns it. It is kept if the manifest has none, or if another field manager owns it: the manifest's value
// is often a placeholder then.
//
// Idempotent. Thread safety: may be called from many threads and replicas at once.
// Blocking and cancellation: until everything is served, for at most options.timeout; ends with the context.
// Errors: kInvalid, with all findings, for breaking changes; kApi if the API server refuses (IsForbidden: RBAC); kInternal for names that
//   are in use (the condition NamesAccepted is False) and for NonStructuralSchema; kTimeout, with the last observed conditions. All name
//   the source.
// Cost: two or three requests and a watch per definition.
KUBE_EXPORT Result<std::vector<InstalledCrd>> InstallCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds,
                                                          const InstallCrdsOptions& options = {});

// Waits until another program or replica has installed the definitions: each exists, is Established, serves the versions that these sources
// serve, and has a conversion webhook if the source has one (until then, objects would be returned as stored). If the program may not watch
// definitions, it polls the server's discovery instead.
KUBE_EXPORT Result<void> WaitForCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds);

// Returns the versions of these definitions that discovery does not list: "widgets.example.com/v1".
KUBE_EXPORT Result<std::vector<std::string>> FindUnservedCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds);

// Installs definitions at startup (Manager::Add). The leader installs them under its write permit before its controllers start. All
// replicas start their caches once the definitions are served. A replica that waits for that without leading counts as ready, so that a
// rolling update can proceed. If the program may not install definitions, the manager logs the missing rules and continues if they are
// already served.
//
// If the manager also has a conversion for such a kind (Manager::Add(ConversionSpec)), it sets spec.conversion before it applies the
// definition, overriding the manifest: the definition is never served without it, and CompareCrds sees the upgrade as it will be. The
// leader first waits until this replica serves webhooks. A new definition gets the manager's CA.
struct ManagedCrds {
  std::vector<CrdSource> crds{};  // the definitions to install
  InstallCrdsOptions install{};
  // Rewrites objects that are stored in other versions, while controllers run. A failure is logged.
  bool migrate_storage = false;
  // How long a definition must stay unchanged before its objects are rewritten. Until every API server has the new definition, some still
  // store the old version, and status.storedVersions would be trimmed too early. 0 means no delay, which is safe only with a single API
  // server.
  std::chrono::nanoseconds migration_delay = std::chrono::minutes(1);
  StorageMigrationOptions migration{};
};

// The permissions for all of this, limited to these definitions by name. create cannot be limited by name.
KUBE_EXPORT std::vector<AccessNeed> NeedsOf(const ManagedCrds& crds);

}  // namespace kube
