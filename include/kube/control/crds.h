// CustomResourceDefinitions at run time: install them, wait for them.
//
//   Result<std::vector<CrdSource>> crds = ReadCrds({"config/crd"});                 // files and folders
//   Result<std::vector<InstalledCrd>> done = InstallCrds(ctx, client, *crds);       // returns once all of them are served
//
//   manager.Add(ManagedCrds{.crds = *crds, .migrate_storage = true});               // a manager does it as the leader, before controllers
//
// crd_compat.h says which changes are refused; storage_migration.h rewrites objects in a new storage version.
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

// A definition, and where it comes from.
struct CrdSource {
  DynamicObject crd{};
  std::string where{};  // "crds.yaml: document 2 (line 12)", for messages; may be empty
};

// All definitions of a YAML or JSON text, of several documents and of lists (kubectl get crds -o yaml). `where` names the text in messages.
// Errors: kInvalid, naming the document, for text that cannot be parsed, for objects of other kinds and for definitions without a name.
KUBE_EXPORT Result<std::vector<CrdSource>> ParseCrds(std::string_view text, std::string_view where);
// The same for files, and for the files *.yaml, *.yml and *.json of folders, in the order of their names. Errors: also kConfig for files
// that cannot be read and folders without such files.
KUBE_EXPORT Result<std::vector<CrdSource>> ReadCrds(const std::vector<std::string>& paths);

struct InstallCrdsOptions {
  std::string field_manager = "kubexx-crds";  // owns the fields of the manifests; other field managers' values for them are overwritten
  // Installs changes that break stored objects or clients. The server still refuses some, such as removing a stored version.
  bool allow_breaking = false;
  // Keeps scale subresources that the manifest does not have. (A version is owned as a whole, so server-side apply alone would remove
  // them.)
  bool keep_scale = true;
  // Only checks, with the server's help. Waits for nothing.
  bool dry_run = false;
  std::chrono::nanoseconds timeout = std::chrono::minutes(1);  // for everything, until all definitions are served
};

enum class CrdChange : std::uint8_t { kUnchanged, kCreated, kUpdated };
KUBE_EXPORT std::string_view ToString(CrdChange change);  // "unchanged", "created", "updated"

struct InstalledCrd {
  std::string name{};
  CrdChange change = CrdChange::kUnchanged;
  std::vector<CrdFinding> findings{};  // about the change
};

// Server-side applies the definitions, and waits (by a watch) until each is Established with its names accepted and its versions are
// served. Every definition is checked by a dry run before any is written, so a refused one leaves all as they were. The object that was
// checked is the one that is changed: if another client writes the definition in between, it is read and checked again.
//
// Fields that the manifest does not have stay. The conversion webhook's caBundle is the manifest's if the definition has none or only
// options.field_manager owns it. It stays as it is if the manifest has none, or if another field manager owns it: the manifest's is often a
// placeholder then.
//
// Idempotent. Thread safety: may be called from many threads and replicas at once.
// Blocking and cancellation: until everything is served, options.timeout at most; ends with the context.
// Errors: kInvalid, with all findings, for changes that break something; kApi for what the server refuses (IsForbidden: RBAC); kInternal
// for
//   names that are in use (the condition NamesAccepted is False) and for NonStructuralSchema; kTimeout, with the conditions that were seen
//   last. All name the source.
// Cost: two or three requests and a watch for each definition.
KUBE_EXPORT Result<std::vector<InstalledCrd>> InstallCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds,
                                                          const InstallCrdsOptions& options = {});

// Waits until another program or replica has installed them: each definition exists, is Established and serves the versions that these
// sources serve, and converts by a webhook if the source does: before that, objects would be read as they are stored. Where the program may
// not watch definitions, asks the server's discovery instead, again and again.
KUBE_EXPORT Result<void> WaitForCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds);

// The versions of these definitions that the server's discovery does not have: "widgets.example.com/v1".
KUBE_EXPORT Result<std::vector<std::string>> FindUnservedCrds(const Context& ctx, const Client& client, const std::vector<CrdSource>& crds);

// What Manager::Add takes. The leader installs the definitions under its write permit before its controllers start. All replicas start
// their caches once the definitions are served; a replica that waits for that without leading counts as ready, so that a rolling update can
// go on. Without the permission to install, the manager logs the missing rules and continues if the definitions are served already.
//
// If the manager also has a conversion of such a kind (Manager::Add(ConversionSpec)), spec.conversion is set before the definition is
// applied, and replaces what the manifest says: the definition is never served without it, and CompareCrds sees an upgrade as it will be.
// The leader then waits until this replica serves webhooks; the CA of a new definition is the manager's.
struct ManagedCrds {
  std::vector<CrdSource> crds{};
  InstallCrdsOptions install{};
  // Rewrites objects that are stored in other versions, beside the running controllers. A failure is logged.
  bool migrate_storage = false;
  // Time that a definition must stay unchanged before its objects are rewritten. Until every API server has the new definition, some of
  // them still store the old version, and status.storedVersions would be trimmed wrongly. 0 means none, which is safe with one API server
  // only.
  std::chrono::nanoseconds migration_delay = std::chrono::minutes(1);
  StorageMigrationOptions migration{};
};

// The permissions for all of that, limited to these definitions by name where RBAC can: create cannot be.
KUBE_EXPORT std::vector<AccessNeed> NeedsOf(const ManagedCrds& crds);

}  // namespace kube
